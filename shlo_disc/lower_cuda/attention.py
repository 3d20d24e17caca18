"""Attention: a block of queries goes over all keys; the prelude has the loop, generated lambdas the formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shlo_disc.codegen.attention import AttentionKernel
from shlo_disc.codegen.emitter import Emitter
from shlo_disc.codegen.host import CallVariant, GridCall
from shlo_disc.codegen.kernel import Axis, MatrixView, Param, Store
from shlo_disc.codegen.naming import NAME
from shlo_disc.codegen.rewrite import nodes_of
from shlo_disc.codegen.scopes import INDENT, Scope, clean
from shlo_disc.codegen.softmax import unconverted
from shlo_disc.dynamic_ops.contract import Precision
from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Arg, Load, Scalar
from shlo_disc.lower_cuda.cost import BARRIER_LATENCY, LOAD_LATENCY
from shlo_disc.lower_cuda.printed import Printed, signature
from shlo_disc.lower_cuda.spelling import CudaSpelling

MOST_BLOCKS = 2**31 - 1
WARPS = 4
QUERIES = 16  # of one warp
SHARED = 48 * 1024  # bytes of static shared memory that a block may have
ROOMY = 40 * 1024  # so that at least two blocks share a multiprocessor with the smallest second one
L2_BYTES_PER_CYCLE = 40  # blocks of other queries read the same keys, mostly from the second-level cache
EXP_CYCLES = 12  # instructions per score, besides the products


@dataclass(frozen=True, slots=True)
class Products:
    """How the prelude multiplies: its struct, what lies between rows of K and V, and multiply-adds per cycle."""

    struct: str
    pad_k: int
    pad_v: int
    least: int  # keys of a block, up to `most`
    rate: int

    most: int = 64
    in_shared: bool = False  # queries, and weights on their way to the second product


HALF = Products("HalfProducts", 8, 8, 16, 700)
TF32 = Products("Tf32Products", 8, 4, 8, 350)
PLAIN = Products("PlainProducts", 4, 4, 8, 60, most=32, in_shared=True)


@dataclass(frozen=True, slots=True)
class Tile:
    """A block's work: `row_warps` warps with different queries, or `key_warps` warps with different keys."""

    label: str
    products: Products
    dtype: DType
    depth: int
    width: int
    row_warps: int
    key_warps: int
    keys: int

    @property
    def rows(self) -> int:
        """Queries of a block."""
        return QUERIES * self.row_warps

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.row_warps * self.key_warps

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        pitches = self.depth + self.products.pad_k + self.width + self.products.pad_v
        warps = self.row_warps * self.key_warps
        tiles = self.key_warps * self.keys * pitches * self.dtype.bytes
        combined = self.key_warps * QUERIES * (self.width + 3) * 4 if self.key_warps > 1 else 0
        queries, weights = self.row_warps * (self.depth + self.products.pad_k), warps * (self.keys + 4)
        other = QUERIES * 4 * (queries + weights) if self.products.in_shared else 0
        return max(tiles + other, combined)

    @property
    def type(self) -> str:
        """The C++ type."""
        element = f"{CudaSpelling().memory_type(self.dtype)}, " if self.products is HALF else ""
        products = f"{self.products.struct}<{element}{self.depth}, {self.width}, {self.keys}>"
        return f"Attention<{products}, {self.keys}, {self.row_warps}, {self.key_warps}>"

    def cycles(self, keys: Dim) -> Dim:
        """How long a block keeps a multiprocessor busy: arithmetic, or reading keys and values."""
        arithmetic = 16 * self.rows * (self.depth + self.width) // self.products.rate
        arithmetic += 16 * self.rows * EXP_CYCLES // 128
        reading = 16 * (self.depth + self.width) * self.dtype.bytes // L2_BYTES_PER_CYCLE
        return (keys + 15) // 16 * max(arithmetic, reading) + self.rows * self.width // 8

    def latency(self, keys: Dim) -> Dim:
        """Blocks of keys wait for memory one after the other."""
        step = self.keys * self.key_warps
        blocks = (keys + (step - 1)) // step
        return blocks * (LOAD_LATENCY + 2 * BARRIER_LATENCY + self.keys * 8) + 2 * LOAD_LATENCY


