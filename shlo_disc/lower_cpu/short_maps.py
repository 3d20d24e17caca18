"""Maps over short rows: vectors run over the elements that a stage stores, as if all its rows were one line.

The row and column of a lane repeat from one block of rows to the next, and so do, relative to the block, the place that
it loads from and the side of a guard that it takes: of a concatenation, of edge or interior padding. They are computed
once for many blocks, by any formula, one lane at a time. Vectors are then loaded by permuting registers, if their
elements are close together, and stored whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from math import lcm

from shlo_disc.emit.emitter import Emitter, conjuncts, is_guard
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.expr.dim import Dim, Sym, maximum, of, total
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import FoldResult, FromDim, InRange, Load, Scalar, Select
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.index_set_splitting import Seams
from shlo_disc.kernels.kernel import Axis, Param, RowKernel, Scratch, Stage, Store
from shlo_disc.kernels.rewrite import DimRewriter, nodes_of
from shlo_disc.kernels.simplify_kernel import rewrite_stage, stage_formulas
from shlo_disc.lower_cpu import rows
from shlo_disc.lower_cpu.modulo_splitting import divisions
from shlo_disc.lower_cpu.short_rows import LONGEST
from shlo_disc.lower_cpu.spelling import LANES, VECTOR_DTYPES, VectorSpelling
from shlo_disc.lower_cpu.vectorize import node_fits
from shlo_disc.records import record

SEAMS = Seams(maps=True, hidden=False, strips=False, columns=False)  # rows are not split along their columns
FEWEST = 4 * LANES  # rows that amortize computing the places
RUN = 16  # consecutive blocks of which one vector is computed; the data that they access stays in L1
GROUP = 16  # vectors of a block whose places are kept at a time
MOST_ROWS = 8 * LANES  # of a block
MOST_LOADS = 8  # of a stage, as all lanes load on all sides of a guard
_BLOCK, _LINE = Sym("%block"), Sym("%line")  # the number of a block, and a row in it


@record
class RowBlock:
    """A map over (row, column), with rows counted within blocks of `height`."""

    stage: Stage
    height: int

    @property
    def width(self) -> Dim:
        """The points of a row."""
        return self.stage.axes[1].extent


@record
class ShortMaps:
    """A kernel of maps over short rows, and the blocks of each stage; None where it is a single line."""

    kernel: RowKernel
    blocks: tuple[RowBlock | None, ...]

    @property
    def width(self) -> Dim:
        """The most points of a row."""
        return maximum(0, *(block.width for block in self.blocks if block))

    @property
    def height(self) -> Dim:
        """The most rows of a stage."""
        return maximum(0, *(block.stage.axes[0].extent for block in self.blocks if block))


def may_be_short(kernel: RowKernel) -> bool:
    """Whether a kernel is maps over rows that may be short."""
    if kernel.scratch or rows.moves(kernel) or any(stage.reductions for stage in kernel.stages):
        return False
    if not kernel.rows and all(len(stage.axes) < 2 for stage in kernel.stages):
        return False  # single lines
    lengths = (stage.axes[-1].extent for stage in kernel.stages if stage.axes)
    return all(length.constant is None or length.constant <= 2 * LANES for length in lengths)


def short_maps(kernel: RowKernel) -> ShortMaps | None:
    """A kernel that was split at `SEAMS` as blocks of rows, if vectors may span rows; valid for rows up to `limit`."""
    if not may_be_short(kernel):
        return None
    found = list[RowBlock | None]()
    for stage in kernel.stages:
        match (*kernel.rows, *stage.axes):
            case (Axis(),) if not kernel.rows:
                found.append(None)
            case (Axis() as row, Axis()) if not kernel.rows and row.extent.constant == 1:
                found.append(None)
            case (Axis() as row, Axis() as column):
                if (block := _block(stage, row, column)) is None:
                    return None
                found.append(block)
            case _:
                return None
    maps = ShortMaps(kernel, tuple(found))
    if (width := maps.width).data() or (width.constant is not None and width.constant > limit(maps)):
        return None  # the form is chosen by the length before any data is read
    if (height := maps.height).data() or (height.constant is not None and height.constant < FEWEST):
        return None
    return maps


def limit(maps: ShortMaps) -> int:
    """The longest row, in points, for which vectors over several rows are faster than vectors along each."""
    return max((_limit(block.stage) for block in maps.blocks if block), default=0)


def _limit(stage: Stage) -> int:
    column, deps, nodes = stage.axes[1].symbol, Dependence(), list(nodes_of(stage_formulas(stage)))
    if any(True for _ in divisions(stage, column)):
        return 2 * LANES  # the alternative is scalar code
    if any(isinstance(node, Select) and is_guard(node.condition) for node in nodes):
        return LANES
    offsets = (node.index[0] for node in nodes if isinstance(node, Load))
    splits = [offset.linear(column) for offset in offsets if column.name in deps.of(offset)]
    follow = all(split and split[0].constant == 1 and column.name not in deps.of(split[1]) for split in splits)
    return LONGEST if follow else LANES - 1


def _block(stage: Stage, row: Axis, column: Axis) -> RowBlock | None:
    height = lcm(LANES, *(size for _, size in divisions(stage, row.symbol)))  # the period of the formulas, in rows
    if height > MOST_ROWS:
        return None
    rewriter = DimRewriter(lambda dim: dim.substitute({row.symbol: height * of(_BLOCK) + of(_LINE)}))
    stage = replace(rewrite_stage(stage, rewriter), axes=(row, column), reduced=(False, False))
    lines = all(_is_line(store, column, height) for store in stage.stores)
    return RowBlock(stage, height) if lines and _Lanes(column).fit(stage) else None


def _is_line(store: Store, column: Axis, height: int) -> bool:
    """Whether rows are stored contiguously."""
    rest = store.offset - (height * of(_BLOCK) + of(_LINE)) * column.extent - of(column.symbol)
    varying = {_BLOCK.name, _LINE.name, column.symbol.name}
    return store.value.dtype in VECTOR_DTYPES and not rest.data() and varying.isdisjoint(Dependence().of(rest))


class _Lanes:
    """Tests whether expressions differ between the lanes of a block, and whether they are the same in every block."""

    def __init__(self, column: Axis) -> None:
        self.axes, self.deps = (Axis(_LINE, column.extent), column), Dependence()
        self.names = frozenset({_LINE.name, column.symbol.name})

    def split(self, dim: Dim) -> tuple[Dim, Dim]:
        """The part of a sum that is the same for all lanes, and the rest."""
        parts = [Dim((term,)) for term in dim.terms]
        varies = [not self.names.isdisjoint(self.deps.of(part)) for part in parts]
        same = total(part for part, varied in zip(parts, varies, strict=True) if not varied)
        return same, total(part for part, varied in zip(parts, varies, strict=True) if varied)

    def repeats(self, node: Node) -> bool:
        """Whether each lane's value is the same in every block."""
        return self.deps.of(node) <= self.names and not any(isinstance(each, Load) for each in nodes_of([node]))

    def fit(self, stage: Stage) -> bool:
        """Whether all formulas of a stage can be computed by lanes over its block."""
        nodes = [n for n in nodes_of(stage_formulas(stage)) if not self.names.isdisjoint(self.deps.of(n))]
        guards = [n for n in nodes if isinstance(n, Select) and is_guard(n.condition)]
        loads = [n for n in nodes if isinstance(n, Load)]
        if len(loads) > MOST_LOADS or not all(map(self._guard_fits, guards)):
            return False
        if any(self._varies(guard.condition) for guard in guards) and not all(map(self._is_found, loads)):
            return False
        return all(self._is_found(n) or all(node_fits(n, a, self.names, self.deps) for a in self.axes) for n in nodes)

    def _varies(self, node: Node) -> bool:
        return not self.names.isdisjoint(self.deps.of(node))

    def _guard_fits(self, guard: Select) -> bool:
        """Whether conditions that differ between lanes repeat in every block, and the loads under them differ too."""
        if not all(self.repeats(part) for part in conjuncts(guard.condition) if self._varies(part)):
            return False
        guarded = (n for n in nodes_of((guard.then, guard.other)) if isinstance(n, Load | FoldResult))
        return not self._varies(guard.condition) or all(map(self._varies, guarded))

    def _is_found(self, node: Node) -> bool:
        """Whether the index of a node repeats in every block, but for a part that is the same for all lanes."""
        match node:
            case Load(_, (dim,)) | FromDim(dim, _):
                return node.dtype in VECTOR_DTYPES and self.repeats(self.split(dim)[1])
            case InRange():
                return self.repeats(node)
            case Select(condition, _, _) if is_guard(condition):
                return node.dtype in VECTOR_DTYPES
            case _:
                return False


