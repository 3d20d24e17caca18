"""Shared parts of tiled products: templates of the prelude compute sums, a generated lambda is the epilogue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from shlo_disc.dynamic_ops.contract import Precision
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT, Scope, clean
from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Load
from shlo_disc.host_ir import GridLaunch
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Axis, ConvKernel, DotKernel, MatrixView, Panel, Param, Store
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.lower_cuda.cost import BARRIER_LATENCY, LOAD_LATENCY
from shlo_disc.lower_cuda.printed import signature
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.records import record

MOST_BLOCKS = 2**31 - 1
# Rate at which one multiprocessor reads operands of tiles. Neighbours share them in the L2 cache, but a block has only
# one step of loads in flight: on an H100 tiles take 2.5 times what the cache alone would (docs/how-to/cuda.md).
L2_BYTES_PER_CYCLE = 16
STEP_BYTES = 64  # of depth per step of a tile

AnyProduct: TypeAlias = DotKernel | ConvKernel


def compute_of(dtype: DType, precision: Precision) -> str:
    """The type in which products of `dtype` are computed: f32 in TF32, as in XLA, except at the highest precision."""
    if dtype is DType.F64:
        return "f64"
    return "tf32" if dtype is DType.F32 and precision is not Precision.HIGHEST else "f32"


@record
class ProductTile:
    """A tile of the prelude: `text` is a format of its C++ type, for the element type and the operands' directions."""

    label: str
    rows: int
    columns: int
    threads: int
    resident: int  # blocks per multiprocessor, as registers allow
    rate: int  # multiply-adds per cycle and multiprocessor, of elements of `width` bytes, stalls included
    width: int
    text: str

    def type(self, dtype: DType, *, a_along_k: bool, b_along_k: bool) -> str:
        """The C++ type."""
        flags = (str(flag).lower() for flag in (a_along_k, b_along_k))
        return self.text.format(CudaSpelling().memory_type(dtype), *flags)

    def cycles(self, dtype: DType, depth: Dim) -> Dim:
        """Cycles for which one block occupies a multiprocessor: arithmetic, or reading operands."""
        rate = self.rate * self.width // dtype.bytes
        arithmetic = self.rows * self.columns * 16 // rate  # per 16 of depth
        reading = (self.rows + self.columns) * dtype.bytes * 16 // L2_BYTES_PER_CYCLE
        return depth * max(arithmetic, reading) // 16 + self.rows * self.columns // 32

    def latency(self, dtype: DType, depth: Dim) -> Dim:
        """Latency of a block in cycles: one load from memory per step, then the epilogue's reads and writes."""
        per_step = LOAD_LATENCY // 2 + BARRIER_LATENCY
        steps = (depth * dtype.bytes + (STEP_BYTES - 1)) // STEP_BYTES
        return steps * per_step + 3 * LOAD_LATENCY

    def counts(self, rows: Dim, columns: Dim) -> tuple[Dim, Dim]:
        """Number of tiles along rows and along columns."""
        return (rows + (self.rows - 1)) // self.rows, (columns + (self.columns - 1)) // self.columns


LARGE = ProductTile("large tiles", 128, 128, 256, 2, 440, 2, "TensorTile<{}, 128, 128, 2, 4, {}, {}>")
MEDIUM = ProductTile("medium tiles", 128, 64, 128, 3, 380, 2, "TensorTile<{}, 128, 64, 2, 2, {}, {}>")
SMALL = ProductTile("small tiles", 64, 64, 128, 4, 320, 2, "TensorTile<{}, 64, 64, 2, 2, {}, {}>")
PLAIN = ProductTile("plain tiles", 64, 64, 128, 2, 80, 4, "PlainTile<{}, 64, 64, 8, 4, {}, {}>")


def tiles_for(dtype: DType, precision: Precision) -> tuple[ProductTile, ...]:
    """The tiles that can compute a product; the last one is legal for all sizes."""
    on_tensor_cores = dtype.bytes == 2 or compute_of(dtype, precision) == "tf32"
    return (LARGE, SMALL) if on_tensor_cores else (PLAIN,)


def capped(blocks: Dim) -> Dim:
    """Limit a number of blocks to what can be launched; kernels loop over the rest."""
    return minimum(blocks, MOST_BLOCKS)


@record
class PrintedFunction:
    """A printed CUDA kernel, and the arguments of its launch."""

    text: tuple[str, ...]
    name: str
    buffers: tuple[int, ...]
    symbols: tuple[str, ...]

    def call(self, blocks: Dim, threads: int, cycles: int | Dim, latency: Dim) -> GridLaunch[Dim]:
        """A launch without dynamic shared memory."""
        busy = const(cycles) if isinstance(cycles, int) else cycles
        return GridLaunch(self.name, self.buffers, self.symbols, capped(blocks), threads, const(0), busy, latency, True)


