"""Stages of vectors along the last axis as C++."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.kernels.kernel import Axis
from shlo_disc.lower_cpu.stages.column_reduction import ColumnReduction
from shlo_disc.lower_cpu.stages.lane_reduction import LaneReduction
from shlo_disc.lower_cpu.stages.loops import StageLines
from shlo_disc.lower_cpu.stages.vector_loops import VectorLoops


class VectorStage(StageLines):
    """Sixteen elements at a time along the last axis."""

    def lines(self) -> list[str]:
        """The statements of the stage."""
        stage = self.stage
        outer = list(zip(stage.axes[:-1], stage.reduced[:-1], strict=True))
        kept = [a for a, flag in outer if not flag]
        reduced = [a for a, flag in outer if flag]
        if not stage.reductions:
            kept, reduced = [a for a, _ in outer], []
        if not kept:
            return self._inner(reduced)
        with self.emit.inside(*(a.symbol.name for a in kept)) as scope:
            scope.block(self._inner(reduced))
        return self.nest(kept, scope.lines)

    def _inner(self, reduced: Sequence[Axis]) -> list[str]:
        row, stage, ranges = self.row, self.stage, self.ranges
        if not stage.reductions:
            loops = VectorLoops(row, stage, ranges)
            return loops.vectors(loops.stores)
        if stage.reduced[-1]:
            return LaneReduction(row, stage, ranges).lines(reduced)
        return ColumnReduction(row, stage, ranges).lines(reduced)
