"""Proves that every step of a host program reads what it is meant to read, for all sizes.

The steps are interpreted abstractly, on the contents of memory: values are named by the program's tensors. A launch
must find each of its operands, whole; what it writes replaces whatever shares bytes with it. So all of these are
refused: steps in a wrong order, a missing copy, a read before the first write, a write to memory that is still needed,
buffers that share bytes at some sizes, and arguments that are overwritten without having been donated. A launch may
overwrite what it reads only where its kernel declares that each element is read before it is written there
(`in_place`). Threads in a region may be launches ahead of each other: what launches pass on, or overwrite, must be used
by rows in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import assert_never

from shlo_disc.analysis.sizes import further_points, points_alike
from shlo_disc.diagnostics import InternalError
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from shlo_disc.expr.dim import Dim
from shlo_disc.fusion.traffic import bytes_of
from shlo_disc.host.memory_contents import Clock, Layout, Loss, LostError, MemoryContents, Packed
from shlo_disc.host.program import (
    ControlSource,
    HostProgram,
    HostStep,
    KernelRef,
    LaunchStep,
    PackRef,
    PlannedRegion,
    bodies_of,
    slots_of,
)
from shlo_disc.host.verify_region import check_rows, is_alone
from shlo_disc.host_ir import Case, Copy, LaunchGroup, While
from shlo_disc.kernels.groups import Context, Group
from shlo_disc.kernels.verify_kernel import parts_that_meet


def verify_host(
    program: Program, host: HostProgram, context: Context, donated: Collection[int] = ()
) -> tuple[Dim, ...]:
    """Raise `InternalError` if a step of the host program reads what is not there, or overwrites what is needed.

    `donated` are the numbers of the arguments that a call may overwrite. Returns the conditions of the proof: sums of
    sizes that have to be at least 0, as they are at likely sizes, and for which no proof was found.
    """
    return _HostVerifier(program, host, context, donated).run()


class _HostVerifier:
    def __init__(self, program: Program, host: HostProgram, context: Context, donated: Collection[int]) -> None:
        self.program, self.host, self.context, self.donated = program, host, context, donated
        points = (*context.points, *points_alike(program))
        self.layout = Layout(host, context.facts, points, lambda: further_points(program))
        self.home = self.layout.home
        self.moments = dict[int, int]()  # of steps, by their ids
        last = dict[int, int]()
        self._number(host.steps, last)
        results = range(len(program.parameters) + len(program.constants), len(host.buffers))
        last.update((self.home(slot), len(self.moments)) for slot in results[: len(program.body.results)])
        self.clock = Clock(last)
        self.lost = dict[int, Loss]()
        self.contents = MemoryContents(self.layout, self.lost, self.clock)
        self.of_branches: frozenset[int] = frozenset()  # result slots of the branches around the step
        self.written = dict[int, frozenset[int]]()  # the homes that a loop or a case writes, by its id

    def run(self) -> tuple[Dim, ...]:
        """Follow all steps; where two homes have to be apart without a proof, that becomes a condition."""
        self.layout.check({slot for step in self.host.steps for slot in slots_of(step)})
        while True:
            try:
                self._follow()
            except LostError as error:
                if error.loss is None or error.loss.pair is None or not self.layout.make_apart(*error.loss.pair):
                    raise InternalError(str(error)) from None
            else:
                self.layout.check_arena()
                return self.layout.conditions

    def _follow(self) -> None:
        self.contents, self.of_branches = MemoryContents(self.layout, self.lost, self.clock), frozenset()
        self.lost.clear()
        arguments, results = len(self.program.parameters), len(self.program.body.results)
        constants = arguments + len(self.program.constants)
        given = (*(p.tensor for p in self.program.parameters), *self.program.constants)
        for slot, tensor in enumerate(given):
            self.contents.write(self.home(slot), [tensor], "the caller")
        for number, step in enumerate(self.host.packings):
            self._pack_before(number, step)
        self._steps(self.host.steps, "")
        for number, tensor in zip(range(results), self.program.body.results, strict=True):
            slot = constants + number
            self._check_result(number, slot)
            self._require_value(slot, tensor, "the end of the program")
        homes = [self.home(constants + number) for number in range(results)]
        if len(set(homes)) < results:
            raise InternalError(f"results of {self.program.name} share memory: their buffers are {homes}")

    def _check_result(self, number: int, slot: int) -> None:
        """Check that a result is where the caller gets it from."""
        buffer = self.layout.buffers[self.home(slot)]
        if buffer.kind == "result" and buffer.number == number:
            return
        given = [one for one in self.host.donations if one.result == number and buffer.kind == "argument"]
        if not any(one.argument == buffer.number for one in given):
            raise InternalError(f"result {number} is in {self.layout.named(slot)}, which the caller does not get")

    def _pack_before(self, number: int, step: LaunchStep) -> None:
        """Follow a packing before any call: of constants, and of arguments that no call overwrites."""
        *sources, target = step.slots
        for slot in sources:
            buffer = self.layout.buffers[slot]
            is_free = buffer.kind == "constant" or (buffer.kind == "argument" and buffer.number not in self.donated)
            if not is_free:
                raise InternalError(f"packing {number} reads {self.layout.named(slot)}, which calls may overwrite")
        buffer = self.layout.buffers[target]
        if (buffer.kind, buffer.number) != ("packed", number):
            raise InternalError(f"packing {number} fills {self.layout.named(target)}, expected what it packs")
        values = tuple(self.contents.of(self.home(slot)) for slot in sources)
        self.contents.write(self.home(target), [Packed(step.kernel.name, values)], "the packing")

    def _number(self, steps: Sequence[HostStep], last: dict[int, int]) -> None:
        """Number the steps in program order, and find the last use of each home: for uses in a loop, the loop's end."""
        for step in steps:
            self.moments[id(step)] = len(self.moments)
            for body in bodies_of(step):
                self._number(body, last)
            last.update((self.home(slot), len(self.moments) - 1) for slot in slots_of(step))

    # -- steps

    def _steps(self, steps: Sequence[HostStep], path: str) -> None:
        for number, step in enumerate(steps):
            where = f"{path}step {number}"
            self.clock.now = self.moments[id(step)]
            match step:
                case LaunchStep():
                    self._launch(step, f"{where} ({step.kernel.name})")
                case Copy(source, target):
                    self._copy(source, target, f"{where} (a copy)")
                case LaunchGroup():
                    self._region(step, f"{where} (a region)")
                case While():
                    self._while(step, f"{where} (a loop)")
                case Case():
                    self._case(step, f"{where} (branches)")
                case _:
                    assert_never(step)

    def _require_value(self, slot: int, value: Tensor, where: str) -> None:
        """Check that a buffer holds a tensor, whole."""
        held = self.contents.of(self.home(slot))
        if value in held:
            return
        loss = self.lost.get(self.home(slot))
        names = ", ".join(f"%{one.name}" for one in held if isinstance(one, Tensor))
        by = f"{loss.by} overwrote it" if loss else "no step wrote it"
        found = f"{names} there" if names else f"nothing there: {by}"
        raise LostError(f"{where} reads %{value.name} in {self.layout.named(slot)}, found {found}", loss)

    def _overwrite(self, slot: int, where: str) -> None:
        """Check that a buffer may be written at all."""
        buffer = self.layout.buffers[self.home(slot)]
        is_donated = buffer.kind == "argument" and buffer.number in self.donated
        is_known = is_donated and any(one.argument == buffer.number for one in self.host.donations)
        if not (buffer.kind in ("arena", "result") or is_known):
            raise InternalError(f"{where} writes to {self.layout.named(slot)}, which belongs to the caller")

    def _copy(self, source: int, target: int, where: str) -> None:
        buffers = self.layout.buffers
        held = self.contents.of(self.home(source))
        if not held:
            self._require_value(source, buffers[source].made, where)
        sizes = buffers[source].size, buffers[target].size
        # The size of a case's result may depend on the branch taken: within one it is the size of what is copied.
        may_differ = target in self.of_branches and not self.context.facts.equal(*sizes).is_false
        if not may_differ and not self._same_size(source, target):
            raise InternalError(f"{where} copies {self.layout.named(source)} to {self.layout.named(target)}")
        self._overwrite(target, where)
        if self.home(source) in self.contents.write(self.home(target), held, where):
            self._refuse_shared(source, target, where)

    def _check_size(self, slot: int, wanted: Dim, where: str) -> None:
        """Check that a buffer has the size that a launch expects."""
        buffer = self.layout.buffers[slot]
        if not self.layout.is_equal(buffer.size if buffer.whole is None else buffer.whole, wanted):
            raise InternalError(f"{where} takes {self.layout.named(slot)} for {wanted} bytes")

    def _same_size(self, a: int, b: int) -> bool:
        return self.layout.is_equal(self.layout.buffers[a].size, self.layout.buffers[b].size)

    def _refuse_shared(self, read: int, written: int, where: str) -> None:
        names = f"{self.layout.named(read)}, and writes {self.layout.named(written)}"
        message = f"{where} reads {names}, which may share bytes: expected them apart, or a pair in place"
        raise LostError(message, self.lost.get(self.home(read)))

    def _launch(self, step: LaunchStep, where: str) -> set[int]:
        """Follow a launch; return the homes that lost their contents."""
        kernel = step.kernel
        if not kernel.tensors and step.unless is not None:
            return self._pack(step, where)
        pairs = list(zip(kernel.tensors, step.slots, strict=False))
        self._check_roots(step, pairs, where)
        sizes = (*map(bytes_of, kernel.tensors), *kernel.workspaces)
        for slot, size in zip(step.slots, sizes, strict=False):
            self._check_size(slot, size, where)
        for tensor, slot in pairs:
            if slot not in step.written:
                self._require_value(slot, tensor, where)
        if isinstance(kernel, KernelRef):
            self._check_packs(step, kernel, where)
        lost = self._write(step, where)
        for slot in step.slots[len(pairs) :]:
            if slot in step.written:  # a workspace
                self.contents.drop(self.home(slot), where)
        return lost

    def _write(self, step: LaunchStep, where: str) -> set[int]:
        """Follow the writes of a launch: apart from its reads, or in place of them, and apart from each other."""
        tensors, in_place, lost = step.kernel.tensors, set(step.kernel.in_place), set[int]()
        written, slots_at = set(step.written), dict[int, list[int]]()
        for k, slot in enumerate(step.slots):
            slots_at.setdefault(self.home(slot), []).append(k)
        for k, slot in enumerate(step.slots):
            if slot not in written:
                continue
            self._overwrite(slot, where)
            gone = self.contents.write(self.home(slot), tensors[k : k + 1], where)
            for other in slots_at[self.home(slot)]:
                place = step.slots[other]
                is_allowed = (other, k) in in_place and place not in written and self._same_size(place, slot)
                if other != k and not is_allowed:
                    self._refuse_shared(place, slot, where)
            for home in sorted(gone & slots_at.keys()):
                self._refuse_shared(step.slots[slots_at[home][0]], slot, where)
            lost |= gone
        return lost

    def _check_roots(self, step: LaunchStep, pairs: Sequence[tuple[Tensor, int]], where: str) -> None:
        """Check that a launch writes the results of its group, each once, and no part of it reads another's."""
        times = Counter(tensor for tensor, _ in pairs)
        filled = [tensor for tensor, slot in pairs if slot in step.written]
        if len(filled) != len(step.group.roots) or set(filled) != set(step.group.roots):
            roots, names = (", ".join(f"%{t.name}" for t in some) for some in (step.group.roots, filled))
            raise InternalError(f"{where} writes {names}, expected each of {roots} once")
        for tensor in filled:
            if times[tensor] > 1:
                raise InternalError(f"{where} reads %{tensor.name}, which another part of the launch writes")
        for one, other in parts_that_meet(step.group, self.context):
            raise InternalError(f"{where} reads %{one.name}, which the same launch writes for {other.name}")

    # -- packed operands

    def _pack(self, step: LaunchStep, where: str) -> set[int]:
        """Follow a packing before a loop."""
        *sources, target = step.slots
        values = tuple(self.contents.of(self.home(slot)) for slot in sources)
        for slot, value in zip(sources, values, strict=True):
            if not value:
                self._require_value(slot, self.layout.buffers[slot].made, where)
        self._overwrite(target, where)
        lost = self.contents.write(self.home(target), [Packed(step.kernel.name, values)], where)
        for slot in sources:
            if self.home(slot) in {*lost, self.home(target)}:
                self._refuse_shared(slot, target, where)
        return lost

    def _check_packs(self, step: LaunchStep, kernel: KernelRef, where: str) -> None:
        """Check that buffers of packed operands hold the packed forms of these operands."""
        for pack, slot in zip(kernel.packs, step.slots[len(step.slots) - len(kernel.packs) :], strict=True):
            given = self.layout.buffers[slot].packed
            for one in (slot, given):
                if one is None or self.layout.buffers[one].kind == "null":
                    continue
                self._check_size(one, pack.size if one == given or given is None else pack.size * pack.worth, where)
                if not any(self._is_of(pack, kernel, value) for value in self.contents.of(self.home(one))):
                    message = f"{where} reads packed operands in {self.layout.named(one)}, found others there"
                    raise LostError(message, self.lost.get(self.home(one)))

    def _is_of(self, pack: PackRef, kernel: KernelRef, value: object) -> bool:
        wanted = [kernel.tensors[k] for k in pack.sources]
        return (
            isinstance(value, Packed)
            and value.kernel == pack.kernel.name
            and len(value.sources) == len(wanted)
            and all(tensor in found for tensor, found in zip(wanted, value.sources, strict=True))
        )

    # -- regions, loops and branches

    def _region(self, step: PlannedRegion, where: str) -> None:
        """Follow the members one after the other; `check_rows` checks what threads at different members share."""
        held = check_rows(step, self.layout, self.context.facts, where)
        for home in held:
            self.contents.drop(home, where)
        touched = {self.home(slot) for member in step.members for slot in member.launch.slots}
        for number, member in enumerate(step.members):
            lost = self._launch(member.launch, f"{where}, member {number} ({member.launch.kernel.name})")
            for home in lost & touched:
                if not (home in held and is_alone(step, where)):
                    raise LostError(
                        f"{where}, member {number}: what it writes may share bytes with {self.layout.named(home)}, "
                        "which another thread may need for other rows",
                        self.lost.get(home),
                    )
        for home in held:
            self.contents.drop(home, where)

    def _while(self, step: While[HostStep, ControlSource], where: str) -> None:
        carried = self._carried(step)
        for slot, (operand, *_), _ in carried:
            self._require_value(slot, operand, f"{where}, where it begins,")
        for home in self._homes_written((*step.condition, *step.body)):
            self.contents.drop(home, f"an iteration of {where}")
        for slot, (_, *names), _ in carried:
            others = {self.home(other) for other, *_ in carried if other != slot}
            gone = self.contents.write(self.home(slot), names, where) & others
            if gone or self.home(slot) in others:
                message = f"{where} carries {self.layout.named(slot)} where it carries something else too"
                raise LostError(message, self.lost.get(min(gone)) if gone else None)
        self._steps(step.condition, f"{where}, condition, ")
        self._require_value(step.flag, _anchor(step.made.group).bodies[0].results[0], f"{where}, its condition,")
        after = self.contents.copy()
        self._steps(step.body, f"{where}, body, ")
        for slot, _, tensor in carried:
            self._require_value(slot, tensor, f"{where}, at the end of its body,")
        self.contents = after

    def _carried(self, step: While[HostStep, ControlSource]) -> list[tuple[int, tuple[Tensor, ...], Tensor]]:
        """Slots that a loop carries, with the names of their values, and the value at the end of its body.

        A carry that the body returns unchanged, and that no step uses, is left out: its result is its operand, wherever
        that is, and may be copied into its place after the loop.
        """
        op, found = _anchor(step.made.group), list[tuple[int, tuple[Tensor, ...], Tensor]]()
        condition, body = op.bodies
        named = {slot for inner in (*step.condition, *step.body) for slot in slots_of(inner)}
        values = zip(op.operands, op.results, condition.arguments, body.arguments, strict=True)
        for slot, names, last in zip(step.made.written, values, body.results, strict=True):
            if last is names[-1] and slot not in named:
                self.contents.rename(names[0], names[1])
            else:
                found.append((slot, names, last))
        return found

    def _case(self, step: Case[HostStep, ControlSource], where: str) -> None:
        op = _anchor(step.made.group)
        self._require_value(step.index, op.operands[0], where)
        before, after, outer = self.contents, None, self.of_branches
        self.of_branches = outer.union(step.made.written)
        for number, (branch, body) in enumerate(zip(step.branches, op.bodies, strict=True)):
            self.contents = before.copy()
            self._steps(branch, f"{where}, branch {number}, ")
            for slot, tensor, result in zip(step.made.written, body.results, op.results, strict=True):
                self._require_value(slot, tensor, f"{where}, at the end of branch {number},")
                self.contents.add(self.home(slot), result)
            if after is None:
                after = self.contents
            else:
                after.keep(self.contents)
        self.of_branches = outer
        self.contents = before if after is None else after

    def _homes_written(self, steps: Sequence[HostStep]) -> frozenset[int]:
        """The homes that steps write, also in nested bodies."""
        found = set[int]()
        for step in steps:
            match step:
                case LaunchStep(written=written):
                    found.update(map(self.home, written))
                case Copy(_, target):
                    found.add(self.home(target))
                case LaunchGroup(members):
                    found.update(self.home(slot) for member in members for slot in member.launch.written)
                case While() | Case():
                    if id(step) not in self.written:
                        inner = [one for body in bodies_of(step) for one in body]
                        self.written[id(step)] = self._homes_written(inner)
                    found |= self.written[id(step)]
                case _:
                    assert_never(step)
        return frozenset(found)


def _anchor(group: Group) -> Op[object]:
    assert group.anchor is not None, "a loop, and branches, have their op"
    return group.anchor
