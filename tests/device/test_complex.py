"""Complex numbers of the prelude, one and 16 at a time, against NumPy in extended precision."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.device.compilers import COMPILERS, build

Complex: TypeAlias = NDArray[Any]
Apply: TypeAlias = Callable[[str, Complex, Complex], Complex]


def _log1p(x: Complex) -> Complex:
    re, im = np.real(x), np.imag(x)
    small = 0.5 * np.log1p(re * (2 + re) + im * im)
    return np.where(np.abs(x) < 0.5, small, np.log(np.abs(1 + x))) + 1j * np.arctan2(im, 1 + re)


UNARY: dict[str, Callable[[Complex], Complex]] = {
    "exp_": np.exp, "expm1_": np.expm1, "log_": np.log, "log1p_": _log1p, "sqrt_": np.sqrt, "tanh_": np.tanh,
    "sin_": np.sin, "cos_": np.cos, "tan_": np.tan, "conj_": np.conj, "neg_": np.negative, "sinh_": np.sinh,
    "cosh_": np.cosh, "asin_": np.arcsin, "acos_": np.arccos, "atan_": np.arctan, "asinh_": np.arcsinh,
    "acosh_": np.arccosh, "atanh_": np.arctanh,
    "sign_": lambda x: x / np.abs(x), "rsqrt_": lambda x: 1 / np.sqrt(x), "logistic_": lambda x: 1 / (1 + np.exp(-x)),
    "cbrt_": lambda x: x ** (np.longdouble(1) / 3),
}  # fmt: skip
BINARY: dict[str, Callable[[Complex, Complex], Complex]] = {
    "add_": np.add, "sub_": np.subtract, "mul_": np.multiply, "div_": np.divide, "pow_": np.power,
    "max_": np.maximum, "min_": np.minimum,
    "atan2_": lambda y, x: -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y)),
}  # fmt: skip
LIMIT = {"pow_": 40.0, "atan2_": 40.0}  # units in the last place of the whole number; 8 of the others
BY_PARTS = ("exp_", "log_", "sqrt_", "sin_", "cos_", "tanh_", "sinh_", "cosh_")  # exact in each part, by 4 units
WIDE = ("log_", "log1p_", "sqrt_", "div_", "abs", "sign_", "rsqrt_", "cbrt_")  # of numbers of all exponents

FORMULAS = {
    **{name: f"{name}(x)" for name in UNARY},
    **{name: f"{name}(x, y)" for name in BINARY},
    "abs": "complex_(abs_(x), real_(x) * imag_(y))",
    "select": "select(eq(x, y), x, y)",
    "unequal": "select(ne(x, y), x, y)",
    "finite": "select(is_finite(x), x, y)",
    "nonzero": "select(to_bool(x), x, y)",
    "to_c64": "to_c128(to_c64(x)) + to_c128(to_i32(x)) + to_c128(to_f64(y))",
}
FUNCTIONS = "".join(
    f"""
extern "C" void {name}_{kind}(const {kind}* a, const {kind}* b, {kind}* lanes, {kind}* ones, int64_t n) {{
  for (int64_t i = 0; i < n; i += 16) {{
    const int64_t left = n - i < 16 ? n - i : 16;
    const auto x = load_n(a + i, left), y = load_n(b + i, left);
    (void)y;
    store_n(lanes + i, {formula}, left);
  }}
  for (int64_t i = 0; i < n; i++) {{
    const auto x = value(a[i]), y = value(b[i]);
    (void)y;
    assign(ones + i, {formula});
  }}
}}
"""
    for name, formula in FORMULAS.items()
    for kind in ("c64", "c128")
    if name != "to_c64" or kind == "c128"
)
SUMS = "".join(
    f"""
