"""The steps of a program with what they are made of: kernels, groups, the user's lines, bytes and operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, assert_never

from shlo_disc.artifact import Artifact
from shlo_disc.host_ir import Choice, Copy, HostCall, Launch, LaunchGroup, Slot, Step
from shlo_disc.records import record
from shlo_disc.report.steps import places
from shlo_disc.report_model import GroupText
from shlo_disc.runtime.dispatch import selection_trace
from shlo_disc.runtime.selection import SelectionTrace
from shlo_disc.runtime.step_times import TimedRun
from shlo_disc.runtime.steps import Leaf
from shlo_disc.size_expr import SizeExpr, evaluate

Symbols: TypeAlias = Mapping[str, int]
_ATTENTION = ("attention", "attention, backward")  # kinds of groups
_PRODUCTS = ("matrix product", "grouped product", "convolution", *_ATTENTION)


@record
class StepCost:
    """Bytes read and written, and floating-point operations."""

    read: int = 0
    written: int = 0
    flops: int = 0

    def plus(self, other: StepCost) -> StepCost:
        """The sum."""
        return StepCost(self.read + other.read, self.written + other.written, self.flops + other.flops)


@record
class ExecutedStep:
    """A step that is executed: its number among all steps, that of its first leaf, and the groups that it computes."""

    artifact: Artifact
    number: int
    leaf: int
    step: Leaf
    groups: tuple[int, ...]

    @property
    def kind(self) -> str:
        """What it is, in a word or two."""
        match self.step:
            case LaunchGroup():
                return "launch group"
            case HostCall():
                return "host call"
            case Copy():
                return "copy"
            case Launch() if _is_packing(self.step):
                return "packing"
            case Launch() | Choice():
                return "product" if any(text.kind in _PRODUCTS for text in self._texts()) else "kernel"
            case _:
                assert_never(self.step)

    @property
    def name(self) -> str:
        """Its kernels, or its function."""
        match self.step:
            case Launch(kernel=kernel):
                return kernel
            case LaunchGroup():
                return " ".join([launch.kernel for launch in self.step.launches])
            case HostCall(callee=callee, library=library):
                return f"{callee} ({library})"
            case Copy(source, target):
                return f"{_label(self.artifact, source)} to {_label(self.artifact, target)}"
            case Choice():
                return " ".join(dict.fromkeys([root for text in self._texts() for root in text.roots]))
            case _:
                assert_never(self.step)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that it computes, each once; that of its last op is the last one."""
        if isinstance(self.step, HostCall) and not self._texts():
            return (self.step.place,)
        return _lines(self._texts())

    @property
    def member_groups(self) -> tuple[int, ...]:
        """The number of the group of each launch of a launch group."""
        members = self.artifact.report.steps[self.number + 1 :]
        count = len(self.step.members) if isinstance(self.step, LaunchGroup) else 0
        return tuple([-1 if one is None else one for one in members[:count]])

    def lines_of(self, group: int) -> tuple[str, ...]:
        """The lines of one group."""
        return _lines([self.artifact.report.groups[group]])

    @property
    def precision(self) -> str:
        """The type of its arithmetic, of two that limits are known of."""
        return "f64" if any(dtype in ("float64", "complex128") for dtype in self._written()) else "f32"

    @property
    def is_attention(self) -> bool:
        """Whether it computes attention."""
        return any(text.kind in _ATTENTION for text in self._texts())

    @property
    def is_of_integers(self) -> bool:
        """Whether all that it computes are integers and booleans."""
        dtypes = self._written()
        return bool(dtypes) and all(dtype == "bool" or dtype.startswith(("int", "uint")) for dtype in dtypes)

    def cost(self, symbols: Symbols) -> StepCost:
        """What one run of it moves and computes at these sizes."""
        match self.step:
            case Copy(source, target):
                return StepCost(self._bytes([source], symbols), self._bytes([target], symbols))
            case HostCall(operands=operands, results=results):
                return StepCost(self._bytes(operands, symbols), self._bytes(results, symbols), self._flops(symbols))
            case Launch() if _is_packing(self.step):
                return StepCost()  # what it moves is not known: it does nothing where the operand is packed already
            case Launch() | LaunchGroup() | Choice():
                return self._of_groups(symbols)
            case _:
                assert_never(self.step)

    def threads(self, run: TimedRun) -> int:
        """How many threads may share it."""
        match self.step:
            case Launch(extent=extent, grain=grain) | LaunchGroup(units=extent, grain=grain):
                tasks, least = evaluate(extent, run.symbols), max(1, evaluate(grain, run.symbols))
                return max(1, min(run.threads, -(-tasks // least)))
            case HostCall():
                return run.threads  # as many as the library takes
            case Choice() | Copy():
                return 1
            case _:
                assert_never(self.step)

    def selections(self, run: TimedRun) -> tuple[SelectionTrace, ...]:
        """How its products, or its variant, were chosen."""
        match self.step:
            case Launch():
                return tuple([selection_trace(one, run.symbols) for one in self.step.selections])
            case LaunchGroup():
                found = [one for launch in self.step.launches for one in launch.selections]
                return tuple([selection_trace(one, run.symbols) for one in found])
            case Choice(number, _):
                return run.choices[number : number + 1]
            case HostCall() | Copy():
                return ()
            case _:
                assert_never(self.step)

    def _texts(self) -> list[GroupText]:
        return [self.artifact.report.groups[number] for number in self.groups]

    def _written(self) -> list[str]:
        """The element types that its groups write."""
        return [self.artifact.buffers[slot].dtype for text in self._texts() for slot in text.writes]

    def _of_groups(self, symbols: Symbols) -> StepCost:
        """The bytes that the groups' own formulas give, without those that never reach memory.

        Of launches by rows that is what one of them passes to another, and what several read counts once. A scatter in
        place reads and writes as many bytes of its target as it has updates.
        """
        texts, known, held = self._texts(), set[Slot](), set[Slot]()
        if isinstance(self.step, LaunchGroup):
            known = {slot for text in texts for slot in text.writes}
            held = {member.launch.buffers[one.position] for member in self.step.members for one in member.held}
        read = written = 0
        for text in texts:
            skipped = self._bytes(text.reads, symbols) - _value(text.bytes_read, symbols)  # by slices and gathers
            read += max(0, self._bytes([slot for slot in text.reads if slot not in known], symbols) - max(0, skipped))
            written += self._bytes([slot for slot in text.writes if slot not in held], symbols)
            known.update(text.reads)
        for text in texts:
            for target in self._in_place(text):
                whole = self._bytes([target], symbols)
                spared = max(0, whole - max(0, _value(text.bytes_read, symbols) - whole))
                read, written = read - spared, written - spared
        return StepCost(max(0, read), max(0, written), self._flops(symbols))

    def _in_place(self, text: GroupText) -> list[Slot]:
        """The targets of a scatter that share memory with its results."""
        if text.kind != "scatter":
            return []
        memory = [slot if one.memory is None else one.memory for slot, one in enumerate(self.artifact.buffers)]
        results = {memory[slot] for slot in text.writes}
        return [slot for slot in text.reads if memory[slot] in results]

    def _bytes(self, slots: Sequence[Slot], symbols: Symbols) -> int:
        buffers = [self.artifact.buffers[slot] for slot in slots]
        return sum(_value(one.size if one.whole is None else one.whole, symbols) for one in buffers)

    def _flops(self, symbols: Symbols) -> int:
        return sum(_value(text.flops, symbols) for text in self._texts())


def executed_steps(artifact: Artifact) -> Iterator[ExecutedStep]:
    """The steps of an artifact with its report, in the order of `runtime.steps.executed`."""
    every, groups = places(artifact), artifact.report.steps
    end = leaf = 0
    for number, place in enumerate(every):
        if number < end or not isinstance(place.step, Launch | LaunchGroup | Choice | HostCall | Copy):
            continue  # the members of a group are part of it
        end = place.end
        own = dict.fromkeys(one for one in groups[number:end] if one is not None)
        yield ExecutedStep(artifact, number, leaf, place.step, tuple(own))
        leaf += len(place.step.members) if isinstance(place.step, LaunchGroup) else 1


def _lines(texts: Sequence[GroupText]) -> tuple[str, ...]:
    """Each line once, at the place of its last op."""
    ops = [op for text in texts for op in text.ops if not op.inlined]
    return tuple(reversed(dict.fromkeys(op.origin or f"line {op.line}" for op in reversed(ops))))


def _is_packing(step: Step) -> bool:
    """Whether it packs an operand before a loop, unless that is packed already."""
    return isinstance(step, Launch) and step.unless is not None


def _label(artifact: Artifact, slot: Slot) -> str:
    return artifact.buffers[slot].label.partition(": ")[0]


def _value(size: SizeExpr, symbols: Symbols) -> int:
    return max(0, evaluate(size, symbols))
