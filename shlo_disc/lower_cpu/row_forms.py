"""Groups of rows: the template that a kernel is printed by.

It is one for kernels that read transposed operands, for one row that threads share, or for rows. Rows are printed in
several forms: one for rows of any length, others for short rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import ONE, maximum
from shlo_disc.expr.facts import Facts
from shlo_disc.host.division import row_accesses, row_line
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.inplace import positions, row_pairs
from shlo_disc.kernels.kernel import RowKernel
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.lower_cpu import cooperative_reduction, packed_transpose, rows, short_maps, short_rows, transposed
from shlo_disc.lower_cpu.lowered import LoweredGroup
from shlo_disc.lower_cpu.lowering_context import LoweringContext
from shlo_disc.lower_cpu.modulo_splitting import MOST_COLUMNS, join_columns, join_short_rows
from shlo_disc.lower_cpu.rows import KernelForm
from shlo_disc.lower_cpu.spelling import LANES
from shlo_disc.lower_cpu.templates import KernelBody
from shlo_disc.lower_cpu.work import WORK_PER_THREAD, effort
from shlo_disc.records import record


def lower_rows(group: Group, context: LoweringContext, *, alone: bool) -> LoweredGroup:
    """Print a group of rows; if it is `alone` in its launch, it may launch parallel loops itself."""
    forms = RowForms(group, context.facts, context.producers)
    kernel, tensors = forms.kernel()
    work = effort(group, kernel)
    if (tiled := transposed.tiled(kernel)) is not None:
        return _lower_tiled(tiled, tensors, work)
    if alone and not kernel.rows and (lowered := _lower_cooperative(group, context)) is not None:
        return lowered
    if not rows.moves(kernel) and (packed := packed_transpose.with_packed_loads(kernel)) is not None:
        return _lower_packed(packed, kernel, tensors, work)
    lowered = _lower_by_length(forms.forms(kernel), kernel, tensors, work)
    if not kernel.rows and not (rows.is_flat(kernel) and len(kernel.stages) == 1):
        return lowered
    return lowered.divided(*row_line(kernel), row_accesses(kernel), context.scheduling.threads)


def _lower_tiled(tiled: transposed.Tiled, tensors: tuple[Tensor, ...], effort: int) -> LoweredGroup:
    """A task computes a block of rows. `effort`, here and below: the cost of an element, in additions."""
    statements, sizes = transposed.TiledPrinter(tiled).lines()
    body = KernelBody((), tuple(statements), sizes)
    return LoweredGroup(body, tensors, tiled.extent, tiled.task_elements * effort)


def _lower_cooperative(group: Group, context: LoweringContext) -> LoweredGroup | None:
    """One task, which launches a parallel loop for each stage of its one row, if that pays."""
    kernel, tensors = build_row_kernel(group, context.facts, context.producers, rows.FIXED_SEAMS)
    cost = effort(group, kernel)
    if (found := cooperative_reduction.cooperating(kernel, cost)) is None:
        return None
    body = cooperative_reduction.print_loops(found, WORK_PER_THREAD)
    in_place = positions(row_pairs(kernel), kernel.params)
    work = rows.points(kernel.stages) * cost
    return LoweredGroup(body, tensors, ONE, work, in_place=in_place, workspaces=found.bytes)


def _lower_packed(
    packed: packed_transpose.PackedKernel, kernel: RowKernel, tensors: tuple[Tensor, ...], effort: int
) -> LoweredGroup:
    """A task packs the operands of a block of rows, then computes these."""
    body, work = packed_transpose.print_packed(packed), rows.task_elements(kernel) * LANES * effort
    in_place = positions(row_pairs(kernel), kernel.params)
    return LoweredGroup(body, tensors, packed.extent, work, packed.places[-1], in_place)


def _lower_by_length(
    forms: Sequence[KernelForm], kernel: RowKernel, tensors: tuple[Tensor, ...], effort: int
) -> LoweredGroup:
    """A task computes a row; which form runs depends on the length of rows."""
    statements, sizes = rows.by_length(forms)
    return LoweredGroup(
        KernelBody((), tuple(statements), sizes),
        tensors,
        rows.extent(kernel),
        rows.task_elements(kernel) * effort,
        maximum(*(rows.scratch_bytes(form.printer.kernel) for form in forms)),
        positions(rows.shared_pairs(forms), kernel.params),
    )


@record
class RowForms:
    """Builds the kernel of a group of rows, and its forms."""

    group: Group
    facts: Facts
    producers: Producers

    def kernel(self) -> tuple[RowKernel, tuple[Tensor, ...]]:
        """The kernel for rows of any length, split at seams, and the tensors of its params."""
        kernel, tensors = verified(build_row_kernel(self.group, self.facts, self.producers, rows.SEAMS), self.group)
        return self._join_columns(join_short_rows(kernel)), tensors

    def forms(self, kernel: RowKernel) -> list[KernelForm]:
        """The forms of a kernel: for rows of any length, then for ever shorter ones."""
        forms = [KernelForm(rows.RowPrinter(kernel))]
        if rows.moves(kernel):
            whole, _ = build_row_kernel(self.group, self.facts, self.producers, rows.FIXED_SEAMS)
            if rows.unrolled(whole):
                length = self.facts.canonical(rows.longest_row(whole))
                forms.append(KernelForm(rows.RowPrinter(whole), ((length, "<", rows.LONG_ROW),)))
        kernel = forms[-1].printer.kernel
        if (short := short_rows.short_rows(kernel)) is not None:
            length = self.facts.canonical(short_rows.row_length(kernel))
            forms.append(KernelForm(short_rows.ShortRowPrinter(short), ((length, "<=", short_rows.limit(kernel)),)))
        if short_maps.may_be_short(kernel) and (maps := self._short_maps(kernel)) is not None:
            width, height = map(self.facts.canonical, (maps.width, maps.height))
            conditions = (width, "<=", short_maps.limit(maps)), (height, ">=", short_maps.FEWEST)
            forms.append(KernelForm(short_maps.ShortMapPrinter(maps), conditions))
        return forms

    def _short_maps(self, kernel: RowKernel) -> short_maps.ShortMaps | None:
        """The same maps over whole rows, if vectors may span short rows and the launch has the same tasks."""
        whole = self._whole_rows()
        return short_maps.short_maps(whole) if rows.extent(whole) == rows.extent(kernel) else None

    def _join_columns(self, kernel: RowKernel) -> RowKernel:
        """Merge rows and columns into one loop, if formulas differ by column and vectors cannot span short rows."""
        sizes = [axis.extent.constant for stage in kernel.stages for axis in stage.axes]
        if not short_maps.may_be_short(kernel) or any(size is None or size > MOST_COLUMNS for size in sizes):
            return kernel
        whole = self._whole_rows()
        if short_maps.short_maps(whole) is not None:
            return kernel
        joined = join_columns(whole)
        return kernel if joined is whole else joined  # a kernel that keeps its rows is split at seams

    def _whole_rows(self) -> RowKernel:
        """The kernel whose rows are split at no seams between columns."""
        return build_row_kernel(self.group, self.facts, self.producers, short_maps.SEAMS)[0]
