"""What tiled products share: kernels in the prelude do the sums, a generated lambda takes each finished element."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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

MOST_BLOCKS = 2**31 - 1
# What one multiprocessor reads for tiles. Neighbours read the same operands from the second-level cache, but each block
# waits for its one step of loads: on an H100 tiles take 2.5 times what the cache alone would (docs/how-to/cuda.md).
L2_BYTES_PER_CYCLE = 16
STEP_BYTES = 64  # of depth that a tile takes at a time

AnyProduct: TypeAlias = DotKernel | ConvKernel


def compute_of(dtype: DType, precision: Precision) -> str:
    """How products of `dtype` are computed: f32 in TF32, as by XLA, unless a program asks for the highest precision."""
    if dtype is DType.F64:
        return "f64"
    return "tf32" if dtype is DType.F32 and precision is not Precision.HIGHEST else "f32"


@dataclass(frozen=True, slots=True)
class ProductTile:
    """A tile of the prelude: `text` is its C++ type, with blanks for the element type and the operands' directions."""

    label: str
    rows: int
    columns: int
    threads: int
    resident: int  # blocks that a multiprocessor has registers for
    rate: int  # multiply-adds per cycle and multiprocessor, of elements of `width` bytes, with what they wait for
    width: int
    text: str

    def type(self, dtype: DType, *, a_along_k: bool, b_along_k: bool) -> str:
        """The C++ type."""
        flags = (str(flag).lower() for flag in (a_along_k, b_along_k))
        return self.text.format(CudaSpelling().memory_type(dtype), *flags)

    def cycles(self, dtype: DType, depth: Dim) -> Dim:
        """How long one block keeps a multiprocessor busy: with arithmetic, or with reading its operands."""
        rate = self.rate * self.width // dtype.bytes
        arithmetic = self.rows * self.columns * 16 // rate  # per 16 of depth
        reading = (self.rows + self.columns) * dtype.bytes * 16 // L2_BYTES_PER_CYCLE
        return depth * max(arithmetic, reading) // 16 + self.rows * self.columns // 32

    def latency(self, dtype: DType, depth: Dim) -> Dim:
        """One load per step waits for memory; the epilogue reads and writes."""
        per_step = LOAD_LATENCY // 2 + BARRIER_LATENCY
        steps = (depth * dtype.bytes + (STEP_BYTES - 1)) // STEP_BYTES
        return steps * per_step + 3 * LOAD_LATENCY

    def counts(self, rows: Dim, columns: Dim) -> tuple[Dim, Dim]:
        """How many tiles there are along both directions."""
        return (rows + (self.rows - 1)) // self.rows, (columns + (self.columns - 1)) // self.columns


LARGE = ProductTile("large tiles", 128, 128, 256, 2, 440, 2, "TensorTile<{}, 128, 128, 2, 4, {}, {}>")
MEDIUM = ProductTile("medium tiles", 128, 64, 128, 3, 380, 2, "TensorTile<{}, 128, 64, 2, 2, {}, {}>")
SMALL = ProductTile("small tiles", 64, 64, 128, 4, 320, 2, "TensorTile<{}, 64, 64, 2, 2, {}, {}>")
PLAIN = ProductTile("plain tiles", 64, 64, 128, 2, 80, 4, "PlainTile<{}, 64, 64, 8, 4, {}, {}>")


def tiles_for(dtype: DType, precision: Precision) -> tuple[ProductTile, ...]:
    """The tiles that can compute a product, the one that fits everything last."""
    on_tensor_cores = dtype.bytes == 2 or compute_of(dtype, precision) == "tf32"
    return (LARGE, SMALL) if on_tensor_cores else (PLAIN,)


def capped(blocks: Dim) -> Dim:
    """A number of blocks that can be launched; kernels loop over the rest."""
    return minimum(blocks, MOST_BLOCKS)


