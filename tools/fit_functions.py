"""Fit the polynomials of the preludes' functions, and write them: `python tools/fit_functions.py` (two minutes).

Each is the interpolant at Chebyshev's points, computed with 60 digits: at most a small factor worse than the
minimax polynomial of its degree. The degree is the least whose relative error is below `BOUND`. Quotients of
polynomials interpolate as well; tables of 16 are what a register of AVX-512 holds, or two.
"""

# mpmath is untyped; this file and the accuracy benchmark are where it is used.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportMissingTypeStubs=false

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

HEADER = Path(__file__).parents[1] / "shlo_disc" / "device" / "math" / "coefficients.h"
mp.dps = 60
BOUND = mpf(2) ** -57
BOUND_LONG = mpf(2) ** -104
Number = Any


@dataclass(frozen=True, slots=True)
class Fit:
    """`function` as a polynomial on [low, high]; `in_parts`: what rounding loses of the constant is written too.

    Where `bits` are wanted of arguments in two parts, so are the coefficients that count for more than 53.
    """

    name: str
    meaning: str
    function: Callable[[Number], Number]
    low: float
    high: float
    bound: Number = BOUND
    in_parts: bool = False
    bits: int = 53


def _series(function: Callable[[Number], Number], at_zero: Number) -> Callable[[Number], Number]:
    """Give a quotient its limit at 0."""
    return lambda x: at_zero if x == 0 else function(x)


def _root(name: Callable[[Number], Number], scale: Number = 1) -> Callable[[Number], Number]:
    """Give the function of z = x^2 for (f(x) - x) / x^3."""

    def found(z: Number) -> Number:
        x = mpmath.sqrt(z)
        return scale * (name(x) - x) / x**3

    return found


def _log_of(z: Number) -> Number:
    """Give (log((1 + s) / (1 - s)) - 2 s) / s^3 where z = s^2."""
    s = mpmath.sqrt(z)
    return 2 * (mpmath.atanh(s) - s) / s**3 if z else mpf(2) / 3


def _erf_inv_of(w: Number) -> Number:
    """Give erf_inv(x) / x where w = -log(1 - x^2)."""
    x = mpmath.sqrt(-mpmath.expm1(-w))
    if w < 20:
        return mpmath.erfinv(x) / x
    return mpmath.findroot(lambda y: mpmath.log(mpmath.erfc(y)) - mpmath.log(1 - x), mpmath.sqrt(w)) / x


def _erfc_of(t: Number) -> Number:
    """Give erfc(x) exp(x^2) (1 + 2 x) where t = (x - 4) / (x + 4)."""
    x = 4 * (1 + t) / (1 - t)
    return mpmath.erfc(x) * mpmath.exp(x * x) * (1 + 2 * x)


def _lgamma_of(t: Number) -> Number:
    """Give lgamma(x) / ((x - 1) (x - 2)) where x = t + 2."""
    x = t + 2
    if abs(x - 1) < mpf(10) ** -25:
        return mp.euler
    if abs(x - 2) < mpf(10) ** -25:
        return 1 - mp.euler
    return mpmath.loggamma(x).real / ((x - 1) * (x - 2))


DIGAMMA_ROOT = mpf("1.4616321449683623412626595423257213284681962040064463512959884")


def _digamma_of(t: Number) -> Number:
    """Give digamma(x) / (x - root) where x = t + 7/4."""
    x = t + mpf(7) / 4
    if abs(x - DIGAMMA_ROOT) < mpf(10) ** -25:
        return mpmath.psi(1, DIGAMMA_ROOT)
    return mpmath.digamma(x) / (x - DIGAMMA_ROOT)


def _cotangent(t: Number) -> Number:
    """Give (1 - pi f / tan(pi f)) / f^2 where t = f^2 - 1/8."""
    z = t + mpf(1) / 8
    f = mpmath.sqrt(z)
    return (1 - mp.pi * f * mpmath.cot(mp.pi * f)) / z if z else mp.pi**2 / 3


def _stirling(z: Number) -> Number:
    """Give (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) x where z = 1 / x^2."""
    if z == 0:
        return mpf(1) / 12
    x = 1 / mpmath.sqrt(z)
    return (mpmath.loggamma(x) - (x - mpf(1) / 2) * mpmath.log(x) + x - mpmath.log(2 * mp.pi) / 2) * x


def _digamma_tail(z: Number) -> Number:
    """Give (digamma(w + 1/2) - log w) w^2 where z = 1 / w^2."""
    if z == 0:
        return mpf(1) / 24
    w = 1 / mpmath.sqrt(z)
    return (mpmath.digamma(w + mpf(1) / 2) - mpmath.log(w)) * w * w


