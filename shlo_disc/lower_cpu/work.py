"""The cost of tasks, which decides whether threads share a launch; the CPU model of fusion's cost decisions.

See docs/explanation/threads.md.
The unit of cost (an "addition") is a quarter of the time to read an element, add to it and store it; 2^15 units take
one core about a microsecond. The numbers were fitted to the time of single launches on a Zen 4. They need to be right
within a factor of a few: a launch that is shared in vain loses a quarter of a microsecond.
"""

from __future__ import annotations

from math import ceil

from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import Dim, maximum, minimum
from shlo_disc.kernels.groups import Group, Machine
from shlo_disc.kernels.kernel import DotKernel, RowKernel, ScanKernel, SortKernel
from shlo_disc.kernels.op_cost import element_cost

WORK_PER_THREAD = 1 << 15  # the least work for which a thread joins in

# `python -m benchmarks.machine` on two cores of a Zen 4 server with other load: one core adds 57 floats per ns, memory
# moves 21 to 41 bytes per ns for one core and 30 to 50 for both, so that a byte takes the time of 1.6 to 3.8 additions
# (of 1 from caches); a launch that both share takes 1.1 us. Eight workers: the cores of a desktop. 256 KiB: a quarter
# of a second-level cache.
DESKTOP = Machine(additions_per_byte=3, launch=6e4, workers=8, row_bytes=1 << 18, short_row=6e4)

_MULTIPLICATIONS = 2  # multiply-adds of a matrix product per unit of cost
_LOADED = 4  # cost of loading an element of an operand, which dominates in products of few rows
_SORTED = 192
_SCANNED, _STEP = 6, 24  # cost of an element; of a step at least, as each depends on the one before


def effort(group: Group, kernel: RowKernel) -> int:
    """Cost of one point of a row kernel: loads, stores and reductions, or arithmetic, whichever takes longer."""
    stages = max(1, len(kernel.stages))
    computed = sum(element_cost(op) for op in group.ops if definition(op).template is not Template.REDUCE)
    return max(2 + 2 * stages, ceil(computed / stages))


def product_work(kernel: DotKernel, rows: Dim, columns: Dim) -> Dim:
    """Cost of one block of `rows` and `columns`: its arithmetic, and loading its part of the operands."""
    height, width = minimum(kernel.row.extent, rows), minimum(kernel.column.extent, columns)
    return height * width * kernel.depth // _MULTIPLICATIONS + (height + width) * kernel.depth * _LOADED


def sort_work(kernel: SortKernel) -> Dim:
    """Cost of one line."""
    return kernel.extent * _SORTED


def scan_work(kernel: ScanKernel, columns: int) -> Dim:
    """Cost of one line, or of up to `columns` adjacent ones together."""
    return kernel.along.extent * maximum(_STEP, _SCANNED * minimum(kernel.inner.extent, columns))
