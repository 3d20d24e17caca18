"""Integers: 64-bit arithmetic, truncated to the width of the result's type."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from shlo_disc.functions.references.formats import dtype_of, widened
from shlo_disc.ir.dtypes import Array, DType, numpy_dtype

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def wrapped(bits: Array, dtype: DType) -> Array:
    """The integers of type `dtype` whose bits are the lowest of these ui64."""
    low = np.asarray(bits) & np.uint64((1 << dtype.bits) - 1)
    if not dtype.is_signed:
        return low.astype(numpy_dtype(dtype))
    sign = np.uint64(1 << (dtype.bits - 1))
    return ((low ^ sign) - sign).view(np.int64).astype(numpy_dtype(dtype))


def extended(x: Array) -> Array:
    """Integers as ui64, signed ones in two's complement."""
    x = np.asarray(widened(x))
    return x.astype(np.int64).view(np.uint64) if x.dtype.kind == "i" else x.astype(np.uint64)


def field(x: Array) -> Array:
    """The bits of integers as ui64, with zeros above."""
    return extended(x) & np.uint64((1 << dtype_of(x).bits) - 1)


def modular(function: Callable[..., Array]) -> Callable[..., Array]:
    """Extend a function of ui64 to integers of any type; its low bits have to be right for them."""
    return lambda *operands: wrapped(function(*map(extended, operands)), dtype_of(operands[0]))


def _negative(x: Array) -> Array:
    return np.asarray(widened(x) < 0)


def _size(x: Array) -> Array:
    bits = extended(x)
    return np.where(_negative(x), ~bits + np.uint64(1), bits)


def _signed(size: Array, negative: Array) -> Array:
    return np.where(negative, ~size + np.uint64(1), size)


def divide(a: Array, b: Array) -> Array:
    """The truncated quotient; all bits set where b is 0. The least number by -1 is itself."""
    by = _size(b)
    quotient = _signed(_size(a) // np.where(by == 0, _ALL, by), _negative(a) != _negative(b))
    return wrapped(np.where(by == 0, _ALL, quotient), dtype_of(a))


def remainder(a: Array, b: Array) -> Array:
    """The remainder, with the sign of a; a itself where b is 0."""
    by = _size(b)
    rest = np.where(by == 0, _size(a), _size(a) % np.where(by == 0, _ALL, by))
    return wrapped(_signed(rest, _negative(a)), dtype_of(a))


def power(a: Array, b: Array) -> Array:
    """The power modulo 2^bits; with a negative exponent, 1 / a^-b truncated, and 0 where a is 0."""
    base, exponent = np.broadcast_arrays(extended(a), _size(b))
    found, odd = np.ones(base.shape, np.uint64), (exponent & np.uint64(1)) == 1
    for k in range(int(exponent.max(initial=0)).bit_length()):
        found = np.where((exponent >> np.uint64(k)) & np.uint64(1) == 1, found * base, found)
        base = base * base
    one, minus_one = np.uint64(1), _ALL
    inverse = np.where(extended(a) == minus_one, np.where(odd, minus_one, one), np.where(extended(a) == one, one, 0))
    return wrapped(np.where(_negative(b), inverse.astype(np.uint64), found), dtype_of(a))


def larger(a: Array, b: Array) -> Array:
    """The maximum."""
    return np.where(widened(a) < widened(b), b, a)


def smaller(a: Array, b: Array) -> Array:
    """The minimum."""
    return np.where(widened(b) < widened(a), b, a)


def absolute(x: Array) -> Array:
    """The number without its sign; the least one is itself."""
    return wrapped(_size(x), dtype_of(x))


def negate(x: Array) -> Array:
    """0 less the number; the least one is itself."""
    return wrapped(~extended(x) + np.uint64(1), dtype_of(x))


def sign(x: Array) -> Array:
    """-1, 0 or 1."""
    bits = np.where(_negative(x), _ALL, np.where(extended(x) == 0, np.uint64(0), np.uint64(1)))
    return wrapped(bits, dtype_of(x))


def ones(x: Array) -> Array:
    """How many bits are 1."""
    bits = field(x)
    return wrapped(_total(bits >> np.uint64(k) & np.uint64(1) for k in range(dtype_of(x).bits)), dtype_of(x))


def leading_zeros(x: Array) -> Array:
    """How many bits are 0 above the highest that is 1."""
    bits = field(x)
    return wrapped(_total(bits >> np.uint64(k) == 0 for k in range(dtype_of(x).bits)), dtype_of(x))


def _total(counts: Iterable[Array]) -> Array:
    return np.asarray(sum((count.astype(np.uint8) for count in counts), np.uint8(0))).astype(np.uint64)


def shift_left(x: Array, amount: Array) -> Array:
    """The bits moved up by an unsigned amount; 0 if none is left."""
    return wrapped(_moved(np.left_shift, field(x), amount), dtype_of(x))


def shift_right_logical(x: Array, amount: Array) -> Array:
    """The bits moved down by an unsigned amount, zeros above them; 0 if none is left."""
    return wrapped(_moved(np.right_shift, field(x), amount), dtype_of(x))


def shift_right_arithmetic(x: Array, amount: Array) -> Array:
    """The bits moved down by an unsigned amount, copies of the highest one above them, also of unsigned integers."""
    bits, top = field(x), np.uint64(1 << (dtype_of(x).bits - 1))
    copies = np.where(bits & top == 0, np.uint64(0), _ALL)
    flipped = np.where(bits & top == 0, bits, bits ^ np.uint64((1 << dtype_of(x).bits) - 1))  # the highest is 0
    return wrapped(_moved(np.right_shift, flipped, amount) ^ copies, dtype_of(x))


def _moved(shift: np.ufunc, bits: Array, amount: Array) -> Array:
    by, width = field(amount), np.uint64(dtype_of(amount).bits)
    return np.where(by < width, shift(bits, np.minimum(by, width - np.uint64(1))), np.uint64(0))


def high_product(a: Array, b: Array) -> Array:
    """The upper half of the product of two integers, by Python's integers."""
    product = np.asarray(a.astype(object) * b.astype(object), object)  # (of scalars it is a plain number)
    return np.asarray(product >> dtype_of(a).bits, object).astype(a.dtype)