def _digamma_series(z: Number) -> Number:
    """Give (digamma(w) - log w + 1 / (2 w)) w^2 where z = 1 / w^2."""
    if z == 0:
        return -mpf(1) / 12
    w = 1 / mpmath.sqrt(z)
    return (mpmath.digamma(w) - mpmath.log(w) + 1 / (2 * w)) * w * w


def _bessel_small(t: Number) -> Number:
    """Give exp(-x) I1(x) / x (1 + x + 5 x^2 / 16), which changes little, where x = 4 (1 + t)."""
    x = 4 * (1 + t)
    return (mpmath.exp(-x) * mpmath.besseli(1, x) / x if x else mpf(1) / 2) * (1 + x + 5 * x * x / 16)


def _bessel_large(t: Number) -> Number:
    if t == -1:
        return 1 / mpmath.sqrt(2 * mp.pi)
    x = 16 / (1 + t)
    return mpmath.exp(-x) * mpmath.besseli(1, x) * mpmath.sqrt(x)


_HALF_LN2 = 0.34658
FITS = (
    Fit("EXP", "(exp(r) - 1 - r) / r^2", _series(lambda r: (mpmath.expm1(r) - r) / r**2, mpf(1) / 2),
        -_HALF_LN2, _HALF_LN2, BOUND * 8),
    Fit("EXP_SINGLE", "the same", _series(lambda r: (mpmath.expm1(r) - r) / r**2, mpf(1) / 2), -_HALF_LN2, _HALF_LN2,
        BOUND * mpf(2) ** 26),
    Fit("LOG", "(log((1 + s) / (1 - s)) - 2 s) / s^3 of s^2", _log_of, 0, 0.02944, BOUND * 16),
    Fit("LOG_LONG", "the same", _log_of, 0, 0.02944, BOUND / 16, in_parts=True),
    Fit("LOG_SINGLE", "the same", _log_of, 0, 0.02944, BOUND * mpf(2) ** 25),
    Fit("LOG_FULL", "the same", _log_of, 0, 0.02944, BOUND_LONG * 64, bits=103),
    Fit("SIN", "(sin(r) - r) / r^3 of r^2", _root(mpmath.sin), 0, 0.6169, BOUND * 4),
    Fit("COS", "(cos(r) - 1 + r^2 / 2) / r^4 of r^2",
        lambda z: (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2, 0, 0.6169, BOUND * 8),
    Fit("ATAN", "(atan(x) - x) / x^3 of x^2", _root(mpmath.atan), 0, 0.1915, BOUND * 4),
    Fit("ASIN", "(asin(x) - x) / x^3 of x^2", _root(mpmath.asin), 0, 0.25, BOUND * 4),
    Fit("SINH", "(sinh(x) - x) / x^3 of x^2", _root(mpmath.sinh), 0, 1, BOUND * 4),
    Fit("EXP_STEP", "(exp(2 u) - 1) / u, |u| <= log(2) / 64", _series(lambda u: mpmath.expm1(2 * u) / u, mpf(2)),
        -_HALF_LN2 / 32, _HALF_LN2 / 32, BOUND * 128),
    Fit("ERF", "erf(x) / x of x^2", lambda z: mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z), 0, 1),
    Fit("ERFC", "erfc(x) exp(x^2) (1 + 2 x) of (x - 4) / (x + 4), 0.45 <= x <= 28.2", _erfc_of, -0.7978, 0.7517,
        in_parts=True),
    Fit("ERFC_SINGLE", "the same, x <= 10.3", _erfc_of, -0.7778, 0.4405, BOUND * mpf(2) ** 30),
    Fit("ERF_INV_CENTER", "erf_inv(x) / x of w - 3, w = -log(1 - x^2) <= 6", lambda t: _erf_inv_of(t + 3), -3, 3,
        in_parts=True),
    Fit("ERF_INV_SIDE", "the same of sqrt(w) - 3.25, w <= 16", lambda t: _erf_inv_of((t + mpf(13) / 4) ** 2), -0.81,
        0.75),
    Fit("ERF_INV_END", "the same of sqrt(w) - 5, w <= 36.1", lambda t: _erf_inv_of((t + 5) ** 2), -1, 1.01),
    Fit("LGAMMA", "lgamma(x) / ((x - 1) (x - 2)) of x - 2, 1 <= x <= 3", _lgamma_of, -1, 1, in_parts=True),
    Fit("LGAMMA_LONG", "lgamma(x) / ((x - 1) (x - 2)) of x - 3/2, 1 <= x <= 2", lambda t: _lgamma_of(t - mpf(1) / 2),
        -0.5, 0.5, BOUND_LONG, bits=103),
    Fit("STIRLING", "(lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) x of 1 / x^2, x >= 8", _stirling, 0, 1 / 64,
        BOUND * 64),
    Fit("DIGAMMA", "digamma(x) / (x - root) of x - 7/4, 1 <= x <= 5/2", _digamma_of, -0.75, 0.75),
    Fit("DIGAMMA_TAIL", "(digamma(w + 1/2) - log w) w^2 of 1 / w^2, w >= 2", _digamma_tail, 0, 0.25, BOUND * 64),
    Fit("DIGAMMA_SERIES", "(digamma(w) - log w + 1 / (2 w)) w^2 of 1 / w^2, w >= 12", _digamma_series, 0, 1 / 144,
        BOUND_LONG * 1024, bits=103),
    Fit("COTANGENT", "(1 - pi f / tan(pi f)) / f^2 of f^2 - 1/8, f <= 1/2", _cotangent, -0.125, 0.125,
        BOUND / 64, bits=63),
    Fit("COTANGENT_LONG", "the same", _cotangent, -0.125, 0.125, BOUND_LONG, bits=103),
    Fit("BESSEL_I1E_SMALL", "exp(-x) I1(x) / x (1 + x + 5 x^2 / 16) of x / 4 - 1, 0 <= x <= 8", _bessel_small, -1, 1,
        in_parts=True),
    Fit("BESSEL_I1E_LARGE", "exp(-x) I1(x) sqrt(x) of 16 / x - 1, x >= 8", _bessel_large, -1, 1),
)  # fmt: skip
TANH = Fit("TANH", "(tanh(x) - x) / x^3 of x^2", _series(_root(mpmath.tanh), -mpf(1) / 3), 0, 0.390625, BOUND * 4)
TANH_DEGREES = 2, 3
ERF_STEP = 2139 / 8192  # of the steps between 0.2545 and 0.2655 that are whole numbers of 2^-15, the least errors
ERF_DEGREE = 5


