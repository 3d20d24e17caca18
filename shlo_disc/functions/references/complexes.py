"""Complex numbers by formulas of their real and imaginary parts, in a wider type.

Infinite parts and NaN follow docs/reference/accuracy.md: an infinite angle is NaN, and a NaN beside an
infinite part too. Signs of zeros select the sides of branch cuts (W. Kahan, "Branch cuts for complex elementary
functions", 1987).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shlo_disc.functions.references.formats import made, wider
from shlo_disc.ir.dtypes import Array

_HALF_TURN = np.longdouble("3.14159265358979323846264338327950288")


def precisely(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function that is computed in a wider type and rounded after."""
    return lambda *operands: function(*map(wider, operands))


def _has_nan(z: Array) -> Array:
    return np.isnan(np.real(z)) | np.isnan(np.imag(z))


def _has_infinity(z: Array) -> Array:
    return np.isinf(np.real(z)) | np.isinf(np.imag(z))


def _known(z: Array, found: Array) -> Array:
    """The value, but NaN in both parts where one of z is."""
    return np.where(_has_nan(z), complex(np.nan, np.nan), found)


def _times_i(z: Array) -> Array:
    return made(-np.imag(z), np.real(z))


def _over_i(z: Array) -> Array:
    return made(np.imag(z), -np.real(z))


def multiply(a: Array, b: Array) -> Array:
    """The product by parts."""
    return made(np.real(a) * np.real(b) - np.imag(a) * np.imag(b), np.real(a) * np.imag(b) + np.imag(a) * np.real(b))


def divide(a: Array, b: Array) -> Array:
    """The quotient; by 0, each part is divided by the real part of b; infinite where a is and b is not.

    A finite number by one with two infinite parts is 0.
    """
    a, b = np.broadcast_arrays(a, b)
    size, whole = np.real(b) * np.real(b) + np.imag(b) * np.imag(b), multiply(a, np.conj(b))
    found = made(np.real(whole) / size, np.imag(whole) / size)
    found = np.where(b == 0, made(np.real(a) / np.real(b), np.imag(a) / np.real(b)), found)
    shrunk = multiply(a, np.conj(_infinities(b)))
    vanishes = np.isfinite(a) & _has_infinity(b) & ~_has_nan(b)
    found = np.where(vanishes, made(0 * np.real(shrunk), 0 * np.imag(shrunk)), found)
    grown = multiply(_infinities(a), np.conj(b))
    grows = _has_infinity(a) & np.isfinite(b) & (b != 0)
    return np.where(grows, made(np.inf * np.real(grown), np.inf * np.imag(grown)), found)


def _infinities(z: Array) -> Array:
    """1 with the sign of an infinite part, 0 for a finite one."""
    return made(*[np.where(np.isinf(part), np.sign(part), 0 * np.isfinite(part)) for part in (np.real(z), np.imag(z))])


def larger(a: Array, b: Array) -> Array:
    """The maximum by real parts, then by imaginary ones; a NaN is larger than all."""
    return np.where(_has_nan(a), a, np.where(_has_nan(b) | _before(a, b), b, a))


def smaller(a: Array, b: Array) -> Array:
    """The minimum by real parts, then by imaginary ones; a NaN is smaller than all."""
    return np.where(_has_nan(a), a, np.where(_has_nan(b) | _before(b, a), b, a))


def _before(a: Array, b: Array) -> Array:
    return (np.real(a) < np.real(b)) | ((np.real(a) == np.real(b)) & (np.imag(a) < np.imag(b)))


def absolute(z: Array) -> Array:
    """The modulus; NaN if a part is."""
    return np.where(_has_nan(z), np.nan, np.hypot(np.real(z), np.imag(z)))


def sign(z: Array) -> Array:
    """The number of modulus 1 in the same direction; zeros are themselves."""
    size = absolute(z)
    return np.where(z == 0, z, made(np.real(z) / size, np.imag(z) / size))


def exp(z: Array) -> Array:
    """e^x (cos y + i sin y)."""
    size = np.exp(np.real(z))
    return made(size * np.cos(np.imag(z)), np.where(np.imag(z) == 0, np.imag(z), size * np.sin(np.imag(z))))


