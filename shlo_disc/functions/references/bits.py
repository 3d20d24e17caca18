"""Comparisons, conversions and the bits of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from shlo_disc.functions.direction import Direction
from shlo_disc.functions.references.formats import dtype_of, made, rounded, widened
from shlo_disc.functions.references.integers import extended, wrapped
from shlo_disc.ir.dtypes import Array, DType, numpy_dtype

_COMPARISONS: Mapping[Direction, Callable[[Array, Array], Array]] = {
    Direction.EQ: lambda a, b: a == b,
    Direction.NE: lambda a, b: a != b,
    Direction.LT: lambda a, b: a < b,
    Direction.GT: lambda a, b: b < a,
    Direction.LE: lambda a, b: a <= b,
    Direction.GE: lambda a, b: b <= a,
}


def compare(direction: Direction, a: Array, b: Array, *, total: bool) -> Array:
    """Compare elements: booleans of the operands' shape.

    `total` orders floats: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN, and NaNs by their bits.
    """
    by_position = total and dtype_of(a).is_float
    a, b = (_position(a), _position(b)) if by_position else (widened(a), widened(b))
    return np.asarray(_COMPARISONS[direction](a, b))


def _position(x: Array) -> Array:
    """The position of a float in the total order, as i64: its bits without the sign, mirrored below 0 if it is set."""
    bits: Array = np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").reshape(np.shape(x))
    top = 1 << (8 * x.dtype.itemsize - 1)
    size: Array = np.bitwise_and(bits, bits.dtype.type(top - 1)).astype(np.int64)
    return np.where(bits >= top, -1 - size, size)


# The number of bits of the fraction, and the exponent of the least normal number.
_FORMATS: Mapping[DType, tuple[int, int]] = {
    DType.F4E2M1FN: (1, 0), DType.F6E2M3FN: (3, 0), DType.F6E3M2FN: (2, -2), DType.F8E3M4: (4, -2),
    DType.F8E4M3: (3, -6), DType.F8E4M3FN: (3, -6), DType.F8E4M3FNUZ: (3, -7), DType.F8E4M3B11FNUZ: (3, -10),
    DType.F8E5M2: (2, -14), DType.F8E5M2FNUZ: (2, -15), DType.F8E8M0FNU: (0, -127), DType.BF16: (7, -126),
    DType.F16: (10, -14), DType.F32: (23, -126), DType.F64: (52, -1022),
}  # fmt: skip


def convert(x: Array, dtype: DType) -> Array:
    """Convert numbers to another type, which the result has.

    Floats become integers by truncation, saturated at the limits, and NaN 0; integers wrap around; a boolean is whether
    the number is not 0; complex numbers lose their imaginary part unless the result is complex.
    """
    source = dtype_of(x)
    if source.is_complex and not dtype.is_complex:
        return convert(np.real(x), dtype)
    if dtype.is_bool:
        return np.asarray(widened(x) != 0)
    if dtype.is_integer:
        return _held(widened(x), dtype) if source.is_float else wrapped(extended(x), dtype)
    if dtype.is_narrow_float and dtype.bits <= 8 and source is DType.F64:
        small = np.where(x > 2.0**-127, 2.0**-126, 2.0**-127)  # f8E8M0FNU has no 0: numbers near it round up
        is_small = (x > 0) & (x < 2.0**-126) & (dtype is DType.F8E8M0FNU)
        x = np.where(is_small, small, _to_precision(x, *_FORMATS[dtype]))  # rounded once, not by way of f32
    return rounded(widened(x), dtype)


def _held(x: Array, dtype: DType) -> Array:
    low, high = dtype.integer_bounds
    whole = np.trunc(x).astype(np.longdouble)
    inside = np.where((whole > low) & (whole < high), whole, 0)
    bits = inside.astype(np.int64).view(np.uint64) if dtype.is_signed else inside.astype(np.uint64)
    most, least = (np.uint64(value % (1 << 64)) for value in (high, low))
    return wrapped(np.where(whole >= high, most, np.where(whole <= low, least, bits)), dtype)


def _to_precision(x: Array, fraction: int, least: int, *, by_exponent: bool = False) -> Array:
    """Round to `fraction` bits after the leading one, ties to even. Below 2^least the unit is fixed.

    Numbers of f32 and f64, of which none is too large. `by_exponent`: a tie between two powers of two goes to the odd
    exponent, whose biased exponent is even.
    """
    exponent = np.maximum(np.frexp(x)[1] - 1, least)
    unit = np.ldexp(np.ones_like(x), exponent - fraction)
    count = np.rint(x / unit)
    if by_exponent and fraction == 0:
        count = np.where((np.abs(x / unit) == 1.5) & (exponent % 2 == 1), np.copysign(1, x), count)
    return np.where(np.isfinite(x), count * unit, x)


def reduce_precision(x: Array, exponent_bits: int, fraction_bits: int) -> Array:
    """Round as if stored in so many bits: too large numbers become infinite, too small ones 0.

    A type without a fraction has no NaN: there it becomes infinite, as in StableHLO's interpreter. f16 and f8E5M2 keep
    their own subnormal numbers if no bit of the exponent is lost; all other narrow floats are rounded as f32.
    """
    dtype = dtype_of(x)
    own = {DType.F16: 5, DType.F8E5M2: 5, DType.F64: 11}.get(dtype, 8)
    keeps, format_ = exponent_bits >= own, dtype if dtype in (DType.F16, DType.F8E5M2, DType.F64) else DType.F32
    bits, least = _FORMATS[format_ if keeps else DType.F64 if dtype is DType.F64 else DType.F32]
    wide = widened(x).astype(np.float64)
    found = _to_precision(wide, min(bits, fraction_bits), least, by_exponent=True)
    if not keeps:
        bias = (1 << (exponent_bits - 1)) - 1
        found = np.where(np.abs(found) >= np.ldexp(1.0, bias + 1), np.copysign(np.inf, found), found)
        found = np.where(np.abs(found) < np.ldexp(1.0, 1 - bias), np.copysign(0.0, found), found)
    found = rounded(found, dtype)
    nan = x if fraction_bits > 0 else rounded(np.copysign(np.inf, wide), dtype)
    return np.where(np.isnan(wide), nan, found)


def bitcast(x: Array, source: DType, target: DType) -> Array:
    """Reinterpret bits, lowest first; between widths, the last dim of the narrower type is that of the pieces."""
    octets = np.frombuffer(x.tobytes(), np.uint8).reshape((*x.shape, source.bytes))
    bits = np.unpackbits(octets, axis=-1, bitorder="little")[..., : source.bits]
    shape = x.shape if source.bits >= target.bits else x.shape[:-1]
    pieces = (source.bits // target.bits,) if source.bits > target.bits else ()
    packed = np.packbits(bits.reshape((*shape, *pieces, target.bits)), axis=-1, bitorder="little")
    return np.frombuffer(packed.tobytes(), numpy_dtype(target)).reshape((*shape, *pieces))


def complex_of(real: Array, imaginary: Array) -> Array:
    """The complex numbers of two floats."""
    return made(real, imaginary)
