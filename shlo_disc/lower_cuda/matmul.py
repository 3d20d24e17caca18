"""Matrix products: cuBLAS, and kernels of our own with a fused epilogue.

Variants: the library (see `cublas`); tiles of two sizes, where small ones split the depth among blocks if there are few
tiles; kernels for products with at most eight rows or columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.expr.dim import Dim, const
from shlo_disc.expr.facts import Facts
from shlo_disc.host_ir import Guard, Variant
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.groups import ProductTypes
from shlo_disc.kernels.kernel import Axis, DotKernel, MatrixView, Panel
from shlo_disc.lower_cuda.cost import LOAD_LATENCY, SHUFFLE_LATENCY, memory_cycles
from shlo_disc.lower_cuda.cublas import library_variants
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.lower_cuda.products import (
    LARGE,
    MOST_BLOCKS,
    FunctionPrinter,
    PrintedFunction,
    ProductTile,
    batch_size,
    call_lines,
    extent_names,
    extents_of,
    operand_params,
    product_text,
    rows_first,
    tiles_for,
)
from shlo_disc.lower_cuda.split import DepthSplit, print_sum, split_depth
from shlo_disc.records import record

CONTRACTIONS: frozenset[ProductTypes] = frozenset(
    {
        (DType.F32, DType.F32, DType.F32),
        (DType.F64, DType.F64, DType.F64),
        (DType.F16, DType.F16, DType.F16),
        (DType.BF16, DType.BF16, DType.BF16),
        (DType.F16, DType.F16, DType.F32),
        (DType.BF16, DType.BF16, DType.F32),
    }
)

THIN_ROWS = 8  # most rows, or columns, of a thin product
THIN_THREADS = 256  # as in gemm.cuh
THIN_COLUMNS = 8  # columns of a block, where the depth is contiguous
WIDE_LANES = 4  # packs of 16 bytes per block, where columns are contiguous


@record
class _Way:
    """Functions, the variants that launch them, and the bytes of a workspace."""

    functions: tuple[PrintedFunction, ...]
    variants: tuple[Variant[Dim], ...]
    workspace: Dim | None = None


def print_dot(kernel: DotKernel, facts: Facts) -> Printed:
    """Print every variant of a product; small tiles are legal for all sizes."""
    tiles = tiles_for(kernel.a.dtype, kernel.precision)
    ways = [_tiled(kernel, facts, tile) for tile in tiles[:-1] if not _is_small(kernel, facts)]
    small = _split(kernel, facts, tiles[-1])
    ways += [*_thin(kernel, facts), small]
    workspaces = () if small.workspace is None else (small.workspace,)
    library = library_variants(kernel, facts, len(workspaces))
    text = [line for way in ways for function in way.functions for line in function.text]
    variants = (*library.variants, *(v for way in ways for v in way.variants))
    return Printed("\n".join([*library.text, *text]), variants, _spaces(kernel), (*workspaces, *library.workspaces))


def _is_small(kernel: DotKernel, facts: Facts) -> bool:
    """Whether the rows or the columns are known to fit into one small tile."""
    return any(facts.at_least(const(64), axis.extent).is_true for axis in (kernel.row, kernel.column))


def _spaces(kernel: DotKernel) -> tuple[Dim, ...]:
    """Numbers of elements that indices have to count: extents of the operands, and the results."""
    m, n, k = kernel.row.extent, kernel.column.extent, kernel.depth
    batch = batch_size(kernel.batch)
    views = ((kernel.a, m, k), (kernel.b, k, n))
    return (*(_extent(kernel, view, rows, columns) for view, rows, columns in views), batch * m * n)


def _extent(kernel: DotKernel, view: MatrixView | Panel, rows: Dim, columns: Dim) -> Dim:
    if isinstance(view, Panel):
        return rows * columns
    last = view.offset.substitute({axis.symbol: axis.extent for axis in kernel.batch})
    return last + rows * view.row_stride + columns * view.column_stride


# -- tiles


def _operands(body: FunctionPrinter, kernel: DotKernel, tile: ProductTile) -> list[str]:
    """Declare loaders of both operands, from the start of the tile."""
    a_along_k, b_along_k = reads_along_k(kernel)
    kind = tile.type(kernel.a.dtype, a_along_k=a_along_k, b_along_k=b_along_k)
    lines = [f"typedef {kind} Tile;"]
    sides = (("a", kernel.a, "i", "m", a_along_k), ("b", kernel.b, "j", "n", b_along_k))
    for letter, operand, line, size, along_k in sides:
        packs, left = f"typename Tile::Packs{letter.upper()}", f"{size} - {line}0"
        if isinstance(operand, Panel):
            lines += body.element(f"{letter}_at", operand, line)
            lines.append(f"const Computed<{packs}, decltype({letter}_at)> {letter}({letter}_at, {left});")
            continue
        strides = (operand.row_stride, operand.column_stride)
        stride, deep = strides if letter == "a" else strides[::-1]
        unit, step = unit_flag(deep if along_k else stride), body.emit.dim_scalar(stride)
        start = f"{clean(operand.source.name)} + {body.emit.dim_scalar(operand.offset)} + {line}0 * {step}"
        far = body.emit.dim_scalar(deep)
        lines.append(f"const Strided<{packs}, {unit}> {letter}({start}, {step}, {far}, {left}, k);")
    return lines


def reads_along_k(kernel: DotKernel) -> tuple[bool, bool]:
    """Per operand, whether neighbouring threads read along the depth: where it is contiguous, or neither axis is."""
    a, b = kernel.a, kernel.b
    a_along = a.along_depth if isinstance(a, Panel) else a.row_stride != const(1) or a.column_stride == const(1)
    return a_along, b.along_depth if isinstance(b, Panel) else b.column_stride != const(1)


def unit_flag(stride: Dim) -> str:
    """Whether a stride is known to be 1, as a template argument."""
    return "true" if stride == const(1) else "false"


def _one_tile(kernel: DotKernel, tile: ProductTile, body: Sequence[str]) -> list[str]:
    """Statements for one tile per block."""
    return [
        f"const idx row_tiles = (m + {tile.rows - 1}) / {tile.rows};",
        f"const idx per_batch = row_tiles * ((n + {tile.columns - 1}) / {tile.columns});",
        f"const idx i0 = (idx)blockIdx.x % row_tiles * {tile.rows};",
        f"const idx j0 = (idx)blockIdx.x % per_batch / row_tiles * {tile.columns};",
        *(["idx rest = (idx)blockIdx.x / per_batch;"] if kernel.batch else []),
        *body,
    ]


def _tile_loop(kernel: DotKernel, tile: ProductTile, body: Sequence[str], splits: str = "") -> list[str]:
    """A loop over all tiles of all batches (and splits of the depth), for any number of blocks."""
    batch = " * ".join(["per_batch", *extent_names(kernel.batch), *([splits] if splits else [])])
    return [
        f"const int64_t row_tiles = ((int64_t)m + {tile.rows - 1}) / {tile.rows};",
        f"const int64_t per_batch = row_tiles * (((int64_t)n + {tile.columns - 1}) / {tile.columns});",
        f"const int64_t tiles = {batch};",
        "for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {",
        f"{INDENT}const idx i0 = (idx)(tile % row_tiles) * {tile.rows};",
        f"{INDENT}const idx j0 = (idx)(tile % per_batch / row_tiles) * {tile.columns};",
        *([f"{INDENT}idx rest = (idx)(tile / per_batch);"] if kernel.batch or splits else []),
        *(INDENT + line for line in body),
        "}",
    ]


def _sizes(body: FunctionPrinter, kernel: DotKernel, **more: Dim) -> list[str]:
    return body.sizes(m=kernel.row.extent, n=kernel.column.extent, **extents_of(kernel.batch), **more)


def _tiled(kernel: DotKernel, facts: Facts, tile: ProductTile) -> _Way:
    """Tiles that go through the whole depth."""
    body = FunctionPrinter(kernel, facts)
    lines = _sizes(body, kernel, k=kernel.depth)
    with body.emit.inside(*(axis.symbol.name for axis in kernel.batch)) as scope:
        body.batch(kernel.batch, scope)
        operands = _operands(body, kernel, tile)
        consumer = body.consumer(body.epilogue())
        scope.lines += [*operands, "SHLO_SHARED(char, shared, tile_bytes<Tile>);"]
        head = f"multiply_tile<Tile, {rows_first(kernel)}>(a, b, 0, k, i0, j0, m - i0, n - j0, shared, "
        scope.lines += call_lines(head, consumer, ");")
    any_size = tile.label != LARGE.label
    lines += _tile_loop(kernel, tile, scope.lines) if any_size else _one_tile(kernel, tile, scope.lines)
    name, read = f"{NAME}_{tile.label.split()[0]}", operand_params(kernel)
    function = body.function(name, lines, tile.threads, resident=tile.resident, operands=read)
    dtype, k = kernel.a.dtype, kernel.depth
    row_tiles, column_tiles = tile.counts(kernel.row.extent, kernel.column.extent)
    blocks = row_tiles * column_tiles * batch_size(kernel.batch)
    call = function.call(blocks, tile.threads, tile.cycles(dtype, k), tile.latency(dtype, k))
    guards = () if any_size else (Guard(blocks, "<=", const(MOST_BLOCKS)),)
    return _Way((function,), (Variant(tile.label, guards, False, (call,)),))


# -- tiles whose depth is split


def _split(kernel: DotKernel, facts: Facts, tile: ProductTile) -> _Way:
    """Small tiles, legal for all sizes; their depth may be split among blocks."""
    dtype, m, n, k = kernel.a.dtype, kernel.row.extent, kernel.column.extent, kernel.depth
    row_tiles, column_tiles = tile.counts(m, n)
    tiles = row_tiles * column_tiles * batch_size(kernel.batch)
    split = split_depth(dtype, tiles, batch_size(kernel.batch) * m * n, k, facts)
    if split is None:
        return _tiled(kernel, facts, tile)
    first, second = _split_tiles(kernel, facts, tile, split), print_sum(kernel, kernel.batch, facts, split)
    cycles, latency = tile.cycles(dtype, split.part), tile.latency(dtype, split.part)
    calls = first.call(tiles * split.count, tile.threads, cycles, latency), split.call(second)
    return _Way((first, second), (Variant(tile.label, (), False, calls),), split.workspace)


def _split_tiles(kernel: DotKernel, facts: Facts, tile: ProductTile, split: DepthSplit) -> PrintedFunction:
    body = FunctionPrinter(kernel, facts)
    lines = _sizes(body, kernel, k=kernel.depth, splits=split.count, part=split.part)
    batch = f" * {product_text(extent_names(kernel.batch))}" if kernel.batch else ""
    with body.emit.inside(*(axis.symbol.name for axis in kernel.batch)) as scope:
        scope.lines += ["const idx split = rest % splits;", "rest /= splits;", "const int64_t place = rest;"]
        body.batch(kernel.batch, scope)
        operands = _operands(body, kernel, tile)
        final = body.epilogue()
        consumer = body.consumer([split.keep(f"((split{batch} + place) * m + i) * n + j"), *final])
        scope.lines += [*operands, "SHLO_SHARED(char, shared, tile_bytes<Tile>);", *split.lines]
        head = f"multiply_tile<Tile, {rows_first(kernel)}>(a, b, k0, k1, i0, j0, m - i0, n - j0, shared, "
        scope.lines += call_lines(head, consumer, ");")
    lines += _tile_loop(kernel, tile, scope.lines, "splits")
    name, read = f"{NAME}_{tile.label.split()[0]}", operand_params(kernel)
    return body.function(name, lines, tile.threads, resident=tile.resident, operands=read, workspace=True)


# -- few rows or columns


def _thin(kernel: DotKernel, facts: Facts) -> list[_Way]:
    """Kernels for at most 1 or 8 rows or columns, where sizes may be so small; only for operands in memory."""
    if isinstance(kernel.a, Panel) or isinstance(kernel.b, Panel):
        return []
    views = kernel.a, kernel.b
    ways = list[_Way]()
    for axis, other, swapped in ((kernel.row, kernel.column, False), (kernel.column, kernel.row, True)):
        for most in (1, THIN_ROWS):
            useless = facts.at_least(axis.extent, most + 1).is_true
            done = most > 1 and facts.at_least(const(1), axis.extent).is_true
            if not useless and not done and not (swapped and facts.at_least(const(THIN_ROWS), other.extent).is_true):
                ways.append(_thin_way(kernel, views, facts, most, swapped=swapped))
    return ways


def _thin_way(
    kernel: DotKernel, views: tuple[MatrixView, MatrixView], facts: Facts, most: int, *, swapped: bool
) -> _Way:
    rows = _Line(views[0], views[0].row_stride, views[0].column_stride)
    columns = _Line(views[1], views[1].column_stride, views[1].row_stride)
    if swapped:
        rows, columns = columns, rows
    few, many = (kernel.column, kernel.row) if swapped else (kernel.row, kernel.column)
    dtype = kernel.a.dtype
    lanes = 16 // dtype.bytes
    wide = columns.stride == const(1) and columns.depth_stride != const(1)
    per_block = WIDE_LANES * lanes if wide else THIN_COLUMNS
    name = f"{NAME}_{'columns' if swapped else 'rows'}{most}"
    function = _thin_function(kernel, facts, (rows, columns), (few, many), (name, most, per_block, wide, swapped))
    k = kernel.depth
    blocks = (many.extent + (per_block - 1)) // per_block * batch_size(kernel.batch)
    cycles = memory_cycles(k * per_block * dtype.bytes)
    turns = k // (4 * THIN_THREADS // WIDE_LANES if wide else 32 * lanes) + 1
    latency = turns * LOAD_LATENCY + (LOAD_LATENCY + most * 5 * SHUFFLE_LATENCY)
    call = function.call(blocks, THIN_THREADS, cycles, latency)
    label = f"at most {most} {'column' if swapped else 'row'}{'s' if most > 1 else ''}"
    guards = () if facts.at_least(const(most), few.extent).is_true else (Guard(few.extent, "<=", const(most)),)
    return _Way((function,), (Variant(label, guards, False, (call,)),))


@record
class _Line:
    """An operand as lines along the depth: rows of A, or columns of B."""

    view: MatrixView
    stride: Dim
    depth_stride: Dim


def _thin_function(
    kernel: DotKernel,
    facts: Facts,
    lines_of: tuple[_Line, _Line],
    axes: tuple[Axis, Axis],
    shape: tuple[str, int, int, bool, bool],
) -> PrintedFunction:
    (rows, columns), (few, many), (name, most, per_block, wide, swapped) = lines_of, axes, shape
    body = FunctionPrinter(kernel, facts)
    lines = _sizes(body, kernel, k=kernel.depth)
    kind = body.emit.spell.memory_type(rows.view.source.dtype)
    few_name, many_name = ("n", "m") if swapped else ("m", "n")
    del few, many
    with body.emit.inside(*(axis.symbol.name for axis in kernel.batch)) as scope:
        body.batch(kernel.batch, scope)
        scope.lines += _thin_operands(body, rows, columns, kind, few_name, many_name)
        consumer = body.consumer(body.epilogue(), swapped=swapped)
        if wide:
            scope.lines.append(f"SHLO_SHARED(char, shared, (wide_bytes<{most}, {kind}>));")
            head = f"multiply_thin_packs<{most}>(p, x0, shared, "
        else:
            head = f"multiply_thin_columns<{most}, {unit_flag(columns.depth_stride)}>(p, x0, "
        scope.lines += call_lines(head, consumer, ");")
    batch = f" * {product_text(extent_names(kernel.batch))}" if kernel.batch else ""
    lines += [
        f"const int64_t per_batch = ((int64_t){many_name} + {per_block - 1}) / {per_block};",
        f"const int64_t blocks = per_batch{batch};",
        "for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {",
        f"{INDENT}const idx x0 = (idx)(block % per_batch) * {per_block};",
        *([f"{INDENT}idx rest = (idx)(block / per_batch);"] if kernel.batch else []),
        *(INDENT + line for line in scope.lines),
        "}",
    ]
    return body.function(name, lines, THIN_THREADS, resident=1, operands=operand_params(kernel))


def _thin_operands(body: FunctionPrinter, rows: _Line, columns: _Line, kind: str, few: str, many: str) -> list[str]:
    dim = body.emit.dim_scalar
    stride = dim(columns.stride)
    return [
        f"const Thin<{kind}> p = {{{clean(rows.view.source.name)} + {dim(rows.view.offset)},",
        f"{INDENT * 2}{clean(columns.view.source.name)} + {dim(columns.view.offset)} + x0 * {stride},",
        f"{INDENT * 2}{dim(rows.stride)}, {dim(rows.depth_stride)}, {dim(columns.depth_stride)}, {stride},",
        f"{INDENT * 2}{few}, {many} - x0, k}};",
    ]
