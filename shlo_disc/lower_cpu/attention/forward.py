"""Attention as C++: the prelude loops over blocks of keys, generated functions change blocks of scores in place."""

from __future__ import annotations

from shlo_disc.device.headers import integer_macros
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, const, maximum, minimum, product
from shlo_disc.expr.scalar import Const, Select
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.attention.forward import AttentionKernel, build_attention
from shlo_disc.kernels.attention.masks import hidden_blocks
from shlo_disc.kernels.groups import AttentionAbility, Group
from shlo_disc.kernels.inplace import epilogue_pairs, positions
from shlo_disc.kernels.kernel import Store
from shlo_disc.kernels.simplify_kernel import rewrite_store
from shlo_disc.kernels.softmax import unconverted
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.lower_cpu.attention.parts import hidden_function, matrices, operand_pointers, tasks
from shlo_disc.lower_cpu.attention.rows import NARROW, print_rows, rows_scratch
from shlo_disc.lower_cpu.lowered import LoweredGroup
from shlo_disc.lower_cpu.lowering_context import LoweringContext
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

# 512: at this width a block of keys and values stays in a second-level cache.
_DTYPES = NARROW | {DType.F32, DType.F64}
ATTENTION = AttentionAbility(_DTYPES, 512, backward=_DTYPES)


# The least keys of a split, which take 2 us where sharing takes 1 us; and the most splits, of all matrices together.
# A split costs one thread 0.1 us (one query) to 0.6 us (32 queries).
_LEAST_KEYS, _MOST_SPLITS = 512, DESKTOP.workers
_LOADED = 4  # cost of loading an element of keys or values, see work.py


def lower_attention(group: Group, context: LoweringContext) -> LoweredGroup:
    """A task computes a block of rows of one matrix, or its share of the keys."""
    kernel, tensors = verified(build_attention(group, context.facts, context.producers), group)
    splits, definitions = context.symbols.named(context.facts.canonical(key_splits(kernel)), "splits")
    return LoweredGroup(
        print_attention(kernel, NAME, splits),
        tensors,
        attention_extent(kernel, splits),
        attention_work(kernel),
        attention_scratch(kernel),
        in_place=positions(epilogue_pairs(kernel), kernel.params),
        workspaces=attention_workspaces(kernel),
        definitions=definitions,
    )


