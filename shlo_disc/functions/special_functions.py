"""CHLO's functions that NumPy lacks, for the evaluation of constants: by SciPy, in double precision."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.diagnostics import ShloDiscError

Array = NDArray[Any]


def _special(name: str) -> Callable[..., Array]:
    try:
        functions = importlib.import_module("scipy.special")
    except ImportError as error:
        message = f"the function '{name}' of a constant needs the package scipy: pip install scipy"
        raise ShloDiscError(message) from error
    return getattr(functions, name)


def from_scipy(name: str) -> Callable[..., Array]:
    """Return a function of SciPy, imported when it is called.

    Raises `ShloDiscError` if SciPy is not installed.
    """
    return lambda *operands: _special(name)(*[x.astype(np.float64) for x in operands])


def odd_from_scipy(name: str) -> Callable[[Array], Array]:
    """The same for an odd function of one number; keeps the sign of 0, which SciPy's may lose."""
    function = from_scipy(name)
    return lambda x: np.copysign(np.abs(function(x)), x.astype(np.float64))


def lgamma(x: Array) -> Array:
    """The logarithm of |gamma(x)|; infinite at its poles and at both ends."""
    x = x.astype(np.float64)
    return np.where((x <= 0) & (x == np.floor(x)), np.inf, _special("gammaln")(x))


def digamma(x: Array) -> Array:
    """The derivative of lgamma; NaN at its poles, as in XLA."""
    x = x.astype(np.float64)
    return np.where((x <= 0) & (x == np.floor(x)), np.nan, _special("digamma")(x))


def zeta(x: Array, q: Array) -> Array:
    """The sum of (q + k)^-x for k >= 0; for q < 0 and whole x, pairs of terms about 0, and SciPy's for the rest.

    Its poles are infinite for even x and NaN otherwise, as in XLA; 1000 terms are enough for tests.
    """
    x, q = np.broadcast_arrays(x.astype(np.float64), q.astype(np.float64))
    whole_x, pole = (x == np.floor(x)) & np.isfinite(x), (q <= 0) & (q == np.floor(q))
    defined = (x > 1) & ~np.isnan(q) & ((q > 0) | whole_x) & ~pole & (q > -1000)
    exponent, start = np.where(defined & np.isfinite(x), x, 2), np.where(defined, q, 1)
    even = np.fmod(exponent, 2) == 0
    finite = np.where(np.isinf(start), 1, start)
    steps = np.maximum(np.ceil(-finite), 0)
    above, below = start + steps, np.ceil(finite) - finite  # how far the nearest two terms are from 0
    found = _special("zeta")(exponent, above + steps)
    found = np.where(np.isnan(found), np.power(above + steps, -exponent), found)  # SciPy's of large exponents overflows
    for k in range(int(steps.max(initial=0))):
        first, second = (np.power(np.where(k < steps, size + k, 1), -exponent) for size in (above, below))
        larger = np.where(above == below, 0, np.where(above < below, np.inf, -np.inf))  # of two infinite terms
        apart = np.where(first == second, np.where(np.isinf(first), larger, 0), first - second)
        pair = np.where(even, first + second, apart)
        found = found + np.where(k < steps, pair, 0)
    found = np.where(np.isinf(x), np.power(np.where(defined, q, 1), -np.where(np.isinf(x), x, 1)), found)
    at_pole = np.where(np.fmod(np.where(whole_x, x, 1), 2) == 0, np.inf, np.nan)
    return np.where(x == 1, np.inf, np.where(pole, at_pole, np.where(defined, found, np.nan)))


def polygamma(n: Array, x: Array) -> Array:
    """The n-th derivative of digamma; NaN unless n is a whole number that is not negative."""
    n, x = np.broadcast_arrays(n.astype(np.float64), x.astype(np.float64))
    defined = (n >= 0) & (n == np.floor(n)) & np.isfinite(n)
    order = np.where(defined, n, 1)
    sign = np.where(np.fmod(order, 2) == 0, -1.0, 1.0)
    found = sign * _special("gamma")(order + 1) * zeta(order + 1, x)
    return np.where(defined, np.where(n == 0, digamma(x), found), np.nan)


def asin_acos_kernel(z: Array) -> Array:
    """Return w: asin(z) = (atan2(re z, re w), sign(im z) im w), acos(z) = (atan2(re w, re z), -sign(im z) im w)."""
    kind, z = z.dtype, z.astype(np.complex128)
    upper, angle = np.empty_like(z), np.abs(np.imag(z))
    upper.real, upper.imag = np.real(z), angle
    endless = np.isinf(np.real(z)) | np.isinf(angle)
    found = np.empty_like(z)
    found.real = np.where(
        endless, np.where(np.isfinite(angle), 0, angle), np.real(np.sqrt(1 - upper) * np.sqrt(1 + upper))
    )
    found.imag = np.where(endless, np.inf, np.imag(np.arcsin(upper)))
    return found.astype(kind)
