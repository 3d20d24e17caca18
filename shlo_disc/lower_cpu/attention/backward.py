"""The backward pass of attention as C++: the prelude loops over blocks of rows, generated functions over scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shlo_disc.dynamic_ops.contract import Precision, accumulator
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, const, maximum, product
from shlo_disc.expr.scalar import Const
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.attention.backward import build_backward
from shlo_disc.kernels.attention.backward_kernel import BackwardKernel, BackwardProduct
from shlo_disc.kernels.attention.masks import hidden_blocks
from shlo_disc.kernels.attention.zero_propagation import LARGEST
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import Axis, Store
from shlo_disc.kernels.simplify_kernel import rewrite_store
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.lower_cpu.attention.parts import (
    PairBlocks,
    hidden_function,
    matrix,
    row_sizes,
    whole_lines,
    word_elements,
    words,
)
from shlo_disc.lower_cpu.lowered import LoweredGroup
from shlo_disc.lower_cpu.lowering_context import LoweringContext
from shlo_disc.lower_cpu.products.small import decode_batch
from shlo_disc.lower_cpu.rows import pointer
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import CallBack, ElementTile, KernelBody, tile_function, union


def lower_backward(group: Group, context: LoweringContext) -> LoweredGroup:
    """A task computes the gradients of one point of the batch."""
    kernel, tensors = verified(build_backward(group, context.facts, context.producers), group)
    body, scratch = print_backward(kernel, NAME), backward_scratch(kernel)
    return LoweredGroup(body, tensors, backward_extent(kernel), backward_work(kernel), scratch)


def backward_extent(kernel: BackwardKernel) -> Dim:
    """Number of tasks: one per point of the batch, which computes the whole sums of its keys' gradients."""
    return product(axis.extent for axis in kernel.batch)


def backward_work(kernel: BackwardKernel) -> Dim:
    """The multiplications of one task, counted as vectors."""
    pairs = product(axis.extent for axis in (*kernel.inner, kernel.row, kernel.key))
    widths = kernel.depth + kernel.width + sum(one.column.extent.constant or 0 for one in kernel.products)
    return pairs * widths // 16


def backward_scratch(kernel: BackwardKernel) -> Dim:
    """Bytes of private memory: as `AttentionBackward` lays it out (attention/gradients.h)."""
    rows, chunk = row_sizes()
    step, keys = word_elements(kernel.q.dtype), kernel.key.extent
    high = whole_lines(keys)
    deep, wide = (whole_lines(words(const(size), step)) for size in (kernel.depth, kernel.width))
    elements = (deep + wide) * (high + rows) + (high + 16) * (2 * rows)
    elements += max(1, len(kernel.weights)) * rows * (chunk + 16) + len(kernel.sums) * rows
    elements += rows // step * (chunk + 16) if step > 1 else 0
    for one in kernel.products:
        of_word = step if _is_narrow(kernel, one) else 1
        summed, left = (const(rows), high) if one.by_key else (keys, const(rows))
        elements += whole_lines(one.column.extent) * (whole_lines(words(summed, of_word)) + left)
    return elements * accumulator(kernel.q.dtype).bytes


def _is_narrow(kernel: BackwardKernel, one: BackwardProduct) -> bool:
    """Whether a product reads its two-byte weights unconverted."""
    return word_elements(kernel.weights[one.weights].dtype) > 1


def _words(dtype: DType, precision: Precision) -> str:
    """The `ShloWords` of a product."""
    if word_elements(dtype) == 1:
        return "SHLO_NUMBERS"
    return "SHLO_ROUNDED_PAIRS" if precision is Precision.DEFAULT else "SHLO_PAIRS"


def print_backward(kernel: BackwardKernel, name: str) -> KernelBody:
    """A task is a point of the batch, with all rows and keys."""
    emit, dtype = Emitter(VectorSpelling()), kernel.q.dtype
    functions, tables = _functions(kernel, name)
    views = [kernel.q, kernel.k, kernel.g, kernel.v, *(one.right for one in kernel.products)]
    read = {view.source for view in views}
    lines = [pointer(VectorSpelling(), k, p, written=False) for k, p in enumerate(kernel.params) if p in read]
    inner = emit.dim_scalar(product(axis.extent for axis in kernel.inner))
    lines += [
        f"const int64_t inner = {inner}, iterations = max_(inner, 1);",
        "for (int64_t task = begin; task < end; ++task)",
        f"{INDENT}for (int64_t iteration = 0; iteration < iterations; ++iteration) {{",
    ]
    axes = (*kernel.batch, *kernel.inner)
    with emit.inside(*(axis.symbol.name for axis in axes)) as scope:
        scope.lines.append("int64_t rest = task;")
        decode_batch(emit, kernel.batch, scope.lines)
        if kernel.inner:
            scope.lines.append("rest = iteration;")
            decode_batch(emit, [Axis(a.symbol, maximum(a.extent, 1)) for a in kernel.inner], scope.lines)
        scope.lines += _call(kernel, emit, name, tables)
    lines += [*(2 * INDENT + line for line in scope.lines), f"{INDENT}}}"]
    texts = tuple(line for function in functions for line in function.lines)
    sizes = union(*(function.sizes for function in functions), tuple(emit.sizes))
    libraries = (f"attention_backward_{dtype.value}", f"attention_{accumulator(dtype).value}")
    return KernelBody(texts, (*emit.scopes[0].lines, *lines), sizes, libraries)


