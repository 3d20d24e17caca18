"""The special functions of CHLO: series and recurrences in `long double`; erf and erfc by SciPy and the C library."""

# SciPy's functions are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from functools import cache

import numpy as np

from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.ir.dtypes import Array

_PI = np.longdouble("3.14159265358979323846264338327950288")
_EULER = np.longdouble("0.577215664901532860606512090082402431")
_LOG_ROOT = np.longdouble("0.918938533204672741780329736405617640")  # log(2 pi) / 2
_LARGE = 20.0  # from here on, asymptotic series of eight and more terms are exact
# The Bernoulli numbers B2, B4, ..., as (numerator, denominator).
_BERNOULLI = (
    (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330),
)  # fmt: skip
_PAIRS = 64  # terms on each side of 0 in a zeta function of a negative number that are added one by one


def _long(x: Array) -> Array:
    return np.asarray(x).astype(np.longdouble)


def _bernoulli(k: int) -> np.longdouble:
    numerator, denominator = _BERNOULLI[k - 1]
    return np.longdouble(numerator) / denominator


def _at_pole(x: Array) -> Array:
    return (x <= 0) & (x == np.floor(x))


def _shifted(x: Array) -> tuple[Array, Array]:
    """Shift positive x up by n steps, so that x + n is large: x + n, and n."""
    steps = np.ceil(np.maximum(_LARGE - x, 0))
    return x + steps, steps


def erf(x: Array) -> Array:
    """The error function, by SciPy."""
    try:
        from scipy import special  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise ShloDiscError("the reference of 'erf' needs the package scipy: pip install scipy") from error
    return np.asarray(special.erf(np.asarray(x).astype(np.float64)))


def erfc(x: Array) -> Array:
    """1 - erf(x), by the C library."""
    return np.asarray(np.frompyfunc(math.erfc, 1, 1)(np.asarray(x).astype(np.float64)), np.float64)


def erf_inv(x: Array) -> Array:
    """The number whose error function is x: Halley's iteration from S. Winitzki's approximation."""
    x = np.asarray(x).astype(np.float64)
    size = np.abs(x)
    inside = np.where(size < 1, size, 0)
    log = np.log1p(-inside * inside)
    middle = 2 / (np.pi * 0.147) + log / 2
    found = np.sqrt(np.maximum(np.sqrt(middle * middle - log / 0.147) - middle, 0))
    for _ in range(4):
        slope = 2 / math.sqrt(math.pi) * np.exp(-found * found)
        beyond = np.where(inside < 0.5, erf(found) - inside, (1 - inside) - erfc(found)) / slope
        found = found - beyond / (1 + found * beyond)
    found = np.where(inside < 1e-8, inside * (math.sqrt(math.pi) / 2), found)
    return np.copysign(np.where(size < 1, found, np.where(size == 1, np.inf, np.nan)), x)


def lgamma(x: Array) -> Array:
    """Log |gamma(x)|; infinite at the poles and at both ends."""
    x = _long(x)
    size = np.where(np.isfinite(x), np.abs(x), 1)
    away = size - np.rint(size)
    sine = np.abs(np.sin(_PI * away))
    reflected = np.log(_PI / np.where(size * sine == 0, 1, size * sine)) - _lgamma_of_positive(size)
    found = np.where(x < 0, reflected, _lgamma_of_positive(np.where(size == 0, 1, size)))
    return np.where(np.isnan(x), x, np.where(_at_pole(x) | np.isinf(x), np.inf, found))


def _lgamma_of_positive(x: Array) -> Array:
    """Compute by a series about 1 and 2, elsewhere by Stirling's."""
    small, near_two = x < 0.5, (x >= 1.5) & (x < 2.5)
    past = np.where(small, x, np.where(near_two, x - 2, np.where(x < 1.5, x - 1, 0)))
    series = np.zeros_like(past)
    for k in range(69, 1, -1):
        series = _zeta_of(k) / k - past * series
    series = past * (past * series - _EULER)
    near = series + np.where(near_two, np.log1p(past), 0) - np.where(small, np.log(np.where(small, x, 1)), 0)
    w, steps = _shifted(np.where(x < 2.5, _LARGE, x))
    product = np.ones_like(w)
    for k in range(int(steps.max(initial=0))):
        product = product * np.where(k < steps, w - steps + k, 1)
    far = (w - 0.5) * np.log(w) - w + _LOG_ROOT - np.log(product)
    power = 1 / w
    for k in range(1, len(_BERNOULLI)):
        far = far + _bernoulli(k) / (2 * k * (2 * k - 1)) * power
        power = power / (w * w)
    return np.where(x < 2.5, near, far)


@cache
def _zeta_of(k: int) -> np.longdouble:
    return np.longdouble(_zeta_of_positive(np.asarray(np.longdouble(k)), np.asarray(np.longdouble(1))))


