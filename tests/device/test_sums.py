"""Which products are rounded before they are added is said by the prelude, whatever a compiler sees of a loop."""

from __future__ import annotations

import ctypes
import platform
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.device.compilers import COMPILERS, build

Array = NDArray[Any]
HARNESS = """
#include "call/kernel.h"
#include "math/complex.h"
extern "C" void row(const float* x, const float* y, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = hsum(load(x + 16 * i) * load(y + 16 * i));
}
template <class T>
SHLO_INLINE void vectors_(const T* x, const T* y, T* out, int64_t n) {
  for (int64_t i = 0; i + 16 <= n; i += 16) store(out + i, times(load(x + i), load(y + i)) + load(x + n + i));
}
template <class T>
SHLO_INLINE void numbers_(const T* x, const T* y, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = times(x[i], y[i]) + times(x[n + i], y[n + i]);
}
template <class T>
SHLO_INLINE void complexes_(const T* x, const T* y, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = (Complex<T>{x[i], x[n + i]} * Complex<T>{y[i], y[n + i]}).im;
}
#define SHLO_BOTH(name)                                                                                      \
  extern "C" void name(const float* x, const float* y, float* out, int64_t n) { name##_(x, y, out, n); }     \
  extern "C" void name##64(const double* x, const double* y, double* out, int64_t n) { name##_(x, y, out, n); }
SHLO_BOTH(vectors) SHLO_BOTH(numbers) SHLO_BOTH(complexes)
"""
COUNT = 1600
# Vectors of 16 are one register or two: with two, halves of a product are added first.
MACHINES = ("native", "haswell") if platform.machine() == "x86_64" else ("native",)


@pytest.fixture(scope="module", params=[(compiler, machine) for compiler in COMPILERS for machine in MACHINES], ids=str)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler, machine = request.param
    return build(compiler, HARNESS, tmp_path_factory.mktemp("sums"), f"-march={machine}")


def called(
    library: ctypes.CDLL, name: str, count: int, length: int, dtype: type[np.floating[Any]] = np.float32
) -> tuple[Array, Array, Array]:
    x, y = np.random.default_rng(0).standard_normal((2, length)).astype(dtype)
    out = np.empty(count, dtype)
    getattr(library, name)(*(ctypes.c_void_p(array.ctypes.data) for array in (x, y, out)), ctypes.c_int64(count))
    return x, y, out


def test_horizontal_sums_add_rounded_numbers(library: ctypes.CDLL) -> None:
    x, y, out = called(library, "row", COUNT, 16 * COUNT)
    wanted = (x * y).reshape(COUNT, 16)
    while wanted.shape[1] > 1:
        half = wanted.shape[1] // 2
        wanted = wanted[:, :half] + wanted[:, half:]
    np.testing.assert_array_equal(out, wanted[:, 0])


def nearest(value: Fraction, dtype: np.dtype[Any]) -> Any:
    """A number rounded once: to f64 and then to f32 would be twice."""
    near = dtype.type(float(value))
    around = (np.nextafter(near, dtype.type(-np.inf)), near, np.nextafter(near, dtype.type(np.inf)))
    return min(around, key=lambda one: abs(Fraction(float(one)) - value))


def wanted_of(name: str, x: Array, y: Array) -> Array:
    a, b, c, d = x[:COUNT], y[:COUNT], x[COUNT:], y[COUNT:]
    match name:
        case "vectors":
            return a * b + c
        case "numbers":
            return a * b + c * d
        case _:  # the first product is exact, and so is what is rounded to the result
            exact = [
                Fraction(float(p)) * Fraction(float(q)) + Fraction(float(r))
                for p, q, r in zip(c, b, a * d, strict=True)
            ]
            return np.array([nearest(value, x.dtype) for value in exact], x.dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["vectors", "numbers", "complexes"])
def test_sums_add_rounded_products(library: ctypes.CDLL, name: str, dtype: type[np.floating[Any]]) -> None:
    x, y, out = called(library, f"{name}{'64' if dtype is np.float64 else ''}", COUNT, 2 * COUNT, dtype)
    np.testing.assert_array_equal(out, wanted_of(name, x, y))
