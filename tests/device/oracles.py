"""Exact values of the preludes' functions: wider floats where a library has them, mpmath where none is exact enough."""

# mpmath and SciPy are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, TypeAlias

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import special

from shlo_disc.functions import special_functions

Floats: TypeAlias = NDArray[Any]
SURE = 0.6  # a distance in ulp beyond which a library's value is looked at again
MOST = 400  # points that mpmath looks at


def _round_away(x: Floats) -> Floats:
    whole = np.trunc(x)
    return np.copysign(np.where(abs(x - whole) >= 0.5, abs(whole) + 1, abs(whole)), x)


def _logistic(x: Floats) -> Floats:
    e = np.exp(-abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


# Exact for a narrower type than that of the argument: f64 tells about f32, the 80 bits of longdouble about f64.
WIDER: Mapping[str, Callable[[Floats], Floats]] = {
    "exp_": np.exp, "expm1_": np.expm1, "log_": np.log, "log1p_": np.log1p, "tanh_": np.tanh, "sin_": np.sin,
    "cos_": np.cos, "tan_": np.tan, "sqrt_": np.sqrt, "cbrt_": np.cbrt, "logistic_": _logistic,
    "rsqrt_": lambda x: 1 / np.sqrt(x), "floor_": np.floor, "ceil_": np.ceil, "round_even": np.rint,
    "round_afz": _round_away, "abs_": np.abs, "sign_": lambda x: np.where((x == 0) | np.isnan(x), x, np.sign(x)),
    "neg_": np.negative, "acos_": np.arccos, "acosh_": np.arccosh, "asin_": np.arcsin, "asinh_": np.arcsinh,
    "atan_": np.arctan, "atanh_": np.arctanh, "cosh_": np.cosh, "sinh_": np.sinh,
}  # fmt: skip

# In double only: SciPy's value, which is right to some 10 digits, and mpmath's.
SPECIAL: Mapping[str, tuple[Callable[[Floats], Floats], Callable[[Any], Any]]] = {
    "erf_": (special.erf, mpmath.erf),
    "erfc_": (special.erfc, mpmath.erfc),
    "erf_inv_": (special.erfinv, mpmath.erfinv),
    "bessel_i1e_": (special.i1e, lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x)),
    "lgamma_": (special_functions.lgamma, lambda x: mpmath.loggamma(x).real),
    "digamma_": (special_functions.digamma, mpmath.digamma),
}


def _zeta(x: Any, q: Any) -> Any:
    """Compute with digits to spare: mpmath loses as many as q^x has."""
    with mpmath.workdps(200):
        return mpmath.zeta(x, q)


def _polygamma(n: Any, x: Any) -> Any:
    with mpmath.workdps(200):
        return mpmath.polygamma(int(n), x)


# The same of functions of two numbers.
WIDER_OF_TWO: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "pow_": np.power, "atan2_": np.arctan2, "rem_": np.fmod,
}  # fmt: skip
SPECIAL_OF_TWO: Mapping[str, tuple[Callable[[Floats, Floats], Floats], Callable[[Any, Any], Any]]] = {
    "zeta_": (special_functions.zeta, _zeta),
    "polygamma_": (special_functions.polygamma, _polygamma),
}


def ulps(got: Floats, exact: Floats) -> Floats:
    """Distances in units in the last place of the nearest float; infinite where only one is finite."""
    limits = np.finfo(got.dtype)
    nearest = exact.astype(got.dtype)
    unit = np.spacing(np.clip(abs(nearest), limits.tiny, limits.max)).astype(exact.dtype)
    distance = abs(got.astype(exact.dtype) - exact) / unit
    same = (got == nearest) | (np.isnan(got) & np.isnan(nearest))
    beyond = ~np.isfinite(got) | ~np.isfinite(nearest)
    return np.where(beyond, np.where(same, 0, np.inf), distance)


@cache  # the same points are asked of every compiler, of vectors and of scalars
def _exact(name: str, x: float) -> np.longdouble:
    return _longdouble(SPECIAL[name][1], x)


@cache
def _exact_of_two(name: str, x: float, y: float) -> np.longdouble:
    return _longdouble(partial(SPECIAL_OF_TWO[name][1], mpmath.mpf(x)), y)


def errors_of_two(name: str, x: Floats, y: Floats, got: Floats) -> Floats:
    """As `errors`, for a function of x and y; of a special function at every point, in f64 by mpmath."""
    wider = np.float64 if x.dtype == np.float32 else np.longdouble
    with np.errstate(all="ignore"):
        if name in WIDER_OF_TWO:
            return ulps(got, WIDER_OF_TWO[name](x.astype(wider), y.astype(wider)))
        library, _ = SPECIAL_OF_TWO[name]
        if x.dtype == np.float32:
            return ulps(got, library(x, y))
        pairs = zip(x.tolist(), y.tolist(), strict=True)
        return ulps(got, np.array([_exact_of_two(name, a, b) for a, b in pairs]))


def errors(name: str, x: Floats, got: Floats) -> Floats:
    """How far `got` is from the function of x, in ulp of its type.

    Of a special function SciPy is asked first; the points where that differs most are computed by mpmath.
    """
    with np.errstate(all="ignore"):
        if name in WIDER:
            return ulps(got, WIDER[name](x.astype(np.float64 if x.dtype == np.float32 else np.longdouble)))
        library, _ = SPECIAL[name]
        wide = library(x.astype(np.float64)).astype(np.longdouble)
        found = ulps(got, wide)
        doubtful = np.flatnonzero((found > (SURE if x.dtype == np.float32 else 0)) & np.isfinite(x))
        worst = doubtful[np.argsort(found[doubtful])[::-1][:MOST]]
        for k in worst:
            wide[k] = _exact(name, float(x[k]))
        again = ulps(got[worst], wide[worst])
        found[worst] = again
        if x.dtype == np.float64:  # SciPy's own error is of that size
            return np.where(np.isin(np.arange(x.size), worst), found, 0)
        return found


def _longdouble(function: Callable[[Any], Any], x: float) -> Any:
    with mpmath.workdps(60):
        try:
            value = function(mpmath.mpf(x))
        except ValueError:  # a pole
            return np.longdouble(np.nan)
        head = float(value)
        return np.longdouble(head) + np.longdouble(float(value - head)) if np.isfinite(head) else np.longdouble(head)
