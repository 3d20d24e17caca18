"""What a template makes of a group: the text of a kernel, and how it is launched."""

from __future__ import annotations

from dataclasses import replace

from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import ZERO, Dim, Sym, const, maximum
from shlo_disc.host.division import Division, ElementAccess
from shlo_disc.host.program import InPlace, KernelRef
from shlo_disc.host_ir import Selection
from shlo_disc.lower_cpu.templates import KernelBody
from shlo_disc.lower_cpu.work import WORK_PER_THREAD
from shlo_disc.records import record


@record
class LoweredGroup:
    """A printed kernel without a name, as kernels with the same text share one.

    It is launched for `extent` tasks, each of which costs `work` additions; threads share them in ranges of at least
    `grain`. `scratch`: bytes of private memory that each thread needs. The other fields: see `KernelRef`.
    """

    body: KernelBody
    tensors: tuple[Tensor, ...]
    extent: Dim
    work: Dim
    scratch: Dim = ZERO
    in_place: InPlace = ()
    workspaces: tuple[Dim, ...] = ()
    definitions: tuple[tuple[Sym, Dim], ...] = ()
    selections: tuple[Selection[Dim], ...] = ()
    least_tasks: Dim | None = None
    division: Division | None = None
    packing: OperandPacking | None = None

    @property
    def task_work(self) -> Dim:
        """The cost of one task: at least 1, as an empty sum is stored too."""
        return maximum(1, self.work)

    @property
    def grain(self) -> Dim:
        """The fewest tasks that are worth a thread."""
        return maximum(1, const(WORK_PER_THREAD) // self.task_work) if self.least_tasks is None else self.least_tasks

    def divided(
        self,
        line: Dim,
        count: Dim,
        accesses: tuple[ElementAccess, ...],
        threads: int,
        tasks: Dim | None = None,
        block: Sym | None = None,
    ) -> LoweredGroup:
        """The same with a division: it may be cut between its `count` lines."""
        work = self.extent * self.task_work
        division = Division(line, count, accesses, tasks or const(1), block, work, WORK_PER_THREAD, threads)
        return replace(self, division=division)


@record
class OperandPacking:
    """A kernel that packs an operand of another one, of whose tensors it names positions: see `PackRef`."""

    kernel: LoweredGroup
    sources: tuple[int, ...]
    replaced: tuple[int, ...]
    size: Dim
    worth: Dim


@record
class PrintedKernel:
    """A kernel that has its name, and the cost of one task in additions."""

    kernel: KernelRef
    work: Dim
