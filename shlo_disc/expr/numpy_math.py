"""StableHLO's elementwise functions in NumPy, where the two differ (division by 0, shifts, saturation, NaN)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from shlo_disc.expr import complex_math
from shlo_disc.expr import special_functions as special
from shlo_disc.expr.scalar import BinaryFn, Direction, UnaryFn
from shlo_disc.ir.dtypes import Array, DType, numpy_dtype


def cast(x: Array, dtype: DType) -> Array:
    """Give a result its type: rounds floats that were computed in a wider type."""
    return np.asarray(x).astype(numpy_dtype(dtype), copy=False)


def wide(x: Array) -> Array:
    """Compute narrow floats in f32, and integers of fewer than 8 bits in 8."""
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
    """The bits of an integer."""
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
    """Reduce by np.maximum or np.minimum, but by the order of zeros that `maximum` and `minimum` have."""
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
    """Make f32 of f64 so that rounding once more, to a much narrower type, is rounding the whole number."""
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


def _real_or_whole(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda x: function(wide(x))


def _abs(x: Array) -> Array:
    return np.abs(wide(x))


def _sign(x: Array) -> Array:
    x = wide(x)
    return np.where(x == 0, x, np.sign(x))  # keeps -0 and NaN


def _erf(x: Array) -> Array:
    doubles = wide(x).astype(np.float64)
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(doubles), dtype=np.float64)


def _logistic(x: Array) -> Array:
    x = wide(x).astype(np.float64)
    falls = x < 0
    power = np.exp(np.where(falls, x, -x))  # not a large one: e^710 is infinite
    return np.where(falls, power, 1) / (1 + power)


def _cbrt(x: Array) -> Array:
    return np.cbrt(wide(x))


def _round_away(x: Array) -> Array:
    x = wide(x)
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole).astype(x.dtype)


def _is_finite(x: Array) -> Array:
    return np.isfinite(wide(x))


def _popcnt(x: Array) -> Array:
    return np.bitwise_count(_plain(x))


def _leading_zeros(x: Array) -> Array:
    rest = _plain(x)
    count = np.full(x.shape, width(x))
    while np.any(rest):
        count = count - (rest != 0)
        rest = rest >> rest.dtype.type(1)
    return count


def _tan(x: Array) -> Array:
    return np.tan(wide(x))


def _divide(a: Array, b: Array) -> Array:
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


def _remainder(a: Array, b: Array) -> Array:
    a, b = wide(a), wide(b)
    if a.dtype.kind not in "iu":
        return np.fmod(a, b)
    trivial = (b == 0) | (b.astype(np.int64) == -1) if a.dtype.kind == "i" else b == 0
    return np.where(b == 0, a, np.where(trivial, 0, np.fmod(a, np.where(trivial, 1, b).astype(a.dtype))))


def _atan2(y: Array, x: Array) -> Array:
    if y.dtype.kind == "c":
        return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))
    return np.arctan2(wide(y), wide(x))


def _power(a: Array, b: Array) -> Array:
    a, b = wide(a), wide(b)
    if a.dtype.kind not in "iu":
        # NumPy makes a root of an exponent of 0.5 without dims, which differs at -0 and -inf
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


def _shift_left(x: Array, amount: Array) -> Array:
    return _shift(x, amount, left=True)


def _shift_right_logical(x: Array, amount: Array) -> Array:
    return _shift(x, amount, left=False)


def _shift_right_arithmetic(x: Array, amount: Array) -> Array:
    return _shift(x, amount, left=False, arithmetic=True)


def _complex(a: Array, b: Array) -> Array:
    found = np.empty(np.broadcast(a, b).shape, np.complex128 if a.dtype == np.float64 else np.complex64)
    found.real, found.imag = a, b
    return found


def _wide2(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: function(wide(a), wide(b))


def _by_kind(fn: UnaryFn, function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    of_complex = complex_math.UNARY.get(fn, function)
    return lambda x: of_complex(x) if x.dtype.kind == "c" else function(x)


_UNARY: Mapping[UnaryFn, Callable[[Array], Array]] = {
    UnaryFn.ABS: _abs,
    UnaryFn.ACOS: _real_or_whole(np.arccos),
    UnaryFn.ACOSH: _real_or_whole(np.arccosh),
    UnaryFn.ASIN: _real_or_whole(np.arcsin),
    UnaryFn.ASIN_ACOS_KERNEL: special.asin_acos_kernel,
    UnaryFn.ASINH: _real_or_whole(np.arcsinh),
    UnaryFn.ATAN: _real_or_whole(np.arctan),
    UnaryFn.ATANH: _real_or_whole(np.arctanh),
    UnaryFn.BESSEL_I1E: special.odd_from_scipy("i1e"),
    UnaryFn.CBRT: _cbrt,
    UnaryFn.CEIL: _real_or_whole(np.ceil),
    UnaryFn.COSH: _real_or_whole(np.cosh),
    UnaryFn.COSINE: _real_or_whole(np.cos),
    UnaryFn.COUNT_LEADING_ZEROS: _leading_zeros,
    UnaryFn.DIGAMMA: special.digamma,
    UnaryFn.ERF: _erf,
    UnaryFn.ERF_INV: special.odd_from_scipy("erfinv"),
    UnaryFn.ERFC: special.from_scipy("erfc"),
    UnaryFn.EXPONENTIAL: _real_or_whole(np.exp),
    UnaryFn.EXPONENTIAL_MINUS_ONE: _real_or_whole(np.expm1),
    UnaryFn.FLOOR: _real_or_whole(np.floor),
    UnaryFn.IMAG: np.imag,
    UnaryFn.IS_FINITE: _is_finite,
    UnaryFn.LGAMMA: special.lgamma,
    UnaryFn.LOG: _real_or_whole(np.log),
    UnaryFn.LOG_PLUS_ONE: _real_or_whole(np.log1p),
    UnaryFn.LOGISTIC: _logistic,
    UnaryFn.NEGATE: _real_or_whole(np.negative),
    UnaryFn.NOT: _real_or_whole(np.invert),
    UnaryFn.POPCNT: _popcnt,
    UnaryFn.REAL: np.real,
    UnaryFn.ROUND_NEAREST_AFZ: _round_away,
    UnaryFn.ROUND_NEAREST_EVEN: _real_or_whole(np.rint),
    UnaryFn.RSQRT: lambda x: 1 / np.sqrt(wide(x)),
    UnaryFn.SIGN: _sign,
    UnaryFn.SINE: _real_or_whole(np.sin),
    UnaryFn.SINH: _real_or_whole(np.sinh),
    UnaryFn.SQRT: _real_or_whole(np.sqrt),
    UnaryFn.TAN: _tan,
    UnaryFn.TANH: _real_or_whole(np.tanh),
}
UNARY = {fn: _by_kind(fn, function) for fn, function in _UNARY.items()}

BINARY: Mapping[BinaryFn, Callable[[Array, Array], Array]] = {
    BinaryFn.ADD: _wide2(np.add),
    BinaryFn.AND: _wide2(np.bitwise_and),
    BinaryFn.ATAN2: _atan2,
    BinaryFn.COMPLEX: _complex,
    BinaryFn.DIVIDE: _divide,
    BinaryFn.MAXIMUM: maximum,
    BinaryFn.MINIMUM: minimum,
    BinaryFn.MULTIPLY: _wide2(np.multiply),
    BinaryFn.OR: _wide2(np.bitwise_or),
    BinaryFn.POLYGAMMA: special.polygamma,
    BinaryFn.POWER: _power,
    BinaryFn.REMAINDER: _remainder,
    BinaryFn.SHIFT_LEFT: _shift_left,
    BinaryFn.SHIFT_RIGHT_ARITHMETIC: _shift_right_arithmetic,
    BinaryFn.SHIFT_RIGHT_LOGICAL: _shift_right_logical,
    BinaryFn.SUBTRACT: _wide2(np.subtract),
    BinaryFn.XOR: _wide2(np.bitwise_xor),
    BinaryFn.ZETA: special.zeta,
}