def digamma(x: Array) -> Array:
    """The derivative of lgamma; NaN at the poles, as in XLA."""
    x = _long(x)
    ordinary = np.isfinite(x) & ~_at_pole(x)
    y = np.where(ordinary, np.where(x < 0, 1 - x, x), 1)
    w, steps = _shifted(y)
    found, power = np.log(w) - 1 / (2 * w), 1 / (w * w)
    for k in range(1, len(_BERNOULLI)):
        found = found - _bernoulli(k) / (2 * k) * power
        power = power / (w * w)
    for k in range(int(steps.max(initial=0))):
        found = found - np.where(k < steps, 1 / (y + k), 0)
    tangent = np.tan(_PI * np.where(ordinary & (x < 0), x - np.rint(x), 0.25))
    found = np.where(x < 0, found - _PI / tangent, found)
    return np.where(ordinary, found, np.where(x > 0, x, np.nan))


def zeta(x: Array, q: Array) -> Array:
    """The sum of (q + k)^-x for k >= 0; negative q only for whole x.

    Poles are infinite for x = 1 and for even x, and NaN otherwise, as in XLA.
    """
    x, q = np.broadcast_arrays(_long(x), _long(q))
    is_whole, is_even = (x == np.floor(x)) & np.isfinite(x), np.fmod(x, 2) == 0
    defined = (x > 1) & ~np.isnan(q) & ~_at_pole(q) & ((q > 0) | is_whole)
    exponent, start = np.where(defined & np.isfinite(x), x, 2), np.where(defined & np.isfinite(q), q, 1)
    found = np.where(start > 0, _zeta_of_positive(exponent, np.where(start > 0, start, 1)), 0)
    if np.any(start < 0):
        negative = start < 0
        found = np.where(negative, _zeta_of_negative(exponent, np.where(negative, start, -0.5)), found)
    found = np.where(np.isinf(q), 0, found)
    found = np.where(np.isinf(x), np.where(q < 1, np.inf, np.where(q == 1, 1, 0)), found)
    pole = np.where(is_even & is_whole, np.inf, np.nan)
    return np.where(x == 1, np.inf, np.where(defined, found, np.where(_at_pole(q) & ~np.isnan(x), pole, np.nan)))


def _zeta_of_positive(x: Array, q: Array) -> Array:
    """Sum twenty terms, and the rest by the Euler-Maclaurin formula."""
    found = np.zeros_like(q * x)
    for k in range(int(_LARGE)):
        found = found + (q + k) ** -x
    w = q + _LARGE
    last, factor = w**-x, x / w
    tail = w / (x - 1) + 0.5
    for k in range(1, len(_BERNOULLI) + 1):
        tail = tail + _bernoulli(k) / math.factorial(2 * k) * factor
        factor = factor * ((x + (2 * k - 1)) / w) * ((x + 2 * k) / w)
    return np.where(last == 0, found, found + last * tail)


def _zeta_of_negative(x: Array, q: Array) -> Array:
    """Sum pairs of terms, one on each side of 0, those nearest to 0 one by one; then the rest of both sides."""
    sign = np.where(np.fmod(x, 2) == 0, 1, -1)
    count = np.ceil(-q)  # of the terms below 0
    above, below, pairs = q + count, -q - (count - 1), np.minimum(count, _PAIRS)
    found = _zeta_of_positive(x, above + pairs) + sign * _zeta_of_positive(x, below + pairs)
    found = found - sign * _zeta_of_positive(x, below + count)
    for k in range(int(pairs.max(initial=0)) - 1, -1, -1):
        first, second = (above + k) ** -x, sign * (below + k) ** -x
        pair = np.where(first == -second, 0, first + second)  # also of infinite ones
        found = found + np.where(k < pairs, pair, 0)
    return found


def polygamma(n: Array, x: Array) -> Array:
    """The n-th derivative of digamma, (-1)^(n + 1) n! zeta(n + 1, x); NaN unless n is a whole number from 0 on.

    Both factors are f64, as in XLA: n! is infinite from 171 on, and 0 times that is NaN.
    """
    n, x = np.broadcast_arrays(_long(n), _long(x))
    defined = (n >= 0) & (n == np.floor(n)) & np.isfinite(n)
    order = np.where(defined, n, 1)
    factorials = np.array([math.factorial(k) for k in range(171)] + [np.inf], np.longdouble)
    factorial = factorials[np.minimum(order, 171).astype(np.int64)]
    sign = np.where(np.fmod(order, 2) == 0, -1, 1)
    found = np.where(n == 0, digamma(x), sign * factorial * zeta(order + 1, x).astype(np.float64))
    return np.where(defined, found, np.nan)


def bessel_i1e(x: Array) -> Array:
    """e^-|x| I1(x): its series, or from 20 on the asymptotic one."""
    x = _long(x)
    size = np.abs(x)
    small, large = np.minimum(size, _LARGE), np.maximum(size, _LARGE)
    square, term = (small / 2) ** 2, small / 2
    near = term
    for k in range(1, 80):
        term = term * square / (k * (k + 1))
        near = near + term
    term, far = np.ones_like(large), np.ones_like(large)
    for k in range(1, 30):
        term = -term * (4 - (2 * k - 1) ** 2) / (8 * k * large)
        far = far + term
    found = np.where(size < _LARGE, near * np.exp(-small), far / np.sqrt(2 * _PI * large))
    return np.where(np.isnan(x), x, np.copysign(found, x))
