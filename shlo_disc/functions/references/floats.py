"""Functions of floats, in the type in which they are computed; functions that round use a wider one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shlo_disc.functions.references.formats import widened, wider
from shlo_disc.ir.dtypes import Array


def directly(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function that rounds as its type does (arithmetic, rounding functions); narrow types are computed in f32."""
    return lambda *operands: function(*map(widened, operands))


def precisely(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function that is computed in a wider type and rounded after."""
    return lambda *operands: function(*map(wider, operands))


def larger(a: Array, b: Array) -> Array:
    """The maximum: NaN if one is NaN, and +0 is larger than -0."""
    b_wins = (b > a) | ((b == a) & np.signbit(a)) | np.isnan(b)
    return np.where(b_wins & ~np.isnan(a), b, a)


def smaller(a: Array, b: Array) -> Array:
    """The minimum: NaN if one is NaN, and -0 is smaller than +0."""
    b_wins = (b < a) | ((b == a) & np.signbit(b)) | np.isnan(b)
    return np.where(b_wins & ~np.isnan(a), b, a)


def absolute(x: Array) -> Array:
    """The number without its sign."""
    return np.copysign(x, np.ones_like(x))


def rsqrt(x: Array) -> Array:
    """1 / sqrt(x)."""
    return np.asarray(1 / np.sqrt(x))


def sign(x: Array) -> Array:
    """1 with the sign of x; zeros and NaN are themselves."""
    return np.where((x == 0) | np.isnan(x), x, np.copysign(np.ones_like(x), x))


def logistic(x: Array) -> Array:
    """1 / (1 + e^-x), in a type whose exponent leaves room for e^-x."""
    return 1 / (1 + np.exp(-x))


def ceil(x: Array) -> Array:
    """The least whole number that is not less."""
    return -np.floor(-x)


def floor(x: Array) -> Array:
    """The largest whole number that is not greater; a zero keeps its sign."""
    whole = np.trunc(x)
    return np.where(whole > x, whole - 1, whole)


def round_half_away(x: Array) -> Array:
    """The nearest whole number; ties go away from 0."""
    fraction, whole = np.modf(np.abs(x))
    return np.copysign(whole + (fraction >= 0.5), x)


def round_half_even(x: Array) -> Array:
    """The nearest whole number; ties go to the even one."""
    fraction, whole = np.modf(np.abs(x))
    up = (fraction > 0.5) | ((fraction == 0.5) & (np.fmod(whole, 2) == 1))
    return np.copysign(whole + up, x)


def is_finite(x: Array) -> Array:
    """Whether x is neither infinite nor NaN."""
    return np.asarray(np.abs(x) < np.inf)


def power(a: Array, b: Array) -> Array:
    """C's pow of arrays of one shape; at rank 0, NumPy would replace an exponent of 0.5 by a root, also for -inf."""
    return np.power(np.reshape(a, -1), np.reshape(b, -1)).reshape(np.shape(a))


def next_after(x: Array, y: Array) -> Array:
    """The float next to x in the direction of y; y itself, and so its sign of 0, where they are equal."""
    return np.where(widened(x) == widened(y), y, np.nextafter(x, y))
