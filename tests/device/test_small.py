"""Floats of 8 bits and fewer, integers of 2 and 4 bits: one element and 16 lanes, by every compiler, every value."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.functions import numpy_math
from shlo_disc.ir.dtypes import DType, numpy_dtype
from tests.device.compilers import COMPILERS, build

Array = NDArray[Any]
FLOATS = tuple(dtype for dtype in DType if dtype.is_float and dtype.bits <= 8)
INTEGERS = tuple(dtype for dtype in DType if dtype.is_narrow_integer)
COUNT = 4099  # random points beside the midpoints

HEAD = """
#include "call/kernel.h"
template <class T, class X, class F>
static void both(const X* x, T* lanes, T* scalars, int64_t n, F change) {
  for (int64_t i = 0; i < n; i += 16) {
    const int64_t left = n - i < 16 ? n - i : 16;
    store_n(lanes + i, change(load_n(x + i, left)), left);
  }
  for (int64_t i = 0; i < n; i++) assign(scalars + i, change(value(x[i])));
}
#define SAME(name, T, X, change)                                              \\
  extern "C" void name(const X* x, T* lanes, T* scalars, int64_t n) {         \\
    both(x, lanes, scalars, n, [](auto v) { return change; });                \\
  }
"""


def harness() -> str:
    lines = [HEAD]
    for dtype in FLOATS:
        t = dtype.value
        lines += [
            f"SAME(decode_{t}, float, {t}, v)",
            f"SAME(encode_{t}, {t}, float, v)",
            f"SAME(encode_wide_{t}, {t}, double, to_f32_odd(v))",
        ]
    for dtype in INTEGERS:
        t, plain = dtype.value, "int8_t" if dtype.is_signed else "uint8_t"
        lines += [
            f"SAME(decode_{t}, {plain}, {t}, v)",
            f"SAME(encode_{t}, {t}, int32_t, to_{t}(v))",
            f"SAME(saturate_{t}, {t}, float, to_{t}(v))",
        ]
    return "\n".join(lines)


@pytest.fixture(scope="module", params=COMPILERS)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(str(request.param), harness(), tmp_path_factory.mktemp("small"))


def check(library: ctypes.CDLL, name: str, x: Array, wanted: Array) -> None:
    """Run a function on lanes and on scalars; NaNs are alike."""
    found = [np.full(wanted.nbytes, 0xA5, np.uint8).view(wanted.dtype) for _ in range(2)]
    getattr(library, name)(*(ctypes.c_void_p(array.ctypes.data) for array in (x, *found)), ctypes.c_int64(x.size))
    with np.errstate(invalid="ignore"):
        number = wanted.astype(np.float64)
    raw = np.frombuffer(wanted.tobytes(), np.uint8).reshape(x.size, -1)
    for mode, array in zip(("lanes", "scalars"), found, strict=True):
        apart = (np.frombuffer(array.tobytes(), np.uint8).reshape(x.size, -1) != raw).any(1)
        with np.errstate(invalid="ignore"):
            apart &= ~(np.isnan(number) & np.isnan(array.astype(np.float64)))
        assert not apart.any(), f"{name}, {mode}: {x[apart][:5]} gives {array[apart][:5]}, not {wanted[apart][:5]}"


def halfway(dtype: DType, wide: Any) -> Array:
    """All values, all midpoints and the neighbours of both, numbers beyond the largest, specials, random bits."""
    values = np.arange(1 << dtype.bits, dtype=np.uint8).view(numpy_dtype(dtype)).astype(wide)
    values = np.unique(values[np.isfinite(values)])
    with np.errstate(over="ignore"):
        ends = np.array([values[-1] * 2, values[-1] * 1.5 - values[-2] / 2, values[0] * 2], wide)
        found = np.concatenate([values, values[1:] / 2 + values[:-1] / 2, ends])
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45, 1e30], wide)
    unsigned = np.dtype(f"u{np.dtype(wide).itemsize}")
    drawn = np.random.default_rng(dtype.bits).integers(0, 1 << 8 * unsigned.itemsize, COUNT, unsigned.type)
    near = [np.nextafter(found, wide(limit)) for limit in (np.inf, -np.inf)]
    return np.concatenate([found, *near, special, drawn.view(wide)])


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.value)
def test_floats(dtype: DType, library: ctypes.CDLL) -> None:
    """To and from f32 as ml_dtypes does; from f64 with one rounding."""
    codes = np.arange(1 << dtype.bits, dtype=np.uint8).view(numpy_dtype(dtype))
    check(library, f"decode_{dtype.value}", codes, codes.astype(np.float32))
    with np.errstate(all="ignore"):
        x = halfway(dtype, np.float32)
        check(library, f"encode_{dtype.value}", x, x.astype(numpy_dtype(dtype)))
        x = halfway(dtype, np.float64)
        check(library, f"encode_wide_{dtype.value}", x, numpy_math.convert(x, dtype))


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda dtype: dtype.value)
def test_integers(dtype: DType, library: ctypes.CDLL) -> None:
    """What memory holds above the width does not count."""
    octets = np.arange(256, dtype=np.uint8)
    codes = (octets & ((1 << dtype.bits) - 1)).view(numpy_dtype(dtype))
    plain = np.int8 if dtype.is_signed else np.uint8
    check(library, f"decode_{dtype.value}", octets, codes.astype(plain))
    whole = np.arange(-600, 600, dtype=np.int32)
    check(library, f"encode_{dtype.value}", whole, whole.astype(numpy_dtype(dtype)))
    x = np.concatenate([np.arange(-20, 20, 0.25), [np.nan, np.inf, -np.inf, 1e30, -1e30]]).astype(np.float32)
    least, most = dtype.integer_bounds
    limited = np.clip(np.trunc(np.nan_to_num(x)), least, most).astype(np.int8).astype(numpy_dtype(dtype))
    check(library, f"saturate_{dtype.value}", x, limited)
