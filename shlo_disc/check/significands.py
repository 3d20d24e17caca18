"""Significands of floats: units in the last place, short numbers, exact sums."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

_ZEROS = 1 << 12  # the exponent of 0: larger than that of any number or product


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether elements are real floats, including narrow ones."""
    return dtype.kind == "f" or (dtype.kind == "V" and dtype.name.startswith(("bfloat", "float")))


def significand_bits(dtype: np.dtype[Any]) -> int:
    """The number of stored bits of a float's significand."""
    return _finfo(dtype).nmant


def has_infinities(dtype: np.dtype[Any]) -> bool:
    """Whether a number that is too large for a float or complex type becomes an infinity."""
    infinity: Array = np.array(np.inf).astype(dtype)
    return bool(np.isinf(infinity if dtype.kind == "c" else infinity.astype(np.float64)))


def _finfo(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f" and dtype.isbuiltin == 1:  # some 8-bit floats are not builtin
        return cast("Any", np.finfo(dtype))
    import ml_dtypes  # noqa: PLC0415  # arrays of such types exist only with the package

    return cast("Any", ml_dtypes.finfo(dtype))


def unit_of(x: Array) -> Array:
    """One unit in the last place of each element, in f64."""
    return units(x.astype(np.float64), x.dtype)


def units(wide: Array, dtype: np.dtype[Any]) -> Array:
    """One unit in the last place of `dtype` at each number; for subnormal numbers, that of the least normal one."""
    info = _finfo(dtype)
    exponent = np.frexp(np.where(np.isfinite(wide), wide, 0.0))[1] - 1
    least = int(np.frexp(float(info.smallest_normal))[1]) - 1
    return np.ldexp(1.0, np.maximum(exponent, least) - info.nmant)


def is_short(x: Array) -> Array:
    """Whether the lower half of the significand is zero, which is rare after rounding."""
    wide = x.astype(np.float64)
    significand, _ = np.frexp(np.where(np.isfinite(wide), wide, 0.0))
    scaled = np.ldexp(significand, 1 + significand_bits(x.dtype) // 2)
    return scaled == np.rint(scaled)


def lowest_bit(x: Array) -> int:
    """The binary logarithm of the largest power of 2 that divides all finite numbers; large if all are 0."""
    significands, exponents = np.frexp(x.astype(np.float64))
    whole = np.where(np.isfinite(significands), np.ldexp(significands, 53), 0).astype(np.int64)
    bits = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return int(np.min((exponents + bits - 53)[whole != 0], initial=_ZEROS))


def is_held(size: Array, unit: int) -> Array:
    """Whether sums of multiples of `2**unit`, whose magnitudes add up to `size`, are exact in any order."""
    if not is_float(size.dtype):
        return np.zeros(size.shape, np.bool_)
    with np.errstate(over="ignore"):
        most = np.ldexp(1.0, unit + significand_bits(size.dtype) + 1)
    return size.astype(np.float64) <= most
