"""Convolutions: implicit matrix products, and direct sums with a thread per element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.expr.dim import Dim, const, maximum, product
from shlo_disc.expr.facts import Facts
from shlo_disc.host_ir import Guard, Variant
from shlo_disc.kernels.kernel import ConvKernel, MatrixView
from shlo_disc.lower_cuda.cost import FMA_PER_CYCLE, LOAD_LATENCY, memory_cycles
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.lower_cuda.products import (
    LARGE,
    MEDIUM,
    FunctionPrinter,
    PrintedFunction,
    ProductTile,
    call_lines,
    product_text,
    rows_first,
    tiles_for,
)
from shlo_disc.lower_cuda.split import DepthSplit, print_sum, split_depth
from shlo_disc.records import record

POINT_THREADS = 256
POINT_OPS = 12  # instructions per tap and feature: its index, a bounds check, two loads
ONE, ZERO = const(1), const(0)


def print_convolution(kernel: ConvKernel, facts: Facts) -> Printed:
    """Print every variant of a convolution; the one by single elements is legal for all sizes."""
    shape = _Shape(kernel)
    functions, variants, workspaces = list[PrintedFunction](), list[Variant[Dim]](), list[Dim]()
    tiles = () if shape.is_depthwise else _tiles(kernel)
    for tile in tiles:
        printed, variant, workspace = _tiled(shape, facts, tile)
        functions += printed
        variants.append(variant)
        workspaces += [] if workspace is None else [workspace]
    guards = _pack_guards(shape, facts)
    ways = [] if guards is None else [_packed_points(shape, facts, guards)]
    for function, variant in (*ways, _points(shape, facts)):
        functions.append(function)
        variants.append(variant)
    text = "\n".join(line for each in functions for line in each.text)
    return Printed(text, tuple(variants), _spaces(shape), tuple(workspaces))


def _tiles(kernel: ConvKernel) -> tuple[ProductTile, ...]:
    """Tiles smaller, or with fewer resident blocks, than those of matrix products, as gathering takes registers."""
    tiles = tiles_for(kernel.input.source.dtype, kernel.attrs.precision)
    return tuple(MEDIUM if tile is LARGE else replace(tile, resident=min(tile.resident, 3)) for tile in tiles)


def flat_stride(strides: Sequence[Dim], extents: Sequence[Dim]) -> Dim | None:
    """Stride of several dims collapsed into one, if each stride is that of the next dim times its extent."""
    kept = [(s, e) for s, e in zip(strides, extents, strict=True) if e != ONE]
    if any(outer != inner * extent for (outer, _), (inner, extent) in pairwise(kept)):
        return None
    return kept[-1][0] if kept else ONE


# -- shared by all kernels of a convolution


@record
class _Shape:
    """A convolution as `groups` products of positions x depth by depth x features per group."""

    kernel: ConvKernel

    @property
    def rank(self) -> int:
        """Number of spatial dims; a convolution without any gets one of size 1."""
        return max(1, len(self.kernel.attrs.strides))

    @property
    def groups(self) -> int:
        return self.kernel.attrs.feature_groups

    @property
    def columns(self) -> Dim:
        """Output features per group."""
        return self.kernel.column.extent // self.groups

    @property
    def features(self) -> Dim:
        """Input features per group."""
        return self.kernel.kernel_sizes[0]

    @property
    def depth(self) -> Dim:
        return product(self.kernel.kernel_sizes[2:]) * self.features

    @property
    def is_depthwise(self) -> bool:
        """Whether a tile would be almost empty: groups of one input feature and few output features."""
        few = self.columns.constant
        return self.groups > 1 and self.features == ONE and few is not None and few <= 8

    @property
    def has_packed_points(self) -> bool:
        """Whether contiguous output features depend on contiguous input features and weights, one each."""
        one_each = self.features == ONE == self.columns and self.groups > 1
        return one_each and self.feature_inner and self.kernel.kernel_strides[1] == ONE

    @property
    def feature_inner(self) -> bool:
        """Whether features are the inner loop of the depth, taps the outer: if features are contiguous in the input."""
        return self.kernel.input_strides[1] == ONE

    @property
    def has_packs(self) -> bool:
        """Whether every pack of 16 bytes of the input may lie within the features of one tap."""
        count = self.features.constant
        return self.feature_inner and (count is None or count * self.kernel.input.source.dtype.bytes % 16 == 0)

    @property
    def weight_stride(self) -> Dim | None:
        """The stride of the weights along the whole depth, if it is uniform."""
        strides, sizes = self.kernel.kernel_strides, self.kernel.kernel_sizes
        taps = list(zip(strides[2:], sizes[2:], strict=True))
        order = [*taps, (strides[0], sizes[0])] if self.feature_inner else [(strides[0], sizes[0]), *taps]
        return flat_stride([s for s, _ in order], [e for _, e in order])


def _spaces(shape: _Shape) -> tuple[Dim, ...]:
    """Numbers of elements that indices have to count: of the input, the weights, the results."""
    kernel = shape.kernel
    read = product(kernel.input_sizes), product(kernel.kernel_sizes)
    steps = [size * stride for size, stride in zip(kernel.input_sizes, kernel.input_strides, strict=True)]
    return (*read, *(s + kernel.input.offset for s in steps), kernel.row.extent * kernel.column.extent)


def _window(body: FunctionPrinter, shape: _Shape) -> list[str]:
    """Declare the window, with the strides of the input, as a constant of the function."""
    kernel, attrs, dim = shape.kernel, shape.kernel.attrs, body.emit.dim_scalar

    def listed(values: Sequence[Dim], absent: int) -> str:
        return "{" + ", ".join([dim(v) for v in values] or [str(absent)]) + "}"

    reversed_ = ", ".join(str(flag).lower() for flag in attrs.reversal) or "false"
    per_dim = (
        listed(kernel.input_sizes[2:], 1), listed(kernel.kernel_sizes[2:], 1), listed(kernel.output_spatial, 1),
        listed(attrs.strides, 1), listed([low for low, _ in attrs.padding], 0), listed(attrs.lhs_dilation, 1),
        listed(attrs.rhs_dilation, 1),
    )  # fmt: skip
    inputs = kernel.input_strides
    return [
        f"const Window<{shape.rank}> window = {{{', '.join(per_dim)}, {{{reversed_}}},",
        f"{INDENT * 2}{dim(shape.features)}, {dim(inputs[0])}, {dim(inputs[1])}, {listed(inputs[2:], 0)}}};",
    ]


def _weights(body: FunctionPrinter, shape: _Shape) -> list[str]:
    strides, dim = shape.kernel.kernel_strides, body.emit.dim_scalar
    taps = ", ".join([dim(s) for s in strides[2:]] or ["0"])
    return [f"const WeightStrides<{shape.rank}> strides = {{{dim(strides[0])}, {dim(strides[1])}, {{{taps}}}}};"]


def _sources(body: FunctionPrinter, shape: _Shape, group: str) -> tuple[str, str]:
    """Pointers to the input and the weights of a group."""
    kernel, dim = shape.kernel, body.emit.dim_scalar

    def start(view: MatrixView, stride: Dim, step: Dim) -> str:
        at = f"{clean(view.source.name)} + {dim(view.offset)}"
        return at if shape.groups == 1 else f"{at} + {group} * {dim(step * stride)}"

    return (
        start(kernel.input, kernel.input_strides[1], shape.features),
        start(kernel.kernel, kernel.kernel_strides[1], shape.columns),
    )


# -- tiles


def _tiled(
    shape: _Shape, facts: Facts, tile: ProductTile
) -> tuple[tuple[PrintedFunction, ...], Variant[Dim], Dim | None]:
    """The variant of one tile of positions x features of a group; tiles other than MEDIUM may split the depth."""
    kernel, dtype = shape.kernel, shape.kernel.input.source.dtype
    row_tiles, column_tiles = tile.counts(kernel.row.extent, shape.columns)
    tiles = row_tiles * column_tiles * shape.groups
    sums = kernel.row.extent * kernel.column.extent
    split = None if tile is MEDIUM else split_depth(dtype, tiles, sums, shape.depth, facts)
    function = _tile_function(shape, facts, tile, split)
    depth, blocks = (shape.depth, tiles) if split is None else (split.part, tiles * split.count)
    cycles, latency = tile.cycles(dtype, depth) * 3 // 2, tile.latency(dtype, depth)
    call = function.call(blocks, tile.threads, cycles, latency)
    if split is None:
        return (function,), Variant(tile.label, (), False, (call,)), None
    second = print_sum(kernel, (), facts, split)
    return (function, second), Variant(tile.label, (), False, (call, split.call(second))), split.workspace


def _tile_function(shape: _Shape, facts: Facts, tile: ProductTile, split: DepthSplit | None) -> PrintedFunction:
    kernel, body = shape.kernel, FunctionPrinter(shape.kernel, facts)
    lines = body.sizes(m=kernel.row.extent, n=shape.columns, k=shape.depth)
    lines += body.sizes(splits=split.count, part=split.part) if split else ["const idx k0 = 0, k1 = k;"]
    lines += _window(body, shape)
    with body.emit.inside() as scope:
        scope.lines += _operands(body, shape, tile)
        scope.lines += split.lines if split else []
        place = f"((int64_t)split * m + i) * {body.emit.dim_scalar(kernel.column.extent)} + j"
        keep = [split.keep(place)] if split else []
        consumer = body.consumer(_grouped(shape, [*keep, *body.epilogue()]))
        scope.lines.append("SHLO_SHARED(char, shared, tile_bytes<Tile>);")
        head = f"multiply_tile<Tile, {rows_first(kernel)}>(a, b, k0, k1, i0, j0, m - i0, n - j0, shared, "
        scope.lines += call_lines(head, consumer, ");")
    loops = " * ".join(["per_group", str(shape.groups), *(["splits"] if split else [])])
    lines += [
        f"const int64_t row_tiles = ((int64_t)m + {tile.rows - 1}) / {tile.rows};",
        f"const int64_t per_group = row_tiles * (((int64_t)n + {tile.columns - 1}) / {tile.columns});",
        f"const int64_t tiles = {loops};",
        "for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {",
        f"{INDENT}const idx i0 = (idx)(tile % row_tiles) * {tile.rows};",
        f"{INDENT}const idx j0 = (idx)(tile % per_group / row_tiles) * {tile.columns};",
        *([f"{INDENT}const idx group = (idx)(tile / per_group % {shape.groups});"] if shape.groups > 1 else []),
        *([f"{INDENT}const idx split = (idx)(tile / per_group / {shape.groups});"] if split else []),
        *(INDENT + line for line in scope.lines),
        "}",
    ]
    name, read = f"{NAME}_{tile.label.split()[0]}", (kernel.input.source, kernel.kernel.source)
    workspace = split is not None
    return body.function(name, lines, tile.threads, resident=tile.resident, operands=read, workspace=workspace)


def _operands(body: FunctionPrinter, shape: _Shape, tile: ProductTile) -> list[str]:
    """Declare loaders of the gathered input and of the weights, from the start of the tile."""
    kernel, dim, stride = shape.kernel, body.emit.dim_scalar, shape.weight_stride
    b_along_k = kernel.kernel_strides[1] != ONE
    kind = tile.type(kernel.input.source.dtype, a_along_k=True, b_along_k=b_along_k)
    packs = "typename Tile::PacksA" if shape.has_packs else "Across<typename Tile::T, Tile::M, Tile::THREADS>"
    columns, inner = dim(kernel.kernel_strides[1]), str(shape.feature_inner).lower()
    a, b = _sources(body, shape, "group")
    lines = [
        f"typedef {kind} Tile;",
        f"const Gathered<{packs}, {shape.rank}, {inner}> a({a}, window, i0, m - i0);",
    ]
    if stride is None:
        loader = f"Weights<typename Tile::PacksB, {shape.rank}, {inner}>"
        return [*lines, *_weights(body, shape), f"const {loader} b({b} + j0 * {columns}, window, strides, n - j0);"]
    unit = str((stride if b_along_k else kernel.kernel_strides[1]) == ONE).lower()
    loader = f"Strided<typename Tile::PacksB, {unit}>"
    return [*lines, f"const {loader} b({b} + j0 * {columns}, {columns}, {dim(stride)}, n - j0, k);"]


def _grouped(shape: _Shape, statements: Sequence[str]) -> list[str]:
    """Number features over all groups, as the epilogue does."""
    if shape.groups == 1:
        return list(statements)
    return [
        "const idx column = group * n + j;",
        "{",
        *(INDENT + s for s in ("const idx j = column;", *statements)),
        "}",
    ]


# -- single elements


def _points(shape: _Shape, facts: Facts) -> tuple[PrintedFunction, Variant[Dim]]:
    """The variant with a thread per element; neighbouring threads read neighbouring inputs."""
    kernel = shape.kernel
    body = FunctionPrinter(kernel, facts)
    lines = [*body.sizes(m=kernel.row.extent, n=kernel.column.extent), *_window(body, shape), *_weights(body, shape)]
    kind = body.emit.spell.value_type(kernel.accumulator.dtype)
    along = "at % n", "at / n"
    column, row = along if shape.feature_inner else ("at / m", "at % m")
    with body.emit.inside() as scope:
        scope.lines += [f"const idx j = (idx)({column}), i = (idx)({row});"]
        a, b = _sources(body, shape, "group")
        per_group = body.emit.dim_scalar(shape.columns)
        if shape.groups > 1:
            scope.lines += [f"const idx group = j / {per_group};"]
            place = f"(j - group * {per_group})"
        else:
            place = "j"
        b = f"{b} + {place} * {body.emit.dim_scalar(kernel.kernel_strides[1])}"
        statements = body.epilogue()
        scope.lines += [f"const {kind} sum = convolve({a}, {b}, window, strides, i);", *statements]
    lines += [
        f"const int64_t count = {product_text(['m', 'n'])};",
        f"for (int64_t at = (int64_t)blockIdx.x * {POINT_THREADS} + threadIdx.x; at < count;"
        f" at += (int64_t)gridDim.x * {POINT_THREADS}) {{",
        *(INDENT + line for line in scope.lines),
        "}",
    ]
    read = (kernel.input.source, kernel.kernel.source)
    function = body.function(f"{NAME}_points", lines, POINT_THREADS, operands=read)
    count = kernel.row.extent * kernel.column.extent
    cycles = maximum(1, shape.depth * POINT_THREADS * POINT_OPS // FMA_PER_CYCLE)
    latency = shape.depth * (LOAD_LATENCY // 4) + LOAD_LATENCY
    call = function.call((count + (POINT_THREADS - 1)) // POINT_THREADS, POINT_THREADS, cycles, latency)
    return function, Variant("single elements", (), False, (call,))


def _pack_guards(shape: _Shape, facts: Facts) -> tuple[Guard[Dim], ...] | None:
    """Guards under which all accesses are whole packs; None if they cannot be."""
    if not shape.has_packed_points:
        return None
    kernel, lanes = shape.kernel, 16 // shape.kernel.input.source.dtype.bytes
    strides = (kernel.input_strides[0], *kernel.input_strides[2:], *kernel.kernel_strides[2:])
    starts = (kernel.input.offset, kernel.kernel.offset)
    rests = dict.fromkeys(facts.canonical(d % lanes) for d in (kernel.column.extent, *strides, *starts))
    if any(rest.constant for rest in rests):
        return None
    return tuple(Guard(rest, "==", ZERO) for rest in rests if rest != ZERO)


def _packed_points(shape: _Shape, facts: Facts, guards: tuple[Guard[Dim], ...]) -> tuple[PrintedFunction, Variant[Dim]]:
    """The variant with a thread per 16 bytes of features, each of which is a group of its own (depthwise)."""
    kernel, dtype = shape.kernel, shape.kernel.input.source.dtype
    body, lanes = FunctionPrinter(kernel, facts), 16 // dtype.bytes
    lines = [*body.sizes(m=kernel.row.extent, n=kernel.column.extent), *_window(body, shape), *_weights(body, shape)]
    with body.emit.inside() as scope:
        views = (kernel.input, kernel.kernel)
        a, b = (f"{clean(view.source.name)} + {body.emit.dim_scalar(view.offset)}" for view in views)
        consumer = body.consumer(body.epilogue())
        scope.lines.append(f"SHLO_SHARED(char, shared, point_bytes<{body.emit.spell.memory_type(dtype)}>);")
        head = f"convolve_packs({a}, {b}, window, strides, first, count, n, shared, "
        scope.lines += call_lines(head, consumer, ");")
    per_block = POINT_THREADS * lanes
    lines += [
        f"const int64_t count = {product_text(['m', 'n'])};",
        f"for (int64_t first = (int64_t)blockIdx.x * {per_block}; first < count;"
        f" first += (int64_t)gridDim.x * {per_block}) {{",
        *(INDENT + line for line in scope.lines),
        "}",
    ]
    read = (kernel.input.source, kernel.kernel.source)
    function = body.function(f"{NAME}_packed", lines, POINT_THREADS, operands=read)
    count, depth = kernel.row.extent * kernel.column.extent, shape.depth
    work = depth * (per_block * (POINT_OPS // lanes + 3)) // FMA_PER_CYCLE
    cycles = maximum(work, memory_cycles(const(2 * per_block * dtype.bytes)))
    latency = depth * (LOAD_LATENCY // 4) + 2 * LOAD_LATENCY
    call = function.call((count + (per_block - 1)) // per_block, POINT_THREADS, cycles, latency)
    return function, Variant(f"packs of {lanes}", guards, True, (call,))
