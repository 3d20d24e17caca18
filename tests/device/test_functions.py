"""Functions of floats: errors in units in the last place, special values, vectors equal to scalars."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.functions import special_functions
from tests.conftest import SEED
from tests.device.compilers import COMPILERS, UNOPTIMIZED, build
from tests.device.oracles import SPECIAL, SPECIAL_OF_TWO, WIDER, WIDER_OF_TWO, errors, errors_of_two

Floats: TypeAlias = NDArray[Any]
Apply: TypeAlias = Callable[[str, Floats], tuple[Floats, Floats]]

# name in the prelude -> how far off f32 and f64 may be, in ulp
LIMITS = {
    "exp_": (1.5, 1.5), "expm1_": (2, 2), "log_": (1.5, 1.5), "log1p_": (2, 1.5), "logistic_": (3, 1),
    "tanh_": (3, 2), "sin_": (2.5, 1.5), "cos_": (2.5, 1.5), "sqrt_": (0.51, 0.51),
    "rsqrt_": (1.5, 1.5), "cbrt_": (1, 1), "erf_": (2, 2), "floor_": (0, 0), "ceil_": (0, 0),
    "round_even": (0, 0), "round_afz": (0, 0), "abs_": (0, 0), "sign_": (0, 0), "neg_": (0, 0),
    "erfc_": (4, 2), "erf_inv_": (0.51, 2), "bessel_i1e_": (0.51, 2), "lgamma_": (0.51, 2),
    "digamma_": (0.51, 2), "acos_": (1, 1.5), "acosh_": (1, 2), "asin_": (1, 1.5), "asinh_": (1, 2), "atan_": (1, 1.5),
    "atanh_": (1, 2), "cosh_": (1, 2), "sinh_": (1, 2), "tan_": (1, 2),
}  # fmt: skip
# The same of functions of two numbers: x and y.
LIMITS_OF_TWO = {
    "pow_": (0.51, 0.75), "atan2_": (0.51, 1.5), "rem_": (0, 0), "zeta_": (0.51, 2), "polygamma_": (0.51, 2),
}  # fmt: skip

HARNESS = '#include "math/math.h"\n' + "".join(
    f"""
extern "C" void {name}_{kind}(const {kind}* x, {kind}* lanes, {kind}* scalars, int64_t n) {{
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) store(lanes + i, {name}(load(x + i)));
  if (i < n) store_n(lanes + i, {name}(load_n(x + i, n - i)), n - i);
  for (i = 0; i < n; i++) scalars[i] = {name}(x[i]);
}}
"""
    for name in LIMITS
    for kind in ("float", "double")
)
HARNESS_OF_TWO = '#include "math/math.h"\n' + "".join(
    f"""
