"""Attention as C++: the prelude goes over blocks of keys, generated functions change blocks of scores in place."""

from __future__ import annotations

from shlo_disc.device.headers import integer_macros
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, const, maximum, minimum, product
from shlo_disc.expr.scalar import Const, Select
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.attention.forward import AttentionKernel
from shlo_disc.kernels.attention.masks import hidden_blocks
from shlo_disc.kernels.groups import AttentionAbility
from shlo_disc.kernels.kernel import Store
from shlo_disc.kernels.simplify_kernel import rewrite_store
from shlo_disc.kernels.softmax import unconverted
from shlo_disc.lower_cpu.attention.parts import hidden_function, matrices, operand_pointers, tasks
from shlo_disc.lower_cpu.attention.rows import NARROW, print_rows, rows_scratch
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import (
    SIZES,
    CallBack,
    ElementTile,
    KernelBody,
    epilogue,
    signature,
    tile_function,
    union,
)
from shlo_disc.lower_cpu.work import DESKTOP, WORK_PER_THREAD

# A block of keys and values of the largest width stays in a second-level cache.
_DTYPES = NARROW | {DType.F32, DType.F64}
ATTENTION = AttentionAbility(_DTYPES, 512, backward=_DTYPES)


# Keys of a piece at least, which take 2 us where sharing takes one; and how many pieces are enough, of all matrices.
# A piece costs one thread 0.1 us (one query) to 0.6 (32).
_PIECE, _PIECES = 512, DESKTOP.workers
_LOADED = 4  # an element of keys or values, see work.py


