"""Maps over short rows: lanes run over the points of a block of 16 rows, as if it were one line.

Where a lane stands in its row is the same in every block, and so is, relative to the block, where it loads and stores:
these places are found once for many blocks. Vectors are loaded from there by permuting registers, if that is near.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from shlo_disc.codegen.dependence import Dependence
from shlo_disc.codegen.emitter import Emitter
from shlo_disc.codegen.kernel import Axis, Param, RowKernel, Scratch, Stage, Store
from shlo_disc.codegen.rewrite import DimRewriter, nodes_of
from shlo_disc.codegen.scopes import INDENT, clean
from shlo_disc.codegen.simplify_kernel import rewrite_stage, stage_formulas
from shlo_disc.expr.dim import Dim, Sym, of, total
from shlo_disc.expr.scalar import Load
from shlo_disc.lower_cpu import rows
from shlo_disc.lower_cpu.short_rows import LONGEST
from shlo_disc.lower_cpu.spelling import LANES, VECTOR_DTYPES, VectorSpelling
from shlo_disc.lower_cpu.vectorize import lanes_fit

FEWEST = 4 * LANES  # rows that pay for finding the places
BLOCKS = 256  # that share the places: what they touch stays in a cache
_FIRST, _ROW = Sym("%first"), Sym("%line")  # the first row of a block, and a row of it


def short_maps(kernel: RowKernel) -> RowKernel | None:
    """The kernel whose rows are counted within blocks, if lanes may run over them."""
    if len(kernel.rows) != 1 or kernel.scratch or rows.moves(kernel):
        return None
    if any(stage.reductions or len(stage.axes) != 1 for stage in kernel.stages):
        return None
    length = rows.longest_row(kernel)
    if length.data() or (length.constant is not None and length.constant > limit(kernel)):
        return None  # the form is chosen by the length before any element is read
    (row,), deps = kernel.rows, Dependence()
    if not all(_fits(stage, row, deps) for stage in kernel.stages):
        return None
    rewriter = DimRewriter(lambda dim: dim.substitute({row.symbol: of(_FIRST) + of(_ROW)}))
    return replace(kernel, stages=tuple(rewrite_stage(stage, rewriter) for stage in kernel.stages))


def limit(kernel: RowKernel) -> int:
    """The points of a row up to which lanes over several rows are faster than a masked vector for each."""
    loads = (node for stage in kernel.stages for node in nodes_of(stage_formulas(stage)) if isinstance(node, Load))
    columns = {stage.axes[0].symbol for stage in kernel.stages}
    masked = all(_follow(load, columns) for load in loads)
    return LONGEST if masked else LANES - 1


def _follow(load: Load, columns: Collection[Sym]) -> bool:
    """Whether the elements of a row lie side by side, or are one."""
    (offset,), names, deps = load.index, {column.name for column in columns}, Dependence()
    splits = (offset.linear(column) for column in columns if column.name in deps.of(offset))
    return all(split and split[0].constant == 1 and names.isdisjoint(deps.of(split[1])) for split in splits)


def _fits(stage: Stage, row: Axis, deps: Dependence) -> bool:
    lanes = row, stage.axes[0]
    vectors = all(store.value.dtype in VECTOR_DTYPES for store in stage.stores)
    return vectors and all(_linear(s, lanes, deps) for s in stage.stores) and lanes_fit(stage, lanes, deps)


def _linear(store: Store, lanes: tuple[Axis, Axis], deps: Dependence) -> bool:
    rest, names = store.offset, {lane.symbol.name for lane in lanes}
    for lane in lanes:
        if (split := rest.linear(lane.symbol)) is None or not names.isdisjoint(deps.of(split[0])):
            return False
        rest = split[1]
    return names.isdisjoint(deps.of(rest))


class _BlockEmitter(Emitter):
    """Prints formulas whose lanes are points (line, column) of a block; places are hoisted to where `left` is known."""

    def __init__(self, column: Axis) -> None:
        self.vectors = VectorSpelling()
        super().__init__(self.vectors)
        self.column = column
        self.known = dict[tuple[str, Dim], str]()
        self.lane, self.lane_args, self.partial = _ROW.name, {column.symbol.name}, True

    def load(self, source: Param | Scratch, offset: Dim) -> str:
        """One element, or a vector from the places of the lanes."""
        if not self.is_vector(offset):
            return self.spell.load(source.name, self.dim_scalar(offset), source.dtype)
        fixed, varying = self._split(offset)
        if _FIRST.name in self.deps.of(varying):
            return self.spell.gather(source.name, self.dim(offset), source.dtype, "left")
        start = f"{source.name} + {self.dim_scalar(fixed)}"
        if self._is_line(varying):
            return self.vectors.load_vector(f"{start} + point", source.dtype, "left")
        return self.vectors.load_at(start, self._places("places", varying), source.dtype)

    def store(self, store: Store, value: str) -> str:
        """The statement that stores a vector to the places of its lanes."""
        fixed, varying = self._split(store.offset)
        start, dtype = f"{store.target.name} + {self.dim_scalar(fixed)}", store.target.dtype
        if self._is_line(varying):
            return self.vectors.store_vector(f"{start} + point", value, dtype, "left")
        return self.vectors.store_at(start, value, dtype, self._places("spread", varying))

    def dim(self, dim: Dim) -> str:
        """An index, or a vector of them."""
        if not self.is_vector(dim):
            return self.dim_scalar(dim)
        fixed, varying = self._split(dim)
        if _FIRST.name in self.deps.of(varying):
            return self.dim_lanes(dim)
        text = self._places("", varying)
        return f"({text} + splat_i64({self.dim_scalar(fixed)}))" if fixed.terms else text

    def _split(self, dim: Dim) -> tuple[Dim, Dim]:
        """What is the same for all lanes, and what is not."""
        parts = [Dim((term,)) for term in dim.terms]
        return total(p for p in parts if not self.is_vector(p)), total(p for p in parts if self.is_vector(p))

    def _is_line(self, varying: Dim) -> bool:
        return varying == of(_ROW) * self.column.extent + of(self.column.symbol)

    def _places(self, kind: str, varying: Dim) -> str:
        """The name of the indices of the lanes, or of what `kind` makes of them."""
        if (known := self.known.get((kind, varying))) is not None:
            return known
        value = self._indices(varying) if not kind else f"{kind}({self._places('', varying)}, left)"
        name = self.known[kind, varying] = self.fresh("n")
        self.scopes[1].lines.append(f"const auto {name} = {value};")
        return name

    def _indices(self, varying: Dim) -> str:
        """The indices of the lanes, found one after the other."""
        lane, self.lane = self.lane, None
        inner = self.scopes[1:]
        del self.scopes[1:]
        names = _ROW.name, self.column.symbol.name
        with self.inside(*names) as scope:
            result = self.dim_scalar(varying)
        self.scopes.extend(inner)
        self.lane = lane
        head = f"[&]({', '.join(f'int64_t {clean(name)}' for name in names)})"
        return f"lanes_of(point, {self.width()}, left, {head} {{ {' '.join(scope.lines)} return {result}; }})"

    def width(self) -> str:
        return self.dim_scalar(self.column.extent)


class ShortMapPrinter(rows.RowPrinter):
    """Prints maps over short rows."""

    def lines(self) -> tuple[list[str], tuple[str, ...]]:
        """The statements of the kernel's body, and the program symbols it needs in order."""
        body, sizes = self.pointers(), self.emit.sizes
        for number, stage in enumerate(self.kernel.stages):
            if len(self.kernel.stages) > 1:
                body.append(f"// stage {number}")
            emit = _BlockEmitter(stage.axes[0])
            body += _stage(emit, stage)
            sizes.update(emit.sizes)
        return body, tuple(sizes)


