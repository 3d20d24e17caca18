"""The host program as data: which kernels run in which order, and where every buffer lives.

The same program is printed to C++ and run by the VM; nothing here knows a target. A `KernelRef` says how a target
launches what it printed for a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, assert_never

from shlo_disc.artifact import Donation
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.expr.dtypes import DType
from shlo_disc.host.division import Division
from shlo_disc.kernels.groups import FusionPlan, Group
from shlo_disc.schedules.candidates import Candidate
from shlo_disc.schedules.model import Rates, Shape

InPlace: TypeAlias = tuple[tuple[int, int], ...]
BufferKind: TypeAlias = Literal["argument", "result", "constant", "arena", "packed", "null"]


@dataclass(frozen=True, slots=True)
class PackRef:
    """Memory that may hold operands of a kernel in the form that it reads fastest: a buffer of it, or a null pointer.

    `kernel` makes it: its buffers are those of the tensors at the positions `sources` of the kernel's, then the memory,
    of `size` bytes. The kernel does not read those at `replaced` if it has it. `worth`: 1 where that pays for a loop,
    else 0.
    """

    kernel: KernelRef
    sources: tuple[int, ...]
    replaced: tuple[int, ...]
    size: Dim
    worth: Dim

    def moved(self, by: int) -> PackRef:
        """The same of a kernel among others, whose tensors stand so many positions further."""
        return replace(
            self, sources=tuple([k + by for k in self.sources]), replaced=tuple([k + by for k in self.replaced])
        )


@dataclass(frozen=True, slots=True)
class Chosen:
    """How a product of a launch is computed: by the candidate of this number, see `artifact.Selection`.

    The sizes of `shape` and `number` are dims; a number that depends on sizes is a symbol that the launch defines.
    Without candidates the prelude chooses.
    """

    product: str
    shape: Shape
    candidates: tuple[Candidate, ...]
    rates: tuple[Rates, ...]
    number: Dim
    threads: int
    how: str


@dataclass(frozen=True, slots=True)
class KernelRef:
    """A printed kernel, ready to launch: `extent` pieces, at least `grain` at a time per thread.

    Its buffers are `tensors`, then `workspaces` (sizes in bytes; they live for this step alone), then those of `packs`.
    `in_place`: pairs of positions in `tensors`, one that is read and one that is written, that may be the same memory.
    `definitions`: symbols that are computed before the launch, in terms of the program's. `division`: how it can be cut
    by rows; None where that is not known, or one thread does everything.
    """

    name: str
    tensors: tuple[Tensor, ...]
    symbols: tuple[str, ...]
    extent: Dim
    grain: Dim
    scratch: Dim
    in_place: InPlace = ()
    workspaces: tuple[Dim, ...] = ()
    packs: tuple[PackRef, ...] = ()
    definitions: tuple[tuple[Sym, Dim], ...] = ()
    selections: tuple[Chosen, ...] = ()
    division: Division | None = None


@dataclass(frozen=True, slots=True)
class GridCall:
    """One CUDA launch, see `artifact.GridLaunch`. `buffers` are positions in `GridRef.buffers`."""

    kernel: str
    buffers: tuple[int, ...]
    symbols: tuple[str, ...]
    blocks: Dim
    threads: int
    shared: Dim
    cycles: Dim
    latency: Dim
    pipelined: bool = False


@dataclass(frozen=True, slots=True)
class BatchCall:
    """A loop around a library product."""

    extent: Dim
    a_stride: Dim
    b_stride: Dim
    c_stride: Dim


@dataclass(frozen=True, slots=True)
class ProductCall:
    """One library product, see `artifact.Product`. Buffers are positions in `GridRef.buffers`."""

    a: int
    b: int
    c: int
    a_offset: Dim
    b_offset: Dim
    c_offset: Dim
    a_leading: Dim
    b_leading: Dim
    c_leading: Dim
    a_transposed: bool
    b_transposed: bool
    m: Dim
    n: Dim
    k: Dim
    batch: tuple[BatchCall, ...]
    dtypes: tuple[DType, DType]
    compute: str


@dataclass(frozen=True, slots=True)
class CopyCall:
    """Copy a whole buffer to another one of the same size."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class FillCall:
    """Set every byte of a buffer."""

    target: int
    byte: int


Call: TypeAlias = GridCall | ProductCall | CopyCall | FillCall


@dataclass(frozen=True, slots=True)
class Condition:
    """A demand on sizes: `lhs relation rhs`."""

    lhs: Dim
    relation: Literal["==", "<=", ">="]
    rhs: Dim


@dataclass(frozen=True, slots=True)
class CallVariant:
    """One way to compute a group, see `artifact.Variant`."""

    label: str
    guards: tuple[Condition, ...]
    aligned: bool
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class GridRef:
    """A group lowered for a GPU: ways to compute it, of which the launch table takes the cheapest that is legal.

    `buffers`: `tensors` in order, then `workspaces` (sizes in bytes; they live for this step alone). `spaces` are
    numbers of elements that 32-bit indices have to count. `in_place`: as in `KernelRef`, and so in every variant.
    """

    name: str
    tensors: tuple[Tensor, ...]
    workspaces: tuple[Dim, ...]
    variants: tuple[CallVariant, ...]
    spaces: tuple[Dim, ...]
    in_place: InPlace = ()


