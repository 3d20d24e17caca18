"""The forms in which a group of rows is printed: one for rows of any length, others for short rows."""

from __future__ import annotations

from dataclasses import dataclass

from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.facts import Facts
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import RowKernel
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.lower_cpu import rows, short_maps, short_rows
from shlo_disc.lower_cpu.modulo_splitting import MOST_COLUMNS, join_columns, join_short_rows
from shlo_disc.lower_cpu.rows import KernelForm


@dataclass(frozen=True, slots=True)
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
