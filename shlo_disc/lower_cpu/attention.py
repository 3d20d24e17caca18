"""Attention as C++: the prelude goes over blocks of keys, generated functions change blocks of scores in place."""

from __future__ import annotations

from shlo_disc.codegen.attention import AttentionKernel
from shlo_disc.codegen.emitter import Emitter
from shlo_disc.codegen.groups import AttentionAbility
from shlo_disc.codegen.kernel import Store
from shlo_disc.codegen.masks import hidden_blocks
from shlo_disc.codegen.scopes import INDENT
from shlo_disc.codegen.simplify_kernel import rewrite_store
from shlo_disc.codegen.softmax import unconverted
from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.scalar import Const, Select
from shlo_disc.lower_cpu.attention_parts import hidden_function, matrices, tasks
from shlo_disc.lower_cpu.attention_rows import NARROW, print_rows, rows_scratch
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import (
    Body,
    CallBack,
    Tile,
    epilogue,
    prelude_constants,
    tile_function,
    union,
)

# A block of keys and values of the largest width stays in a second-level cache.
_DTYPES = NARROW | {DType.F32, DType.F64}
ATTENTION = AttentionAbility(_DTYPES, 512, backward=_DTYPES)


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
    if kernel.q.dtype in NARROW:
        return rows_scratch(kernel)
    sizes = prelude_constants("attention.h")
    group, keys, block = (sizes[f"SHLO_ATTENTION_{name}"] for name in ("GROUP", "KEYS", "BLOCK"))
    deep, wide = ((size + 15) // 16 * 16 for size in (kernel.depth, kernel.width))
    elements = keys * (deep + wide) + block * (keys + 16 + deep) + group * (wide + 2)
    return const(elements * kernel.q.dtype.bytes)


def print_attention(kernel: AttentionKernel, name: str) -> Body:
    """Each piece of work is a block of rows of one batch; neighbours are done together."""
    if kernel.q.dtype in NARROW:
        return print_rows(kernel, name)
    emit = Emitter(VectorSpelling())
    functions, arguments = _functions(kernel, name)
    sizes = prelude_constants("attention.h")
    rows, most = sizes["SHLO_ATTENTION_ROWS"], sizes["SHLO_ATTENTION_GROUP"] // sizes["SHLO_ATTENTION_ROWS"]
    lines = [
        *tasks(kernel, emit),
        f"{INDENT}const int64_t parts = (left + {most - 1}) / {most};",
        f"{INDENT}count = (left + parts - 1) / parts;",
        f"{INDENT}int64_t rest = task / blocks;",
    ]
    with emit.inside(*(axis.symbol.name for axis in kernel.batch)) as scope:
        described = matrices(kernel, emit, scope.lines)
        scope.lines += [
            f"const ShloAttention attention = {{{described}, {arguments}, &at}};",
            f"shlo_attention_{kernel.q.dtype.value}(&attention, first * {rows},"
            f" min_(m, (first + count) * {rows}), scratch);",
        ]
    lines += [*(INDENT + line for line in scope.lines), "}"]
    texts = tuple(line for function in functions for line in function.lines)
    read = union(*(function.sizes for function in functions), tuple(emit.sizes))
    return Body(texts, (*emit.scopes[0].lines, *lines), read, (f"attention_{kernel.q.dtype.value}",))


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