def _stage(emit: _BlockEmitter, stage: Stage) -> list[str]:
    """Blocks that share places; of these the vectors, one after the other; of these those of every block."""
    emit.count_uses(stage_formulas(stage))
    with emit.inside(_ROW.name, emit.column.symbol.name) as vector:
        with emit.inside(_FIRST.name) as block:
            for store in stage.stores:
                block.lines.append(emit.store(store, emit.lanes(store.value)))
        vector.lines += [
            f"for (int64_t first = from; first < to; first += {LANES}) {{",
            *(INDENT + line for line in block.lines),
            "}",
        ]
    lane, emit.lane = emit.lane, None
    width = emit.width()
    emit.lane = lane
    return [
        "{",
        *(INDENT + line for line in emit.scopes[0].lines),
        f"{INDENT}for (int64_t from = begin, to; from < end; from = to) {{",
        f"{INDENT * 2}const int64_t height = min_(end - from, (int64_t){LANES}), points = height * {width};",
        f"{INDENT * 2}to = from + (height < {LANES} ? height : min_((end - from) / {LANES}, "
        f"(int64_t){BLOCKS}) * {LANES});",
        f"{INDENT * 2}for (int64_t point = 0; point < points; point += {LANES}) {{",
        f"{INDENT * 3}const int64_t left = min_(points - point, (int64_t){LANES});",
        *(INDENT * 3 + line for line in vector.lines),
        f"{INDENT * 2}}}",
        f"{INDENT}}}",
        "}",
    ]