def interpolant(fit: Fit, degree: int) -> list[Number]:
    """Give the coefficients, the constant one first."""
    low, high = mpf(fit.low), mpf(fit.high)
    count = degree + 1
    nodes = [mpmath.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    values = [fit.function((high - low) / 2 * x + (high + low) / 2) for x in nodes]
    chebyshev = [
        2 / mpf(count) * sum(v * mpmath.cos(j * mp.pi * (2 * k + 1) / (2 * count)) for k, v in enumerate(values))
        for j in range(count)
    ]
    chebyshev[0] /= 2
    return _shifted(_monomials(chebyshev), 2 / (high - low), -(high + low) / (high - low))


def quotient(fit: Fit, over: int, under: int) -> tuple[list[Number], list[Number]]:
    """Give the coefficients of two polynomials of these degrees; the last of the second, which is 1, is left out."""
    count = over + under + 1
    middle, half = (mpf(fit.low) + mpf(fit.high)) / 2, (mpf(fit.high) - mpf(fit.low)) / 2
    nodes = [middle + half * mpmath.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    values = [fit.function(x) for x in nodes]
    equations = [
        [x**k for k in range(over + 1)] + [-y * x**k for k in range(under)] for x, y in zip(nodes, values, strict=True)
    ]
    found = list(mpmath.lu_solve(equations, [y * x**under for x, y in zip(nodes, values, strict=True)]))
    return found[: over + 1], found[over + 1 :]


def _monomials(chebyshev: Sequence[Number]) -> list[Number]:
    """Write a series of Chebyshev polynomials in powers."""
    total, before, now = [mpf(0)] * len(chebyshev), [mpf(1)], [mpf(0), mpf(1)]
    for c in chebyshev:
        for k, p in enumerate(before):
            total[k] += c * p
        after = [mpf(0), *[2 * p for p in now]]
        for k, p in enumerate(before):
            after[k] -= p
        before, now = now, after
    return total


def _shifted(powers: Sequence[Number], scale: Number, shift: Number) -> list[Number]:
    """Write p(scale x + shift) in powers of x."""
    found = [mpf(0)]
    for c in reversed(powers):
        times = [mpf(0), *[scale * f for f in found]]
        for k, f in enumerate(found):
            times[k] += shift * f
        times[0] += c
        found = times
    return found[: len(powers)]


def error(fit: Fit, coefficients: Sequence[Number], under: Sequence[Number] = (1,)) -> Number:
    """Give the largest relative error at points between the nodes, of a quotient if there are two polynomials."""
    low, high = mpf(fit.low), mpf(fit.high)
    points = [low + (high - low) * (mpf(1) - mpmath.cos(mp.pi * (k + mpf(1) / 3) / 97)) / 2 for k in range(97)]
    over, under = list(reversed(coefficients)), list(reversed(under))
    return max(abs(mpmath.polyval(over, x) / mpmath.polyval(under, x) / fit.function(x) - 1) for x in points)


def fitted(fit: Fit) -> str:
    """Give the macro of a fit: the coefficients as arguments, the constant one, or its last bits, first."""
    degree = 4
    while (worst := error(fit, coefficients := interpolant(fit, degree))) >= fit.bound:
        degree += 1
        assert degree < 40, f"{fit.name}: no degree is enough, {mpmath.nstr(worst, 3)}"
    print(fit.name, degree, mpmath.nstr(worst, 3), file=sys.stderr)
    meaning = f"{fit.meaning}: degree {degree}, relative error {mpmath.nstr(worst, 2)}"
    if fit.bits > 53:
        reach = max(abs(fit.low), abs(fit.high))
        least = abs(coefficients[0]) / mpf(2) ** (fit.bits - 53)
        whole = sum(abs(c) * mpf(reach) ** k > least for k, c in enumerate(coefficients))
        pairs = [part for c in coefficients[:whole] for part in _parts(c)]
        end = [float(c).hex() for c in coefficients[whole:]]
        return _macro(fit.name, f"{meaning}; in two parts, and the others", pairs) + _macro(f"{fit.name}_END", "", end)
    text = [float(c).hex() for c in coefficients]
    if fit.in_parts:
        text[:1] = reversed(_parts(coefficients[0]))
        meaning = meaning.replace(": degree", ", the constant's last bits first: degree")
    return _macro(fit.name, meaning, text)


def fitted_quotient(fit: Fit, over: int, under: int) -> str:
    """Give the macros of two polynomials of these degrees, of which the second has 1 as its last coefficient."""
    above, below = quotient(fit, over, under)
    worst = error(fit, above, [*below, 1])
    assert worst < fit.bound, f"{fit.name}: {mpmath.nstr(worst, 3)}"
    meaning = f"{fit.meaning}: degrees {over} and {under}, relative error {mpmath.nstr(worst, 2)}"
    above, below = ([float(c).hex() for c in part] for part in (above, [*below, mpf(1)]))
    return _macro(f"{fit.name}_OVER", meaning, above) + _macro(f"{fit.name}_UNDER", "", below)


def powers() -> str:
    """Give the macro of the powers of 2 between 1 and 2, as bits to which those of a whole number can be added."""
    bits = [struct.unpack("<q", struct.pack("<d", mpf(2) ** (mpf(j) / 16)))[0] - (j << 48) for j in range(16)]
    return _macro("POWERS", "2^(j / 16), j = 0 .. 15, as bits, less j 2^48", [f"{b:#x}" for b in bits])


def erf_pieces() -> str:
    """Give the macros of erf in 16 pieces: for each power their coefficients; of the first, those of erf(x) - x."""
    step, rows = mpf(ERF_STEP), list[list[Number]]()
    about_zero = Fit("ERF_PIECE", "", lambda z: mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1, 0, ERF_STEP**2 / 4)
    rows.append([c for odd in interpolant(about_zero, ERF_DEGREE // 2) for c in (mpf(0), odd)])
    for j in range(1, 16):
        piece = Fit("ERF_PIECE", "", lambda t, at=j * step: mpmath.erf(at + t), -ERF_STEP / 2, ERF_STEP / 2)
        rows.append(interpolant(piece, ERF_DEGREE))
    rows[-1][0] = mpf(1)  # erf of what is larger is 1, and this as near as the float below
    head = "// erf(j step + t), |t| <= step / 2, j = 0 .. 15, in float: the factors of 1, t .. t^5; j = 0: erf(t) - t\n"
    text = f"#define SHLO_ERF_STEP {ERF_STEP.hex()}f\n"
    for k in range(ERF_DEGREE + 1):
        text += _macro(f"ERF_PIECES_{k}", "", [float(np.float32(float(row[k]))).hex() + "f" for row in rows])
    return head + text


def _parts(c: Number) -> tuple[str, str]:
    return float(c).hex(), float(c - float(c)).hex()


def _macro(name: str, meaning: str, text: Sequence[str]) -> str:
    body = ", \\\n".join("    " + ", ".join(text[k : k + 4]) for k in range(0, len(text), 4))
    return (f"// {meaning}\n" if meaning else "") + f"#define SHLO_{name} \\\n{body}\n"


def main() -> None:
    head = "// Polynomials, the constant coefficient first, and tables. Written by tools/fit_functions.py.\n"
    pieces = (*map(fitted, FITS), fitted_quotient(TANH, *TANH_DEGREES), powers(), erf_pieces())
    HEADER.write_text(head + "#pragma once\n\n" + "\n".join(pieces))


if __name__ == "__main__":
    main()
