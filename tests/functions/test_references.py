"""The references of CHLO's special functions, and of complex functions, against mpmath at a few numbers."""

# mpmath is untyped.
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import numpy as np
import pytest

from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.unary import UnaryFn

NUMBERS = (
    1e-300, 1e-9, 0.1, 0.4999, 0.5, 0.9, 1 - 1e-9, 1.0001, 1.4616321449683623, 1.5, 2 + 1e-9, 2.4999, 2.5, 7.0, 19.9,
    20.1, 55.5, 1e5, 1e17, -1e-9, -0.3, -0.504083, -1.5, -2.4570247382208006, -5.667, -19.3, -120.5,
)  # fmt: skip
UNARY_EXACT: Mapping[UnaryFn, Callable[[Any], Any]] = {
    UnaryFn.BESSEL_I1E: lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x),
    UnaryFn.DIGAMMA: mpmath.digamma,
    UnaryFn.ERF: mpmath.erf,
    UnaryFn.ERFC: mpmath.erfc,
    UnaryFn.LGAMMA: lambda x: mpmath.log(abs(mpmath.gamma(x))) if abs(x) < 1e6 else mpmath.loggamma(x),
}
COMPLEX: Mapping[UnaryFn, Callable[[Any], Any]] = {
    UnaryFn.ACOS: mpmath.acos, UnaryFn.ACOSH: mpmath.acosh, UnaryFn.ASIN: mpmath.asin, UnaryFn.ASINH: mpmath.asinh,
    UnaryFn.ATAN: mpmath.atan, UnaryFn.ATANH: mpmath.atanh, UnaryFn.COSH: mpmath.cosh, UnaryFn.COSINE: mpmath.cos,
    UnaryFn.EXPONENTIAL: mpmath.exp, UnaryFn.EXPONENTIAL_MINUS_ONE: mpmath.expm1, UnaryFn.LOG: mpmath.log,
    UnaryFn.LOG_PLUS_ONE: lambda z: mpmath.log(1 + z), UnaryFn.LOGISTIC: lambda z: 1 / (1 + mpmath.exp(-z)),
    UnaryFn.SINE: mpmath.sin, UnaryFn.SINH: mpmath.sinh, UnaryFn.SQRT: mpmath.sqrt, UnaryFn.TAN: mpmath.tan,
    UnaryFn.TANH: mpmath.tanh,
}  # fmt: skip


def near(found: complex, exact: Any, least: float = 5e-324) -> bool:
    """Within two units in the last place of f64, of the larger part, or within `least`."""
    return bool(abs(mpmath.mpmathify(found) - exact) <= 4.5e-16 * abs(exact) + least)


@pytest.mark.parametrize("fn", UNARY_EXACT, ids=lambda fn: fn.value.name)
def test_special_functions(fn: UnaryFn) -> None:
    x = np.array(NUMBERS)
    found = fn.value.reference(x).astype(np.float64)
    with mpmath.workdps(60):
        exact = [UNARY_EXACT[fn](mpmath.mpf(one)) for one in NUMBERS]
        # at roots, terms cancel that are rounded to the 64 bits of long double
        least = 1e-18 if fn in (UnaryFn.DIGAMMA, UnaryFn.LGAMMA) else 5e-324
        assert not [(a, b, c) for a, b, c in zip(NUMBERS, found.tolist(), exact, strict=True) if not near(b, c, least)]


def test_inverse_of_the_error_function() -> None:
    x = np.array([1e-300, 1e-9, 0.1, 0.4999, 0.5, 0.9, 1 - 1e-9, 1 - 2.0**-53, -0.3, -0.99999])
    found = UnaryFn.ERF_INV.value.reference(x)
    with mpmath.workdps(60):
        assert all(near(a, mpmath.erfinv(mpmath.mpf(b))) for a, b in zip(found.tolist(), x.tolist(), strict=True))


@pytest.mark.parametrize("fn", [BinaryFn.ZETA, BinaryFn.POLYGAMMA], ids=lambda fn: fn.value.name)
def test_zeta_functions(fn: BinaryFn) -> None:
    first = (1.0001, 2.0, 3.0, 12.5, 40.0) if fn is BinaryFn.ZETA else (1.0, 2.0, 7.0, 40.0)
    second = (1e-3, 0.7, 1.0, 3.5, 19.0, 1000.0, -0.7, -2.25, -90.5)
    pairs = [(a, b) for a in first for b in second if b > 0 or a == int(a)]
    found = fn.value.reference(*np.array(pairs).T).astype(np.float64).tolist()
    with mpmath.workdps(200):
        for (a, b), one in zip(pairs, found, strict=True):
            if fn is BinaryFn.ZETA:
                exact = mpmath.zeta(mpmath.mpf(a), mpmath.mpf(b))
            else:
                exact = mpmath.polygamma(int(a), mpmath.mpf(b))
            assert near(one, exact), (a, b, one, exact)


@pytest.mark.parametrize("fn", COMPLEX, ids=lambda fn: fn.value.name)
def test_complex_functions(fn: UnaryFn) -> None:
    parts = (1e-200, 0.3, 0.999999, 1.0, 1.7, 40.0)
    z = np.array([complex(a * s, b * t) for a in parts for b in parts for s in (1, -1) for t in (1, -1)])
    found = fn.value.reference(z).astype(np.complex128)
    with mpmath.workdps(450):
        exact = [COMPLEX[fn](mpmath.mpmathify(one)) for one in z.tolist()]
        assert not [(a, b, c) for a, b, c in zip(z.tolist(), found.tolist(), exact, strict=True) if not near(b, c)][:5]
