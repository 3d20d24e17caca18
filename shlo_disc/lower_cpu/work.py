"""What a task of a launch costs, so whether threads share it; the CPU that fusion is weighed for.

See docs/explanation/threads.md.
The unit of a task is a quarter of what it takes to read an element, add to it and store it; 2^15 of them are about a
microsecond of one core. The numbers were fitted to the time of single launches on a Zen 4. They need to be right within
a factor of a few: a launch that is shared in vain loses a quarter of a microsecond.
"""

from __future__ import annotations

from math import ceil

from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import Dim, maximum, minimum
from shlo_disc.kernels.groups import Group, Machine
from shlo_disc.kernels.kernel import DotKernel, RowKernel, ScanKernel, SortKernel
from shlo_disc.kernels.op_cost import weight

WORK_PER_THREAD = 1 << 15  # of a thread that joins in

# `python -m benchmarks.machine` on two cores of a Zen 4 server which other work shared: one adds 57 floats per ns, its
# memory moves 21 to 41 bytes per ns for one core and 30 to 50 for both, so that a byte takes the time of 1.6 to 3.8
# additions (of 1 from caches); a launch that both share takes 1.1 us. Eight workers: the cores of a desktop. 256 KiB: a
# quarter of a second-level cache.
DESKTOP = Machine(additions_per_byte=3, launch=6e4, workers=8, row_bytes=1 << 18, short_row=6e4)

_MULTIPLICATIONS = 2  # and additions, of a matrix product
_LOADED = 4  # an element of an operand, which a product of few rows reads more often than it multiplies
_SORTED = 192
_SCANNED, _STEP = 6, 24  # an element, but lines wait for their last element that long


def effort(group: Group, kernel: RowKernel) -> int:
    """Of one point of a row kernel: loads, stores and reductions, or what is computed, whichever takes longer."""
    stages = max(1, len(kernel.stages))
    computed = sum(weight(op) for op in group.ops if definition(op).template is not Template.REDUCE)
    return max(2 + 2 * stages, ceil(computed / stages))


def product_work(kernel: DotKernel, rows: Dim, columns: Dim) -> Dim:
    """Of one block of so many rows and columns: its arithmetic, and its part of the operands."""
    height, width = minimum(kernel.row.extent, rows), minimum(kernel.column.extent, columns)
    return height * width * kernel.depth // _MULTIPLICATIONS + (height + width) * kernel.depth * _LOADED


def sort_work(kernel: SortKernel) -> Dim:
    """Of one line."""
    return kernel.extent * _SORTED


def scan_work(kernel: ScanKernel, columns: int) -> Dim:
    """Of one line, or of so many side by side."""
    return kernel.along.extent * maximum(_STEP, _SCANNED * minimum(kernel.inner.extent, columns))