class _BlockEmitter(Emitter):
    """Prints formulas whose lanes are points of a block; block-invariant values are hoisted out of the block loop."""

    def __init__(self, column: Axis) -> None:
        self.vectors, self.table = VectorSpelling(), _Lanes(column)
        super().__init__(self.vectors)
        self.column, self.held = column, "held"
        self.known, self.kept, self.places = dict[str, str](), dict[str, None](), dict[str, None]()
        self.lane, self.lane_args, self.partial = _LINE.name, {column.symbol.name}, True

    def load(self, source: Param | Scratch, offset: Dim) -> str:
        """One element, or a vector from the places of the lanes."""
        if not self.is_vector(offset):
            return self.spell.load(source.name, self.dim_scalar(offset), source.dtype)
        fixed, varying = self.table.split(offset)
        if not self.table.repeats(varying):
            return self.spell.gather(source.name, self.dim(offset), source.dtype, "", self._mask(self.held))
        start = f"{source.name} + {self.dim_scalar(fixed)}"
        if varying == of(_LINE) * self.column.extent + of(self.column.symbol):
            return self.vectors.load_held(f"{start} + point", self._kept(self.held), source.dtype)
        places = self._kept(self._named(f"places({source.name}, {self._found(varying)}, {self.held})"))
        self.places[places] = None
        return self.vectors.load_at(start, places, source.dtype)

    def store(self, store: Store) -> str:
        """The statement that stores a vector of adjacent elements."""
        fixed, _ = self.table.split(store.offset)
        start = f"{store.target.name} + {self.dim_scalar(fixed)} + point"
        return self.vectors.store_held(start, self.lanes(store.value), store.target.dtype, "held")

    def dim(self, dim: Dim) -> str:
        """An index, or a vector of them."""
        if not self.is_vector(dim):
            return self.dim_scalar(dim)
        fixed, varying = self.table.split(dim)
        if not self.table.repeats(varying):
            return self.dim_lanes(dim)
        text = self._kept(self._found(varying))
        return f"({text} + splat_i64({self.dim_scalar(fixed)}))" if fixed.terms else text

    def lanes_between(self, dim: Dim, lower: Dim, upper: Dim) -> str | None:
        """The mask of a range check, if it is the same in every block."""
        condition = InRange(dim, lower, upper)
        if not self.is_vector(condition) or not self.table.repeats(condition):
            return None
        return self._mask(self._chosen(condition))

    def by_lane(self, node: Select) -> str:
        """A masked choice: each lane loads on its side of the guard; both sides are computed for all lanes."""
        outer, floor, self.floor = self.held, self.floor, len(self.scopes)
        chosen = self._chosen(node.condition)
        texts = list[str]()
        for side, held in ((node.then, chosen), (node.other, self._named(f"{outer} & ~{chosen}"))):
            with self.inside() as scope:  # values loaded for some lanes are not reused for others
                self.held = held
                texts.append(self.lanes(side))
            self.scope.lines += scope.lines
        self.held, self.floor = outer, floor
        return f"select({self._mask(chosen)}, {', '.join(texts)})"

    def width(self) -> str:
        """The points of a row."""
        lane, self.lane = self.lane, None
        text = self.dim_scalar(self.column.extent)
        self.lane = lane
        return text

    def _kept(self, name: str) -> str:
        """Mark a name as read by all blocks."""
        self.kept[name] = None
        return name

    def _mask(self, held: str) -> str:
        """The mask of the lanes `held`."""
        return self._kept(self._named(f"lanes_held({held})"))

    def _named(self, text: str) -> str:
        """The name of a value that is computed once for the lanes of a vector."""
        if (name := self.known.get(text)) is None:
            name = self.known[text] = self.fresh("n")
            self.scopes[1].lines.append(f"const auto {name} = {text};")
        return name

    def _chosen(self, condition: Scalar) -> str:
        """The lanes for which a condition holds."""
        return self._each("held_of", lambda: self.value(condition))

    def _found(self, dim: Dim) -> str:
        """The index of each lane."""
        return self._each("lanes_of", lambda: self.dim_scalar(dim))

    def _each(self, function: str, printed: Callable[[], str]) -> str:
        """The result of the prelude's `function` on a formula that is computed lane by lane."""
        lane, floor, inner = self.lane, self.floor, self.scopes[1:]
        self.lane, self.floor = None, 0
        del self.scopes[1:]
        names = _LINE.name, self.column.symbol.name
        with self.inside(*names) as scope:
            result = printed()
        self.scopes.extend(inner)
        self.lane, self.floor = lane, floor
        head = f"[&]({', '.join(f'int64_t {clean(name)}' for name in names)})"
        body = " ".join((*scope.lines, f"return {result};"))
        return self._named(f"{function}(point, {self.width()}, {self.held}, {head} {{ {body} }})")


