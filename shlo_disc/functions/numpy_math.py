"""StableHLO's elementwise functions in NumPy, where its own differ (division by 0, shifts, saturation, NaN)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from shlo_disc.functions import complex_math
from shlo_disc.functions.direction import Direction
from shlo_disc.ir.dtypes import Array, DType, numpy_dtype

Function: TypeAlias = Callable[..., Array]


def cast(x: Array, dtype: DType) -> Array:
    """Convert a result to its type: rounds floats that were computed in a wider type."""
    return np.asarray(x).astype(numpy_dtype(dtype), copy=False)


def wide(x: Array) -> Array:
    """Widen narrow floats to f32, and integers of fewer than 8 bits to 8, for computation."""
    if _is_narrow_integer(x):
        return x.astype(np.uint8 if x.dtype.name.startswith("u") else np.int8)
    return x.astype(np.float32) if _is_narrow_float(x) else x


def _is_narrow_integer(x: Array) -> bool:
    return x.dtype.name in _WIDTHS


def _is_narrow_float(x: Array) -> bool:
    return (x.dtype.kind == "V" and not _is_narrow_integer(x)) or x.dtype.name in ("float16", "float8_e5m2")


_WIDTHS = {"int2": 2, "int4": 4, "uint2": 2, "uint4": 4}


def _plain(x: Array) -> Array:
    """The bits of integers as unsigned numbers."""
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    width = _WIDTHS.get(x.dtype.name)
    return x.view(unsigned) if width is None else wide(x).view(unsigned) & unsigned.type((1 << width) - 1)


def width(x: Array) -> int:
    """The number of bits of an integer."""
    return _WIDTHS.get(x.dtype.name, 8 * x.dtype.itemsize)


def maximum(a: Array, b: Array) -> Array:
    """The larger; NaN if one is NaN, and +0 is larger than -0."""
    a, b = wide(a), wide(b)
    found = np.maximum(a, b)
    if found.dtype.kind != "f":
        return found
    zeros = np.where(np.signbit(a) & np.signbit(b), -0.0, 0.0).astype(found.dtype)
    return np.where(found == 0, zeros, found)


def minimum(a: Array, b: Array) -> Array:
    """The smaller; NaN if one is NaN, and -0 is smaller than +0."""
    a, b = wide(a), wide(b)
    return -maximum(-a, -b) if a.dtype.kind == "f" else np.minimum(a, b)


def extreme(function: np.ufunc, x: Array, dims: tuple[int, ...]) -> Array:
    """Reduce by np.maximum or np.minimum, with zeros ordered as by `maximum` and `minimum`."""
    found = np.asarray(function.reduce(x, axis=dims))
    if x.dtype.kind != "f":
        return found
    outdone = np.signbit(x) if function is np.minimum else ~np.signbit(x)
    negative = ((x == 0) & outdone).any(axis=dims) == (function is np.minimum)
    return np.where(found == 0, np.where(negative, -0.0, 0.0).astype(found.dtype), found)


def compare(direction: Direction, a: Array, b: Array, *, total: bool) -> Array:
    """Compare; `total` orders -NaN < -inf < … < -0 < +0 < … < NaN."""
    x, y = (_total_order(a), _total_order(b)) if total and _is_float(a) else (wide(a), wide(b))
    return np.asarray(_COMPARE[direction](x, y))


_COMPARE: Mapping[Direction, Callable[[Array, Array], Array]] = {
    Direction.EQ: np.equal,
    Direction.NE: np.not_equal,
    Direction.GE: np.greater_equal,
    Direction.GT: np.greater,
    Direction.LE: np.less_equal,
    Direction.LT: np.less,
}


def _is_float(x: Array) -> bool:
    return x.dtype.kind == "f" or _is_narrow_float(x)


def _total_order(x: Array) -> Array:
    bits = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def convert(x: Array, dtype: DType) -> Array:
    """Convert: to integers truncates and saturates, NaN becomes 0; complex to real drops the imaginary part."""
    if x.dtype.kind == "c" and not dtype.is_complex:
        x = np.real(x)
    if dtype.is_bool:
        return np.asarray(x != 0)
    wanted = numpy_dtype(dtype)
    if dtype.is_integer and _is_float(x):
        return _saturate(wide(x), dtype)
    if dtype.is_narrow_float and dtype.bits <= 8 and x.dtype == np.float64:
        x = _rounded_to_odd(x)
    x = wide(x)
    return (x.astype(np.float32) if dtype.is_narrow_float else np.asarray(x)).astype(wanted)


def _rounded_to_odd(x: Array) -> Array:
    """Round f64 to f32 so that rounding once more, to a much narrower type, gives the correctly rounded number."""
    near = x.astype(np.float32)
    again = near.astype(np.float64)
    bits = near.view(np.uint32) - (np.abs(again) > np.abs(x))
    return np.where(again == x, bits, bits | 1).astype(np.uint32).view(np.float32)


def _saturate(x: Array, dtype: DType) -> Array:
    least = -(1 << (dtype.bits - 1)) if dtype.is_signed else 0
    most = least + (1 << dtype.bits) - 1
    holder = np.int64 if dtype.is_signed else np.uint64
    inside = np.where((x > float(least)) & (x < float(most)), x, 0).astype(holder)
    found = np.where(x >= float(most), holder(most), np.where(x <= float(least), holder(least), inside))
    return np.where(np.isnan(x), holder(0), found).astype(numpy_dtype(dtype))


def reduce_precision(x: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round to nearest even as if stored with fewer bits; overflow gives infinity, underflow zero.

    A type without mantissa bits has no NaN: there it becomes infinity, as in StableHLO's interpreter.
    """
    narrow = wide(x)
    total, mantissa = {4: (32, 23), 8: (64, 52)}[narrow.dtype.itemsize]
    unsigned = np.dtype(f"u{total // 8}").type
    bits = np.array(narrow, order="C").view(unsigned)
    exponent = total - 1 - mantissa
    drop = mantissa - mantissa_bits
    if drop > 0:
        last = (bits >> unsigned(drop)) & unsigned(1)
        bits = bits + (unsigned((1 << (drop - 1)) - 1) + last)
        bits = bits & ~unsigned((1 << drop) - 1)
    sign = bits & unsigned(1 << (total - 1))
    if exponent_bits < exponent:
        bias, small = (1 << (exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        field = (bits >> unsigned(mantissa)) & unsigned((1 << exponent) - 1)
        infinity = sign | unsigned(((1 << exponent) - 1) << mantissa)
        bits = np.where(field > unsigned(bias + small), infinity, bits)
        bits = np.where(field <= unsigned(bias - small), sign, bits)
    found = bits.astype(unsigned).view(narrow.dtype)
    nan = narrow if mantissa_bits > 0 else np.copysign(narrow.dtype.type(np.inf), narrow)
    return np.where(np.isnan(narrow), nan, found)


def on_wide(function: Function, of_complex: Function | None = None) -> Function:
    """Extend a function to narrow types by widening; `of_complex` replaces it for complex numbers."""

    def on_any(x: Array) -> Array:
        return of_complex(x) if of_complex is not None and x.dtype.kind == "c" else function(wide(x))

    return on_any


def on_wide_pair(function: Function) -> Function:
    """Extend a function of two arrays to narrow types by widening."""

    def on_any(a: Array, b: Array) -> Array:
        return function(wide(a), wide(b))

    return on_any


def sign(x: Array) -> Array:
    """-1, 0 or 1, with the sign of a zero; NaN of NaN."""
    return np.where(x == 0, x, np.sign(x))  # keeps -0 and NaN


def erf(x: Array) -> Array:
    """The error function, in double precision."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x.astype(np.float64)), dtype=np.float64)


def logistic(x: Array) -> Array:
    """1 / (1 + e^-x), in double precision."""
    x = x.astype(np.float64)
    falls = x < 0
    power = np.exp(np.where(falls, x, -x))  # at most 1: e^710 overflows
    return np.where(falls, power, 1) / (1 + power)


def rsqrt(x: Array) -> Array:
    """One over the square root."""
    return 1 / np.sqrt(x)


def round_half_away(x: Array) -> Array:
    """The nearest whole number; ties go away from 0."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole).astype(x.dtype)


def popcnt(x: Array) -> Array:
    """The number of bits that are 1."""
    return np.bitwise_count(_plain(x))


def leading_zeros(x: Array) -> Array:
    """The number of bits above the highest that is 1."""
    rest = _plain(x)
    count = np.full(x.shape, width(x))
    while np.any(rest):
        count = count - (rest != 0)
        rest = rest >> rest.dtype.type(1)
    return count


def divide(a: Array, b: Array) -> Array:
    """The quotient; for integers it is truncated, -1 or the largest number by 0, and wrapped if it overflows."""
    a, b = wide(a), wide(b)
    if a.dtype.kind not in "iu":
        return complex_math.divide(a, b) if a.dtype.kind == "c" else a / b
    if a.dtype.kind == "u":
        return np.where(b == 0, np.iinfo(a.dtype).max, a // np.where(b == 0, 1, b))
    smallest = (a == np.iinfo(a.dtype).min) & (b == -1)
    safe = np.where((b == 0) | smallest, 1, b).astype(a.dtype)
    floor = a // safe
    truncated = floor + ((floor * safe != a) & ((a < 0) != (safe < 0)))
    return np.where(b == 0, -1, truncated)


def remainder(a: Array, b: Array) -> Array:
    """The remainder, with the sign of the dividend; for integers, by 0 it is the dividend."""
    a, b = wide(a), wide(b)
    if a.dtype.kind not in "iu":
        return np.fmod(a, b)
    trivial = (b == 0) | (b.astype(np.int64) == -1) if a.dtype.kind == "i" else b == 0
    return np.where(b == 0, a, np.where(trivial, 0, np.fmod(a, np.where(trivial, 1, b).astype(a.dtype))))


def atan2(y: Array, x: Array) -> Array:
    """The angle of the point (x, y); of complex numbers, by its formula."""
    if y.dtype.kind == "c":
        return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))
    return np.arctan2(wide(y), wide(x))


def power(a: Array, b: Array) -> Array:
    """The power; of integers modulo 2^bits, and truncated where the exponent is negative."""
    a, b = wide(a), wide(b)
    if a.dtype.kind not in "iu":
        # NumPy replaces a rank-0 exponent of 0.5 by a root, which differs at -0 and -inf
        return np.power(np.atleast_1d(a), np.atleast_1d(b)).reshape(np.broadcast(a, b).shape)
    magnitude = np.power(a, np.where(b < 0, 0, b).astype(a.dtype))
    odd = (b & 1).astype(bool)
    if a.dtype.kind == "u":
        return magnitude
    negative = np.where(a == 1, 1, np.where(a == -1, np.where(odd, -1, 1), 0))
    return np.where(b < 0, negative, magnitude)


def _shift(x: Array, amount: Array, *, left: bool, arithmetic: bool = False) -> Array:
    bits, plain, distance = width(x), _plain(x), _plain(amount)
    inside = distance < bits
    by = np.where(inside, distance, 0).astype(plain.dtype)
    if arithmetic:
        sign = plain.dtype.type(1 << (bits - 1))
        signed: Array = ((plain ^ sign) - sign).view(f"i{x.dtype.itemsize}")
        moved = np.where(inside, signed >> by.astype(signed.dtype), signed >> signed.dtype.type(bits - 1))
        return moved.astype(plain.dtype if x.dtype.name.startswith("u") else signed.dtype)
    moved = plain << by if left else plain >> by
    return np.where(inside, moved, 0).astype(plain.dtype).view(wide(x).dtype)


def shift_left(x: Array, amount: Array) -> Array:
    """Shift bits left; 0 if the distance is negative or too large."""
    return _shift(x, amount, left=True)


def shift_right_logical(x: Array, amount: Array) -> Array:
    """Shift bits right, filling with zeros; 0 if the distance is negative or too large."""
    return _shift(x, amount, left=False)


def shift_right_arithmetic(x: Array, amount: Array) -> Array:
    """Shift bits right, filling with the sign; all bits are the sign if the distance is negative or too large."""
    return _shift(x, amount, left=False, arithmetic=True)


def complex_of(a: Array, b: Array) -> Array:
    """The complex number of two parts."""
    found = np.empty(np.broadcast(a, b).shape, np.complex128 if a.dtype == np.float64 else np.complex64)
    found.real, found.imag = a, b
    return found
