"""Stages whose lanes are kept: a vector of results at a time, or several."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.emit.reductions import combine, levels
from shlo_disc.emit.scopes import INDENT
from shlo_disc.kernels.kernel import Axis, Stage
from shlo_disc.lower_cpu.spelling import LANES
from shlo_disc.lower_cpu.stages.loops import Ranges, RowContext, StageLines
from shlo_disc.lower_cpu.stages.vector_loops import STRIP, VectorLoops


class ColumnReduction(StageLines):
    """A stage whose reductions run over other axes than the last one, that of the lanes."""

    def __init__(self, row: RowContext, stage: Stage, ranges: Ranges) -> None:
        super().__init__(row, stage, ranges)
        self._loops = VectorLoops(row, stage, ranges)

    def lines(self, reduced: Sequence[Axis]) -> list[str]:
        """The statements of all columns; `reduced`: the axes outside of the lanes that are reduced."""
        wide = self._strips(reduced) if reduced and not self.row.unroll else []
        return self._loops.vectors(lambda left: self._columns(reduced, left), wide)

    def _columns(self, reduced: Sequence[Axis], left: str) -> list[str]:
        outer = len(self.emit.scopes) - 1
        for reduction in self.stage.reductions:
            (carry,), (init,) = reduction.carries, reduction.init
            start = self.spell.splat(self.emit.value(init), carry.dtype)
            self.emit.scope.lines.append(f"{self.spell.vector_type(carry.dtype)} {carry.name} = {start};")
            self.emit.bind(carry.name, outer)
        with self.emit.inside(*(a.symbol.name for a in reduced)) as scope:
            self._loops.stores(left)
            for reduction in self.stage.reductions:
                (element,), (carry,) = reduction.elements, reduction.carries
                text = self.emit.lanes(element, levels(self.spell, reduction)[1])
                text = combine(self.spell, reduction, carry.name, text)
                scope.lines.append(f"{carry.name} = {text};")
        lines = self.nest(reduced, scope.lines)
        for reduction in self.stage.reductions:
            for store in reduction.stores:
                lines.append(self._loops.store(store, reduction.carries[0].name, left))
        return lines

    def _strips(self, reduced: Sequence[Axis]) -> list[str]:
        """Several vectors of results at once, so that a sweep over the reduced points reads whole cache lines."""
        emit, lane, name = self.emit, self._loops.lane, self._loops.index
        if lane.extent.constant is not None and lane.extent.constant < STRIP:
            return []
        each = f"for (int u = 0; u < {STRIP // LANES}; ++u) {{"
        here = f"const int64_t {name} = strip + u * {LANES};"
        lines, outer = ["const int64_t strip = " + name + ";"], len(emit.scopes) - 1
        for reduction in self.stage.reductions:
            (carry,), (init,) = reduction.carries, reduction.init
            start = self.spell.splat(emit.value(init), carry.dtype)
            lines.append(f"{self.spell.vector_type(carry.dtype)} {carry.name}[{STRIP // LANES}];")
            lines.append(f"{each[:-2]} {carry.name}[u] = {start};")
            emit.bind(carry.name, outer)
        emit.lane, emit.partial = lane.symbol.name, False
        with emit.inside(*(a.symbol.name for a in reduced)) as point:
            with emit.inside(lane.symbol.name) as vector:
                self._loops.stores("")
                for reduction in self.stage.reductions:
                    (element,), target = reduction.elements, f"{reduction.carries[0].name}[u]"
                    text = emit.lanes(element, levels(self.spell, reduction)[1])
                    vector.lines.append(f"{target} = {combine(self.spell, reduction, target, text)};")
            point.block([each, *(INDENT + x for x in (here, *vector.lines)), "}"])
        lines += self.nest(reduced, point.lines)
        with emit.inside(lane.symbol.name) as result:
            for reduction in self.stage.reductions:
                for store in reduction.stores:
                    result.lines.append(self._loops.store(store, f"{reduction.carries[0].name}[u]", ""))
        emit.lane = None
        lines += [each, *(INDENT + x for x in (here, *result.lines)), "}"]
        return lines
