"""Costs on one multiprocessor, in clock cycles, by which the launch table compares variants.

They are ratios for an H100/H200-class card: only the order of variants matters, not the predicted time.
"""

from __future__ import annotations

from shlo_disc.expr.dim import Dim, maximum

BYTES_PER_CYCLE = 13  # of global memory: 3 TB/s over 132 multiprocessors at 1.75 GHz, measured by copies
FMA_PER_CYCLE = 128  # f32, outside the tensor cores
LOAD_LATENCY = 600  # from global memory
SHARED_LATENCY = 30  # from shared memory
BARRIER_LATENCY = 40
SHUFFLE_LATENCY = 25


def memory_cycles(size: Dim) -> Dim:
    """Cycles in which a multiprocessor moves `size` bytes of global memory."""
    return maximum(1, size // BYTES_PER_CYCLE)
