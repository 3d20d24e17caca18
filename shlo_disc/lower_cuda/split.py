"""Split-K: where there are few tiles, several blocks share the depth of one.

A second kernel adds the partial sums, always in the same order, and runs the epilogue.
"""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, const, maximum, minimum
from shlo_disc.expr.facts import Facts
from shlo_disc.host_ir import GridLaunch
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Axis
from shlo_disc.lower_cuda.cost import LOAD_LATENCY, memory_cycles
from shlo_disc.lower_cuda.products import (
    MOST_BLOCKS,
    STEP_BYTES,
    AnyProduct,
    FunctionPrinter,
    PrintedFunction,
    extent_names,
    extents_of,
    product_text,
)
from shlo_disc.records import record

SPLIT_BLOCKS = 264  # two per multiprocessor; with fewer tiles the depth is split
SPLIT_DEPTH, MOST_SPLITS = 256, 32
THREADS = 256


@record
class DepthSplit:
    """`count` parts of the depth (one if there are enough tiles), each `part` deep, for `sums` results."""

    count: Dim
    part: Dim
    sums: Dim
    dtype: DType

    @property
    def _several(self) -> Dim:
        """1 if there are several parts, else 0."""
        return minimum(self.count - 1, 1)

    @property
    def _bytes(self) -> int:
        return 8 if self.dtype is DType.F64 else 4

    @property
    def workspace(self) -> Dim:
        """Bytes of all partial sums."""
        return self._several * self.count * self.sums * self._bytes

    @property
    def lines(self) -> list[str]:
        """Declare the bounds of part number `split` of the depth."""
        return ["const idx k0 = min_(split * part, k), k1 = min_(k0 + part, k);"]

    def keep(self, place: str) -> str:
        """The statement that stores a partial sum in place of the epilogue, if there are several parts."""
        kind = "double" if self.dtype is DType.F64 else "float"
        return f"if (splits > 1) {{ (({kind}*)w)[{place}] = sum; return; }}"

    def call(self, function: PrintedFunction) -> GridLaunch[Dim]:
        """The launch that adds partial sums; it has no blocks if there is one part."""
        blocks = self._several * ((self.sums + (THREADS - 1)) // THREADS)
        cycles = memory_cycles((self.count + 1) * (self._bytes * THREADS))
        return function.call(minimum(blocks, MOST_BLOCKS // THREADS), THREADS, cycles, const(2 * LOAD_LATENCY))


def split_depth(dtype: DType, tiles: Dim, sums: Dim, depth: Dim, facts: Facts) -> DepthSplit | None:
    """The split of a depth; None if it is known not to pay."""
    wanted = const(SPLIT_BLOCKS) // maximum(tiles, 1)
    count = facts.canonical(maximum(minimum(wanted, depth // SPLIT_DEPTH, MOST_SPLITS), 1))
    if count == const(1):
        return None
    step = STEP_BYTES // dtype.bytes
    part = (depth + (count * step - 1)) // (count * step) * step
    return DepthSplit(count, part, sums, dtype)


def print_sum(kernel: AnyProduct, batch: Sequence[Axis], facts: Facts, split: DepthSplit) -> PrintedFunction:
    """Print the kernel that adds the parts of each sum and runs the epilogue."""
    body = FunctionPrinter(kernel, facts)
    sizes = {"m": kernel.row.extent, "n": kernel.column.extent, **extents_of(batch), "splits": split.count}
    lines = body.sizes(**sizes)
    kind = body.emit.spell.value_type(kernel.accumulator.dtype)
    with body.emit.inside(*(axis.symbol.name for axis in batch)) as scope:
        scope.lines += ["const idx j = (idx)(at % n), i = (idx)(at / n % m);"]
        scope.lines += ["idx rest = (idx)(at / n / m);"] if batch else []
        body.batch(batch, scope)
        statements = body.epilogue()
        scope.lines += [
            f"{kind} sum = 0;",
            f"for (idx split = 0; split < splits; ++split) sum += ((const {kind}*)w)[split * count + at];",
            *statements,
        ]
    lines += [
        f"const int64_t count = {product_text([*extent_names(batch), 'm', 'n'])};",
        f"for (int64_t at = (int64_t)blockIdx.x * {THREADS} + threadIdx.x; at < count;"
        f" at += (int64_t)gridDim.x * {THREADS}) {{",
        *(INDENT + line for line in scope.lines),
        "}",
    ]
    return body.function(f"{NAME}_sum", lines, THREADS, workspace=True)