def _call(kernel: BackwardKernel, emit: Emitter, name: str, tables: dict[str, str]) -> Iterator[str]:
    """Statements that describe one matrix to the prelude."""
    batch = ", ".join(axis.symbol.name.removeprefix("%") for axis in (*kernel.batch, *kernel.inner))
    yield f"ShloTask at = {{buffers, dims, {{{batch}}}}};"
    for table in ("sums", "weights"):
        yield tables[table]
    rights = [
        f"{{{matrix(emit, one.right)}, {one.column.extent}, {one.weights}, {_bool(one.by_key)},"
        f" {_words(kernel.weights[one.weights].dtype, one.precision)}, {name}_store{k}}}"
        for k, one in enumerate(kernel.products)
    ]
    yield f"const ShloGradient gradients[] = {{{', '.join(rights)}}};"
    views = ", ".join(matrix(emit, view) for view in (kernel.q, kernel.k, kernel.g, kernel.v))
    rows, keys = emit.dim_scalar(kernel.row.extent), emit.dim_scalar(kernel.key.extent)
    counts = (("sums", len(kernel.sums)), ("weights", len(kernel.weights)), ("gradients", len(kernel.products)))
    given = ", ".join(f"{table}, {count}" for table, count in counts)
    yield "const ShloAttentionBackward attention = {"
    yield f"{INDENT}{views}, iteration < inner ? {rows} : 0, {keys}, {kernel.depth}, {kernel.width},"
    by_rows = ", ".join(_words(kernel.q.dtype, precision) for precision in kernel.precisions)
    yield f"{INDENT}{given}, {tables['hidden']}, {LARGEST}, {by_rows}, &at}};"
    call = f"shlo_attention_backward_{kernel.q.dtype.value}"
    yield f"{call}(&attention, iteration == 0, iteration == iterations - 1, scratch);"


def _functions(kernel: BackwardKernel, name: str) -> tuple[list[CallBack], dict[str, str]]:
    """The functions that the prelude calls, and the tables of their names."""
    found, sums, weights = list[CallBack](), list[str](), list[str]()
    dtype, batch = accumulator(kernel.q.dtype), (*kernel.batch, *kernel.inner)
    pairs = PairBlocks(kernel.params, batch, kernel.row, kernel.key, dtype, kernel.sums)
    for k, one in enumerate(kernel.sums):
        found.append(pairs.function(f"{name}_sum{k}", one.element, dtype))
        sums.append(f"{{{name}_sum{k}, {_bool(one.greatest)}, {_bool(one.kept)}}}")
    for k, weight in enumerate(kernel.weights):
        stores = [one.store for one in kernel.stores if one.weights == k]
        narrow = word_elements(weight.dtype) > 1
        found.append(pairs.function(f"{name}_weight{k}", weight, weight.dtype if narrow else dtype, stores))
        weights.append(f"{{{name}_weight{k}, {_bool(narrow)}}}")
    found += [_epilogue(kernel, f"{name}_store{k}", one) for k, one in enumerate(kernel.products)]
    hidden = hidden_blocks(kernel.score, kernel.row.symbol, kernel.key.symbol) if kernel.masked else None
    said = "nullptr, nullptr, 0"
    if hidden is not None:
        loops = [axis.symbol.name for axis in batch]
        found.append(hidden_function(kernel.params, loops, hidden, f"{name}_hidden"))
        vacant = "nullptr"
        if kernel.stores:
            vacant = f"{name}_vacant"
            found.append(pairs.function(vacant, Const(0.0, dtype), dtype, [_zero(one.store) for one in kernel.stores]))
        said = f"{name}_hidden, {vacant}, {VectorSpelling().const(hidden.fill, DType.F64)}"
    tables = {
        "sums": f"static const ShloRowSum sums[] = {{{', '.join(sums)}}};",
        "weights": f"static const ShloWeights weights[] = {{{', '.join(weights)}}};",
        "hidden": said,
    }
    return found, tables


def _zero(store: Store) -> Store:
    """The store of 0 for a pair that adds nothing to any sum."""
    dtype = store.value.dtype
    return replace(store, value=Const(0.0 if dtype.is_float else 0, dtype))


def _epilogue(kernel: BackwardKernel, name: str, one: BackwardProduct) -> CallBack:
    """The function that takes rows of a gradient with respect to keys or queries."""
    tile = ElementTile(kernel.key if one.by_key else kernel.row, one.column, accumulator(kernel.q.dtype))
    stores = tuple(rewrite_store(store, tile.replacing(one.accumulator)) for store in one.epilogue)
    return tile_function(name, tile, kernel.params, stores, (*kernel.batch, *kernel.inner))


def _bool(value: bool) -> str:
    return "true" if value else "false"