extern "C" void sums_{kind}(const {kind}* a, const {kind}*, {kind}* out, {kind}*, int64_t) {{
  out[0] = hsum(load(a));
  out[1] = hprod(load(a));
}}
"""
    for kind in ("c64", "c128")
)
HARNESS = f'#include "math/complex_elementary.h"\n{FUNCTIONS}{SUMS}'
KINDS: dict[type[Any], str] = {np.complex64: "c64", np.complex128: "c128"}
PARTS: tuple[Callable[[Complex], Complex], ...] = (np.real, np.imag)
EPSILON = {np.complex64: 2.0**-23, np.complex128: 2.0**-52}


@pytest.fixture(scope="module", params=tuple(COMPILERS))
def apply(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Apply:
    """Call a function of the harness: its results by lanes, and one at a time."""
    # -O2: vectors are explicit, more costs time only; for less zig adds sanitizers, which take a minute
    library = build(str(request.param), HARNESS, tmp_path_factory.mktemp("complex"), "-O2")

    def run(name: str, a: Complex, b: Complex) -> Complex:
        out = np.zeros((2, a.size), a.dtype)
        arrays = (ctypes.c_void_p(x.ctypes.data) for x in (a, b, *out))
        library[f"{name}_{KINDS[a.dtype.type]}"](*arrays, ctypes.c_int64(a.size))
        return out

    return run


def points(dtype: type[Any]) -> tuple[Complex, Complex]:
    rng = np.random.default_rng(2)

    def one(size: float) -> Complex:
        return rng.uniform(-size, size, 3001) + 1j * rng.uniform(-size, size, 3001)

    angle = rng.uniform(-np.pi, np.pi, 3001)
    a = np.concatenate([one(1), one(5), one(1e-3), np.cos(angle) + 1j * np.sin(angle)])
    return a.astype(dtype), np.concatenate([one(1), one(3), one(1), one(2)]).astype(dtype)


def wide_points(dtype: type[Any]) -> tuple[Complex, Complex]:
    """Numbers of all exponents whose quotients are normal."""
    rng, most = np.random.default_rng(3), 110 if dtype is np.complex64 else 1000

    def one(shift: Complex) -> Complex:
        near = shift + rng.uniform(-3, 3, 4001)
        return (rng.uniform(1, 2, 4001) * 2.0**shift + 1j * rng.uniform(1, 2, 4001) * 2.0**near).astype(dtype)

    shift = rng.uniform(-most, most, 4001)
    return one(shift), one(shift + rng.uniform(-10, 10, 4001))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_error(apply: Apply, dtype: type[Any]) -> None:
    for name in (*UNARY, *BINARY):
        for a, b in (points(dtype), *([wide_points(dtype)] if name in WIDE else [])):
            x, y = a.astype(np.clongdouble), b.astype(np.clongdouble)
            with np.errstate(all="ignore"):
                exact = UNARY[name](x) if name in UNARY else BINARY[name](x, y)
            size = np.maximum(np.abs(exact), 1) if name == "atan2_" else np.abs(exact)  # a logarithm of numbers near 1
            for got in apply(name, a, b):
                assert np.all(np.abs(got - exact) <= LIMIT.get(name, 8) * EPSILON[dtype] * size), name


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_error_of_each_part(apply: Apply, dtype: type[Any]) -> None:
    a, b = points(dtype)
    for name in BY_PARTS:
        exact = UNARY[name](a.astype(np.clongdouble))
        for got, part in product(apply(name, a, b), PARTS):
            least = 2.0**-60 if name == "log_" else 0  # the logarithm of a modulus of nearly 1, even in 80 bits
            error = np.abs(part(got) - part(exact)) - least
            assert np.all(error <= 4 * EPSILON[dtype] * np.abs(part(exact))), name


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_modulus(apply: Apply, dtype: type[Any]) -> None:
    for a, b in (points(dtype), wide_points(dtype)):
        exact = np.abs(a.astype(np.clongdouble))
        for got in apply("abs", a, b):
            assert np.all(np.abs(np.real(got) - exact) <= 0.8 * np.spacing(exact.astype(np.real(a).dtype)))
            with np.errstate(over="ignore", under="ignore"):
                np.testing.assert_array_equal(np.imag(got), np.real(a) * np.imag(b))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_special_values(apply: Apply, dtype: type[Any]) -> None:
    """What is infinite, NaN, zero, subnormal, large or small is the same by lanes as one at a time."""
    largest = float(np.finfo(dtype).max)
    some = (0.0, -0.0, 1.0, -2.0, 1e-44, 1e-30, 1e30, largest, 90.0, -800.0, 1e7, np.inf, -np.inf, np.nan)
    values = np.array([complex(re, im) for re, im in product(some, some)], dtype)
    a, b = (np.array(side, dtype) for side in zip(*product(values, values[::5]), strict=True))
    for name in (*UNARY, *BINARY, "abs", "select", "unequal", "finite", "nonzero"):
        lanes, ones = apply(name, a, b)
        for part in PARTS:
            with np.errstate(all="ignore"):
                equal = np.isclose(part(lanes), part(ones), 1e-5, 1e-37, equal_nan=True)
                near = np.abs(lanes - ones) <= EPSILON[dtype] * np.abs(ones)  # where one part cancels
                rough = np.abs(lanes - ones) <= 8 * EPSILON[dtype] * np.maximum(np.abs(ones), 1)
            same_sign = np.signbit(part(lanes)) == np.signbit(part(ones))
            right = equal & (same_sign | np.isnan(part(ones))) | near & (part(lanes) != 0)
            if name in ("mul_", "pow_", "atan2_"):  # one of two products is not rounded, and compilers choose which
                right |= ~np.isfinite(ones) | rough
            wrong = np.flatnonzero(~right)
            assert not wrong.size, (name, a[wrong[0]], b[wrong[0]], lanes[wrong[0]], ones[wrong[0]])


def test_special_values_of_one(apply: Apply) -> None:
    a = np.array([0, 0, 0, 1 + 1j, complex(np.inf, 0), complex(0, np.nan), complex(np.nan, np.inf)], np.complex128)
    b = np.array([0, 2, 1j, 1 + 1j, 1, 1, 0], np.complex128)
    for got in apply("pow_", a[:2], b[:2]):
        assert got.tolist() == [1, 0]
    for got in apply("abs", a, b):
        np.testing.assert_array_equal(np.real(got), np.where(np.isnan(a), np.nan, np.abs(a)))
    for got in apply("sign_", a[:1], b[:1]):
        assert got.tolist() == [0]
    large = np.array([1e200 + 1e200j])
    for got in apply("div_", large, large):
        np.testing.assert_allclose(got, [1])
    for got in apply("div_", b[3:4], a[:1]):
        assert np.all(np.isinf(PARTS[0](got)))
    equal, nonzero = np.equal(a, b), np.not_equal(np.real(a), 0)
    for name, holds in (("select", equal), ("unequal", ~equal), ("finite", np.isfinite(a)), ("nonzero", nonzero)):
        for got in apply(name, a, b):
            np.testing.assert_array_equal(got, np.where(holds, a, b))


def test_conversions(apply: Apply) -> None:
    a, b = np.array([2.7 + 1j, -3.2 - 1j]), np.array([0.25 + 9j, 1 + 7j])
    for got in apply("to_c64", a, b):
        np.testing.assert_allclose(got, a + np.array([2, -3]) + np.real(b), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_reductions(apply: Apply, dtype: type[Any]) -> None:
    a = points(dtype)[1][:16]
    got = apply("sums", a, a)[0]
    np.testing.assert_allclose(got[:2], [a.sum(), a.prod()], rtol=30 * EPSILON[dtype])
