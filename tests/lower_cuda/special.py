"""How functions are tested that CHLO adds: those that only SciPy has, and those of the C library."""

from __future__ import annotations

from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType, numpy_dtype

Array: TypeAlias = NDArray[Any]

EPSILON = {DType.F16: 2.0**-10, DType.BF16: 2.0**-7, DType.F32: 2.0**-23, DType.F64: 2.0**-52}
SPECIAL = frozenset({
    UnaryFn.BESSEL_I1E, UnaryFn.DIGAMMA, UnaryFn.ERF, UnaryFn.ERF_INV, UnaryFn.ERFC, UnaryFn.LGAMMA, BinaryFn.POLYGAMMA,
    BinaryFn.ZETA,
})  # fmt: skip
# How far off the C library is, which stands for CUDA's here: in f32 and f64, in ulp.
LIBRARY = {
    UnaryFn.ACOSH: (3, 2), UnaryFn.ASINH: (2.5, 2), UnaryFn.ATANH: (2.5, 2), UnaryFn.CBRT: (1.5, 4),
    UnaryFn.COSH: (2, 2), UnaryFn.LOGISTIC: (3, 2), UnaryFn.SINH: (2.5, 2.5), UnaryFn.TANH: (3, 2.5),
}  # fmt: skip


def wide(x: Array) -> Array:
    """Floats in a wider type."""
    if x.dtype.kind not in "fV":
        return x
    return x.astype(np.longdouble if x.dtype == np.float64 else np.float64)


def zeta_pairs(dtype: DType) -> tuple[Array, Array]:
    """Orders that are whole and others, arguments around 0, special values of both."""
    rng, kind = np.random.default_rng(4), numpy_dtype(dtype)
    few = np.array([0, -0.0, 1, 2, 3, -1, -2, 0.5, 1.5, 30, np.inf, np.nan])
    a, b = np.array(list(product(few[~np.isinf(few)], few))).T
    orders, arguments = np.rint(rng.uniform(0, 9, 2000)), rng.uniform(-6, 20, 2000)
    orders[::3] += 0.5
    return np.concatenate([a, orders]).astype(kind), np.concatenate([b, arguments]).astype(kind)


def check_special(got: Array, wanted: Array, dtype: DType) -> None:
    """Near SciPy's value, which has an error of its own; tests/device/test_functions.py is exact."""
    with np.errstate(over="ignore"):
        rounded = wide(wanted.astype(got.dtype))
    tiny = {DType.F16: 2.0**-24, DType.BF16: 2.0**-133, DType.F32: 2.0**-149}.get(dtype, 2.0**-1074)
    np.testing.assert_allclose(wide(got), rounded, rtol=max(4 * EPSILON[dtype], 1e-12), atol=tiny)