def attention_pieces(kernel: AttentionKernel) -> Dim:
    """Into how many pieces keys are cut: those of few rows of few matrices, as threads have no other work.

    It depends on sizes alone, and so do the bits (Flash-Decoding, Dao et al. 2023, cuts keys by the cores of a GPU).
    """
    return 1 + _is_cut(kernel) * (minimum(kernel.key.extent // _PIECE, const(_PIECES) // _matrices(kernel)) - 1)


def _is_cut(kernel: AttentionKernel) -> Dim:
    """1 if keys are cut, else 0."""
    rows, keys = kernel.row.extent, kernel.key.extent
    most = integer_macros("attention/attention.h")["SHLO_ATTENTION_ROWS"]
    behind = (keys - rows).constant
    if kernel.q.dtype in NARROW or (behind is not None and behind < 2 * _PIECE - most):
        return const(0)  # the last: few rows have few keys, if their numbers are the same
    few = minimum(1, maximum(0, most + 1 - rows))
    return few * minimum(1, keys // (2 * _PIECE)) * minimum(1, const(_PIECES) // (2 * _matrices(kernel)))


def _matrices(kernel: AttentionKernel) -> Dim:
    return maximum(1, product(axis.extent for axis in kernel.batch))


def attention_extent(kernel: AttentionKernel) -> Dim:
    """How many blocks of rows there are; one piece of work if it hands out pieces of keys."""
    rows = integer_macros("attention/attention.h")["SHLO_ATTENTION_ROWS"]
    blocks = product(axis.extent for axis in kernel.batch) * ((kernel.row.extent + (rows - 1)) // rows)
    return blocks + _is_cut(kernel) * (1 - blocks)


def attention_work(kernel: AttentionKernel) -> Dim:
    """What one block of rows multiplies, as vectors, and loads."""
    rows = integer_macros("attention/attention.h")["SHLO_ATTENTION_ROWS"]
    pairs = minimum(kernel.row.extent, rows) * kernel.key.extent
    return (pairs // 16 + kernel.key.extent * _LOADED) * (kernel.depth + kernel.width)


def attention_workspaces(kernel: AttentionKernel) -> tuple[Dim, ...]:
    """Bytes of what is known of all pieces of keys."""
    cut, most = _is_cut(kernel), integer_macros("attention/attention.h")["SHLO_ATTENTION_ROWS"]
    # as much as the most pieces take: offsets of all that lies behind repeat this formula
    return () if cut.constant == 0 else (cut * _PIECES * _state(kernel, minimum(kernel.row.extent, most)),)


def _state(kernel: AttentionKernel, rows: Dim) -> Dim:
    """Bytes of what is known of `rows` rows of one piece, see `attention.h`."""
    block = integer_macros("attention/attention.h")["SHLO_ATTENTION_BLOCK"]
    wide = (kernel.width + 15) // 16 * 16
    return (rows * wide + 2 * block) * kernel.q.dtype.bytes


def attention_scratch(kernel: AttentionKernel) -> Dim:
    """Bytes of private memory, see `attention.h`."""
    if kernel.q.dtype in NARROW:
        return rows_scratch(kernel)
    sizes = integer_macros("attention/attention.h")
    group, keys, block = (sizes[f"SHLO_ATTENTION_{name}"] for name in ("GROUP", "KEYS", "BLOCK"))
    deep, wide = ((size + 15) // 16 * 16 for size in (kernel.depth, kernel.width))
    elements = keys * (deep + wide) + block * (keys + 16 + deep) + group * (wide + 2)
    return const(elements * kernel.q.dtype.bytes)


def print_attention(kernel: AttentionKernel, name: str) -> KernelBody:
    """Each piece of work is a block of rows of one batch; neighbours are done together."""
    if kernel.q.dtype in NARROW:
        return print_rows(kernel, name)
    emit = Emitter(VectorSpelling())
    functions, arguments = _functions(kernel, name)
    sizes = integer_macros("attention/attention.h")
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
    functions += _pieces(kernel, name, arguments)
    if attention_pieces(kernel).constant != 1:
        lines = [*_sharing(kernel, emit, name), *lines]
    texts = tuple(line for function in functions for line in function.lines)
    read = union(*(function.sizes for function in functions), tuple(emit.sizes))
    return KernelBody(texts, (*emit.scopes[0].lines, *lines), read, (f"attention_{kernel.q.dtype.value}",))


def _sharing(kernel: AttentionKernel, emit: Emitter, name: str) -> list[str]:
    """Statements that hand out pieces of keys, if there are several, and then what joins them."""
    count, pieces = product(axis.extent for axis in kernel.batch), attention_pieces(kernel)
    met, joined = attention_work(kernel) // maximum(1, pieces), pieces * kernel.row.extent * kernel.width * _LOADED
    scratch = emit.dim_scalar(attention_scratch(kernel))

    def shared(function: str, extent: Dim, work: Dim) -> str:
        grain = emit.dim_scalar(maximum(1, const(WORK_PER_THREAD) // maximum(1, work)))
        launched = f"{name}_{function}, buffers, dims, {emit.dim_scalar(extent)}, {grain}, {scratch}"
        return f"{INDENT}runtime->parallel(runtime, {launched});"

    return [
        f"if ({emit.dim_scalar(pieces)} > 1) {{",
        shared("piece", count * pieces, met),
        shared("join", count, joined),
        f"{INDENT}return;",
        "}",
    ]


def _pieces(kernel: AttentionKernel, name: str, arguments: str) -> list[CallBack]:
    """The loops over pieces of keys, and over matrices whose pieces are joined."""
    if attention_pieces(kernel).constant == 1:
        return []
    dtype = kernel.q.dtype.value
    piece = [
        "const int64_t most = (keys + pieces - 1) / pieces, length = (most + 63) / 64 * 64;",
        "const int64_t j0 = min_(task % pieces * length, keys), j1 = min_(j0 + length, keys);",
        f"shlo_attention_piece_{dtype}(&attention, j0, j1, states + task * state, scratch);",
    ]
    join = [f"shlo_attention_join_{dtype}(&attention, states + task * pieces * state, pieces, scratch);"]
    return [
        _over_pieces(kernel, f"{name}_piece", "task / pieces", arguments, piece),
        _over_pieces(kernel, f"{name}_join", "task", arguments, join),
    ]


def _over_pieces(kernel: AttentionKernel, name: str, matrix: str, arguments: str, calls: list[str]) -> CallBack:
    """A loop whose turn number `task` is about `matrix`."""
    emit = Emitter(VectorSpelling())
    rows, keys = emit.dim_scalar(kernel.row.extent), emit.dim_scalar(kernel.key.extent)
    pieces, state = emit.dim_scalar(attention_pieces(kernel)), emit.dim_scalar(_state(kernel, kernel.row.extent))
    head = [
        *operand_pointers(kernel),
        f"char* const states = (char*)buffers[{len(kernel.params)}];",
        f"const int64_t m = {rows}, keys = {keys}, pieces = {pieces}, state = {state};",
        "for (int64_t task = begin; task < end; ++task) {",
        f"{INDENT}int64_t rest = {matrix};",
    ]
    with emit.inside(*(axis.symbol.name for axis in kernel.batch)) as scope:
        described = matrices(kernel, emit, scope.lines)
        scope.lines += [f"const ShloAttention attention = {{{described}, {arguments}, &at}};", *calls]
    lines = [*emit.scopes[0].lines, *head, *(INDENT + line for line in scope.lines), "}"]
    text = (*signature("static", name), SIZES, *(INDENT + line for line in lines), "}")
    return CallBack(text, tuple(emit.sizes))


def _functions(kernel: AttentionKernel, name: str) -> tuple[list[CallBack], str]:
    """The functions that the prelude calls, and their names in the order of its arguments."""
    tile = ElementTile(kernel.row, kernel.key, kernel.q.dtype)

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
