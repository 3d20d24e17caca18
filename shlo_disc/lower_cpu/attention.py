"""Attention as C++: the prelude goes over blocks of keys, generated functions change blocks of scores in place."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.codegen.attention import AttentionKernel
from shlo_disc.codegen.emitter import Emitter
from shlo_disc.codegen.groups import AttentionAbility
from shlo_disc.codegen.kernel import MatrixView, Param, Store
from shlo_disc.codegen.masks import Hidden, hidden_blocks
from shlo_disc.codegen.rewrite import nodes_of
from shlo_disc.codegen.scopes import INDENT
from shlo_disc.codegen.simplify_kernel import rewrite_store
from shlo_disc.codegen.softmax import unconverted
from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.scalar import Const, Load, Select
from shlo_disc.lower_cpu.rows import pointer
from shlo_disc.lower_cpu.small_products import decode_batch
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import (
    SIZES,
    Body,
    CallBack,
    Tile,
    epilogue,
    prelude_constants,
    start,
    tile_function,
    union,
)

# A block of keys and values of the largest width stays in a second-level cache. Types narrower than f32 round after
# every operation (docs/types.md), which weights that are divided last cannot.
ATTENTION = AttentionAbility(frozenset({DType.F32, DType.F64}), 512, backward=True)


def attention_extent(kernel: AttentionKernel) -> Dim:
    """How many blocks of rows there are."""
    rows = prelude_constants("attention.h")["SHLO_ATTENTION_ROWS"]
    return product(axis.extent for axis in kernel.batch) * ((kernel.row.extent + (rows - 1)) // rows)


def attention_work(kernel: AttentionKernel) -> Dim:
    """The multiplications of one block of rows, counted as vectors."""
    rows = prelude_constants("attention.h")["SHLO_ATTENTION_ROWS"]
    return minimum(kernel.row.extent, rows) * kernel.key.extent * (kernel.depth + kernel.width) // 16


def attention_scratch(kernel: AttentionKernel) -> Dim:
    """Bytes of private memory, see `attention.h`."""
    sizes = prelude_constants("attention.h")
    group, keys, block = (sizes[f"SHLO_ATTENTION_{name}"] for name in ("GROUP", "KEYS", "BLOCK"))
    deep, wide = ((size + 15) // 16 * 16 for size in (kernel.depth, kernel.width))
    elements = keys * (deep + wide) + block * (keys + 16 + deep) + group * (wide + 2)
    return const(elements * kernel.q.dtype.bytes)


def print_attention(kernel: AttentionKernel, name: str) -> Body:
    """Each piece of work is a block of rows of one batch; neighbours are done together."""
    emit = Emitter(VectorSpelling())
    functions, arguments = _functions(kernel, name)
    operands = [view.source for view in (kernel.q, kernel.k, kernel.v)]
    lines = [pointer(VectorSpelling(), k, p, written=False) for k, p in enumerate(kernel.params) if p in operands]
    sizes = prelude_constants("attention.h")
    rows, most = sizes["SHLO_ATTENTION_ROWS"], sizes["SHLO_ATTENTION_GROUP"] // sizes["SHLO_ATTENTION_ROWS"]
    lines += [
        f"const int64_t m = {emit.dim_scalar(kernel.row.extent)}, blocks = (m + {rows - 1}) / {rows};",
        "for (int64_t task = begin, count; task < end; task += count) {",
        f"{INDENT}const int64_t first = task % blocks, left = min_(end - task, blocks - first);",
        f"{INDENT}const int64_t parts = (left + {most - 1}) / {most};",
        f"{INDENT}count = (left + parts - 1) / parts;",
        f"{INDENT}int64_t rest = task / blocks;",
    ]
    with emit.inside(*(axis.symbol.name for axis in kernel.batch)) as scope:
        decode_batch(emit, kernel.batch, scope.lines)
        batch = ", ".join(axis.symbol.name.removeprefix("%") for axis in kernel.batch)
        views = ", ".join(matrix(emit, view) for view in (kernel.q, kernel.k, kernel.v))
        shape = f"m, {emit.dim_scalar(kernel.key.extent)}, {kernel.depth}, {kernel.width}"
        scope.lines += [
            f"ShloTask at = {{buffers, dims, {{{batch}}}}};",
            f"const ShloAttention attention = {{{views}, {shape}, {arguments}, &at}};",
            f"shlo_attention_{kernel.q.dtype.value}(&attention, first * {rows},"
            f" min_(m, (first + count) * {rows}), scratch);",
        ]
    lines += [*(INDENT + line for line in scope.lines), "}"]
    texts = tuple(line for function in functions for line in function.lines)
    read = union(*(function.sizes for function in functions), tuple(emit.sizes))
    return Body(texts, (*emit.scopes[0].lines, *lines), read, (f"attention_{kernel.q.dtype.value}",))


def matrix(emit: Emitter, view: MatrixView) -> str:
    """A `ShloMatrix`."""
    return f"{{{start(emit, view)}, {emit.dim_scalar(view.row_stride)}, {emit.dim_scalar(view.column_stride)}}}"


def _functions(kernel: AttentionKernel, name: str) -> tuple[list[CallBack], str]:
    """The functions that the prelude calls, and their names in the order of its arguments."""
    tile = Tile(kernel.row, kernel.key, kernel.q.dtype)

    def changing(suffix: str, store: Store) -> CallBack:
        return tile_function(f"{name}_{suffix}", tile, kernel.params, (store,), kernel.batch)

    found = {"score": changing("score", rewrite_store(tile.changed(kernel.score), tile.replacing(kernel.raw)))}
    if unconverted(kernel.weight) != kernel.exponential:  # sums are not rounded in between
        weight = tile.changed(kernel.weight)
        found["weigh"] = changing("weigh", rewrite_store(weight, tile.replacing(kernel.exponential)))
    if kernel.kept is not None:
        one, zero = (Const(float(n), tile.dtype) for n in (1, 0))
        found["kept"] = changing("kept", tile.changed(Select(kernel.kept, one, zero)))
    hidden = hidden_blocks(kernel.score, kernel.row.symbol, kernel.key.symbol)
    if hidden is not None:
        loops = [axis.symbol.name for axis in kernel.batch]
        found["hidden"] = hidden_function(kernel.params, loops, hidden, f"{name}_hidden")
    names = [f"{name}_{one}" if one in found else "nullptr" for one in ("score", "weigh", "kept", "hidden")]
    fill = VectorSpelling().const(hidden.fill, DType.F64) if hidden is not None else "0"
    found["store"] = epilogue(name, kernel, kernel.batch, tile.dtype)
    return [*found.values()], ", ".join((*names, fill, f"{name}_store"))


def hidden_function(params: Sequence[Param], loops: Sequence[str], hidden: Hidden, name: str) -> CallBack:
    """The function that says whether all scores of a block are hidden."""
    emit, spell = Emitter(VectorSpelling()), VectorSpelling()
    with emit.inside(*loops, "%i0", "%i1", "%j0", "%j1") as scope:
        emit.count_uses([hidden.proof])
        text = emit.value(hidden.proof)
    read = {load.source for load in nodes_of([hidden.proof]) if isinstance(load, Load)}
    lines = [
        f"static bool {name}(void* context, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {{",
        f"{INDENT}const ShloTask* const at = (const ShloTask*)context;",
        f"{INDENT}void* const* const buffers = at->buffers;",
        f"{INDENT}const int64_t* const dims = at->dims;",
        *(f"{INDENT}const int64_t {loop.removeprefix('%')} = at->batch[{k}];" for k, loop in enumerate(loops)),
        SIZES,
        *(INDENT + pointer(spell, k, p, written=False) for k, p in enumerate(params) if p in read),
        *(INDENT + line for line in (*emit.scopes[0].lines, *scope.lines)),
        f"{INDENT}return {text};",
        "}",
    ]
    return CallBack(tuple(lines), tuple(emit.sizes))
