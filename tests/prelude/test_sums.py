"""Which products are exact in a sum is said by the prelude, not left to what a compiler sees of a loop."""

from __future__ import annotations

import ctypes
import platform

import numpy as np
import pytest

from tests.prelude.compilers import COMPILERS, build

HARNESS = """
#include "kernel.h"
extern "C" void row(const float* x, const float* y, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = hsum(load(x + 16 * i) * load(y + 16 * i));
}
extern "C" void both(const float* x, const float* y, float* out, int64_t n) {
  for (int64_t i = 0; i + 16 <= n; i += 16)
    store(out + i, sum_of_products(load(x + i), load(y + i), load(x + n + i), load(y + n + i)));
}
extern "C" void lone(const float* x, const float* y, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = sum_of_products(x[i], y[i], x[n + i], y[n + i]);
}
"""
COUNT = 1600
# Vectors of 16 are one register or two: with two, halves of a product are added first.
MACHINES = ("native", "haswell") if platform.machine() == "x86_64" else ("native",)


@pytest.fixture(scope="module", params=[(compiler, machine) for compiler in COMPILERS for machine in MACHINES], ids=str)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler, machine = request.param
    return build(compiler, HARNESS, tmp_path_factory.mktemp("sums"), f"-march={machine}")


def called(library: ctypes.CDLL, name: str, count: int, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x, y = np.random.default_rng(0).standard_normal((2, length), np.float32)
    out = np.empty(count, np.float32)
    getattr(library, name)(*(ctypes.c_void_p(array.ctypes.data) for array in (x, y, out)), ctypes.c_int64(count))
    return x, y, out


def test_horizontal_sums_add_rounded_numbers(library: ctypes.CDLL) -> None:
    x, y, out = called(library, "row", COUNT, 16 * COUNT)
    wanted = (x * y).reshape(COUNT, 16)
    while wanted.shape[1] > 1:
        half = wanted.shape[1] // 2
        wanted = wanted[:, :half] + wanted[:, half:]
    np.testing.assert_array_equal(out, wanted[:, 0])


@pytest.mark.parametrize("name", ["both", "lone"])
def test_the_first_of_two_products_is_exact_in_their_sum(library: ctypes.CDLL, name: str) -> None:
    """The product of two f32 is an f64, and a long double holds its sum with another one: rounded once."""
    x, y, out = called(library, name, COUNT, 2 * COUNT)
    exact = np.multiply(x[:COUNT], y[:COUNT], dtype=np.longdouble)
    second = x[COUNT:] * y[COUNT:]
    np.testing.assert_array_equal(out, (exact + second).astype(np.float32))
