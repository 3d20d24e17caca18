"""Tiles of attention: how a block divides queries and keys among warps, its shared memory, and its cost."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.dynamic_ops.contract import Precision
from shlo_disc.expr.dim import Dim, maximum, minimum
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.attention.forward import AttentionKernel
from shlo_disc.lower_cuda.cost import BARRIER_LATENCY, LOAD_LATENCY
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.records import record

WARPS = 4
QUERIES = 16  # per warp
SHARED = 48 * 1024  # limit of static shared memory of a block, in bytes
ROOMY = 40 * 1024  # so that at least two blocks share a multiprocessor with the smallest second one
L2_BYTES_PER_CYCLE = 40  # blocks of other queries read the same keys: most reads hit the L2 cache
EXP_CYCLES = 12  # instructions per score besides the products
MOST_SPLITS = 16  # blocks among which the keys of the same queries are split
STEPS_PER_SPLIT = 4  # least iterations of the loop over keys that justify a further block


@record
class Products:
    """How the prelude multiplies: its struct, padding of rows of K and V in shared memory, multiply-adds per cycle."""

    struct: str
    pad_k: int
    pad_v: int
    least: int  # keys per step, up to `most`
    rate: int

    most: int = 64
    in_shared: bool = False  # whether queries, and the weights for the second product, are in shared memory


HALF = Products("HalfProducts", 8, 8, 16, 700)
TF32 = Products("Tf32Products", 8, 4, 8, 350)
PLAIN = Products("PlainProducts", 4, 4, 8, 60, most=32, in_shared=True)


@record
class AttentionTile:
    """The work of a block: `row_warps` warps with different queries, or `key_warps` warps with different keys."""

    label: str
    products: Products
    dtype: DType
    depth: int
    width: int
    row_warps: int
    key_warps: int
    keys: int

    @property
    def rows(self) -> int:
        """Queries of a block."""
        return QUERIES * self.row_warps

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.row_warps * self.key_warps

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        pitches = self.depth + self.products.pad_k + self.width + self.products.pad_v
        warps = self.row_warps * self.key_warps
        tiles = self.key_warps * self.keys * pitches * self.dtype.bytes
        combined = self.key_warps * QUERIES * (self.width + 3) * 4 if self.key_warps > 1 else 0
        queries, weights = self.row_warps * (self.depth + self.products.pad_k), warps * (self.keys + 4)
        other = QUERIES * 4 * (queries + weights) if self.products.in_shared else 0
        return max(tiles, combined) + other

    @property
    def type(self) -> str:
        """The C++ type."""
        element = f"{CudaSpelling().memory_type(self.dtype)}, " if self.products is HALF else ""
        products = f"{self.products.struct}<{element}{self.depth}, {self.width}, {self.keys}>"
        return f"Attention<{products}, {self.keys}, {self.row_warps}, {self.key_warps}>"

    @property
    def part_bytes(self) -> int:
        """Bytes of a block's partial result in the workspace (`Attention::PART` numbers)."""
        return (QUERIES * self.width + 48) * 4

    def splits(self, keys: Dim) -> Dim:
        """Number of blocks among which the keys are split."""
        step = STEPS_PER_SPLIT * self.keys * self.key_warps
        return maximum(1, minimum(keys // step, MOST_SPLITS))

    def cycles(self, keys: Dim) -> Dim:
        """Cycles for which a block occupies a multiprocessor: arithmetic, or reading keys and values."""
        arithmetic = 16 * self.rows * (self.depth + self.width) // self.products.rate
        arithmetic += 16 * self.rows * EXP_CYCLES // 128
        reading = 16 * (self.depth + self.width) * self.dtype.bytes // L2_BYTES_PER_CYCLE
        return (keys + 15) // 16 * max(arithmetic, reading) + self.rows * self.width // 8

    def latency(self, keys: Dim) -> Dim:
        """Latency of a block in cycles: loads of successive blocks of keys are serialized."""
        step = self.keys * self.key_warps
        blocks = (keys + (step - 1)) // step
        return blocks * (LOAD_LATENCY + 2 * BARRIER_LATENCY + self.keys * 8) + 2 * LOAD_LATENCY


def tiles_for(kernel: AttentionKernel) -> tuple[AttentionTile, ...]:
    """The two tiles of a kernel, for many and for few queries, by the type of its operands and the precision."""
    dtype = kernel.q.source.dtype
    products = HALF if dtype.bytes == 2 else PLAIN if kernel.precision is Precision.HIGHEST else TF32
    depth, width = (-(-n // 16) * 16 for n in (kernel.depth, kernel.width))
    many = [("blocks of queries", rows, 1) for rows in (WARPS, WARPS // 2)]
    few = [("keys split among warps", 1, WARPS)]
    return tuple(_largest(products, dtype, (depth, width), forms) for forms in (many, few))


def _largest(
    products: Products, dtype: DType, widths: tuple[int, int], forms: Sequence[tuple[str, int, int]]
) -> AttentionTile:
    """The first form that fits, with as many keys as fit."""
    limits = (ROOMY, SHARED)
    for limit in limits:
        for label, row_warps, key_warps in forms:
            for keys in (64, 32, 16, 8):
                tile = AttentionTile(label, products, dtype, *widths, row_warps, key_warps, keys)
                if products.least <= keys <= products.most and tile.shared <= limit:
                    return tile
    raise AssertionError(f"no tile for rows of {widths} elements of {dtype.value} fits into shared memory")