class ShortMapPrinter(rows.RowPrinter):
    """Prints maps over short rows."""

    def __init__(self, maps: ShortMaps) -> None:
        super().__init__(maps.kernel)
        self.blocks = dict(zip(maps.kernel.stages, maps.blocks, strict=True))

    def lines(self) -> tuple[list[str], tuple[str, ...]]:
        """The statements of the kernel's body, and the program symbols it needs in order."""
        if self.kernel.rows:
            body = list[str]()
            for stage in self.kernel.stages:
                scale = " * width" if stage.axes else ""  # without axes, the launch counts points
                body += self._between(stage, f"begin{scale}", f"end{scale}")
        else:
            body = self._flat()
        return [*self.pointers(), *self.emit.scopes[0].lines, *body], tuple(self.emit.sizes)

    def _between(self, stage: Stage, first: str, last: str) -> list[str]:
        if (block := self.blocks[stage]) is None:
            return super()._between(stage, first, last)
        emit = _BlockEmitter(block.stage.axes[1])
        lines = _block_lines(emit, block, first, last)
        self.emit.sizes.update(emit.sizes)
        return lines


def _block_lines(emit: _BlockEmitter, block: RowBlock, first: str, last: str) -> list[str]:
    """The loops of a stage: `find` computes what all blocks share of a vector, `compute` the vector of some blocks."""
    emit.count_uses(stage_formulas(block.stage))
    with emit.inside(_LINE.name, emit.column.symbol.name) as vector, emit.inside(_BLOCK.name) as inner:
        for store in block.stage.stores:
            inner.lines.append(emit.store(store))
    found = tuple(dict.fromkeys(("held", *emit.kept, *vector.names.values())))
    members = " ".join(f"kept_t<decltype({name})> kept_{name};" for name in found)
    parameters = ", ".join(f"auto {name}" for name in found)
    return [
        "{",
        *_indented(1, *emit.scopes[0].lines),
        *_indented(1, f"const int64_t width = {emit.width()}, points = {block.height} * width;"),
        *_indented(1, f"const int64_t first = {first}, last = {last};"),
        *_indented(1, "auto find = [&](int64_t point, uint32_t held) {"),
        *_indented(2, *vector.lines, f"struct Found {{ {members} }};", f"return Found{{{', '.join(found)}}};"),
        *_indented(1, "};"),
        *_indented(1, f"auto compute = [&](auto, int64_t point, int64_t from, int64_t to, {parameters}) {{"),
        *_indented(2, "for (int64_t block = from; block < to; ++block) {", *_indented(1, *inner.lines), "}"),
        *_indented(1, "};", f"decltype(find(0, 0)) table[{GROUP}];"),
        *_indented(1, "for (int64_t from = floordiv(first, points), to; from * points < last; from = to) {"),
        *_indented(2, "const int64_t low = max_(first - from * points, 0);"),
        *_indented(2, "const int64_t high = min_(last - from * points, points);"),
        *_indented(2, "to = low > 0 || high < points ? from + 1 : last / points;"),
        *_indented(2, *_groups(found, emit.places)),
        *_indented(1, "}"),
        "}",
    ]


