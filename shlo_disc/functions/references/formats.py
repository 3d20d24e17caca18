"""The NumPy types in which references compute, and the conversion of their results to the op's type."""

from __future__ import annotations

import numpy as np

from shlo_disc.ir.dtypes import Array, DType, by_numpy_name, numpy_dtype


def dtype_of(x: Array) -> DType:
    """The element type of an array."""
    return by_numpy_name(x.dtype.name)


def widened(x: Array) -> Array:
    """Floats of fewer than 32 bits as f32, integers of fewer than 8 bits as 8; all others as they are."""
    dtype = dtype_of(x)
    if dtype.is_narrow_float:
        return x.astype(np.float32)
    if dtype.is_narrow_integer:
        return x.astype(np.int8 if dtype.is_signed else np.uint8)
    return x


def wider(x: Array) -> Array:
    """Floats and complex numbers in a type with at least 11 more bits of precision: f64, or `long double` for f64.

    Where the platform's `long double` is no wider than f64, functions of f64 are as exact as its C library.
    """
    x = widened(x)
    return x.astype(_WIDER.get(x.dtype.name, x.dtype))


_WIDER = {
    "float32": np.dtype(np.float64),
    "float64": np.dtype(np.longdouble),
    "complex64": np.dtype(np.complex128),
    "complex128": np.dtype(np.clongdouble),
}


def rounded(x: Array, dtype: DType) -> Array:
    """Convert numbers of any type to `dtype`; floats of fewer than 32 bits are rounded to f32 first."""
    x = np.asarray(x)
    return (x.astype(np.float32) if dtype.is_narrow_float else x).astype(numpy_dtype(dtype), copy=False)


def made(real: Array, imaginary: Array) -> Array:
    """Complex numbers of these parts; `real + 1j * imaginary` makes NaN of an infinite part."""
    real, imaginary = np.broadcast_arrays(real, imaginary)
    found = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    found.real, found.imag = real, imaginary
    return found
