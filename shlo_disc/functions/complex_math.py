"""Functions of complex numbers in NumPy, with infinite parts and NaN as in XLA on the CPU.

NumPy follows C99 (Annex G), which defines limits: `exp(-inf + i inf)` is 0. XLA computes parts by formulas like
`e^x cos y`, which are NaN for an infinite angle or a NaN. All is computed in doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
_NAN = complex(np.nan, np.nan)


def _made(real: Array, imaginary: Array) -> Array:
    found = np.empty(np.broadcast(real, imaginary).shape, np.complex128)
    found.real, found.imag = real, imaginary
    return found


def _unknown(function: Callable[[Array], Array], where: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The function, but NaN where `where` holds for the operand."""

    def extended(x: Array) -> Array:
        x = x.astype(np.complex128)
        return np.where(where(x), _NAN, function(x))

    return extended


def _real_endless(x: Array) -> Array:
    return ~np.isfinite(np.real(x))


def _angle_endless(x: Array) -> Array:
    return ~np.isfinite(np.imag(x))


def _expm1(x: Array) -> Array:
    grown, half = np.expm1(np.real(x)), np.sin(np.imag(x) / 2)
    found = _made(grown * np.cos(np.imag(x)) - 2 * half * half, (grown + 1) * np.sin(np.imag(x)))
    return np.where(np.imag(x) == 0, _made(grown, np.imag(x)), found)


def _log1p(x: Array) -> Array:
    """For small x, compute from the square of the modulus less 1."""
    near = np.abs(x) < 0.5
    t = np.where(near, np.real(x), 0.0)
    small = 0.5 * np.log1p(t * (2 + t) + np.where(near, np.imag(x), 0.0) ** 2)
    return _made(np.where(near, small, np.log(np.abs(x + 1))), np.arctan2(np.imag(x), 1 + np.real(x)))


def _logistic(x: Array) -> Array:
    falls = np.real(x) < 0
    power = np.exp(np.where(falls, x, -x))  # at most 1: e^710 overflows
    return np.where(falls, power, 1) / (1 + power)


def sign(x: Array) -> Array:
    """The number of modulus 1 in the same direction; zeros are themselves."""
    size = np.where(x == 0, 1, absolute(x))
    return np.where(x == 0, x, _made(np.real(x) / size, np.imag(x) / size))


def absolute(x: Array) -> Array:
    """The modulus, in double precision; NaN if a part is."""
    return np.where(np.isnan(x), np.nan, np.abs(x.astype(np.complex128)))


def _rsqrt(x: Array) -> Array:
    endless = np.isinf(np.real(x)) | np.isinf(np.imag(x))
    found = divide(np.ones_like(x), np.sqrt(x))
    return np.where(endless, _made(np.zeros(x.shape), -np.copysign(0, np.imag(x))), found)


def cbrt(x: Array) -> Array:
    """The root nearest to the positive numbers."""
    return np.cbrt(np.abs(x)) * np.exp(1j * np.angle(x) / 3)


def divide(a: Array, b: Array) -> Array:
    """The quotient; by 0, each part is divided by the real part of b; infinite where a is infinite and b is not."""
    kind, a, b = a.dtype, a.astype(np.complex128), b.astype(np.complex128)
    found = np.where(b == 0, _made(np.real(a) / np.real(b), np.imag(a) / np.real(b)), _by_larger_part(a, b))
    one, other = _signs_of_infinities(a), _signs_of_infinities(b)
    whole = a * np.conj(other)
    shrunk = _made(0 * np.real(whole), 0 * np.imag(whole))
    found = np.where(np.isfinite(a) & np.isinf(np.real(b)) & np.isinf(np.imag(b)), shrunk, found)
    c, d = np.real(one), np.imag(one)
    grown = _made(np.inf * (c * np.real(b) + d * np.imag(b)), np.inf * (d * np.real(b) - c * np.imag(b)))
    return np.where((one != 0) & np.isfinite(b) & (b != 0), grown, found).astype(kind)


def _signs_of_infinities(x: Array) -> Array:
    return _made(*(np.where(np.isinf(part), np.sign(part), 0.0) for part in (np.real(x), np.imag(x))))


def _by_larger_part(a: Array, b: Array) -> Array:
    """R. L. Smith's division: no square overflows."""
    by_real = np.abs(np.real(b)) >= np.abs(np.imag(b))
    ratio = np.where(by_real, np.imag(b) / np.real(b), np.real(b) / np.imag(b))
    size = np.where(by_real, np.real(b) + np.imag(b) * ratio, np.real(b) * ratio + np.imag(b))
    real = np.where(by_real, np.real(a) + np.imag(a) * ratio, np.real(a) * ratio + np.imag(a))
    imaginary = np.where(by_real, np.imag(a) - np.real(a) * ratio, np.imag(a) * ratio - np.real(a))
    return _made(real / size, imaginary / size)


acos = _unknown(np.arccos, lambda x: np.isnan(np.imag(x)) & (np.real(x) == 0))
acosh = _unknown(np.arccosh, lambda x: np.isnan(np.imag(x)) & (np.real(x) == 0))
asin = _unknown(np.arcsin, lambda x: np.isnan(np.imag(x)) & (np.real(x) == 0))
asinh = _unknown(np.arcsinh, lambda x: np.isnan(np.real(x)) & (np.imag(x) == 0))
atan = _unknown(np.arctan, lambda x: np.isnan(np.real(x)) & (np.imag(x) == 0))
atanh = _unknown(np.arctanh, lambda x: np.isnan(np.imag(x)) & (np.real(x) == 0))
cosh = _unknown(np.cosh, _angle_endless)
cosine = _unknown(np.cos, _real_endless)
exp = _unknown(np.exp, _angle_endless)
expm1 = _unknown(_expm1, _angle_endless)
log = _unknown(np.log, np.isnan)
log1p = _unknown(_log1p, np.isnan)
logistic = _unknown(_logistic, _angle_endless)
rsqrt = _unknown(_rsqrt, np.isnan)
sine = _unknown(np.sin, _real_endless)
sinh = _unknown(np.sinh, _angle_endless)
sqrt = _unknown(np.sqrt, np.isnan)
tan = _unknown(np.tan, lambda x: _real_endless(x) & np.isfinite(np.imag(x)))
tanh = _unknown(np.tanh, lambda x: _angle_endless(x) & np.isfinite(np.real(x)))
