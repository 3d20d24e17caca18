"""Attention on two-byte types as C++: the scores of a block of rows are kept, formulas are those of the program."""

from __future__ import annotations

from shlo_disc.device.headers import integer_macros
from shlo_disc.dynamic_ops.contract import Precision
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, const
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.attention.forward import AttentionKernel
from shlo_disc.kernels.attention.masks import hidden_blocks
from shlo_disc.lower_cpu.attention.parts import (
    PairBlocks,
    hidden_function,
    matrices,
    row_sizes,
    tasks,
    whole_lines,
    word_elements,
    words,
)
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import CallBack, KernelBody, epilogue, union

# These round after every operation (docs/reference/types.md), also after the division of weights by their sum.
NARROW = frozenset({DType.F16, DType.BF16})


def rows_scratch(kernel: AttentionKernel) -> Dim:
    """Bytes of private memory: as `AttentionRows` lays it out (attention/rows.h)."""
    rows, chunk = row_sizes()
    step = word_elements(kernel.q.dtype)
    deep, wide = whole_lines(words(const(kernel.depth), step)), whole_lines(const(kernel.width))
    keys = kernel.key.extent
    high = whole_lines(keys)
    elements = deep * (high + rows) + wide * (whole_lines(words(keys, step)) + rows)
    elements += rows * (high + 16 + chunk + 16 + len(kernel.sums))
    return elements * _WORD


_WORD = 4  # bytes


def print_rows(kernel: AttentionKernel, name: str) -> KernelBody:
    """Each task is a block of rows of one matrix; adjacent tasks share the packed keys and values."""
    emit = Emitter(VectorSpelling())
    functions, hidden = _functions(kernel, name)
    rows = integer_macros("attention/attention.h")["SHLO_ATTENTION_ROWS"]
    sums = [f"{{{name}_sum{k}, {_bool(one.greatest)}, {_bool(one.kept)}}}" for k, one in enumerate(kernel.sums)]
    lines = [*tasks(kernel, emit), f"{INDENT}count = left;", f"{INDENT}int64_t rest = task / blocks;"]
    library = f"attention_rows_{kernel.q.dtype.value}{_rounding(kernel)}"
    with emit.inside(*(axis.symbol.name for axis in kernel.batch)) as scope:
        described = matrices(kernel, emit, scope.lines)
        scope.lines += [
            f"static const ShloRowSum sums[] = {{{', '.join(sums)}}};",
            "const ShloAttentionRows attention = {",
            f"{INDENT}{described}, sums, {len(sums)}, {name}_share, {name}_store, {hidden}, &at}};",
            f"shlo_{library}(&attention, first * {rows}, min_(m, (first + count) * {rows}), scratch);",
        ]
    lines += [*(INDENT + line for line in scope.lines), "}"]
    texts = tuple(line for function in functions for line in function.lines)
    read = union(*(function.sizes for function in functions), tuple(emit.sizes))
    return KernelBody(texts, (*emit.scopes[0].lines, *lines), read, (library,))


def _rounding(kernel: AttentionKernel) -> str:
    """The suffix of the prelude's name: which products of bf16 have default precision."""
    first, second = (precision is Precision.DEFAULT for precision in kernel.precisions)
    if kernel.q.dtype is not DType.BF16 or not second:
        return ""
    return "_rounded" if first else "_half_rounded"


def _functions(kernel: AttentionKernel, name: str) -> tuple[list[CallBack], str]:
    """The functions that the prelude calls, and its arguments for masks."""
    pairs = PairBlocks(kernel.params, kernel.batch, kernel.row, kernel.key, DType.F32, kernel.sums)
    found = [pairs.function(f"{name}_sum{k}", one.element, DType.F32) for k, one in enumerate(kernel.sums)]
    shares = kernel.q.dtype if word_elements(kernel.q.dtype) > 1 else DType.F32
    found.append(pairs.function(f"{name}_share", kernel.share, shares))
    found.append(epilogue(name, kernel, kernel.batch, DType.F32))
    hidden = hidden_blocks(kernel.score, kernel.row.symbol, kernel.key.symbol) if kernel.masked else None
    if hidden is None:
        return found, "nullptr, 0"
    loops = [axis.symbol.name for axis in kernel.batch]
    found.append(hidden_function(kernel.params, loops, hidden, f"{name}_hidden"))
    return found, f"{name}_hidden, {VectorSpelling().const(hidden.fill, DType.F64)}"


def _bool(value: bool) -> str:
    return "true" if value else "false"
