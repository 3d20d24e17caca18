"""The host program as data: which kernels run in which order, and where every buffer lives.

The same program is printed to C++ and run by the VM; nothing here depends on a target. A `KernelRef` describes how a
target launches the kernel that it printed for a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, assert_never

from shlo_disc.artifact import Donation
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.expr.magnitude import Monomial
from shlo_disc.host.division import Division
from shlo_disc.host_ir import Buffer, Case, Copy, Launch, LaunchGroup, Variant, While
from shlo_disc.kernels.groups import FusionPlan, Group
from shlo_disc.records import record

InPlace: TypeAlias = tuple[tuple[int, int], ...]


@record
class PackRef:
    """Packed operands of a kernel, in the order that it reads fastest: a buffer, or a null pointer.

    `kernel` packs them: its buffers are the tensors at the positions `sources` of the kernel that uses them, then the
    packed operands, of `size` bytes. If these are present, the tensors at `replaced` are not read. `worth`: 1 at sizes
    where packing before a loop pays, else 0.
    """

    kernel: KernelRef
    sources: tuple[int, ...]
    replaced: tuple[int, ...]
    size: Dim
    worth: Dim

    def moved(self, by: int) -> PackRef:
        """The same for a kernel fused horizontally with others, whose tensors are `by` positions later."""
        return replace(
            self, sources=tuple([k + by for k in self.sources]), replaced=tuple([k + by for k in self.replaced])
        )


@record
class KernelRef:
    """A printed kernel, ready to launch: `launch` without its buffers, which a step names.

    These are `tensors`, then `workspaces` (sizes in bytes; live during this step alone), then those of `packs`.
    `in_place`: pairs of positions in `tensors`, one that is read and one that is written, that may share memory.
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


@record
class GridRef:
    """A group lowered for a GPU: ways to compute it, of which the launch table takes the cheapest that is legal.

    `buffers`: `tensors` in order, then `workspaces` (sizes in bytes; live during this step alone). `spaces` are
    element counts that 32-bit indices have to cover. `in_place`: as in `KernelRef`, valid for every variant.
    """

    name: str
    tensors: tuple[Tensor, ...]
    workspaces: tuple[Dim, ...]
    variants: tuple[Variant[Dim], ...]
    spaces: tuple[Dim, ...]
    in_place: InPlace = ()


@record
class HostCallRef:
    """A call of a Python function (see `host_ir.HostCall`), which fills the last `results` of `tensors`.

    `in_place` and `workspaces` are empty; they are here because every launch has them.
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


@record
class LaunchStep:
    """Launch a kernel, or call a function.

    `slots` are the buffers of `kernel.tensors`, then of workspaces if there are any, then of packed operands;
    `written` are the slots that are filled whole. It is skipped if there is a buffer in the slot `unless`.
    """

    kernel: LaunchRef
    slots: tuple[int, ...]
    group: Group
    written: tuple[int, ...]
    unless: int | None = None

    @property
    def replaced(self) -> tuple[tuple[int, int], ...]:
        """Pairs of slots: the first is not read if there is a buffer in the second."""
        packs = self.kernel.packs if isinstance(self.kernel, KernelRef) else ()
        first = len(self.slots) - len(packs)
        return tuple(
            (self.slots[place], self.slots[k]) for k, pack in enumerate(packs, start=first) for place in pack.replaced
        )


@record
class ControlSource:
    """The group that a loop or a case was made from, and the slots that it writes: its carries, or its results."""

    group: Group
    written: tuple[int, ...]


PlannedRegion: TypeAlias = LaunchGroup[Dim, LaunchStep]
HostStep: TypeAlias = (
    LaunchStep | PlannedRegion | Copy | While["HostStep", ControlSource] | Case["HostStep", ControlSource]
)
HostBuffer: TypeAlias = Buffer[Dim, Tensor]


@record
class HostProgram:
    """Everything that happens in one call.

    `definitions` are symbols beside the program's, which launches and offsets use: each in terms of those before it.
    `donations` name the arguments that are overwritten. `packings` read arguments and constants, and fill the `packed`
    buffers: once for many calls, if they are launched at all. `conditions` are sums that must be at least 0: otherwise
    buffers may overlap that the steps need apart. `bounds`: see `host/size_bounds.py`.
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
    bounds: tuple[tuple[Monomial, int], ...] = ()


def bodies_of(step: HostStep) -> Sequence[Sequence[HostStep]]:
    """The lists of steps nested in a step."""
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