def key_splits(kernel: AttentionKernel) -> Dim:
    """Number of splits of the keys, at least 1: several for few rows of few matrices, which have too few tasks.

    It depends on sizes alone, and so do the bits (Flash-Decoding, Dao et al. 2023, splits keys by the cores of a GPU).
    """
    if not _may_split(kernel):
        return const(1)
    return maximum(1, _are_few(kernel) * minimum(kernel.key.extent // _LEAST_KEYS, _MOST_SPLITS // _matrices(kernel)))


def _may_split(kernel: AttentionKernel) -> bool:
    """Whether some sizes have few rows and many keys: not if their difference is a small constant."""
    most = integer_macros("attention/attention.h")["SHLO_ATTENTION_ROWS"]
    behind = (kernel.key.extent - kernel.row.extent).constant
    return kernel.q.dtype not in NARROW and (behind is None or behind >= 2 * _LEAST_KEYS - most)


def _are_few(kernel: AttentionKernel) -> Dim:
    """1 if the rows are one block or less, else 0."""
    most = integer_macros("attention/attention.h")["SHLO_ATTENTION_ROWS"]
    return minimum(1, maximum(0, most + 1 - kernel.row.extent))


def _matrices(kernel: AttentionKernel) -> Dim:
    return maximum(1, product(axis.extent for axis in kernel.batch))


def attention_extent(kernel: AttentionKernel, splits: Dim) -> Dim:
    """Number of blocks of rows; 1 if a single task launches the splits of keys."""
    rows = integer_macros("attention/attention.h")["SHLO_ATTENTION_ROWS"]
    blocks = product(axis.extent for axis in kernel.batch) * ((kernel.row.extent + (rows - 1)) // rows)
    return blocks + minimum(1, splits - 1) * (1 - blocks)


def attention_work(kernel: AttentionKernel) -> Dim:
    """Cost of one block of rows: multiplications, as vectors, and loads."""
    rows = integer_macros("attention/attention.h")["SHLO_ATTENTION_ROWS"]
    pairs = minimum(kernel.row.extent, rows) * kernel.key.extent
    return (pairs // 16 + kernel.key.extent * _LOADED) * (kernel.depth + kernel.width)


def attention_workspaces(kernel: AttentionKernel) -> tuple[Dim, ...]:
    """Bytes of the states of all splits."""
    if not _may_split(kernel):
        return ()
    most = integer_macros("attention/attention.h")["SHLO_ATTENTION_ROWS"]
    matrices, keys = _matrices(kernel), kernel.key.extent
    splits = _are_few(kernel) * minimum(1, keys // (2 * _LEAST_KEYS)) * minimum(1, _MOST_SPLITS // (2 * matrices))
    # sized for the most splits, which keeps the formula short: the offsets of later buffers repeat it
    return (splits * _MOST_SPLITS * _state(kernel, minimum(kernel.row.extent, most)),)


def _state(kernel: AttentionKernel, rows: Dim) -> Dim:
    """Bytes of the state of `rows` rows of one split, see `attention.h`."""
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


def print_attention(kernel: AttentionKernel, name: str, splits: Dim) -> KernelBody:
    """Each task is a block of rows of one matrix, and adjacent ones run together; or one task launches all `splits`."""
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
    if splits.constant != 1:
        functions += _split_functions(kernel, name, arguments, splits)
        lines = [*_sharing(kernel, emit, name, splits), *lines]
    texts = tuple(line for function in functions for line in function.lines)
    read = union(*(function.sizes for function in functions), tuple(emit.sizes))
    return KernelBody(texts, (*emit.scopes[0].lines, *lines), read, (f"attention_{kernel.q.dtype.value}",))


def _sharing(kernel: AttentionKernel, emit: Emitter, name: str, splits: Dim) -> list[str]:
    """Statements that launch the splits of keys, if there are several, and then the joins of each matrix's splits."""
    count = product(axis.extent for axis in kernel.batch)
    scratch = emit.dim_scalar(attention_scratch(kernel))

    def shared(function: str, extent: Dim, work: Dim) -> str:
        grain = emit.dim_scalar(maximum(1, const(WORK_PER_THREAD) // maximum(1, work)))
        launched = f"{name}_{function}, buffers, dims, {emit.dim_scalar(extent)}, {grain}, {scratch}"
        return f"{INDENT}runtime->parallel(runtime, {launched});"

    return [
        f"if ({emit.dim_scalar(splits)} > 1) {{",
        shared("split", count * splits, attention_work(kernel) // splits),
        shared("join", count, splits * kernel.row.extent * kernel.width * _LOADED),
        f"{INDENT}return;",
        "}",
    ]


def _split_functions(kernel: AttentionKernel, name: str, arguments: str, splits: Dim) -> list[CallBack]:
    """The loops over splits of keys, and over matrices whose splits are joined."""
    dtype = kernel.q.dtype.value
    split = [
        "const int64_t most = (keys + splits - 1) / splits, length = (most + 63) / 64 * 64;",
        "const int64_t j0 = min_(task % splits * length, keys), j1 = min_(j0 + length, keys);",
        f"shlo_attention_split_{dtype}(&attention, j0, j1, states + task * state, scratch);",
    ]
    join = [f"shlo_attention_join_{dtype}(&attention, states + task * splits * state, splits, scratch);"]
    return [
        _loop_over_matrices(kernel, f"{name}_split", "task / splits", arguments, split, splits),
        _loop_over_matrices(kernel, f"{name}_join", "task", arguments, join, splits),
    ]


def _loop_over_matrices(
    kernel: AttentionKernel, name: str, matrix: str, arguments: str, calls: list[str], splits: Dim
) -> CallBack:
    """A function that executes `calls` for each task, with the attention of matrix number `matrix`."""
    emit = Emitter(VectorSpelling())
    rows, keys, state = map(emit.dim_scalar, (kernel.row.extent, kernel.key.extent, _state(kernel, kernel.row.extent)))
    head = [
        *operand_pointers(kernel),
        f"char* const states = (char*)buffers[{len(kernel.params)}];",
        f"const int64_t m = {rows}, keys = {keys}, splits = {emit.dim_scalar(splits)}, state = {state};",
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
