"""Quotients of many numbers by one are those of a division."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tests.prelude.compilers import COMPILERS, build

HARNESS = """
#include "quotient.h"
extern "C" void divide(const float* x, float s, float* y, int64_t n) {
  for (int64_t k = 0; k < n; k += 16) store(y + k, over(load(x + k), s));
}
"""
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 3.0, 2.0**-126, -(2.0**-130), 2.0**-149, 2.0**127, 3.4e38]
TINY = 2.0**-100  # what is left of an x below it may be rounded


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [(), ("-mno-avx512f",)])
def test_quotients_are_those_of_a_division(compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    library = build(compiler, HARNESS, tmp_path, *flags)
    rng = np.random.default_rng(0)
    any_bits = rng.integers(0, 2**32, 1024, np.uint32).view(np.float32)
    near_one = rng.uniform(0, 2, 2048).astype(np.float32)
    x = np.concatenate([any_bits, near_one, np.resize(np.array(SPECIAL, np.float32), 512)])
    divisors = np.concatenate([SPECIAL, any_bits[:60], near_one[:60] * 1000])
    for divisor in divisors.astype(np.float32):
        found = np.empty_like(x)
        source, target = (array.ctypes.data_as(ctypes.c_void_p) for array in (x, found))
        library.divide(source, ctypes.c_float(divisor), target, ctypes.c_int64(len(x)))
        with np.errstate(all="ignore"):
            wanted = x / divisor
            close = (abs(found - wanted) <= np.spacing(abs(wanted))) & (np.minimum(abs(x), abs(wanted)) < TINY)
        equal = (found == wanted) & (np.signbit(found) == np.signbit(wanted)) | np.isnan(found) & np.isnan(wanted)
        assert (equal | close).all(), (divisor, x[~(equal | close)][:4], found[~(equal | close)][:4])