def expm1(z: Array) -> Array:
    """The exponential less 1, without cancellation in its real part."""
    half = np.sin(np.imag(z) / 2)
    real = np.expm1(np.real(z)) * np.cos(np.imag(z)) - 2 * half * half
    return made(np.where(np.imag(z) == 0, np.expm1(np.real(z)), real), np.imag(exp(z)))


def log(z: Array) -> Array:
    """The logarithm of the modulus, and the angle."""
    large, small = (
        np.maximum(np.abs(np.real(z)), np.abs(np.imag(z))),
        np.minimum(np.abs(np.real(z)), np.abs(np.imag(z))),
    )
    near = np.log1p((large - 1) * (large + 1) + small * small) / 2
    far = np.log(np.hypot(large, small))
    real = np.where((large > 0.5) & (large < 2), near, far)
    return _known(z, made(real, np.arctan2(np.imag(z), np.real(z))))


def log1p(z: Array) -> Array:
    """The logarithm of 1 + z, without adding 1 to a small number."""
    x, y = np.real(z), np.imag(z)
    near = np.log1p(x * (2 + x) + y * y) / 2
    real = np.where(np.hypot(x, y) < 0.5, near, np.log(np.hypot(1 + x, y)))
    return _known(z, made(real, np.arctan2(y, 1 + x)))


def sqrt(z: Array) -> Array:
    """The root with a real part that is not negative; its imaginary part has the sign of y."""
    size = np.hypot(np.real(z), np.imag(z))
    root = np.sqrt((np.abs(np.real(z)) + size) / 2)
    other = np.where(size == 0, 0, np.abs(np.imag(z)) / (2 * np.where(size == 0, 1, root)))
    left = np.real(z) < 0
    real, imaginary = np.where(left, other, root), np.copysign(np.where(left, root, other), np.imag(z))
    upward = np.isinf(np.imag(z))
    return _known(z, made(np.where(upward, np.inf, real), np.where(upward, np.imag(z), imaginary)))


def rsqrt(z: Array) -> Array:
    """1 / sqrt(z); 0 of what is infinite."""
    found = divide(np.ones_like(z), sqrt(z))
    zero = made(np.zeros_like(np.real(z)), -np.copysign(np.zeros_like(np.imag(z)), np.imag(z)))
    return _known(z, np.where(_has_infinity(z), zero, found))


def cbrt(z: Array) -> Array:
    """The root nearest to the positive numbers: that of the modulus, at a third of the angle."""
    root, angle = np.cbrt(np.hypot(np.real(z), np.imag(z))), np.arctan2(np.imag(z), np.real(z)) / 3
    return made(root * np.cos(angle), root * np.sin(angle))


def power(a: Array, b: Array) -> Array:
    """e^(b log a); 1 where b is 0, and 0 where a is 0 and b has a positive real part."""
    found = exp(multiply(b, log(a)))
    return np.where(b == 0, 1, np.where((a == 0) & (np.real(b) > 0), 0, found))


def atan2(y: Array, x: Array) -> Array:
    """-i log((x + i y) / sqrt(x^2 + y^2))."""
    return _over_i(log(divide(x + _times_i(y), sqrt(multiply(x, x) + multiply(y, y)))))


def sinh(z: Array) -> Array:
    """(sinh x cos y, cosh x sin y)."""
    real, imaginary = np.sinh(np.real(z)) * np.cos(np.imag(z)), np.cosh(np.real(z)) * np.sin(np.imag(z))
    return made(real, np.where(np.imag(z) == 0, np.imag(z), imaginary))


def cosh(z: Array) -> Array:
    """(cosh x cos y, sinh x sin y)."""
    imaginary = np.where(
        np.imag(z) == 0, np.where(np.real(z) < 0, -np.imag(z), np.imag(z)), np.sinh(np.real(z)) * np.sin(np.imag(z))
    )
    return made(np.cosh(np.real(z)) * np.cos(np.imag(z)), imaginary)


def tanh(z: Array) -> Array:
    """(sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y); its asymptotic form where x is large."""
    size, large = np.minimum(np.abs(np.real(z)), 50), np.abs(np.real(z)) > 50
    under = np.sinh(size) ** 2 + np.cos(np.imag(z)) ** 2
    turn = np.sin(np.imag(z)) * np.cos(np.imag(z))
    real = np.where(large, 1 + 0 * turn, np.sinh(size) * np.cosh(size) / under)
    imaginary = np.where(large, 4 * turn * np.exp(-2 * np.abs(np.real(z))), turn / under)
    infinite, zero = np.isinf(np.real(z)), np.copysign(np.zeros_like(turn), np.where(np.isnan(turn), 1, turn))
    real, imaginary = np.where(infinite, 1, real), np.where(infinite, zero, imaginary)
    return made(np.copysign(real, np.real(z)), np.where(np.imag(z) == 0, np.imag(z), imaginary))


