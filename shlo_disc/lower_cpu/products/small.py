"""Batches of small matrix products as C++: one call of the prelude for many, and one epilogue over all of them.

The sizes of a call select this form. The prelude stores the products contiguously in scratch memory, so that an
epilogue that reads and writes them in order is one loop over all elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.device.headers import integer_macros
from shlo_disc.dynamic_ops.elementwise import converted
from shlo_disc.dynamic_ops.indexing import linear
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, Sym, of
from shlo_disc.expr.scalar import Load
from shlo_disc.kernels.kernel import Axis, DotKernel, MatrixView, Param, RowKernel, Stage
from shlo_disc.kernels.rewrite import ArgRewriter, mergeable, merged
from shlo_disc.kernels.simplify_kernel import merge_loops, rewrite_store
from shlo_disc.lower_cpu.products.multiplication import Multiplication
from shlo_disc.lower_cpu.rows import RowPrinter, is_flat
from shlo_disc.lower_cpu.templates import CallBack, call_back, start
from shlo_disc.records import record

_FIRST = Sym("%first")


@record
class SmallProducts:
    """A product's form for small sizes, at the beginning of a kernel, and the function it calls."""

    statements: tuple[str, ...]
    epilogue: CallBack
    always: bool  # for all sizes, so that no other form follows


@record
class _Batch:
    """The loops over the products, as few as both operands allow, and the views of the operands in them."""

    axes: tuple[Axis, ...]
    a: MatrixView
    b: MatrixView

    def merged(self, position: int) -> _Batch:
        """The batch with the loops at `position` and after it merged."""
        axis, change = merged(self.axes[position], self.axes[position + 1])
        a, b = (_moved(x, x.offset.substitute(change)) for x in (self.a, self.b))
        return _Batch((*self.axes[:position], axis, *self.axes[position + 2 :]), a, b)


def _moved(view: MatrixView, offset: Dim) -> MatrixView:
    return MatrixView(view.source, offset, view.row_stride, view.column_stride)


def _batch(kernel: DotKernel) -> _Batch | None:
    """The batch, with loops merged where both operands' strides allow; None without one, or if there are panels."""
    a, b = kernel.a, kernel.b
    if not isinstance(a, MatrixView) or not isinstance(b, MatrixView) or not kernel.batch:
        return None
    batch = _Batch(kernel.batch, a, b)
    for position in reversed(range(len(kernel.batch) - 1)):
        if mergeable(batch.axes[position], batch.axes[position + 1], (batch.a.offset, batch.b.offset)):
            batch = batch.merged(position)
    return batch


def may_be_small(kernel: DotKernel) -> bool:
    """Whether there is a batch of products, none of whose constant sizes is large."""
    is_large = any(size.constant is not None and size.constant > most for size, most in _limits(kernel))
    return _batch(kernel) is not None and not is_large


def _limits(kernel: DotKernel) -> tuple[tuple[Dim, int], ...]:
    """The sizes of a product, each with its limit for small products."""
    sizes = integer_macros("gemm/gemm.h")
    lines, depth = sizes["SHLO_GEMM_SMALL_LINES"], sizes["SHLO_GEMM_SMALL_DEPTH"]
    return (kernel.row.extent, lines), (kernel.column.extent, lines), (kernel.depth, depth)


def print_small(kernel: DotKernel, kind: Multiplication, name: str, emit: Emitter) -> SmallProducts | None:
    """The form of a product for small sizes, if sizes may be small and there is a batch."""
    batch, limits = _batch(kernel), _limits(kernel)
    most_elements = integer_macros("gemm/gemm.h")["SHLO_GEMM_SMALL_ELEMENTS"]
    if batch is None or not may_be_small(kernel):
        return None
    *_, inner = batch.axes
    steps = [view.offset.linear(inner.symbol) for view in (batch.a, batch.b)]
    if any(step is None for step in steps):
        return None
    conditions = [f"{emit.dim_scalar(size)} <= {most}" for size, most in limits if size.constant is None]
    epilogue, units = _epilogue(kernel, kind, f"{name}_store_small")
    with emit.inside(*(axis.symbol.name for axis in batch.axes)) as scope:
        decode_batch(emit, batch.axes, scope.lines)
        run = f"{emit.dim_scalar(inner.extent)} - {inner.symbol.name.removeprefix('%')}"
        strides = (batch.a.row_stride, batch.a.column_stride, batch.b.row_stride, batch.b.column_stride)
        operands = ", ".join((start(emit, batch.a), start(emit, batch.b), *map(emit.dim_scalar, strides)))
        moves = ", ".join(emit.dim_scalar(step[0]) for step in steps if step)
        scope.lines += [
            f"last = min_(min_(end, first + most), first + {run});",
            f"const ShloGemm products = {{{operands}, m, n, k}};",
            f"shlo_gemm_small_{kind.small}(&products, last - first, {moves}, scratch);",
            f"{name}_store_small(&at, scratch, first, first * units, last * units);",
        ]
    body = [
        f"const int64_t k = {emit.dim_scalar(kernel.depth)}, units = {emit.dim_scalar(units)};",
        f"const int64_t most = {most_elements} / max_(max_(m * n, m * k), max_(k * n, 1));",
        "const ShloTask at = {buffers, dims, {}};",
        "for (int64_t first = begin, last; first < end; first = last) {",
        f"{INDENT}int64_t rest = first;",
        *(INDENT + line for line in scope.lines),
        "}",
    ]
    if conditions:
        body = [f"if ({' && '.join(conditions)}) {{", *(INDENT + line for line in (*body, "return;")), "}"]
    return SmallProducts(tuple(body), epilogue, always=not conditions)


def decode_batch(emit: Emitter, batch: Sequence[Axis], lines: list[str]) -> None:
    """Statements that decompose the number `rest` of a product, less than their count, into the indices of loops."""
    for axis in reversed(batch[1:]):
        extent, name = emit.dim_scalar(axis.extent), axis.symbol.name.removeprefix("%")
        lines += [f"const int64_t {name} = rest % {extent};", f"rest /= {extent};"]
    lines += [f"const int64_t {axis.symbol.name.removeprefix('%')} = rest;" for axis in batch[:1]]


def _epilogue(kernel: DotKernel, kind: Multiplication, name: str) -> tuple[CallBack, Dim]:
    """The function that takes products from number `first` on, and the number of units per product.

    Its range, `begin` to `end`, counts units: elements if the function is one loop, else rows.
    """
    axes = (*kernel.batch, kernel.row, kernel.column)
    place = linear([of(axis.symbol) for axis in axes], [axis.extent for axis in axes])
    size = kernel.row.extent * kernel.column.extent
    tile = Param("tile", kind.sums)
    element = Load(tile, (place - of(_FIRST) * size,))
    rewriter = ArgRewriter({kernel.accumulator.name: converted(element, kernel.accumulator.dtype)})
    stage = Stage((kernel.column,), (False,), tuple(rewrite_store(s, rewriter) for s in kernel.epilogue), ())
    rows = RowKernel(kernel.params, (*kernel.batch, kernel.row), (stage,), ())
    loops = flat if is_flat(flat := merge_loops(rows)) else rows  # partly merged loops have other units
    printer = RowPrinter(loops)
    element_type = printer.spell.memory_type(kind.sums)
    head = [
        f"static void {name}(const ShloTask* at, const void* tile_, int64_t first, int64_t begin, int64_t end) {{",
        f"{INDENT}const {element_type}* __restrict__ const tile = (const {element_type}*)tile_;",
    ]
    return call_back(head, printer, ()), size if is_flat(loops) else kernel.row.extent