@dataclass(frozen=True, slots=True)
class PrintedFunction:
    """A printed CUDA function, and what it is launched with."""

    text: tuple[str, ...]
    name: str
    buffers: tuple[int, ...]
    symbols: tuple[str, ...]

    def call(self, blocks: Dim, threads: int, cycles: int | Dim, latency: Dim) -> GridLaunch[Dim]:
        """A launch without dynamic shared memory."""
        busy = const(cycles) if isinstance(cycles, int) else cycles
        return GridLaunch(self.name, self.buffers, self.symbols, capped(blocks), threads, const(0), busy, latency, True)


class FunctionPrinter:
    """Prints one CUDA function around a product: hoisted values, then statements in the scope of a batch."""

    def __init__(self, kernel: AnyProduct, facts: Facts) -> None:
        self.kernel, self.facts = kernel, facts
        self.emit = Emitter(CudaSpelling())
        panels = [x for x in _operands(kernel) if isinstance(x, Panel)]
        self.emit.count_uses([*(s.value for s in kernel.epilogue), *(panel.value for panel in panels)])

    def sizes(self, **values: Dim) -> list[str]:
        """Constants of the function."""
        return [f"const idx {name} = {self.emit.dim_scalar(value)};" for name, value in values.items()]

    def batch(self, axes: Sequence[Axis], scope: Scope) -> None:
        """Split `rest` into the indices of the batch, the last one innermost."""
        for axis in reversed(axes[1:]):
            extent = self.emit.dim_scalar(axis.extent)
            scope.lines += [f"const idx {clean(axis.symbol.name)} = rest % {extent};", f"rest /= {extent};"]
        scope.lines += [f"const idx {clean(axis.symbol.name)} = rest;" for axis in axes[:1]]

    def epilogue(self, argument: str = "sum") -> list[str]:
        """Statements for element (i, j), of which `argument` is the sum."""
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
        """A lambda `name`: the value of a computed operand at a line that is counted from `line`0 on, and a depth."""
        emit, depth = self.emit, clean(panel.depth.symbol.name)
        with emit.inside(panel.line.symbol.name, panel.depth.symbol.name) as scope:
            value = emit.value(panel.value)
            scope.lines.append(f"return {value};")
        head = f"const auto {name} = [&](const idx x, const idx {depth}) -> {emit.spell.value_type(panel.dtype)} {{"
        return [head, f"{INDENT}const idx {line} = {line}0 + x;", *(INDENT + text for text in scope.lines), "};"]

    def consumer(self, statements: Sequence[str], *, swapped: bool = False) -> list[str]:
        """The lambda that the prelude calls with each sum; `swapped`: its rows are the product's columns."""
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
        """The finished function: only the buffers that it uses are arguments."""
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
    """The buffers that both operands are read, or computed, from."""
    found = dict[Param, None]()
    for operand in _operands(kernel):
        if isinstance(operand, Panel):
            sources = (n.source for n in nodes_of([operand.value]) if isinstance(n, Load))
            found.update(dict.fromkeys(source for source in sources if isinstance(source, Param)))
        else:
            found[operand.source] = None
    return tuple(found)


def call_lines(head: str, lines: Sequence[str], tail: str) -> list[str]:
    """`head lambda tail` with the lambda's lines in between."""
    return [head + lines[0], *lines[1:-1], lines[-1] + tail]


def batch_size(axes: Sequence[Axis]) -> Dim:
    """The number of products."""
    return product(axis.extent for axis in axes)


def rows_first(kernel: AnyProduct) -> str:
    """Whether results lie side by side along the rows, not the columns, as a template argument."""
    splits = [[s.offset.linear(axis.symbol) for axis in (kernel.row, kernel.column)] for s in kernel.epilogue]
    found = any(i is not None and i[0] == const(1) and (j is None or j[0] != const(1)) for i, j in splits)
    return str(found).lower()


def extent_names(axes: Sequence[Axis]) -> list[str]:
    """What the extents of a batch are called in a function."""
    return [f"size_{clean(axis.symbol.name)}" for axis in axes]


def extents_of(axes: Sequence[Axis]) -> dict[str, Dim]:
    """The extents of a batch by their names."""
    return dict(zip(extent_names(axes), (axis.extent for axis in axes), strict=True))


def product_text(names: Iterable[str]) -> str:
    """A product of sizes in 64 bits."""
    return " * ".join(["(int64_t)1", *names])