def sine(z: Array) -> Array:
    """sinh(i z) / i."""
    return _over_i(sinh(_times_i(z)))


def cosine(z: Array) -> Array:
    """cosh(i z)."""
    return cosh(_times_i(z))


def tan(z: Array) -> Array:
    """tanh(i z) / i."""
    return _over_i(tanh(_times_i(z)))


def logistic(z: Array) -> Array:
    """1 / (1 + e^-z) by e^-|x|, which does not overflow; 1 + e^-|x| cos y is a sum without cancellation."""
    falls, size = np.real(z) < 0, -np.abs(np.real(z))
    e = exp(made(size, np.where(falls, np.imag(z), -np.imag(z))))
    half = np.cos(np.imag(z) / 2)
    under = made(2 * half * half + np.cos(np.imag(z)) * np.expm1(size), np.imag(e))
    return divide(np.where(falls, e, np.where(_has_nan(e), e, 1)), under)


def asin_acos_kernel(z: Array) -> Array:
    """The w with asin(z) = (atan2(x, re w), im w signed as y) and acos(z) = (atan2(re w, x), -im w signed as y).

    re w is the real part of sqrt(1 - z) sqrt(1 + z), im w the logarithm whose sinh is the imaginary part of
    conj(sqrt(1 - z)) sqrt(1 + z), for the number above the real axis.
    """
    y = np.abs(np.imag(z))
    a, b = sqrt(made(1 - np.real(z), -y)), sqrt(made(1 + np.real(z), y))
    inner, outer = (
        np.real(a) * np.real(b) - np.imag(a) * np.imag(b),
        np.arcsinh(np.real(a) * np.imag(b) - np.imag(a) * np.real(b)),
    )
    infinite = _has_infinity(z)
    beside = np.where(np.isfinite(y), 0, y)  # an angle is that of the infinite part, or of both
    return made(np.where(infinite, beside, inner), np.where(infinite, np.inf, outer))


def asin(z: Array) -> Array:
    """The angle whose sine is z."""
    w = asin_acos_kernel(z)
    return made(np.arctan2(np.real(z), np.real(w)), np.copysign(np.imag(w), np.imag(z)))


def acos(z: Array) -> Array:
    """The angle whose cosine is z."""
    w = asin_acos_kernel(z)
    return made(np.arctan2(np.real(w), np.real(z)), -np.copysign(np.imag(w), np.imag(z)))


def acosh(z: Array) -> Array:
    """acos(z), rotated into the right half plane."""
    w = asin_acos_kernel(z)
    return made(np.imag(w), np.copysign(np.arctan2(np.real(w), np.real(z)), np.imag(z)))


def asinh(z: Array) -> Array:
    """asin(i z) / i."""
    return _over_i(asin(_times_i(z)))


def atanh(z: Array) -> Array:
    """(log(((1 + x)^2 + y^2) / ((1 - x)^2 + y^2)) / 4, atan2(2 y, (1 - x) (1 + x) - y^2) / 2)."""
    x, y = np.abs(np.real(z)), np.imag(z)
    real = np.log1p(4 * x / ((1 - x) ** 2 + y * y)) / 4
    angle = np.arctan2(2 * y, (1 - x) * (1 + x) - y * y) / 2
    infinite = _has_infinity(z)
    right_angle = np.where(np.isnan(y), y, np.copysign(_HALF_TURN / 2, y))
    return made(np.copysign(np.where(infinite, 0, real), np.real(z)), np.where(infinite, right_angle, angle))


def atan(z: Array) -> Array:
    """atanh(i z) / i."""
    return _over_i(atanh(_times_i(z)))


def square(z: Array) -> Array:
    """((x - y) (x + y), 2 x y); the real part is 0 where |x| = |y|, also where their squares overflow."""
    x, y = np.real(z), np.imag(z)
    same = (np.abs(x) == np.abs(y)) & np.isfinite(x)
    return made(np.where(same, 0, (x - y) * (x + y)), 2 * x * y)