def print_attention(kernel: AttentionKernel) -> Printed:
    """Many queries per block, or few queries and the keys split among its warps."""
    functions = [_Printer(kernel, tile).function() for tile in tiles_for(kernel)]
    text = "\n".join(line for lines, _ in functions for line in lines)
    return Printed(text, tuple(variant for _, variant in functions), kernel.spaces)


def tiles_for(kernel: AttentionKernel) -> tuple[Tile, ...]:
    """The ways to compute it, by the types of its operands."""
    dtype = kernel.q.source.dtype
    products = HALF if dtype.bytes == 2 else PLAIN if kernel.precision is Precision.HIGHEST else TF32
    depth, width = (-(-n // 16) * 16 for n in (kernel.depth, kernel.width))
    many = [("blocks of queries", rows, 1) for rows in (WARPS, WARPS // 2)]
    few = [("keys split among warps", 1, WARPS)]
    return tuple(_largest(products, dtype, (depth, width), forms) for forms in (many, few))


def _largest(products: Products, dtype: DType, widths: tuple[int, int], forms: Sequence[tuple[str, int, int]]) -> Tile:
    """The first form with the most keys that fits."""
    limits = (ROOMY, SHARED)
    for limit in limits:
        for label, row_warps, key_warps in forms:
            for keys in (64, 32, 16, 8):
                tile = Tile(label, products, dtype, *widths, row_warps, key_warps, keys)
                if products.least <= keys <= products.most and tile.shared <= limit:
                    return tile
    raise AssertionError(f"no tile for rows of {widths} elements of {dtype.value} fits into shared memory")


class _Printer:
    """Prints one kernel: batches and tiles of queries in a loop over the grid."""

    def __init__(self, kernel: AttentionKernel, tile: Tile) -> None:
        self.kernel, self.tile = kernel, tile
        self.emit = Emitter(CudaSpelling())
        kept = [] if kernel.kept is None else [kernel.kept]
        self.formulas: list[Scalar] = [kernel.score, kernel.weight, *kept, *(s.value for s in kernel.epilogue)]
        self.emit.count_uses(self.formulas)

    def function(self) -> tuple[list[str], CallVariant]:
        """The kernel's text, and the variant that launches it."""
        kernel, tile, emit = self.kernel, self.tile, self.emit
        batch = product(axis.extent for axis in kernel.batch)
        tiles = (kernel.row.extent + (tile.rows - 1)) // tile.rows
        sizes = [
            f"const idx {name} = {emit.dim_scalar(value)};"
            for name, value in (("rows", kernel.row.extent), ("keys", kernel.key.extent), ("tiles", tiles))
        ]
        count = f"const int64_t tasks = (int64_t)tiles * {emit.dim_scalar(batch)};"
        with emit.inside(*(axis.symbol.name for axis in kernel.batch)) as scope:
            self._batch(scope)
            call = self._call()
            body = [*scope.lines, *call]
        lines = [
            f"typedef {tile.type} Tile;",
            *emit.scopes[0].lines,
            *sizes,
            count,
            "for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {",
            *(INDENT + line for line in body),
            "}",
        ]
        name = f"{NAME}_{'queries' if tile.key_warps == 1 else 'keys'}"
        written = sorted({s.target for s in kernel.epilogue if isinstance(s.target, Param)}, key=str)
        symbols = tuple(emit.sizes)
        head = signature(name, self._used(), written, symbols, threads=tile.threads)
        blocks = minimum(batch * tiles, MOST_BLOCKS)
        launch = GridCall(
            kernel=name,
            buffers=tuple(k for k, p in enumerate(kernel.params) if p in self._used()),
            symbols=symbols,
            blocks=blocks,
            threads=tile.threads,
            shared=const(0),
            cycles=tile.cycles(kernel.key.extent),
            latency=tile.latency(kernel.key.extent),
        )
        return [*head, *(INDENT + line for line in lines), "}"], CallVariant(tile.label, (), False, (launch,))

    def _used(self) -> list[Param]:
        """The buffers that the kernel reads or writes."""
        kernel = self.kernel
        roots: list[Node] = [*self.formulas, *(data.formula for s in kernel.epilogue for data in s.offset.data())]
        used = {node.source for node in nodes_of(roots) if isinstance(node, Load)}
        used |= {view.source for view in (kernel.q, kernel.k, kernel.v)} | {s.target for s in kernel.epilogue}
        return [p for p in kernel.params if p in used]

    def _batch(self, scope: Scope) -> None:
        """Split the task into the first query of a tile and the indices of the batch, the last one innermost."""
        scope.lines.append("const idx first = (idx)(task % tiles) * Tile::ROWS;")
        rest, axes = "(idx)(task / tiles)", self.kernel.batch
        for number, axis in reversed(list(enumerate(axes))):
            name, extent = clean(axis.symbol.name), self.emit.dim_scalar(axis.extent)
            if number == 0:
                scope.lines.append(f"const idx {name} = {rest};")
            else:
                scope.lines.append(f"const idx r{number} = {rest};")
                scope.lines.append(f"const idx {name} = r{number} % {extent};")
                rest = f"r{number} / {extent}"

    def _call(self) -> list[str]:
        """The call of the prelude's loop."""
        kernel = self.kernel
        widths = (kernel.depth, kernel.depth, kernel.width)
        views = zip(("q", "k", "v"), (kernel.q, kernel.k, kernel.v), widths, strict=True)
        raw, acc = kernel.raw, kernel.accumulator
        rounded = self.emit.spell.rounded("sum", raw.dtype, exact=False)
        score = self._formula(kernel.score, kernel.key, raw, f"const float {clean(raw.name)} = {rounded};")
        weight, kept = ["Whole()"], ["Whole()"]
        if unconverted(kernel.weight) != kernel.exponential:  # products round their operands themselves
            given = f"const float {clean(kernel.exponential.name)} = sum;"
            weight = self._formula(kernel.weight, kernel.key, kernel.exponential, given)
        if kernel.kept is not None:
            kept = self._formula(kernel.kept, kernel.key, None, "")
        rounded = self.emit.spell.rounded("sum", acc.dtype, exact=False)
        store = self._store(f"const float {clean(acc.name)} = {rounded};")
        operands = [self._rows(name, view, width) for name, view, width in views]
        arguments = ["q, k, v, first, rows, keys,", *_then(score), *_then(weight), *_then(kept), *store]
        return [*operands, "Tile::run(", *(2 * INDENT + line for line in arguments), ");"]

    def _rows(self, name: str, view: MatrixView, width: int) -> str:
        """A matrix as the prelude takes it."""
        emit = self.emit
        element = emit.spell.memory_type(view.source.dtype)
        offset, row, column = (emit.dim_scalar(d) for d in (view.offset, view.row_stride, view.column_stride))
        return f"const Rows<{element}> {name} = {{{clean(view.source.name)} + {offset}, {row}, {column}, {width}}};"

    def _formula(self, formula: Scalar, column: Axis, argument: Arg | None, definition: str) -> list[str]:
        """A lambda of an element at a query and a key; `definition` names what it gets."""
        emit = self.emit
        row, at = clean(self.kernel.row.symbol.name), clean(column.symbol.name)
        names = (self.kernel.row.symbol.name, column.symbol.name)
        with emit.inside(*names, *(() if argument is None else (argument.name,))) as scope:
            text = emit.value(formula)
            lines = [*([definition] if definition else []), *scope.lines, f"return {text};"]
        given = "" if argument is None else "const float sum, "
        kind = emit.spell.value_type(formula.dtype)
        return [f"[&]({given}const idx {row}, const idx {at}) -> {kind} {{", *(INDENT + line for line in lines), "}"]

    def _store(self, definition: str) -> list[str]:
        """The lambda that takes a finished element."""
        emit, kernel = self.emit, self.kernel
        row, column, acc = kernel.row.symbol.name, kernel.column.symbol.name, kernel.accumulator
        with emit.inside(row, column, acc.name) as scope:
            for store in kernel.epilogue:
                scope.lines.append(self._statement(store))
            lines = [definition, *scope.lines]
        head = f"[&](const float sum, const idx {clean(row)}, const idx {clean(column)}) {{"
        return [head, *(INDENT + line for line in lines), "}"]

    def _statement(self, store: Store) -> str:
        emit = self.emit
        value = emit.value(store.value)
        assert isinstance(store.target, Param), "epilogues write buffers"
        return emit.spell.store(clean(store.target.name), emit.dim_scalar(store.offset), value, store.target.dtype)


def _then(lines: Sequence[str]) -> list[str]:
    """An argument and the comma after it."""
    return [*lines[:-1], lines[-1] + ","]
