"""Stages whose index is divided by a small constant as C++: see `modulo_splitting`."""

from __future__ import annotations

from shlo_disc.emit.scopes import INDENT
from shlo_disc.kernels.kernel import Stage
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cpu.modulo_splitting import ModuloSplit
from shlo_disc.lower_cpu.stages.loops import Ranges, RowContext, StageLines


class ModuloStage(StageLines):
    """Sixteen quotients at a time, from multiples of the divisor on; single elements before and after.

    How threads share the loop decides which elements are single, so both use the formula of the remainder: one with
    conditions may be rounded differently, as compilers contract products of functions within a block.
    """

    def __init__(self, row: RowContext, stage: Stage, ranges: Ranges, split: ModuloSplit) -> None:
        super().__init__(row, stage, ranges)
        self.split = split

    def lines(self) -> list[str]:
        """The statements of the stage."""
        *outer, lane = self.stage.axes
        name, (first, last), step = lane.symbol.name.removeprefix("%"), self.bounds(lane), self.split.step
        count = len(self.split.stages)
        with self.emit.inside(*(axis.symbol.name for axis in outer)) as scope:
            with self.emit.inside(lane.symbol.name) as vector:
                self._vectors(name)
            with self.emit.inside(lane.symbol.name) as single:
                cases = [line for number in range(count) for line in self._case(name, number)]
            scope.block(
                [
                    f"for (int64_t {name} = {first}; {name} < {last};) {{",
                    f"{INDENT}if ({name} % {count} == 0 && {name} + {step} <= {last}) {{",
                    *(INDENT * 2 + line for line in (*vector.lines, f"{name} += {step};")),
                    f"{INDENT}}} else {{",
                    *(INDENT * 2 + line for line in (*single.lines, f"switch ({name} % {count}) {{")),
                    *(INDENT * 3 + line for line in cases),
                    *(INDENT * 2 + line for line in ("}", f"++{name};")),
                    f"{INDENT}}}",
                    "}",
                ]
            )
        return self.nest(outer, scope.lines)

    def _case(self, name: str, number: int) -> list[str]:
        """The switch case of one remainder, for a single element."""
        emit, part, quotient = self.emit, self.split.stages[number], self.split.quotient.name
        emit.count_uses(stage_formulas(part))
        with emit.inside(quotient) as scope:
            scope.lines.append(f"const int64_t {quotient.removeprefix('%')} = {name} / {len(self.split.stages)};")
            floor, emit.floor = emit.floor, len(emit.scopes) - 1
            for store, same in zip(self.stage.stores, part.stores, strict=True):
                value, offset = emit.value(same.value), emit.dim_scalar(store.offset)
                scope.lines.append(self.spell.store(store.target.name, offset, value, store.target.dtype))
            emit.floor = floor
        return [f"case {number}: {{", *(INDENT + line for line in (*scope.lines, "break;")), "}"]

    def _vectors(self, name: str) -> None:
        emit, scope, count = self.emit, self.emit.scope, len(self.split.stages)
        quotient = self.split.quotient.name
        emit.count_uses(formula for part in self.split.stages for formula in stage_formulas(part))
        scope.lines.append(f"const int64_t {quotient.removeprefix('%')} = {name} / {count};")
        emit.bind(quotient, len(emit.scopes) - 1)
        emit.lane = quotient
        for store, *same in zip(self.stage.stores, *(part.stores for part in self.split.stages), strict=True):
            values = ", ".join(emit.lanes(each.value) for each in same)
            start = f"{store.target.name} + {emit.dim_scalar(store.offset)}"
            scope.lines.append(self.spell.store_interleaved(start, values, store.target.dtype))
        emit.lane = None
