"""Stages whose lanes are reduced: vector accumulators, and one horizontal step at the end."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.emit.reductions import combine, identity, levels
from shlo_disc.emit.scopes import INDENT
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.kernels.kernel import Axis, Stage
from shlo_disc.lower_cpu.spelling import LANES
from shlo_disc.lower_cpu.stages.loops import Ranges, RowContext, StageLines, store_text
from shlo_disc.lower_cpu.stages.vector_loops import STRIP, VectorLoops

WAYS = 4  # accumulators of a long extreme, which is bound by the latency of comparisons, not by memory
_FEW_STEPS = 16  # iterations of a loop: several accumulators do not pay in shorter ones

_HORIZONTAL = {
    BinaryFn.ADD: "hsum", BinaryFn.MULTIPLY: "hprod", BinaryFn.MAXIMUM: "hmax", BinaryFn.MINIMUM: "hmin",
    BinaryFn.AND: "hand", BinaryFn.OR: "hor", BinaryFn.XOR: "hxor",
}  # fmt: skip
_OF_TRUTHS = _HORIZONTAL | {
    BinaryFn.ADD: "hor", BinaryFn.MULTIPLY: "hand", BinaryFn.MAXIMUM: "hor", BinaryFn.MINIMUM: "hand",
}  # fmt: skip


class LaneReduction(StageLines):
    """A stage whose reductions run along the lanes; or one without reductions, by `step`."""

    def __init__(self, row: RowContext, stage: Stage, ranges: Ranges) -> None:
        super().__init__(row, stage, ranges)
        self._loops = VectorLoops(row, stage, ranges)
        self._way = ""  # the subscript of the accumulator in use, if there are several

    def lines(self, reduced: Sequence[Axis]) -> list[str]:
        """The statements of one result, or of one of each row; `reduced`: the axes outside of the lanes."""
        if self._has_ways():
            return self._in_ways(reduced)
        lines = self.starts()
        if reduced:
            with self.emit.inside(*(a.symbol.name for a in reduced)) as scope:
                scope.block(self._loops.vectors(self._accumulate))
            lines += self.nest(reduced, scope.lines)
        else:
            lines += self._loops.vectors(self._accumulate)
        return lines + self.finish()

    def starts(self) -> list[str]:
        """The accumulators of the stage, if it reduces."""
        lines = list[str]()
        for reduction in self.stage.reductions:
            carry = reduction.carries[0]
            kind = self.spell.vector_type(carry.dtype)
            start = self.spell.splat(identity(self.spell, reduction), carry.dtype)
            size = "[R]" if self.row.unroll else ""
            lines.append(f"{kind} v{carry.name}{size};")
            lines += self._each_row(f"v{carry.name}{self._k} = {start};")
        return lines

    def step(self, left: str) -> list[str]:
        """The statements of a stage of one loop for one vector, or the first `left` lanes of one."""
        return self._loops.vector(self._accumulate, left)

    def _has_ways(self) -> bool:
        """Whether several accumulators pay, and give the same bits, as extremes do in any order."""
        size = self._loops.lane.extent.constant
        is_long = size is None or size >= _FEW_STEPS * STRIP
        fns = {reduction.fn for reduction in self.stage.reductions}
        return not self.row.unroll and is_long and fns <= {BinaryFn.MAXIMUM, BinaryFn.MINIMUM}

    def _in_ways(self, reduced: Sequence[Axis]) -> list[str]:
        """As `lines`, for one row, with a separate accumulator for each vector of a strip."""
        name = self._loops.index
        lines, joined = list[str](), list[str]()
        for reduction in self.stage.reductions:
            carry = f"v{reduction.carries[0].name}"
            kind = self.spell.vector_type(reduction.carries[0].dtype)
            start = self.spell.splat(identity(self.spell, reduction), reduction.carries[0].dtype)
            lines += [f"{kind} {carry}_ways[{WAYS}];", f"for (int w = 0; w < {WAYS}; ++w) {carry}_ways[w] = {start};"]
            halves = (combine(self.spell, reduction, f"{carry}_ways[{k}]", f"{carry}_ways[{k + 1}]") for k in (0, 2))
            joined.append(f"const {kind} {carry} = {combine(self.spell, reduction, *halves)};")

        def loop() -> list[str]:
            self._way = "w"
            strip = [f"for (int w = 0; w < {WAYS}; ++w, {name} += {LANES}) {{"]
            strip += [*(INDENT + line for line in self._loops.vector(self._accumulate, "")), "}"]
            self._way = "0"
            return self._loops.vectors(self._accumulate, ["#pragma GCC unroll 4", *strip], step="")

        if reduced:
            with self.emit.inside(*(a.symbol.name for a in reduced)) as scope:
                scope.block(loop())
            lines += self.nest(reduced, scope.lines)
        else:
            lines += loop()
        return lines + joined + self.finish()

    @property
    def _k(self) -> str:
        return "[k]" if self.row.unroll else ""

    def _each_row(self, statement: str) -> list[str]:
        return [f"for (int k = 0; k < R; ++k) {statement}"] if self.row.unroll else [statement]

    def _accumulate(self, left: str) -> list[str]:
        """Print one vector's stores, and the steps of its reductions, into the current scope."""
        self._loops.stores(left)
        for reduction in self.stage.reductions:
            (element,), (carry,) = reduction.elements, reduction.carries
            text = self.emit.lanes(element, 0 if left else levels(self.spell, reduction)[1])
            if left:
                fill = self.spell.splat(identity(self.spell, reduction), carry.dtype)
                text = f"keep_n({text}, {left}, {fill})"
            target = f"v{carry.name}_ways[{self._way}]" if self._way else f"v{carry.name}{self._k}"
            self.emit.scope.lines.append(f"{target} = {combine(self.spell, reduction, target, text)};")
        return []

    def finish(self) -> list[str]:
        """Combine the lanes, then the initial value."""
        lines, outer = list[str](), len(self.emit.scopes) - 1
        for reduction in self.stage.reductions:
            (carry,), (init,) = reduction.carries, reduction.init
            assert reduction.fn is not None, "only simple reductions are vectorized"
            kind, name = self.spell.value_type(carry.dtype), carry.name
            whole = f"{(_OF_TRUTHS if carry.dtype.is_bool else _HORIZONTAL)[reduction.fn]}(v{name}{self._k})"
            start = self.emit.value(init, levels(self.spell, reduction)[0])
            if start != identity(self.spell, reduction):
                whole = combine(self.spell, reduction, start, whole)
            whole = self.spell.rounded(whole, carry.dtype, exact=False)
            if self.row.unroll:
                self.emit.arrays.add(name)
                lines += [f"{kind} {name}[R];", *self._each_row(f"{name}[k] = {whole};")]
            else:
                lines.append(f"const {kind} {name} = {whole};")
            self.emit.bind(name, outer)
        with self.emit.inside(*(r.carries[0].name for r in self.stage.reductions)) as scope:
            for reduction in self.stage.reductions:
                for store in reduction.stores:
                    value = self.emit.value(store.value)
                    scope.lines.append(store_text(self.emit, self.spell, store, value, self.row.unroll))
        if scope.lines and self.row.unroll:
            return [
                *lines,
                "for (int k = 0; k < R; ++k) {",
                *(INDENT + x for x in scope.lines),
                "}",
            ]
        return [*lines, *scope.lines]