@dataclass(frozen=True, slots=True)
class HostCallRef:
    """A call of a function of Python, see `artifact.HostCall`: of `tensors` the last `results` are filled.

    None of them is written in place, and there are no workspaces: both are here because every launch has them.
    """

    name: str
    tensors: tuple[Tensor, ...]
    results: int
    attributes: Mapping[str, Any]
    place: str
    in_place: InPlace = ()
    workspaces: tuple[Dim, ...] = ()


LaunchRef: TypeAlias = KernelRef | GridRef | HostCallRef


@dataclass(frozen=True, slots=True)
class LaunchStep:
    """Launch a kernel, or call a function.

    `slots` are the buffers of `kernel.tensors`, then of the workspaces if it has some, then of what is packed;
    `written` are those of `slots` that are filled, whole. It is skipped if there is a buffer in the slot `unless`.
    """

    kernel: LaunchRef
    slots: tuple[int, ...]
    group: Group
    written: tuple[int, ...]
    unless: int | None = None

    @property
    def replaced(self) -> tuple[tuple[int, int], ...]:
        """Slots that are not read if another one (the second of each pair) is there."""
        packs = self.kernel.packs if isinstance(self.kernel, KernelRef) else ()
        first = len(self.slots) - len(packs)
        return tuple(
            (self.slots[place], self.slots[k]) for k, pack in enumerate(packs, start=first) for place in pack.replaced
        )


@dataclass(frozen=True, slots=True)
class Held:
    """The buffer at a position of a launch's is the rows of one unit, `size` bytes, for each thread in turn."""

    position: int
    size: Dim


@dataclass(frozen=True, slots=True)
class Member:
    """A launch of a region: its `pieces` in each unit of rows, of `extent` in all, at the sizes that `symbols` name.

    `held`: those of its buffers of which each thread has only the rows of a unit.
    """

    launch: LaunchStep
    symbols: tuple[str, ...]
    pieces: Dim
    extent: Dim
    held: tuple[Held, ...] = ()


@dataclass(frozen=True, slots=True)
class RegionStep:
    """Launches that a thread goes through for its rows (`regions.py`): see `artifact.Region`."""

    members: tuple[Member, ...]
    rows: Dim
    units: Dim
    grain: Dim
    work: Dim
    scratch: Dim


@dataclass(frozen=True, slots=True)
class CopyStep:
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class WhileStep:
    """A loop. `carries` are the slots of what is carried, which hold the loop's operands when it begins."""

    condition: tuple[HostStep, ...]
    flag: int
    body: tuple[HostStep, ...]
    group: Group
    carries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CaseStep:
    """One of several branches, each of which fills the slots of the `results`."""

    index: int
    dtype: DType
    branches: tuple[tuple[HostStep, ...], ...]
    group: Group
    results: tuple[int, ...]


HostStep: TypeAlias = LaunchStep | RegionStep | CopyStep | WhileStep | CaseStep


@dataclass(frozen=True, slots=True)
class HostBuffer:
    """A buffer: `kind` is `argument`, `result`, `constant` (by `number`) or `arena` (at `offset`); sizes in bytes.

    Or it is `packed`: what the packing of that `number` fills before a call, or nothing; or always nothing, `null`.
    Steps count from 0 in the order of the program's text, a loop's or a branch's body in its place; the buffer holds
    what is needed from step `first` to step `last`, inclusive (`first` > `last`: never). Buffers of one `memory`, which
    is one of their slots, are the same bytes at different times. `packed`, `whole`: see `artifact.Buffer`.
    """

    kind: BufferKind
    number: int
    offset: Dim
    size: Dim
    tensor: Tensor
    first: int
    last: int
    memory: int
    packed: int | None = None
    whole: Dim | None = None


@dataclass(frozen=True, slots=True)
class HostProgram:
    """Everything that happens in one call.

    `definitions` are symbols beside the program's, which launches and offsets are written in: each in terms of those
    before it. `donations` name the arguments that are overwritten. `packings` read arguments and constants, and fill
    the buffers that are `packed`: once for many calls, if they are launched at all. `conditions` are sums that are at
    least 0, or the buffers are not apart as the steps need them.
    """

    buffers: tuple[HostBuffer, ...]
    steps: tuple[HostStep, ...]
    definitions: tuple[tuple[Sym, Dim], ...]
    arena_bytes: Dim
    plans: tuple[FusionPlan, ...]
    index_spaces: tuple[Dim, ...] = ()
    donations: tuple[Donation, ...] = ()
    packings: tuple[LaunchStep, ...] = ()
    conditions: tuple[Dim, ...] = ()


def bodies_of(step: HostStep) -> Sequence[Sequence[HostStep]]:
    """The lists of steps inside of a step."""
    match step:
        case WhileStep(condition, _, body):
            return condition, body
        case CaseStep(branches=branches):
            return branches
        case LaunchStep() | CopyStep() | RegionStep():
            return ()
        case _:
            assert_never(step)


def slots_of(step: HostStep) -> Iterator[int]:
    """The slots that a step names."""
    match step:
        case LaunchStep(slots=slots):
            yield from slots
        case CopyStep(source, target):
            yield from (source, target)
        case RegionStep(members):
            yield from (slot for member in members for slot in member.launch.slots)
        case WhileStep(flag=flag, carries=carries):
            yield from (flag, *carries)
        case CaseStep(index=index, results=results):
            yield from (index, *results)
        case _:
            assert_never(step)
    yield from (slot for body in bodies_of(step) for inner in body for slot in slots_of(inner))
