"""Calls of every elementwise op on scalars of given element types: what `test_undefined_behavior` runs."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import product

import numpy as np

import shlo_disc
from shlo_disc.expr.numpy_math import numpy_dtype
from shlo_disc.ir.dtypes import DType
from tests.pipeline.every_op import accepted_of_scalars, main
from tests.pipeline.exports import FAST, Array

_RANDOM = 200
_NUMBERS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    3.5,
    np.nan,
    -np.nan,
    np.inf,
    -np.inf,
    1e-40,
    1e30,
    -1e30,
    88.0,
    -104.0,
    709.0,
    -745.0,
)


def _pairs(dtype: np.dtype[np.generic], rng: np.random.Generator) -> Array:
    """Pairs of operands: of any bits, and of numbers at which functions change their formula."""
    with np.errstate(all="ignore"):
        numbers = np.array(_NUMBERS).astype(dtype)
    if dtype.kind == "c":
        numbers = np.array([complex(x, y) for x, y in product(_NUMBERS, rng.choice(_NUMBERS, 4))], dtype)
    chosen = numbers[rng.integers(0, len(numbers), (_RANDOM, 2))]
    if dtype.kind not in "iufc" and "float" not in dtype.name:  # some bits are no number of such a type
        return chosen
    size = 2 * dtype.itemsize
    return np.concatenate([chosen, rng.integers(0, 256, (_RANDOM, size), dtype=np.uint8).view(dtype)])


def run(compiler: str, seed: int, names: list[str]) -> None:
    rng, options = np.random.default_rng(seed), replace(FAST, compiler=compiler)
    for dtype in map(DType, names):
        program = shlo_disc.compile(main(dtype, accepted_of_scalars(dtype), ""), options=options)
        for x, y in _pairs(numpy_dtype(dtype), rng):
            program(np.array(x), np.array(y))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
