"""The rows of `benchmarks.ops`, by family."""

from __future__ import annotations

from benchmarks.op_rows import (
    control,
    elementwise,
    fourier,
    indexing,
    linear_algebra,
    movement,
    ordering,
    products,
    reductions,
    windows,
)

MODULES = (indexing, ordering, windows, control, movement, reductions, elementwise, products, linear_algebra, fourier)
TABLE = tuple(row for module in MODULES for row in module.ROWS_OF_FAMILY)
