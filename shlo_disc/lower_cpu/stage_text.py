"""The stages of a row kernel as C++: vectors along the last axis where formulas allow it, else single elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shlo_disc.emit.reductions import combine, identity, levels
from shlo_disc.emit.scopes import INDENT, Scope
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Axis, Reduction, Scratch, Stage, Store
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cpu.modulo_splitting import modulo_split
from shlo_disc.lower_cpu.modulo_text import ModuloStage
from shlo_disc.lower_cpu.spelling import LANES
from shlo_disc.lower_cpu.stage_loops import Ranges, RowContext, StageLines, rows_store, store_text
from shlo_disc.lower_cpu.vectorize import can_vectorize

ChunkBody = Callable[[str], list[str]]  # the statements for one vector; the argument: how many lanes are left, or ""

STRIP = 4 * LANES  # results of a column reduction that are computed at once
WAYS = 4  # accumulators of a long extreme, which is bound by the latency of comparisons, not by memory
_FEW_STEPS = 16  # iterations of a loop: several accumulators do not pay in shorter ones

_HORIZONTAL = {
    BinaryFn.ADD: "hsum", BinaryFn.MULTIPLY: "hprod", BinaryFn.MAXIMUM: "hmax", BinaryFn.MINIMUM: "hmin",
    BinaryFn.AND: "hand", BinaryFn.OR: "hor", BinaryFn.XOR: "hxor",
}  # fmt: skip


def stage_lines(row: RowContext, stage: Stage, ranges: Ranges | None = None) -> list[str]:
    """The statements of one stage; `ranges` of its loops, if they do not run from 0 to their extents."""
    row.emit.count_uses(stage_formulas(stage))
    ranges = ranges or {}
    if row.emit.lane is not None:
        return _ScalarStage(row, stage, ranges).lines()
    if can_vectorize(stage, row.emit.deps):
        return VectorStage(row, stage, ranges).lines()
    if not row.unroll and (found := modulo_split(stage, row.emit.deps)) is not None:
        return ModuloStage(row, stage, ranges, found).lines()
    return _ScalarStage(row, stage, ranges).lines()


class _ScalarStage(StageLines):
    """One point at a time: one element, or one of each of 16 rows where rows are the lanes."""

    def lines(self) -> list[str]:
        stage = self.stage
        kept = [a for a, flag in zip(stage.axes, stage.reduced, strict=True) if not flag]
        reduced = [a for a, flag in zip(stage.axes, stage.reduced, strict=True) if flag]
        if not stage.reductions:
            return self._map(stage.axes)
        if not kept:
            return self._reduce(reduced, at_row=True)
        with self.emit.inside(*(a.symbol.name for a in kept)) as scope:
            scope.block(self._reduce(reduced, at_row=False))
        return self.nest(kept, scope.lines)

    def _map(self, axes: Sequence[Axis]) -> list[str]:
        if not axes:
            with self.emit.inside() as scope:
                self._stores(self.stage.stores, scope)
            return self._per_row(scope.lines)
        with self.emit.inside(*(a.symbol.name for a in axes)) as scope:
            self._stores(self.stage.stores, scope)
        return self.nest(axes, scope.lines)

    def _per_row(self, lines: list[str]) -> list[str]:
        if not self.row.unroll:
            return ["{", *(INDENT + line for line in lines), "}"]
        return ["for (int k = 0; k < R; ++k) {", *(INDENT + line for line in lines), "}"]

    def _stores(self, stores: Sequence[Store], scope: Scope) -> None:
        self.emit.load_first([store.value for store in stores])
        for store in stores:
            scope.lines.append(self._store(store, self.emit.lanes(store.value)))

    def _store(self, store: Store, value: str) -> str:
        if self.emit.lane is None:
            return store_text(self.emit, self.spell, store, value, self.row.unroll)
        return rows_store(self.emit, self.spell, store, value)

    def _kind(self, dtype: DType) -> str:
        return self.spell.value_type(dtype) if self.emit.lane is None else self.spell.vector_type(dtype)

    def _reduce(self, reduced: Sequence[Axis], *, at_row: bool) -> list[str]:
        """Declare carries before the loop and update them inside it; they stay visible after it."""
        outer = len(self.emit.scopes) - 1
        before, after, starts = list[str](), list[str](), list[str]()
        for reduction in self.stage.reductions:
            for carry, init in zip(reduction.carries, reduction.init, strict=True):
                kind = self._kind(carry.dtype)
                if at_row and self.row.unroll:
                    self.emit.arrays.add(carry.name)
                    before.append(f"{kind} {carry.name}[R];")
                    starts.append(f"{carry.name}[k] = {self.emit.lanes(init)};")
                else:
                    starts.append(f"{kind} {carry.name} = {self.emit.lanes(init)};")
        carries = [c.name for r in self.stage.reductions for c in r.carries]
        if self.emit.lane is not None:
            self.emit.lane_args.update(carries, (x.name for r in self.stage.reductions for x in r.inputs))
        with self.emit.inside(*(a.symbol.name for a in reduced), *carries) as scope:  # carries change in the loop
            self._stores(self.stage.stores, scope)
            for reduction in self.stage.reductions:
                self._update(reduction, scope, len(self.emit.scopes) - 1)
        loops = self.nest(reduced, scope.lines)
        for name in carries:
            self.emit.bind(name, outer)
        with self.emit.inside(*carries) as final:
            for reduction in self.stage.reductions:
                self._stores(reduction.stores, final)
        after += final.lines
        if at_row and self.row.unroll:
            return [*before, *self._per_row([*starts, *loops, *after])]
        return [*before, *starts, *loops, *after]

    def _update(self, reduction: Reduction, scope: Scope, number: int) -> None:
        self.emit.load_first(reduction.elements)
        texts = [self.emit.lanes(x) for x in reduction.elements]
        for name, text in zip(reduction.inputs, texts, strict=True):
            if text.isidentifier():
                self.emit.aliases[name.name] = text
            else:
                scope.lines.append(f"const {self._kind(name.dtype)} {name.name} = {text};")
            self.emit.bind(name.name, number)
        news = [self.emit.lanes(u) for u in reduction.update]
        self.emit.aliases.clear()
        if len(news) == 1:
            scope.lines.append(f"{self.emit.arg(reduction.carries[0].name)} = {news[0]};")
            return
        for carry, text in zip(reduction.carries, news, strict=True):
            scope.lines.append(f"const {self._kind(carry.dtype)} next_{carry.name} = {text};")
        for carry in reduction.carries:
            scope.lines.append(f"{self.emit.arg(carry.name)} = next_{carry.name};")


class VectorStage(StageLines):
    """Sixteen elements at a time along the last axis."""

    _way = ""  # the subscript of the accumulator in use, if there are several

    def lines(self) -> list[str]:
        stage = self.stage
        lane, outer = stage.axes[-1], list(zip(stage.axes[:-1], stage.reduced[:-1], strict=True))
        kept = [a for a, flag in outer if not flag]
        reduced = [a for a, flag in outer if flag]
        if not stage.reductions:
            kept, reduced = [a for a, _ in outer], []
        if not kept:
            return self._inner(lane, reduced)
        with self.emit.inside(*(a.symbol.name for a in kept)) as scope:
            scope.block(self._inner(lane, reduced))
        return self.nest(kept, scope.lines)

    def _inner(self, lane: Axis, reduced: Sequence[Axis]) -> list[str]:
        if not self.stage.reductions:
            return self._chunks(lane, self._stores_at)
        if self.stage.reduced[-1]:
            return self._across(lane, reduced)
        wide = self._strips(lane, reduced) if reduced and not self.row.unroll else []
        return self._chunks(lane, lambda left: self._columns(reduced, left), wide)

    # lanes are reduced: vector accumulators, one horizontal step at the end

    def _across(self, lane: Axis, reduced: Sequence[Axis]) -> list[str]:
        if self._has_ways(lane):
            return self._in_ways(lane, reduced)
        lines = self.starts()
        if reduced:
            with self.emit.inside(*(a.symbol.name for a in reduced)) as scope:
                scope.block(self._chunks(lane, self._accumulate))
            lines += self.nest(reduced, scope.lines)
        else:
            lines += self._chunks(lane, self._accumulate)
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
        return self._chunk(self.stage.axes[0], self._accumulate, left)

    def _has_ways(self, lane: Axis) -> bool:
        """Whether several accumulators pay, and give the same bits, as extremes do in any order."""
        size = lane.extent.constant
        is_long = size is None or size >= _FEW_STEPS * STRIP
        fns = {reduction.fn for reduction in self.stage.reductions}
        return not self.row.unroll and is_long and fns <= {BinaryFn.MAXIMUM, BinaryFn.MINIMUM}

    def _in_ways(self, lane: Axis, reduced: Sequence[Axis]) -> list[str]:
        """As `_across`, for one row, with a separate accumulator for each vector of a strip."""
        name = lane.symbol.name.removeprefix("%")
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
            strip += [*(INDENT + line for line in self._chunk(lane, self._accumulate, "")), "}"]
            self._way = "0"
            return self._chunks(lane, self._accumulate, ["#pragma GCC unroll 4", *strip], step="")

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
        lines = self._stores_at(left)
        for reduction in self.stage.reductions:
            (element,), (carry,) = reduction.elements, reduction.carries
            text = self.emit.lanes(element, 0 if left else levels(self.spell, reduction)[1])
            if left:
                fill = self.spell.splat(identity(self.spell, reduction), carry.dtype)
                text = f"keep_n({text}, {left}, {fill})"
            target = f"v{carry.name}_ways[{self._way}]" if self._way else f"v{carry.name}{self._k}"
            lines.append(f"{target} = {combine(self.spell, reduction, target, text)};")
            self.emit.scope.lines.extend(lines)
            lines = []
        return lines

    def finish(self) -> list[str]:
        """Combine the lanes, then the initial value."""
        lines, outer = list[str](), len(self.emit.scopes) - 1
        for reduction in self.stage.reductions:
            (carry,), (init,) = reduction.carries, reduction.init
            assert reduction.fn is not None, "only simple reductions are vectorized"
            kind, name = self.spell.value_type(carry.dtype), carry.name
            whole = f"{_HORIZONTAL[reduction.fn]}(v{name}{self._k})"
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

    # lanes are kept: a vector of results per chunk

    def _columns(self, reduced: Sequence[Axis], left: str) -> list[str]:
        outer = len(self.emit.scopes) - 1
        for reduction in self.stage.reductions:
            (carry,), (init,) = reduction.carries, reduction.init
            start = self.spell.splat(self.emit.value(init), carry.dtype)
            self.emit.scope.lines.append(f"{self.spell.vector_type(carry.dtype)} {carry.name} = {start};")
            self.emit.bind(carry.name, outer)
        with self.emit.inside(*(a.symbol.name for a in reduced)) as scope:
            scope.lines.extend(self._stores_at(left))
            for reduction in self.stage.reductions:
                (element,), (carry,) = reduction.elements, reduction.carries
                text = self.emit.lanes(element, levels(self.spell, reduction)[1])
                text = combine(self.spell, reduction, carry.name, text)
                scope.lines.append(f"{carry.name} = {text};")
        lines = self.nest(reduced, scope.lines)
        for reduction in self.stage.reductions:
            for store in reduction.stores:
                lines.append(self._vector_store(store, reduction.carries[0].name, left))
        return lines

    def _strips(self, lane: Axis, reduced: Sequence[Axis]) -> list[str]:
        """Several vectors of results at once, so that a sweep over the reduced points reads whole cache lines."""
        if lane.extent.constant is not None and lane.extent.constant < STRIP:
            return []
        emit, name = self.emit, lane.symbol.name.removeprefix("%")
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
                vector.lines.extend(self._stores_at(""))
                for reduction in self.stage.reductions:
                    (element,), target = reduction.elements, f"{reduction.carries[0].name}[u]"
                    text = emit.lanes(element, levels(self.spell, reduction)[1])
                    vector.lines.append(f"{target} = {combine(self.spell, reduction, target, text)};")
            point.block([each, *(INDENT + x for x in (here, *vector.lines)), "}"])
        lines += self.nest(reduced, point.lines)
        with emit.inside(lane.symbol.name) as result:
            for reduction in self.stage.reductions:
                for store in reduction.stores:
                    result.lines.append(self._vector_store(store, f"{reduction.carries[0].name}[u]", ""))
        emit.lane = None
        lines += [each, *(INDENT + x for x in (here, *result.lines)), "}"]
        return lines

    # chunks of lanes

    def _chunks(self, lane: Axis, body: ChunkBody, strips: Sequence[str] = (), *, step: str | None = None) -> list[str]:
        """Strips of several vectors if `strips` is given, whole vectors, then the remaining lanes.

        `step`: the increment of the loop over strips, if it is not that of a whole strip.
        """
        name = lane.symbol.name.removeprefix("%")
        first, last = self.bounds(lane)
        size = lane.extent.constant if first == "0" else None
        lines = [f"int64_t {name} = {first};"]
        if "min_" in last or "max_" in last:  # a segment's end, tested in every iteration
            lines.append(f"const int64_t stop = {last};")
            last = "stop"
        if strips:
            on = f"{name} += {STRIP}" if step is None else step
            lines.append(f"for (; {name} + {STRIP} <= {last}; {on}) {{")
            lines += [*(INDENT + x for x in strips), "}"]
        if size is None or size >= LANES:
            lines.append(f"for (; {name} + {LANES} <= {last}; {name} += {LANES}) {{")
            lines += [INDENT + x for x in self._chunk(lane, body, "")]
            lines.append("}")
        if size is None or size % LANES:
            lines.append(f"if ({name} < {last}) {{")
            lines.append(f"{INDENT}const int64_t left = {last} - {name};")
            lines += [INDENT + x for x in self._chunk(lane, body, "left")]
            lines.append("}")
        return ["{", *(INDENT + x for x in lines), "}"]

    def _chunk(self, lane: Axis, body: ChunkBody, left: str) -> list[str]:
        emit = self.emit
        emit.lane, emit.partial = lane.symbol.name, bool(left)
        try:
            with emit.inside(lane.symbol.name) as shared:
                if not self.row.unroll:
                    shared.lines.extend(body(left))
                    return shared.lines
                with emit.inside() as own:
                    own.lines.extend(body(left))
                return [
                    *shared.lines,
                    "for (int k = 0; k < R; ++k) {",
                    *(INDENT + x for x in own.lines),
                    "}",
                ]
        finally:
            emit.lane, emit.partial = None, False

    def _stores_at(self, left: str) -> list[str]:
        scope = self.emit.scope
        self.emit.load_first([store.value for store in self.stage.stores])
        for store in self.stage.stores:
            value = self.emit.lanes(store.value)
            scope.lines.append(self._vector_store(store, value, left))
        return []

    def _vector_store(self, store: Store, value: str, left: str) -> str:
        emit = self.emit
        start = emit.dim_scalar(store.offset)
        if isinstance(store.target, Scratch):
            row = self.spell.scratch_row(store.target.name, arrayed=self.row.unroll)
            left = "" if emit.is_padded(store.target, store.offset) else left
            return self.spell.store_vector(f"{row} + {start}", value, store.target.dtype, left)
        return self.spell.store_vector(f"{store.target.name} + {start}", value, store.target.dtype, left)
