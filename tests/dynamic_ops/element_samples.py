"""Samples of elementwise ops: every kind of element that they take, special values, ties, poles and branch cuts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from shlo_disc.dynamic_ops.elementwise import CompareAttrs, ReducePrecisionAttrs
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.references.reference import Reference
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType, numpy_dtype
from tests.dynamic_ops.sampling import F32, I32, NONE, Array, Sample, booleans, floats, integers, sample

_SOME_INTEGERS = (DType.I4, DType.UI2, DType.UI8, DType.I32, DType.I64, DType.UI64)
_NARROW = (DType.BF16, DType.F16, DType.F8E4M3FN)
# What rounds differently, and what has poles, roots and halves: beside the special values of `floats`.
_NEAR = (
    1.0, -1.0, 1.5, -1.5, 2.0, -2.5, 3.0, 4.0, 0.25, -0.25, 0.3, -0.7, 1e-3, -1e-3, 1 + 1e-6, 10.0, -10.0, 30.25, 88.0,
    -120.5,
)  # fmt: skip
_PARTS = (0.0, -0.0, 1.0, -2.5, 0.3, np.inf, -np.inf, np.nan)
_RESULTS: Mapping[UnaryFn | BinaryFn, Mapping[DType, DType]] = {
    **{fn: {DType.C64: DType.F32, DType.C128: DType.F64} for fn in (UnaryFn.ABS, UnaryFn.REAL, UnaryFn.IMAG)},
    UnaryFn.IS_FINITE: dict.fromkeys(DType, DType.I1),
    BinaryFn.COMPLEX: {DType.F32: DType.C64, DType.F64: DType.C128},
}
# Complex powers and angles of what is infinite, NaN or on a cut are not specified (docs/reference/accuracy.md).
_INEXACT = {BinaryFn.POWER, BinaryFn.ATAN2}


def near(dtype: DType) -> Array:
    """Floats at which functions differ."""
    return np.array(_NEAR).astype(numpy_dtype(dtype))


def small(dtype: DType) -> Array:
    """Integers about 0: small numbers, shift amounts and exponents, also negative ones."""
    values = np.array([3, 2, 1, 0, *range(4, 9), 1, 2, *range(-4, 0)])
    low, high = dtype.integer_bounds
    return np.clip(values, low, high).astype(numpy_dtype(dtype))


def complexes(dtype: DType) -> Array:
    """Complex numbers of ordinary parts, zeros of both signs, infinities and NaN."""
    rng = np.random.default_rng(5)
    ordinary = rng.normal(size=12) + 1j * rng.normal(size=12)
    special = [complex(a, b) for a in _PARTS for b in _PARTS]
    return np.array([*ordinary, 30 - 40j, 1e-9 + 1e-9j, *special]).astype(numpy_dtype(dtype))


def finite_pairs(fn: BinaryFn, dtype: DType) -> tuple[Array, Array]:
    """Pairs of ordinary complex numbers, some of them real; and 0, of which angles lie on a cut."""
    rng = np.random.default_rng(6)
    a, b = (rng.normal(size=16) + 1j * rng.normal(size=16) for _ in range(2))
    b[::5] = b[::5].real
    if fn is not BinaryFn.ATAN2:
        a[::7] = 0
    return a.astype(numpy_dtype(dtype)), b.astype(numpy_dtype(dtype))


def crossed(first: Array, second: Array, count: int) -> tuple[Array, Array]:
    """Pairs of elements, evenly chosen from all."""
    a, b = np.repeat(first, len(second)), np.tile(second, len(first))
    chosen = np.unique(np.linspace(0, len(a) - 1, count).astype(np.int64))
    return a[chosen], b[chosen]


def _result(fn: UnaryFn | BinaryFn, dtype: DType) -> DType:
    return _RESULTS.get(fn, {}).get(dtype, dtype)


def _operands(reference: Reference, *, is_binary: bool) -> Iterator[tuple[DType, Array]]:
    """Numbers of every kind that a function takes."""
    if reference.floats is not None:
        for dtype in (F32, DType.F64, *(() if is_binary else _NARROW)):
            yield dtype, np.concatenate([floats(11, dtype=dtype), near(dtype)])
    if reference.integers is not None:
        for dtype in _SOME_INTEGERS:
            yield dtype, np.concatenate([integers(11, dtype=dtype), small(dtype)])
    if reference.complexes is not None:
        for dtype in (DType.C64, DType.C128):
            yield dtype, complexes(dtype)
    if reference.booleans is not None:
        yield DType.I1, booleans(5)


def _unary() -> Iterator[Sample]:
    for fn in UnaryFn:
        reference = fn.value.reference
        for dtype, x in _operands(reference, is_binary=False):
            yield sample(fn.value.name, [x], NONE, x.shape, _result(fn, dtype))
            if dtype.is_complex:
                yield sample(fn.value.name, [x.reshape(2, -1)], NONE, (2, x.size // 2), _result(fn, dtype))
        if reference.floats is not None:
            for shape in ((0,), (1,), (2, 7)):
                yield sample(fn.value.name, [floats(*shape)], NONE, shape, _result(fn, F32))


def _binary() -> Iterator[Sample]:
    for fn in BinaryFn:
        reference = fn.value.reference
        for dtype, x in _operands(reference, is_binary=True):
            if fn in _INEXACT and dtype.is_complex:
                a, b = finite_pairs(fn, dtype)
            elif dtype.is_bool:
                a, b = crossed(x[:2], x[:2], 4)
            else:
                a, b = crossed(x, small(dtype) if dtype.is_integer else x, 120)
            yield sample(fn.value.name, [a, b], NONE, a.shape, _result(fn, dtype))
        if reference.floats is not None:
            for shape in ((0,), (1,), (2, 7)):
                pair = [floats(*shape), floats(*shape, seed=1)[::-1].copy()]
                yield sample(fn.value.name, pair, NONE, shape, _result(fn, F32))
            for dtype in _NARROW if fn is not BinaryFn.COMPLEX else ():
                pair = list(crossed(near(dtype), near(dtype), 20))
                yield sample(fn.value.name, pair, NONE, pair[0].shape)


def _limits() -> Iterator[Sample]:
    """Where functions of two numbers overflow, and powers that are no roots."""
    for dtype in (F32, DType.F64):
        x, q = np.array([10001, 10001, 10001, 1e30, 1e30, 180, 88]), np.array([-0.7, -0.3, -0.5, 1.5, -0.5, 50, -120.5])
        for fn, first in ((BinaryFn.ZETA, x), (BinaryFn.POLYGAMMA, x - 1)):
            yield sample(fn.value.name, [y.astype(numpy_dtype(dtype)) for y in (first, q)], NONE, (7,))
        base = np.array([-0.0, -np.inf, 0.0, np.inf, np.nan, 1.0], numpy_dtype(dtype))
        for exponent in (0.5, -0.5, 0.0, np.nan):
            yield sample("power", [base, np.full_like(base, exponent)], NONE, (6,))


def _composed() -> Iterator[Sample]:
    """Formulas of other functions, for every kind of element that they take."""
    for name in ("conj", "square"):
        for x in (floats(0), floats(2, 7), near(DType.F64), near(DType.BF16), complexes(DType.C64)):
            yield sample(name, [x], NONE, x.shape)
        yield sample(name, [complexes(DType.C128)], NONE, complexes(DType.C128).shape)
        large = np.array([complex(a, b) for a in (3e38, -3e38) for b in (3e38, -3e38)], np.complex64)
        yield sample(name, [large], NONE, (4,))
    for dtype in (F32, DType.F64, DType.F16, DType.BF16):
        for name in ("is_inf", "is_pos_inf", "is_neg_inf"):
            yield sample(name, [floats(13, dtype=dtype)], NONE, (13,), DType.I1)
        pair = [floats(31, dtype=dtype), floats(31, dtype=dtype, seed=1)[::-1].copy()]
        yield sample("next_after", pair, NONE, (31,))
        yield sample("next_after", [pair[0], pair[0].copy()], NONE, (31,))
        pair = list(crossed(floats(13, dtype=dtype), floats(13, dtype=dtype), 80))
        yield sample("next_after", pair, NONE, pair[0].shape)
    for dtype in (DType.I8, DType.UI8, DType.I16, DType.UI16, I32, DType.UI32, DType.I64, DType.UI64):
        yield sample("mulhi", [integers(31, dtype=dtype), integers(31, dtype=dtype, seed=1)[::-1].copy()], NONE, (31,))
    yield sample("mulhi", [np.array(-(1 << 30), np.int32), np.array(12345, np.int32)], NONE, ())


def _choices() -> Iterator[Sample]:
    for shape in ((0,), (1,), (3, 5)):
        yield sample("select", [booleans(*shape), floats(*shape), floats(*shape, seed=1)], NONE, shape, F32)
        limits = [np.array(-1, np.float32), np.array(1, np.float32)]
        yield sample("clamp", [limits[0], floats(*shape), limits[1]], NONE, shape, F32)
    yield sample("select", [np.array(False), floats(7), floats(7, seed=1)], NONE, (7,), F32)
    numbers = integers(11)
    yield sample("clamp", [np.full(11, -5, np.int32), numbers, np.full(11, 2**20, np.int32)], NONE, (11,))
    yield sample("clamp", [floats(3, 5, seed=2), floats(3, 5), floats(3, 5, seed=1)], NONE, (3, 5))


def _comparisons() -> Iterator[Sample]:
    pairs: Sequence[tuple[Array, Array]] = [crossed(floats(11), floats(11), 121)]
    pairs = [*pairs, *(crossed(floats(11, dtype=kind), floats(11, dtype=kind), 60) for kind in (DType.F64, *_NARROW))]
    for direction in Direction:
        for a, b in pairs:
            for total in (False, True):
                yield sample("compare", [a, b], CompareAttrs(direction, total), a.shape, DType.I1)
        for kind in _SOME_INTEGERS:
            a, b = crossed(integers(5, dtype=kind), integers(5, dtype=kind), 25)
            yield sample("compare", [a, b], CompareAttrs(direction), a.shape, DType.I1)
    for direction in (Direction.EQ, Direction.NE):
        a, b = crossed(complexes(DType.C64)[10:22], complexes(DType.C64)[10:22], 144)
        yield sample("compare", [a, b], CompareAttrs(direction), a.shape, DType.I1)


def _conversions() -> Iterator[Sample]:
    for kind in (
        I32, DType.UI8, DType.I4, DType.UI64, DType.I1, F32, DType.F64, *_NARROW, DType.F8E5M2, DType.F8E8M0FNU,
        DType.C64,
    ):  # fmt: skip
        limits = np.array([2.0**31, -(2.0**31), 300.0, -9.0, 7.5, 2.0**64, 464.0, 1 + 2.0**-4 + 2.0**-30])
        for x in (floats(13), np.concatenate([near(DType.F64), limits]), integers(7), integers(9, dtype=DType.UI4)):
            yield sample("convert", [x], NONE, x.shape, kind)
        yield sample("convert", [floats(13, dtype=DType.BF16)], NONE, (13,), kind)
        yield sample("convert", [complexes(DType.C64)], NONE, complexes(DType.C64).shape, kind)
        yield sample("convert", [booleans(5)], NONE, (5,), kind)
    yield sample("bitcast_convert", [floats(7)], NONE, (7,), I32)
    yield sample("bitcast_convert", [floats(7)], NONE, (7, 4), DType.UI8)
    yield sample("bitcast_convert", [integers(3, 2, dtype=DType.UI32)], NONE, (3,), DType.F64)
    yield sample("bitcast_convert", [complexes(DType.C128)], NONE, (*complexes(DType.C128).shape, 2), DType.C64)
    for format_ in ((5, 10), (8, 7), (4, 3), (8, 0), (3, 0)):
        for dtype in (F32, DType.F64, DType.BF16, DType.F16, DType.F8E5M2):
            x = np.concatenate([floats(17, dtype=dtype), near(dtype), (near(F32) * 1e-6).astype(numpy_dtype(dtype))])
            yield sample("reduce_precision", [x], ReducePrecisionAttrs(*format_), x.shape)
        nans = np.array([0x7C01, 0xFE00, 0x7FFF], np.uint16).view(np.float16)  # whose lowest bits are set, or not
        yield sample("reduce_precision", [nans], ReducePrecisionAttrs(*format_), (3,))


ELEMENT_SAMPLES: tuple[Sample, ...] = (
    *_unary(),
    *_binary(),
    *_limits(),
    *_composed(),
    *_choices(),
    *_comparisons(),
    *_conversions(),
)