class FunctionPrinter:
    """Prints one CUDA kernel around a product: hoisted values, then statements in the scope of a batch."""

    def __init__(self, kernel: AnyProduct, facts: Facts) -> None:
        self.kernel, self.facts = kernel, facts
        self.emit = Emitter(CudaSpelling())
        panels = [x for x in _operands(kernel) if isinstance(x, Panel)]
        self.emit.count_uses([*(s.value for s in kernel.epilogue), *(panel.value for panel in panels)])

    def sizes(self, **values: Dim) -> list[str]:
        """Declare sizes as constants of the function."""
        return [f"const idx {name} = {self.emit.dim_scalar(value)};" for name, value in values.items()]

    def batch(self, axes: Sequence[Axis], scope: Scope) -> None:
        """Decode `rest` into the batch indices, the last one innermost."""
        for axis in reversed(axes[1:]):
            extent = self.emit.dim_scalar(axis.extent)
            scope.lines += [f"const idx {clean(axis.symbol.name)} = rest % {extent};", f"rest /= {extent};"]
        scope.lines += [f"const idx {clean(axis.symbol.name)} = rest;" for axis in axes[:1]]

    def epilogue(self, argument: str = "sum") -> list[str]:
        """Statements of the epilogue for element (i, j), whose sum is `argument`."""
        emit, kernel = self.emit, self.kernel
        acc = kernel.accumulator
        with emit.inside(kernel.row.symbol.name, kernel.column.symbol.name, acc.name) as scope:
            for store in kernel.epilogue:
                value = emit.value(store.value)
                assert isinstance(store.target, Param), "epilogues write buffers"
                offset = emit.dim_scalar(store.offset)
                scope.lines.append(emit.spell.store(clean(store.target.name), offset, value, store.target.dtype))
        rounded = emit.spell.rounded(argument, acc.dtype, exact=False)
        return [f"const {emit.spell.value_type(acc.dtype)} {clean(acc.name)} = {rounded};", *scope.lines]

    def element(self, name: str, panel: Panel, line: str) -> list[str]:
        """Print a lambda `name`: the element of a computed operand at a line, relative to `line`0, and a depth."""
        emit, depth = self.emit, clean(panel.depth.symbol.name)
        with emit.inside(panel.line.symbol.name, panel.depth.symbol.name) as scope:
            value = emit.value(panel.value)
            scope.lines.append(f"return {value};")
        head = f"const auto {name} = [&](const idx x, const idx {depth}) -> {emit.spell.value_type(panel.dtype)} {{"
        return [head, f"{INDENT}const idx {line} = {line}0 + x;", *(INDENT + text for text in scope.lines), "};"]

    def consumer(self, statements: Sequence[str], *, swapped: bool = False) -> list[str]:
        """The lambda that the prelude calls with each sum; `swapped`: its rows are columns of the product."""
        kind = self.emit.spell.value_type(self.kernel.accumulator.dtype)
        first, second = ("j", "i") if swapped else ("i", "j")
        head = f"[&](const {kind} sum, const idx {first}, const idx {second}) {{"
        return [head, *(INDENT + line for line in statements), "}"]

    def function(
        self,
        name: str,
        lines: Sequence[str],
        threads: int,
        *,
        resident: int = 0,
        operands: Sequence[Param] = (),
        workspace: bool = False,
    ) -> PrintedFunction:
        """The finished kernel, with only those buffers as parameters that it uses."""
        read, written = epilogue_params(self.kernel.epilogue)
        used = [p for p in self.kernel.params if p in read or p in written or p in operands]
        symbols = tuple(self.emit.sizes)
        names = ("w",) if workspace else ()
        bounds = (threads, resident) if resident else threads
        head = signature(name, used, sorted(written, key=str), symbols, threads=bounds, workspaces=names)
        text = (*head, *(INDENT + x for x in (*self.emit.scopes[0].lines, *lines)), "}")
        numbers = [k for k, p in enumerate(self.kernel.params) if p in used]
        return PrintedFunction(
            text, name, (*numbers, len(self.kernel.params)) if workspace else tuple(numbers), symbols
        )


def epilogue_params(epilogue: Sequence[Store]) -> tuple[set[Param], set[Param]]:
    """The buffers that an epilogue reads, and those that it writes."""
    roots: list[Node] = [s.value for s in epilogue]
    roots += [data.formula for s in epilogue for data in s.offset.data()]
    loads = [n.source for n in nodes_of(roots) if isinstance(n, Load)]
    read = {source for source in loads if isinstance(source, Param)}
    return read, {s.target for s in epilogue if isinstance(s.target, Param)}


def _operands(kernel: AnyProduct) -> tuple[MatrixView | Panel, MatrixView | Panel]:
    return (kernel.a, kernel.b) if isinstance(kernel, DotKernel) else (kernel.input, kernel.kernel)


def operand_params(kernel: AnyProduct) -> tuple[Param, ...]:
    """The buffers from which both operands are read or computed."""
    found = dict[Param, None]()
    for operand in _operands(kernel):
        if isinstance(operand, Panel):
            sources = (n.source for n in nodes_of([operand.value]) if isinstance(n, Load))
            found.update(dict.fromkeys(source for source in sources if isinstance(source, Param)))
        else:
            found[operand.source] = None
    return tuple(found)


def call_lines(head: str, lines: Sequence[str], tail: str) -> list[str]:
    """Format a call `head lambda tail` over the lines of the lambda."""
    return [head + lines[0], *lines[1:-1], lines[-1] + tail]


def batch_size(axes: Sequence[Axis]) -> Dim:
    """The number of products."""
    return product(axis.extent for axis in axes)


def rows_first(kernel: AnyProduct) -> str:
    """Whether results are contiguous along the row index, not the column index, as a template argument."""
    splits = [[s.offset.linear(axis.symbol) for axis in (kernel.row, kernel.column)] for s in kernel.epilogue]
    found = any(i is not None and i[0] == const(1) and (j is None or j[0] != const(1)) for i, j in splits)
    return str(found).lower()


def extent_names(axes: Sequence[Axis]) -> list[str]:
    """Names of a batch's extents in a function."""
    return [f"size_{clean(axis.symbol.name)}" for axis in axes]


def extents_of(axes: Sequence[Axis]) -> dict[str, Dim]:
    """The extents of a batch by name."""
    return dict(zip(extent_names(axes), (axis.extent for axis in axes), strict=True))


def product_text(names: Iterable[str]) -> str:
    """A product of sizes, computed in 64 bits."""
    return " * ".join(["(int64_t)1", *names])
