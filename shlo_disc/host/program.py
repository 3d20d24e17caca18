"""The host program as data: which kernels run in which order, and where every buffer lives.

The same program is printed to C++ and run by the VM; nothing here knows a target. A `KernelRef` says how a target
launches what it printed for a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, assert_never

from shlo_disc.artifact import Donation
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.host.division import Division
from shlo_disc.host_ir import Buffer, Case, Copy, Launch, LaunchGroup, Variant, While
from shlo_disc.kernels.groups import FusionPlan, Group

InPlace: TypeAlias = tuple[tuple[int, int], ...]


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
class KernelRef:
    """A printed kernel, ready to launch: `launch` says how, but for its buffers, which a step names.

    These are `tensors`, then `workspaces` (sizes in bytes; they live for this step alone), then those of `packs`.
    `in_place`: pairs of positions in `tensors`, one that is read and one that is written, that may be the same memory.
    `definitions`: symbols that are computed before the launch, in terms of the program's. `division`: how it can be cut
    by rows; None where that is not known, or one thread does everything.
    """

    launch: Launch[Dim]
    tensors: tuple[Tensor, ...]
    in_place: InPlace = ()
    workspaces: tuple[Dim, ...] = ()
    packs: tuple[PackRef, ...] = ()
    definitions: tuple[tuple[Sym, Dim], ...] = ()
    division: Division | None = None

    @property
    def name(self) -> str:
        """What the kernel is called."""
        return self.launch.kernel


@dataclass(frozen=True, slots=True)
class GridRef:
    """A group lowered for a GPU: ways to compute it, of which the launch table takes the cheapest that is legal.

    `buffers`: `tensors` in order, then `workspaces` (sizes in bytes; they live for this step alone). `spaces` are
    numbers of elements that 32-bit indices have to count. `in_place`: as in `KernelRef`, and so in every variant.
    """

    name: str
    tensors: tuple[Tensor, ...]
    workspaces: tuple[Dim, ...]
    variants: tuple[Variant[Dim], ...]
    spaces: tuple[Dim, ...]
    in_place: InPlace = ()


@dataclass(frozen=True, slots=True)
class HostCallRef:
    """A call of a function of Python, see `artifact.HostCall`: of `tensors` the last `results` are filled.

    None of them is written in place, and there are no workspaces: both are here because every launch has them.
    """

    name: str
    library: str
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
class ControlSource:
    """What a loop or a case was made from, and the slots that it writes: of what is carried, or of its results."""

    group: Group
    written: tuple[int, ...]


PlannedRegion: TypeAlias = LaunchGroup[Dim, LaunchStep]
HostStep: TypeAlias = (
    LaunchStep | PlannedRegion | Copy | While["HostStep", ControlSource] | Case["HostStep", ControlSource]
)
HostBuffer: TypeAlias = Buffer[Dim, Tensor]


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
        case While(condition, _, body):
            return condition, body
        case Case(branches=branches):
            return branches
        case LaunchStep() | Copy() | LaunchGroup():
            return ()
        case _:
            assert_never(step)


def slots_of(step: HostStep) -> Iterator[int]:
    """The slots that a step names."""
    match step:
        case LaunchStep(slots=slots):
            yield from slots
        case Copy(source, target):
            yield from (source, target)
        case LaunchGroup(members):
            yield from (slot for member in members for slot in member.launch.slots)
        case While(flag=flag, made=made):
            yield from (flag, *made.written)
        case Case(index=index, made=made):
            yield from (index, *made.written)
        case _:
            assert_never(step)
    yield from (slot for body in bodies_of(step) for inner in body for slot in slots_of(inner))
