"""The statements of a stage: vectors along the last axis where formulas allow it, else single elements."""

from __future__ import annotations

from shlo_disc.kernels.kernel import Stage
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cpu.modulo_splitting import modulo_split
from shlo_disc.lower_cpu.stages.loops import Ranges, RowContext
from shlo_disc.lower_cpu.stages.modulo import ModuloStage
from shlo_disc.lower_cpu.stages.scalar import ScalarStage
from shlo_disc.lower_cpu.stages.vector import VectorStage
from shlo_disc.lower_cpu.vectorize import can_vectorize


def stage_lines(row: RowContext, stage: Stage, ranges: Ranges | None = None) -> list[str]:
    """The statements of one stage; `ranges` of its loops, if they do not run from 0 to their extents."""
    row.emit.count_uses(stage_formulas(stage))
    ranges = ranges or {}
    if row.emit.lane is not None:
        return ScalarStage(row, stage, ranges).lines()
    if can_vectorize(stage, row.emit.deps):
        return VectorStage(row, stage, ranges).lines()
    if not row.unroll and (found := modulo_split(stage, row.emit.deps)) is not None:
        return ModuloStage(row, stage, ranges, found).lines()
    return ScalarStage(row, stage, ranges).lines()