extern "C" void {name}_{kind}(const {kind}* x, const {kind}* y, {kind}* lanes, {kind}* scalars, int64_t n) {{
  for (int64_t i = 0; i < n; i += 16) {{
    const int64_t count = n - i < 16 ? n - i : 16;
    store_n(lanes + i, {name}(load_n(x + i, count), load_n(y + i, count)), count);
  }}
  for (int64_t i = 0; i < n; i++) scalars[i] = {name}(x[i], y[i]);
}}
"""
    for name in LIMITS_OF_TWO
    for kind in ("float", "double")
)


def built(name: str, harness: str, folder: Path) -> ctypes.CDLL:
    """A harness by a compiler, or by gcc as it compiles what is not to be optimized."""
    return build("gcc", harness, folder, *UNOPTIMIZED) if name == "unoptimized" else build(name, harness, folder)


WAYS = (*COMPILERS, "unoptimized")


@pytest.fixture(scope="module", params=WAYS)
def apply(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Apply:
    library = built(str(request.param), HARNESS, tmp_path_factory.mktemp("functions"))

    def run(name: str, x: Floats) -> tuple[Floats, Floats]:
        lanes, scalars = np.empty_like(x), np.empty_like(x)
        kind = "float" if x.dtype == np.float32 else "double"
        pointers = (ctypes.c_void_p(a.ctypes.data) for a in (x, lanes, scalars))
        library[f"{name}_{kind}"](*pointers, ctypes.c_int64(x.size))
        return lanes, scalars

    return run


SPECIALS = (
    0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, math.inf, -math.inf, math.nan, 88.72, 88.73, 89, -87.4, -103.9, -104,
    -105, 709.7, 709.8, -745, 1e-30, -1e-30, 1e-38, 1e-45, -1e-45, 1e6, 1e10, 3e38, -3e38, 2.0**23 + 1, 2.0**24,
    np.nextafter(np.float32(0.5), np.float32(0)), np.nextafter(0.5, 0),
)  # fmt: skip


def points(dtype: type) -> Floats:
    rng = np.random.default_rng(SEED)
    count = 1 << 14
    integer = np.int32 if dtype is np.float32 else np.int64
    limits = np.iinfo(integer)
    parts = [
        rng.integers(limits.min, limits.max, count, dtype=integer).view(dtype),  # all exponents
        *(rng.uniform(-size, size, count) for size in (1, 10, 100, 1e5)),
        rng.uniform(0.5, 2, count),
        np.array(SPECIALS),
    ]
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate([part.astype(dtype) for part in parts])


ROOTS = {
    "lgamma_": (-2.4570247382208006, -2.7476826467274127, -3.143580888349980, -10.0000003, -15.0000000000008),
    "digamma_": (-0.5040830082644554, -1.573498473162390, -2.6107208684441446, -33.766, -100000.9152),
}


def near(roots: tuple[float, ...]) -> Floats:
    """Numbers of all distances from roots."""
    apart = 2.0 ** -np.arange(3, 44, 4)
    return np.concatenate([root * (1 + np.concatenate([-apart, apart])) for root in roots])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", tuple(LIMITS))
def test_error(apply: Apply, name: str, dtype: type) -> None:
    x = points(dtype)
    if name in SPECIAL and dtype is np.float64:
        x = np.concatenate([x[:: x.size // 150], np.array(SPECIALS)])  # mpmath takes its time
        if name in ROOTS:  # and poles, at which mpmath has no value
            x = np.concatenate([x[(x > 0) | (np.floor(x) != x)], near(ROOTS[name])])
    lanes, scalars = apply(name, x)
    for got in (lanes, scalars):
        found = errors(name, x, got)
        worst = int(found.argmax())
        assert found[worst] <= LIMITS[name][dtype is np.float64], f"{name}({x[worst]!r}) = {got[worst]!r}"
        if name in WIDER:
            with np.errstate(all="ignore"):
                exact = WIDER[name](x)
            zeros = (exact == 0) & (got == 0)
            np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(exact[zeros]))


def pairs(name: str, dtype: type, count: int, seed: int) -> tuple[Floats, Floats]:
    """Arguments of a function of two numbers: where it is most used, of all sizes, and special ones."""
    rng = np.random.default_rng(seed)
    integer = np.int32 if dtype is np.float32 else np.int64
    limits, quarter = np.iinfo(integer), count // 4

    def anything() -> Floats:
        return rng.integers(limits.min, limits.max, quarter, dtype=integer).view(dtype)

    sizes = np.exp(rng.uniform(-5, 5, quarter))
    match name:
        case "zeta_":
            x = (1 + sizes, rng.uniform(1.01, 30, quarter), rng.integers(2, 40, quarter))
            y = (np.exp(rng.uniform(-2, 6, quarter)), rng.uniform(0.01, 20, quarter), rng.uniform(0, 100, quarter))
        case "polygamma_":
            x = (rng.integers(1, 6, quarter), rng.integers(1, 20, quarter), rng.integers(1, 10, quarter))
            y = (np.exp(rng.uniform(-2, 6, quarter)), rng.uniform(0.5, 20, quarter), rng.uniform(0.1, 100, quarter))
        case _:
            x = (anything(), sizes, rng.uniform(0.5, 2, quarter), rng.normal(size=quarter))
            y = (anything(), rng.uniform(-9, 9, quarter), rng.uniform(-99, 99, quarter), rng.integers(-9, 9, quarter))
            special = np.array([0.0, -0.0, 1, -1, 2, -3, 0.5, -2.5, math.inf, -math.inf, math.nan, 2.0**31, 2.0**53])
            x, y = (*x, np.repeat(special, special.size)), (*y, np.tile(special, special.size))
    with np.errstate(all="ignore"):
        return np.concatenate([a.astype(dtype) for a in x]), np.concatenate([a.astype(dtype) for a in y])


@pytest.fixture(scope="module", params=WAYS)
def library_of_two(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return built(str(request.param), HARNESS_OF_TWO, tmp_path_factory.mktemp("functions_of_two"))


def call_of_two(library: ctypes.CDLL, name: str, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    lanes, scalars = np.empty_like(x), np.empty_like(x)
    pointers = (ctypes.c_void_p(a.ctypes.data) for a in (x, y, lanes, scalars))
    library[f"{name}_{'float' if x.dtype == np.float32 else 'double'}"](*pointers, ctypes.c_int64(x.size))
    return lanes, scalars


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", tuple(LIMITS_OF_TWO))
def test_error_of_two(library_of_two: ctypes.CDLL, name: str, dtype: type) -> None:
    x, y = pairs(name, dtype, 100 if name in SPECIAL_OF_TWO else 1 << 14, SEED)
    lanes, scalars = call_of_two(library_of_two, name, x, y)
    np.testing.assert_array_equal(lanes, scalars)
    found = errors_of_two(name, x, y, lanes)
    worst = int(found.argmax())
    assert found[worst] <= LIMITS_OF_TWO[name][dtype is np.float64], f"{name}({x[worst]!r}, {y[worst]!r})"
    if name in WIDER_OF_TWO:
        with np.errstate(all="ignore"):
            exact = WIDER_OF_TWO[name](x.astype(np.longdouble), y.astype(np.longdouble))
        zeros = (exact == 0) & (lanes == 0)
        np.testing.assert_array_equal(np.signbit(lanes[zeros]), np.signbit(exact[zeros]))


def test_zeta_of_negative_numbers(library_of_two: ctypes.CDLL) -> None:
    """Terms on both sides of 0 cancel, the largest exactly; poles, and numbers where there is no value."""
    for dtype, tolerance in ((np.float32, 1e-6), (np.float64, 1e-14)):
        x = np.array([30, 31, 101, 3, 2, 2, 3, 2.5, math.inf, 2, math.nan], dtype)
        q = np.array([-0.5, -0.5, -1.5, -100.25, -0.25, -3, -3, -0.5, 5, math.inf, 1], dtype)
        wanted = [2.0**31 + 5.215077e-6, 3.476730495079927e-06, 2.5**-101.0, -62.01250410345885]
        wanted += [18.541879647671607, math.inf, math.nan, math.nan, 0, 0, math.nan]
        for got in call_of_two(library_of_two, "zeta_", x, q):
            np.testing.assert_allclose(got, np.array(wanted).astype(dtype), rtol=tolerance)
        np.testing.assert_allclose(special_functions.zeta(x, q), wanted, rtol=1e-13)


@pytest.mark.parametrize("name", ["tanh_", "erf_", "logistic_", "sin_", "cos_"])
def test_never_above_one(apply: Apply, name: str) -> None:
    x = np.linspace(-12, 12, 1 << 17, dtype=np.float32)
    for got in apply(name, x):
        assert (abs(got) <= 1).all()
