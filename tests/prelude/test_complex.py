"""Complex numbers of the prelude against NumPy in double precision."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.prelude.compilers import COMPILERS, build

Complex: TypeAlias = NDArray[Any]
Apply: TypeAlias = Callable[[str, Complex, Complex], Complex]

UNARY: dict[str, Callable[[Complex], Complex]] = {
    "exp_": np.exp, "expm1_": np.expm1, "log_": np.log, "log1p_": np.log1p, "sqrt_": np.sqrt, "tanh_": np.tanh,
    "sin_": np.sin, "cos_": np.cos, "tan_": np.tan, "conj_": np.conj, "neg_": np.negative,
    "sign_": lambda x: x / np.abs(x), "rsqrt_": lambda x: 1 / np.sqrt(x), "logistic_": lambda x: 1 / (1 + np.exp(-x)),
    "cbrt_": lambda x: x ** (1 / 3),
}  # fmt: skip
BINARY: dict[str, Callable[[Complex, Complex], Complex]] = {
    "add_": np.add, "sub_": np.subtract, "mul_": np.multiply, "div_": np.divide, "pow_": np.power,
    "max_": np.maximum, "min_": np.minimum,
    "atan2_": lambda y, x: -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y)),
}  # fmt: skip

FORMULAS = {
    **{name: f"{name}(x)" for name in UNARY},
    **{name: f"{name}(x, y)" for name in BINARY},
    "parts": "complex_(abs_(x), real_(x) * imag_(y))",
    "tests": "complex_(eq(x, y) + 2 * ne(x, y), is_finite(x) + 2 * to_bool(x))",
    "select": "select(eq(x, y), x, y)",
    "to_c64": "to_c128(to_c64(x)) + to_c128(to_i32(x)) + to_c128(to_f64(y))",
}
HARNESS = '#include "math.h"\n' + "".join(
    f"""
extern "C" void {name}_{kind}(const {kind}* a, const {kind}* b, {kind}* out, int64_t n) {{
  for (int64_t i = 0; i < n; i++) {{
    const {kind} x = a[i], y = b[i];
    (void)y;
    {"const auto z" if name != "to_c64" or kind == "c128" else "const c64 z"} = {formula};
    out[i] = {{{"(decltype(x.re))" if kind == "c64" else ""}z.re, {"(decltype(x.re))" if kind == "c64" else ""}z.im}};
  }}
}}
"""
    for name, formula in FORMULAS.items()
    for kind in ("c64", "c128")
    if name not in ("to_c64", "tests") or kind == "c128"
).replace("complex_(eq", "complex_(0.0 + eq").replace(", is_finite", ", 0.0 + is_finite")


EPSILON = {np.complex64: 2.0**-23, np.complex128: 2.0**-52}


@pytest.fixture(scope="module", params=tuple(COMPILERS))
def apply(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Apply:
    library = build(str(request.param), HARNESS, tmp_path_factory.mktemp("complex"))

    def run(name: str, a: Complex, b: Complex) -> Complex:
        out = np.zeros_like(a)
        kind = "c64" if a.dtype == np.complex64 else "c128"
        library[f"{name}_{kind}"](*(ctypes.c_void_p(x.ctypes.data) for x in (a, b, out)), ctypes.c_int64(a.size))
        return out

    return run


def points(dtype: type[Any]) -> tuple[Complex, Complex]:
    rng = np.random.default_rng(2)

    def one(size: float) -> Complex:
        return rng.uniform(-size, size, 3000) + 1j * rng.uniform(-size, size, 3000)

    a, b = np.concatenate([one(1), one(5), one(1e-3)]), np.concatenate([one(1), one(3), one(1)])
    return a.astype(dtype), b.astype(dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_error(apply: Apply, name: str, dtype: type[Any]) -> None:
    a, b = points(dtype)
    x, y = a.astype(np.clongdouble), b.astype(np.clongdouble)
    with np.errstate(all="ignore"):
        exact = UNARY[name](x) if name in UNARY else BINARY[name](x, y)
    got = apply(name, a, b)
    loss = 40 if name in ("pow_", "cbrt_", "atan2_") else 8
    size = np.maximum(np.abs(exact), 1) if name == "atan2_" else np.abs(exact)  # a logarithm of numbers near 1
    assert np.all(np.abs(got - exact) <= loss * EPSILON[dtype] * size)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_parts(apply: Apply, dtype: type[Any]) -> None:
    a, b = points(dtype)
    np.testing.assert_allclose(
        apply("parts", a, b), np.abs(a) + 1j * (np.real(a) * np.imag(b)), rtol=4 * EPSILON[dtype]
    )
    np.testing.assert_array_equal(apply("select", a, b), b)


def test_corners(apply: Apply) -> None:
    a = np.array([0, 0, 0, 1 + 1j, complex(np.inf, 0), complex(0, np.nan)], np.complex128)
    b = np.array([0, 2, 1j, 1 + 1j, 1, 1], np.complex128)
    assert apply("pow_", a[:2], b[:2]).tolist() == [1, 0]
    assert apply("tests", a, b).tolist() == [1 + 1j, 2 + 1j, 2 + 1j, 1 + 3j, 2 + 2j, 2]
    assert apply("sign_", a[:1], b[:1]).tolist() == [0]
    large = np.array([1e200 + 1e200j])
    np.testing.assert_allclose(apply("div_", large, large), [1])
    assert np.all(np.isinf(np.real(apply("div_", b[3:4], a[:1]))))


def test_conversions(apply: Apply) -> None:
    a, b = np.array([2.7 + 1j, -3.2 - 1j]), np.array([0.25 + 9j, 1 + 7j])
    np.testing.assert_allclose(apply("to_c64", a, b), a + np.array([2, -3]) + np.real(b), rtol=1e-6)
