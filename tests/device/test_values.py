"""Integers, comparisons, conversions and reductions of the prelude's vectors and scalars, against the NumPy oracle."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import product
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.functions import numpy_math
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType, numpy_dtype
from tests.device.compilers import COMPILERS, build

Array: TypeAlias = NDArray[Any]
Apply: TypeAlias = Callable[..., tuple[Array, Array]]

INTEGERS = {
    DType.I8: "int8_t", DType.I16: "int16_t", DType.I32: "int32_t", DType.I64: "int64_t",
    DType.UI8: "uint8_t", DType.UI16: "uint16_t", DType.UI32: "uint32_t", DType.UI64: "uint64_t",
}  # fmt: skip
FLOATS = {DType.F32: "float", DType.F64: "double"}
TYPES = {**INTEGERS, **FLOATS, DType.I1: "boolean"}
SUFFIX = {t: t.value.replace("ui", "u") for t in TYPES} | {DType.I1: "bool"}

UNARY = {UnaryFn.NEGATE: "neg_", UnaryFn.ABS: "abs_", UnaryFn.SIGN: "sign_", UnaryFn.NOT: "not_",
         UnaryFn.POPCNT: "popcnt", UnaryFn.COUNT_LEADING_ZEROS: "clz"}  # fmt: skip
BINARY = {
    BinaryFn.ADD: "add_", BinaryFn.SUBTRACT: "sub_", BinaryFn.MULTIPLY: "mul_", BinaryFn.DIVIDE: "div_",
    BinaryFn.REMAINDER: "rem_", BinaryFn.MAXIMUM: "max_", BinaryFn.MINIMUM: "min_", BinaryFn.POWER: "pow_",
    BinaryFn.AND: "and_", BinaryFn.OR: "or_", BinaryFn.XOR: "xor_", BinaryFn.SHIFT_LEFT: "shl",
    BinaryFn.SHIFT_RIGHT_LOGICAL: "shr_l", BinaryFn.SHIFT_RIGHT_ARITHMETIC: "shr_a",
}  # fmt: skip
FLOAT_BINARY = {BinaryFn.REMAINDER, BinaryFn.MAXIMUM, BinaryFn.MINIMUM, BinaryFn.DIVIDE}
BOOLEAN_BINARY = {BinaryFn.ADD, BinaryFn.MULTIPLY, BinaryFn.AND, BinaryFn.OR, BinaryFn.XOR}
REDUCTIONS = {"hsum": np.add, "hprod": np.multiply, "hmax": np.maximum, "hmin": np.minimum,
              "hand": np.bitwise_and, "hor": np.bitwise_or, "hxor": np.bitwise_xor}  # fmt: skip
PRECISIONS = ((5, 10), (8, 7), (4, 3), (11, 20), (8, 23), (2, 0))


def binaries(dtype: DType) -> set[BinaryFn]:
    if dtype.is_bool:
        return BOOLEAN_BINARY
    return FLOAT_BINARY if dtype.is_float else set(BINARY)


def reductions(dtype: DType) -> tuple[str, ...]:
    if dtype.is_bool:
        return ("hand", "hor", "hxor")
    return tuple(REDUCTIONS)[:4] if dtype.is_float else tuple(REDUCTIONS)


# Every function in both modes, with a last vector that is not full.
FUNCTION = """
extern "C" void {name}(const {source}* a, const {source}* b, {target}* lanes, {target}* scalars, int64_t n) {{
  (void)b;
  for (int64_t i = 0; i < n; i += 16) {{
    const int64_t left = n - i < 16 ? n - i : 16;
    auto x = load_n(a + i, left), y = load_n(b + i, left);
    (void)y;
    store_n(lanes + i, {formula}, left);
  }}
  for (int64_t i = 0; i < n; i++) {{
    auto x = value(a[i]), y = value(b[i]);
    (void)y;
    assign(scalars + i, {formula});
  }}
}}
"""


def _function(name: str, source: str, target: str, formula: str) -> str:
    return FUNCTION.format(name=name, source=source, target=target, formula=formula)


def _harness() -> str:
    lines = ['#include "math/math.h"']
    for dtype, kind in TYPES.items():
        tag = SUFFIX[dtype]
        lines += [_function(f"{BINARY[fn]}{tag}", kind, kind, f"{BINARY[fn]}(x, y)") for fn in binaries(dtype)]
        for direction in Direction:
            name = direction.value.lower()
            lines.append(_function(f"{name}_{tag}", kind, "boolean", f"{name}(x, y)"))
            if dtype.is_float:
                lines.append(_function(f"t_{name}_{tag}", kind, "boolean", f"t_{name}(x, y)"))
        for other, target in TYPES.items():
            lines.append(_function(f"to_{SUFFIX[other]}_{tag}", kind, target, f"to_{SUFFIX[other]}(x)"))
        lines.append(_function(f"select_{tag}", kind, kind, "select(lt(x, y), x, y)"))
        if dtype.is_float:
            lines += [
                _function(f"reduce_{e}_{m}_{tag}", kind, kind, f"reduce_precision(x, {e}, {m})") for e, m in PRECISIONS
            ]
        if dtype.is_integer:
            lines += [_function(f"{name}{tag}", kind, kind, f"{name}(x)") for name in UNARY.values()]
        lines += [
            f'extern "C" void {name}_{tag}(const {kind}* a, const {kind}*, {kind}* lanes, {kind}*, int64_t n) {{'
            f" for (int64_t i = 0; i + 16 <= n; i += 16) assign(lanes + i / 16, {name}(load(a + i))); }}"
            for name in reductions(dtype)
        ]
    for narrow in ("bf16", "f16"):
        lines.append(_function(f"widen_{narrow}", narrow, "float", "x"))
        lines.append(_function(f"narrow_{narrow}", "float", narrow, "x"))
        lines.append(_function(f"round_{narrow}", "float", "float", f"round_{narrow}(x)"))
    return "\n".join(lines)


@pytest.fixture(scope="module", params=tuple(COMPILERS))
def apply(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Apply:
    """Call a function of the harness: its results in vector mode and in scalar mode."""
    # -O1: 800 functions; the vectors are explicit, more optimization only costs time here.
    library = build(str(request.param), _harness(), tmp_path_factory.mktemp("values"), "-O1")

    def run(name: str, target: DType | np.dtype[Any], a: Array, b: Array | None = None) -> tuple[Array, Array]:
        wanted = numpy_dtype(target) if isinstance(target, DType) else target
        results = np.zeros(a.size, wanted), np.zeros(a.size, wanted)
        arrays = (a, a if b is None else b, *results)
        library[name](*(ctypes.c_void_p(x.ctypes.data) for x in arrays), ctypes.c_int64(a.size))
        return results

    return run


def corners(dtype: DType) -> Array:
    numpy = numpy_dtype(dtype)
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_float:
        few = [0.0, -0.0, 1, -1, 1.5, -2.5, np.inf, -np.inf, np.nan, -np.nan, 127.9, 128, -128.9, 255.5, 65535.5, 1e-40]
        large = [sign * 2.0**e for sign in (1, -1) for e in (31, 32, 62, 63, 64, 100)]
        return np.array([*few, *large, 2.0**31 - 1, 2.0**31 - 0.5, 1e30, 0.1, 3, -0.9], numpy)
    limits = np.iinfo(numpy)
    some = [0, 1, 2, 3, 5, 7, 8, 15, 31, 63, 64, 100, limits.max, limits.max - 1, limits.min, limits.min + 1]
    return np.array([*some, *((-1, -2, -7, -64) if dtype.is_signed else ())], numpy)


def samples(dtype: DType) -> Array:
    rng = np.random.default_rng(1)
    numpy = numpy_dtype(dtype)
    if dtype.is_bool:
        many = rng.integers(0, 2, 333).astype(bool)
    elif dtype.is_float:
        many = (rng.standard_normal(333) * 10.0 ** rng.integers(-3, 12, 333)).astype(numpy)
    else:
        bits = rng.integers(0, 2**63, 333, dtype=np.int64) >> rng.integers(0, 63, 333)
        many = bits.astype(numpy)
    return np.concatenate([many, corners(dtype)])


def pairs(dtype: DType) -> tuple[Array, Array]:
    few = corners(dtype)
    a, b = np.array(list(product(few, few)), few.dtype).T
    many = samples(dtype)
    return np.concatenate([a, many]), np.concatenate([b, many[::-1]])


def check(got: tuple[Array, Array], wanted: Array) -> None:
    for result in got:
        np.testing.assert_array_equal(result, wanted.astype(result.dtype))
        if result.dtype.kind == "f":
            zeros = result == 0
            np.testing.assert_array_equal(np.signbit(result[zeros]), np.signbit(wanted[zeros]))


@pytest.mark.parametrize("dtype", TYPES)
def test_binary(apply: Apply, dtype: DType) -> None:
    a, b = pairs(dtype)
    for fn in binaries(dtype):
        with np.errstate(all="ignore"):
            wanted = fn.value.evaluate(a, b)
        check(apply(f"{BINARY[fn]}{SUFFIX[dtype]}", dtype, a, b), wanted)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_unary(apply: Apply, dtype: DType) -> None:
    x = samples(dtype)
    for fn, name in UNARY.items():
        with np.errstate(all="ignore"):
            check(apply(f"{name}{SUFFIX[dtype]}", dtype, x), fn.value.evaluate(x))


@pytest.mark.parametrize("dtype", TYPES)
def test_compare(apply: Apply, dtype: DType) -> None:
    a, b = pairs(dtype)
    for direction in Direction:
        name = f"{direction.value.lower()}_{SUFFIX[dtype]}"
        check(apply(name, DType.I1, a, b), numpy_math.compare(direction, a, b, total=False))
        if dtype.is_float:
            check(apply(f"t_{name}", DType.I1, a, b), numpy_math.compare(direction, a, b, total=True))
    check(apply(f"select_{SUFFIX[dtype]}", dtype, a, b), np.where(a < b, a, b))


@pytest.mark.parametrize("dtype", TYPES)
def test_convert(apply: Apply, dtype: DType) -> None:
    x = samples(dtype)
    for target in TYPES:
        with np.errstate(all="ignore"):
            check(apply(f"to_{SUFFIX[target]}_{SUFFIX[dtype]}", target, x), numpy_math.convert(x, target))


@pytest.mark.parametrize("dtype", TYPES)
def test_horizontal(apply: Apply, dtype: DType) -> None:
    x = samples(dtype)[:320]
    if dtype.is_float:
        x = np.round(np.clip(x, -8, 8))  # sums and products are exact in any order
        x[x == 0] = 1
        x[40] = np.nan
    for name in reductions(dtype):
        with np.errstate(all="ignore"):
            wanted = REDUCTIONS[name].reduce(x.reshape(-1, 16), axis=1, dtype=x.dtype)
        got, _ = apply(f"{name}_{SUFFIX[dtype]}", dtype, x)
        if dtype.is_float and name == "hprod":
            np.testing.assert_allclose(got[: wanted.size], wanted, rtol=1e-6)
        else:
            np.testing.assert_array_equal(got[: wanted.size], wanted)


@pytest.mark.parametrize("dtype", FLOATS)
def test_zeros_are_ordered(apply: Apply, dtype: DType) -> None:
    """-0 is smaller than +0, wherever they are."""
    x = np.full((36, 16), -0.0, numpy_dtype(dtype))
    x[np.arange(16), np.arange(16)] = 0.0
    x[16:32] = -x[:16]
    x[32:34, ::2], x[33:36, 5] = -1, np.nan
    for name in ("hmax", "hmin"):
        got, _ = apply(f"{name}_{SUFFIX[dtype]}", dtype, x.ravel())
        wanted = [0.0] * 32 + [-0.0, np.nan, np.nan, np.nan] if name == "hmax" else [-0.0] * 32 + [-1] + [np.nan] * 3
        check((got[:36], numpy_math.extreme(REDUCTIONS[name], x, (1,))), np.array(wanted))


@pytest.mark.parametrize("dtype", FLOATS)
def test_reduce_precision(apply: Apply, dtype: DType) -> None:
    x = samples(dtype)
    for exponent, mantissa in PRECISIONS:
        got = apply(f"reduce_{exponent}_{mantissa}_{SUFFIX[dtype]}", dtype, x)
        check(got, numpy_math.reduce_precision(x, exponent, mantissa))


@pytest.mark.parametrize(("name", "narrow"), [("bf16", ml_dtypes.bfloat16), ("f16", np.float16)])
def test_narrow_floats(apply: Apply, name: str, narrow: type[Any]) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(narrow)
    check(apply(f"widen_{name}", DType.F32, every), every.astype(np.float32))
    rng = np.random.default_rng(0)
    random = rng.integers(0, 2**32, 40000, dtype=np.uint32).view(np.float32)
    between = every.astype(np.float32)
    with np.errstate(all="ignore"):
        ties = (between + np.nextafter(every, every.dtype.type(np.inf)).astype(np.float32)) / 2
        small = rng.uniform(-1e-4, 1e-4, 9999)
        x = np.concatenate([random, between, ties, samples(DType.F32), small]).astype(np.float32)
        wanted = x.astype(narrow)
    check(apply(f"round_{name}", DType.F32, x), wanted.astype(np.float32))
    for got in apply(f"narrow_{name}", np.dtype(narrow), x):
        same = got.view(np.uint16) == wanted.view(np.uint16)
        assert (same | (np.isnan(got.astype(np.float32)) & np.isnan(wanted.astype(np.float32)))).all()