def _groups(found: Sequence[str], places: Collection[str]) -> list[str]:
    """For each group of vectors, fill the table; then compute each vector for all blocks of a run, run by run.

    Where all lanes are held, and each load fits in a register, the innermost loop has no tests.
    """
    whole = " && ".join(("held == 0xffff", *(f"is_in_register({name})" for name in places)))
    names = ", ".join(found)
    return [
        f"for (int64_t group = low / {LANES} * {LANES}, stop; group < high; group = stop) {{",
        f"{INDENT}stop = min_(group + {GROUP * LANES}, high);",
        f"{INDENT}for (int64_t point = group, k = 0; point < stop; point += {LANES}, ++k)",
        f"{INDENT * 2}table[k] = find(point, held_between(low - point, high - point));",
        f"{INDENT}for (int64_t run = from; run < to; run += {RUN})",
        f"{INDENT * 2}for (int64_t point = group, k = 0; point < stop; point += {LANES}, ++k) {{",
        f"{INDENT * 3}const auto [{names}] = table[k];",
        f"{INDENT * 3}const int64_t end = min_(run + {RUN}, to);",
        f"{INDENT * 3}if ({whole}) compute(Int<1>(), point, run, end, {names});",
        f"{INDENT * 3}else compute(Int<0>(), point, run, end, {names});",
        f"{INDENT * 2}}}",
        "}",
    ]


def _indented(depth: int, *lines: str) -> list[str]:
    return [INDENT * depth + line for line in lines]
