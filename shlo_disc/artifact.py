"""The compiler's output for the runtime: plain data, which `codec` writes to files and reads back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from shlo_disc.host_ir import Buffer, Constant, Launch, Step
from shlo_disc.records import record
from shlo_disc.report_model import ReportModel
from shlo_disc.signature import Argument, CheckText, Donation, Result, SizeLimit, UnbackedSize
from shlo_disc.size_expr import SizeExpr
from shlo_disc.target_names import HOST

LARGEST_SIZE = (1 << 31) - (1 << 16)  # of an argument's `?`: masks compare positions like `i + 1` as i32


@record
class SourceFile:
    """One generated file. `libraries` names the prelude objects it is linked with (`gemm_f32`, `conv_f64` …)."""

    name: str
    text: str
    libraries: tuple[str, ...] = ()


@record
class Partition:
    """A part of a program, up to where late sizes become known that the next part needs; or a loop, or branches.

    Values are numbered: the arguments of the program, then the results of each partition. `inputs` are those that it
    takes, `last` those among them that no later partition takes and no caller has or gets.
    """

    runs: Artifact | Loop | Branches
    inputs: tuple[int, ...]
    last: tuple[int, ...]


@record
class Callee:
    """A program that a partition runs, the numbers of the partition's inputs that it takes, and its name for people."""

    artifact: Artifact
    takes: tuple[int, ...]
    name: str


@record
class Loop:
    """A loop whose iterations are calls: the first inputs are carried from one to the next.

    The body returns them, then whether there is another turn; the condition runs before the first one alone. The
    results are the final carries, then the sizes (i64) that `sized` names: a result and an axis. `place`: for people.
    """

    condition: Callee
    body: Callee
    sized: tuple[tuple[int, int], ...]
    place: str


@record
class Branches:
    """Programs of which one runs, chosen by the first input, an index: the last one if it is out of range.

    The results are its results, then the sizes that `sized` names.
    """

    branches: tuple[Callee, ...]
    sized: tuple[tuple[int, int], ...]


@record
class Artifact:
    """A compiled program without its machine code.

    `symbols` lists raw symbols first (`raw`: argument number and axis of each), then those of `unbacked_sizes`, then
    one per entry of `late` and of `definitions`. `late` gives the sources of late sizes. A program with `partitions`
    consists of them, and has no steps itself: their values numbered `returned` are its results. `donations` names the
    arguments that a call writes to: the runtime passes copies where that is not safe. `steps` is the host program.
    `host` is its generated driver for a GPU, with `shlo_plan` and `shlo_run`; for the CPU it is empty. `products`: each
    a weight and numbers of given symbols (-1: the largest of all); if none exceeds 2**62, no size overflows. `free`
    names the independent sizes, `raw_sizes` are the first symbols in terms of them. `packings` fill their last buffer
    once. `limits`: what no call may exceed, also for tensors that are not stored. `conditions`: see `host/program.py`.
    On a GPU indices are 32 bits wide in calls where all `index_spaces` (numbers of elements) are small enough.
    """

    name: str
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    symbols: tuple[str, ...]
    raw: tuple[tuple[int, int], ...]
    definitions: tuple[SizeExpr, ...]
    checks: tuple[CheckText, ...]
    buffers: tuple[Buffer, ...]
    constants: tuple[Constant, ...]
    arena_bytes: SizeExpr
    steps: tuple[Step, ...]
    kernels: tuple[SourceFile, ...]
    host: SourceFile
    report: ReportModel
    device: str = HOST
    index_spaces: tuple[SizeExpr, ...] = ()
    free: tuple[str, ...] = ()
    raw_sizes: tuple[SizeExpr, ...] = ()
    donations: tuple[Donation, ...] = ()
    unbacked_sizes: tuple[UnbackedSize, ...] = ()
    late: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()
    returned: tuple[int, ...] = ()
    packings: tuple[Launch, ...] = ()
    limits: tuple[SizeLimit, ...] = ()
    conditions: tuple[SizeExpr, ...] = ()
    products: tuple[tuple[int, ...], ...] = ()

    @property
    def given(self) -> int:
        """The number of symbols that a call brings, or finds: the first ones."""
        return len(self.raw) + len(self.unbacked_sizes) + len(self.late)

    @property
    def parts(self) -> tuple[Artifact, ...]:
        """The artifacts to be compiled: those of the partitions, and of what they call, or this one."""
        return tuple([part for _, part in self.named_parts])

    @property
    def named_parts(self) -> tuple[tuple[str, Artifact], ...]:
        """The parts with their names for people: `partition 1, body of the loop at model.mlir:7:3, partition 0`."""
        if not self.partitions:
            return (("", self),)
        found = list[tuple[str, Artifact]]()
        for number, partition in enumerate(self.partitions):
            for role, artifact in called(partition.runs):
                for name, part in artifact.named_parts:
                    found.append((", ".join(filter(None, (f"partition {number}", role, name))), part))
        return tuple(found)

    @property
    def places(self) -> tuple[str, ...]:
        """Where a call finds the value of each `given` symbol, for people."""
        dims = (f"dimension {axis} of {self.arguments[argument].name}" for argument, axis in self.raw)
        return (*dims, *map(self._place, self.unbacked_sizes), *self.late)

    def _place(self, size: UnbackedSize) -> str:
        at = self.arguments[size.argument]
        return f"element {size.element} of {at.name}" if at.shape else f"the value of {at.name}"


def called(runs: Artifact | Loop | Branches) -> tuple[tuple[str, Artifact], ...]:
    """The programs that a partition runs, each with its role."""
    if isinstance(runs, Artifact):
        return (("", runs),)
    callees = (runs.condition, runs.body) if isinstance(runs, Loop) else runs.branches
    return tuple([(one.name, one.artifact) for one in callees])


def change_artifacts(artifact: Artifact, change: Callable[[Artifact], Artifact]) -> Artifact:
    """Change an artifact and all artifacts of its partitions, those first, in the order in which they run."""

    def inner(callee: Callee) -> Callee:
        return replace(callee, artifact=change_artifacts(callee.artifact, change))

    def changed(runs: Artifact | Loop | Branches) -> Artifact | Loop | Branches:
        match runs:
            case Artifact():
                return change_artifacts(runs, change)
            case Loop():
                return replace(runs, condition=inner(runs.condition), body=inner(runs.body))
            case Branches():
                return replace(runs, branches=tuple(map(inner, runs.branches)))

    partitions = tuple([replace(one, runs=changed(one.runs)) for one in artifact.partitions])
    return change(replace(artifact, partitions=partitions))
