"""Products of groups of rows: tiles of one group each, which a block finds by adding up the sizes of the groups."""

from __future__ import annotations

from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.expr.dim import Dim, const, maximum
from shlo_disc.expr.facts import Facts
from shlo_disc.host_ir import Variant
from shlo_disc.kernels.kernel import GroupedDotKernel, MatrixView
from shlo_disc.lower_cuda.matmul import reads_along_k, unit_flag
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.lower_cuda.products import (
    FunctionPrinter,
    PrintedFunction,
    ProductTile,
    call_lines,
    rows_first,
    tiles_for,
)
from shlo_disc.lower_cuda.spelling import CudaSpelling


def print_grouped(kernel: GroupedDotKernel, facts: Facts) -> Printed:
    """A variant for each size of tiles, legal for all sizes of groups."""
    product, dtype, count = kernel.product, kernel.product.a.dtype, maximum(kernel.groups, 1)
    depth = product.depth // count if kernel.matrix is None else product.depth
    functions, variants = list[PrintedFunction](), list[Variant[Dim]]()
    for tile in tiles_for(dtype, product.precision):
        functions.append(_print_tiles(kernel, facts, tile))
        cycles, latency = tile.cycles(dtype, depth), tile.latency(dtype, depth)
        call = functions[-1].call(_most_tiles(kernel, tile), tile.threads, cycles, latency)
        variants.append(Variant(tile.label, (), False, (call,)))
    text = "\n".join(line for function in functions for line in function.text)
    return Printed(text, tuple(variants), _spaces(kernel))


def _most_tiles(kernel: GroupedDotKernel, tile: ProductTile) -> Dim:
    """The number of tiles; where groups are rows, at most: each group may end with a smaller tile."""
    rows, columns = tile.counts(kernel.product.row.extent, kernel.product.column.extent)
    if kernel.matrix is None:
        return kernel.groups * rows * columns
    return (kernel.product.row.extent // tile.rows + kernel.groups + 1) * columns


def _spaces(kernel: GroupedDotKernel) -> tuple[Dim, ...]:
    """Numbers of elements that indices have to count: extents of the operands, and the results."""
    (a, b), product = _operands(kernel), kernel.product
    m, n, k = product.row.extent, product.column.extent, product.depth
    matrices = const(0) if kernel.matrix is None else kernel.groups * kernel.matrix
    results = m * n * kernel.groups if kernel.matrix is None else m * n
    views = ((a, m, k), (b, k, n))
    left, right = (view.offset + rows * view.row_stride + more * view.column_stride for view, rows, more in views)
    return left, right + matrices, kernel.sizes.offset + kernel.groups * kernel.sizes.row_stride, results


def _operands(kernel: GroupedDotKernel) -> tuple[MatrixView, MatrixView]:
    a, b = kernel.product.a, kernel.product.b
    assert isinstance(a, MatrixView), "a grouped product reads its operands from memory"
    assert isinstance(b, MatrixView), "a grouped product reads its operands from memory"
    return a, b


def _print_tiles(kernel: GroupedDotKernel, facts: Facts, tile: ProductTile) -> PrintedFunction:
    """A loop over the tiles of all groups, for any number of blocks."""
    product, sizes = kernel.product, kernel.sizes
    body = FunctionPrinter(product, facts)
    emit = body.emit
    lines = body.sizes(m=product.row.extent, n=product.column.extent, k=product.depth, count=kernel.groups)
    kind, rows = CudaSpelling().memory_type(sizes.dtype), "k" if kernel.matrix is None else "m"
    first = f"{clean(sizes.source.name)} + {emit.dim_scalar(sizes.offset)}"
    lines += [
        f"const int64_t column_tiles = ((int64_t)n + {tile.columns - 1}) / {tile.columns};",
        f"ShloGroups<{kind}> groups = {{{first}, {emit.dim_scalar(sizes.row_stride)}, count, {rows}}};",
    ]
    with emit.inside(*(axis.symbol.name for axis in product.batch)) as scope:
        lines += _count_tiles(kernel, tile)
        scope.lines += [*_place(kernel, tile), *_loaders(body, kernel, tile)]
        scope.lines.append("SHLO_SHARED(char, shared, tile_bytes<Tile>);")
        head = f"multiply_tile<Tile, {rows_first(product)}>(a, b, 0, depth, i0, j0, last - i0, n - j0, shared, "
        scope.lines += call_lines(head, body.consumer(body.epilogue()), ");")
    lines.append("for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {")
    lines += [*(INDENT + line for line in scope.lines), "}"]
    read = [view.source for view in (*_operands(kernel), sizes)]
    return body.function(f"{NAME}_{tile.label.split()[0]}", lines, tile.threads, resident=tile.resident, operands=read)


def _count_tiles(kernel: GroupedDotKernel, tile: ProductTile) -> list[str]:
    if kernel.matrix is not None:
        return [f"const int64_t tiles = ((int64_t)m / {tile.rows} + count + 1) * column_tiles;"]
    return [
        f"const int64_t row_tiles = ((int64_t)m + {tile.rows - 1}) / {tile.rows};",
        "const int64_t tiles = row_tiles * column_tiles * count;",
    ]


def _place(kernel: GroupedDotKernel, tile: ProductTile) -> list[str]:
    """The group of a tile, its first row and column, the row after its last, and the depth."""
    column = f"const idx j0 = (idx)(tile % column_tiles) * {tile.columns};"
    if kernel.matrix is not None:
        return [
            f"const int64_t row = groups.seek(tile / column_tiles, {tile.rows});",
            "if (row < 0) break;",
            "const idx i0 = (idx)row, last = (idx)groups.last;",
            column,
            "const idx matrix = groups.is_rest() ? 0 : (idx)groups.group, depth = groups.is_rest() ? 0 : k;",
        ]
    (axis,) = kernel.product.batch
    return [
        "groups.go_to(tile / column_tiles / row_tiles);",
        f"const idx i0 = (idx)(tile / column_tiles % row_tiles) * {tile.rows}, last = m;",
        column,
        f"const idx {clean(axis.symbol.name)} = (idx)groups.group, depth = (idx)(groups.last - groups.first);",
    ]


def _loaders(body: FunctionPrinter, kernel: GroupedDotKernel, tile: ProductTile) -> list[str]:
    """Declare loaders of both operands, from the start of the tile and of the group."""
    (a, b), emit = _operands(kernel), body.emit
    a_along_k, b_along_k = reads_along_k(kernel.product)
    lines = [f"typedef {tile.type(a.dtype, a_along_k=a_along_k, b_along_k=b_along_k)} Tile;"]
    sides = (
        ("a", a, "i0", "last", a.row_stride, a.column_stride, a_along_k),
        ("b", b, "j0", "n", b.column_stride, b.row_stride, b_along_k),
    )
    for letter, view, line, end, stride, deep, is_along_k in sides:
        step, far = emit.dim_scalar(stride), emit.dim_scalar(deep)
        start = f"{clean(view.source.name)} + {emit.dim_scalar(view.offset)} + {line} * {step}"
        if kernel.matrix is None:
            start += f" + groups.first * {far}"
        elif letter == "b":
            start += f" + matrix * {emit.dim_scalar(kernel.matrix)}"
        kind = f"Strided<typename Tile::Packs{letter.upper()}, {unit_flag(deep if is_along_k else stride)}>"
        lines.append(f"const {kind} {letter}({start}, {step}, {far}, {end} - {line}, depth);")
    return lines
