"""Smart constructors of scalars: the same bits as NumPy computes for the formula as written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.expr import simplify as make
from shlo_disc.expr.dim import Dim, Sym, const, symbol
from shlo_disc.expr.evaluate import Value, evaluate
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Arg, Binary, Bitcast, Compare, Const, Convert, FromDim, InRange, Scalar, Select, Unary
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType, numpy_dtype

pytestmark = pytest.mark.quick

I1, I8, I32, I64, UI8 = DType.I1, DType.I8, DType.I32, DType.I64, DType.UI8
F16, BF16, F32, F64, C64 = DType.F16, DType.BF16, DType.F32, DType.F64, DType.C64

X, Y = Arg("x", F32), Arg("y", F32)
N, M = Arg("n", I32), Arg("m", I32)
P, Q = Arg("p", I1), Arg("q", I1)
B, S = symbol("b"), symbol("s")

FLOATS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 0.1, 3.0, 1e30, -1e-40, math.inf, -math.inf, math.nan)
INTEGERS = (0, 1, -1, 2, 3, 7, -5, 31, 32, 2**31 - 1, -(2**31))
TYPES = (I8, I32, I64, UI8, F16, BF16, F32, F64)
FLOAT_UNARY = (UnaryFn.ABS, UnaryFn.NEGATE, UnaryFn.FLOOR, UnaryFn.SQRT, UnaryFn.SIGN)
FLOAT_BINARY = (
    BinaryFn.ADD,
    BinaryFn.SUBTRACT,
    BinaryFn.MULTIPLY,
    BinaryFn.DIVIDE,
    BinaryFn.MAXIMUM,
    BinaryFn.MINIMUM,
)
INTEGER_UNARY = (UnaryFn.ABS, UnaryFn.NEGATE, UnaryFn.NOT, UnaryFn.POPCNT)
BITWISE = (BinaryFn.AND, BinaryFn.OR, BinaryFn.XOR)
INTEGER_BINARY = (
    *FLOAT_BINARY,
    *BITWISE,
    BinaryFn.REMAINDER,
    BinaryFn.SHIFT_LEFT,
    BinaryFn.SHIFT_RIGHT_LOGICAL,
)
OTHERS = {"p": True, "q": False}


@cache
def leaves(dtype: DType) -> st.SearchStrategy[Scalar]:
    """Literals, dims, and arguments named by their type."""
    if dtype.is_bool:
        return st.sampled_from([Const(True, I1), Const(False, I1), P, Q])
    values = FLOATS if dtype.is_float else tuple(wrapped(n, dtype) for n in INTEGERS)
    arguments = [Arg(f"{dtype.value}_{n}", dtype) for n in range(2)]
    dims = [index(dim, dtype) for dim in (S, S * B - 1, const(2))]
    return st.sampled_from([*(Const(value, dtype) for value in values), *arguments, *dims])


def index(dim: Dim, dtype: DType) -> Scalar:
    """A dim as an element; of an integer type that may not hold it, it wraps around."""
    holds = not dtype.is_integer or SIZES.fits(dim, dtype)
    return FromDim(dim, dtype) if holds else Convert(FromDim(dim, I64), dtype)


def wrapped(n: int, dtype: DType) -> int:
    """Bring an integer into the range of a type."""
    return int(np.asarray(n).astype(numpy_dtype(dtype)))


@cache
def formulas(dtype: DType, depth: int = 3) -> st.SearchStrategy[Scalar]:
    """Formulas as a program may write them, nothing simplified."""
    if depth == 0:
        return leaves(dtype)
    inner = formulas(dtype, depth - 1)
    other = st.sampled_from(TYPES).flatmap(lambda each: formulas(each, depth - 1))
    if dtype.is_bool:
        directions = st.sampled_from(Direction)
        compared = other.flatmap(lambda a: st.builds(Compare, directions, st.just(a), leaves(a.dtype) | st.just(a)))
        bitwise = st.builds(Binary, st.sampled_from(BITWISE), inner, inner, st.just(I1))
        inverted = st.builds(Unary, st.just(UnaryFn.NOT), inner, st.just(I1))
        return st.one_of(leaves(I1), compared, bitwise, inverted, st.builds(Convert, other, st.just(I1)))
    unary, binary = (FLOAT_UNARY, FLOAT_BINARY) if dtype.is_float else (INTEGER_UNARY, INTEGER_BINARY)
    if dtype is UI8:
        unary = (UnaryFn.NOT, UnaryFn.POPCNT)
    return st.one_of(
        leaves(dtype),
        st.builds(Unary, st.sampled_from(unary), inner, st.just(dtype)),
        st.builds(Binary, st.sampled_from(binary), inner, inner | leaves(dtype), st.just(dtype)),
        st.builds(Select, formulas(I1, depth - 1), inner, inner),
        st.builds(Convert, other | formulas(I1, depth - 1), st.just(dtype)),
    )


SIZES = Facts.empty().limited(Sym("s"), 100).limited(Sym("b"), 3)


def simplified(node: Scalar, facts: Facts = SIZES) -> Scalar:
    """Simplify bottom-up."""
    match node:
        case Unary(fn, x, _):
            return make.unary(fn, simplified(x, facts), facts)
        case Binary(fn, a, b, _):
            return make.binary(fn, simplified(a, facts), simplified(b, facts), facts)
        case Compare(direction, a, b, total):
            return make.compare(direction, simplified(a, facts), simplified(b, facts), total=total)
        case Select(condition, then, other):
            return make.select(simplified(condition, facts), simplified(then, facts), simplified(other, facts))
        case Convert(x, dtype):
            return make.convert(simplified(x, facts), dtype, facts)
        case _:
            return make.simplify(node, facts)


def same_bits(a: Value, b: Value) -> bool:
    """Whether two elements are of one type and have the same bits, or are both NaN."""
    if a.dtype != b.dtype:
        return False
    return a.tobytes() == b.tobytes() or bool((a != a) & (b != b))  # noqa: PLR0124  # NaN


@settings(max_examples=300)
@given(
    st.sampled_from((*TYPES, I1)).flatmap(formulas),
    st.sampled_from(FLOATS),
    st.sampled_from(FLOATS),
    st.sampled_from(INTEGERS),
    st.integers(0, 100),
)
def test_every_bit_stays(node: Scalar, x: float, y: float, n: int, s: int) -> None:
    arguments: dict[str, Value] = {key: np.asarray(value) for key, value in OTHERS.items()}
    for dtype in TYPES:
        for number, each in enumerate((x, y) if dtype.is_float else (n, s)):
            value = np.asarray(each if dtype.is_float else wrapped(int(each), dtype))
            with np.errstate(all="ignore"):
                arguments[f"{dtype.value}_{number}"] = value.astype(numpy_dtype(dtype))
    sizes = {Sym("s"): s, Sym("b"): 3}
    found = simplified(node)
    assert found.dtype is node.dtype
    assert same_bits(evaluate(found, sizes, {}, arguments), evaluate(node, sizes, {}, arguments))


def f32(value: float) -> Const:
    return Const(value, F32)


def i32(value: int) -> Const:
    return Const(value, I32)


def binary(fn: BinaryFn, a: Scalar, b: Scalar) -> Binary:
    return Binary(fn, a, b, a.dtype)


ADD, SUBTRACT, MULTIPLY, DIVIDE = FLOAT_BINARY[:4]
NEGATE, NOT = UnaryFn.NEGATE, UnaryFn.NOT

BECOMES: list[tuple[Scalar, Scalar]] = [
    (binary(ADD, f32(0.1), f32(0.2)), f32(float(np.float32(0.1) + np.float32(0.2)))),
    (binary(ADD, i32(2**31 - 1), i32(1)), i32(-(2**31))),
    (binary(ADD, Const(255, UI8), Const(2, UI8)), Const(1, UI8)),
    (binary(DIVIDE, i32(-7), i32(2)), i32(-3)),
    (binary(ADD, X, f32(-0.0)), X),
    (binary(SUBTRACT, X, f32(0.0)), X),
    (binary(MULTIPLY, X, f32(1.0)), X),
    (binary(MULTIPLY, f32(1.0), X), X),
    (binary(DIVIDE, X, f32(1.0)), X),
    (binary(DIVIDE, X, f32(-4.0)), binary(MULTIPLY, X, f32(-0.25))),
    (binary(ADD, N, i32(0)), N),
    (binary(MULTIPLY, i32(0), N), i32(0)),
    (binary(SUBTRACT, N, N), i32(0)),
    (binary(BinaryFn.XOR, N, N), i32(0)),
    (binary(BinaryFn.REMAINDER, N, i32(1)), i32(0)),
    (binary(BinaryFn.SHIFT_LEFT, N, i32(0)), N),
    (binary(BinaryFn.AND, N, i32(-1)), N),
    (binary(BinaryFn.AND, Arg("u", UI8), Const(255, UI8)), Arg("u", UI8)),
    (binary(BinaryFn.AND, P, make.TRUE), P),
    (binary(BinaryFn.OR, P, make.TRUE), make.TRUE),
    (binary(BinaryFn.OR, P, P), P),
    (binary(BinaryFn.MAXIMUM, X, X), X),
    (binary(BinaryFn.MAXIMUM, X, f32(-math.inf)), X),
    (binary(BinaryFn.MAXIMUM, f32(-math.inf), X), X),
    (binary(BinaryFn.MINIMUM, X, f32(math.inf)), X),
    (binary(BinaryFn.MINIMUM, f32(math.inf), X), X),
    (binary(BinaryFn.MAXIMUM, i32(-(2**31)), N), N),
    (binary(BinaryFn.MINIMUM, N, i32(2**31 - 1)), N),
    (binary(BinaryFn.MAXIMUM, N, i32(2**31 - 1)), i32(2**31 - 1)),
    (binary(BinaryFn.MAXIMUM, Arg("u", UI8), Const(0, UI8)), Arg("u", UI8)),
    (binary(BinaryFn.MINIMUM, Const(0, UI8), Arg("u", UI8)), Const(0, UI8)),
    (binary(BinaryFn.MINIMUM, P, make.TRUE), P),
    (binary(BinaryFn.POWER, X, f32(1.0)), X),
    (binary(BinaryFn.POWER, X, f32(2.0)), binary(MULTIPLY, X, X)),
    (binary(BinaryFn.POWER, N, i32(2)), binary(MULTIPLY, N, N)),
    (binary(ADD, X, Unary(NEGATE, Y, F32)), binary(SUBTRACT, X, Y)),
    (binary(SUBTRACT, X, Unary(NEGATE, Y, F32)), binary(ADD, X, Y)),
    (binary(ADD, FromDim(S, I32), i32(2)), FromDim(S + 2, I32)),
    (binary(MULTIPLY, FromDim(S, I64), FromDim(B, I64)), FromDim(S * B, I64)),
    (Unary(NEGATE, Unary(NEGATE, X, F32), F32), X),
    (Unary(NOT, Unary(NOT, P, I1), I1), P),
    (Unary(UnaryFn.ABS, Unary(NEGATE, X, F32), F32), Unary(UnaryFn.ABS, X, F32)),
    (Unary(UnaryFn.SQRT, f32(2.0), F32), f32(float(np.sqrt(np.float32(2))))),
    (Unary(UnaryFn.REAL, Binary(BinaryFn.COMPLEX, X, Y, C64), F32), X),
    (Unary(UnaryFn.IMAG, Binary(BinaryFn.COMPLEX, X, Y, C64), F32), Y),
    (Select(make.TRUE, X, Y), X),
    (Select(P, X, X), X),
    (Select(Unary(NOT, P, I1), X, Y), Select(P, Y, X)),
    (Select(P, Select(P, X, Y), Y), Select(P, X, Y)),
    (Select(P, make.TRUE, make.FALSE), P),
    (Select(P, make.FALSE, make.TRUE), Unary(NOT, P, I1)),
    (Convert(X, F32), X),
    (Convert(FromDim(S, I32), I64), FromDim(S, I64)),
    (Convert(FromDim(S, I64), F32), FromDim(S, F32)),
    (Convert(FromDim(S, I32), F32), FromDim(S, F32, I32)),
    (Convert(Convert(X, F64), F32), X),
    (Convert(Convert(N, I64), I8), Convert(N, I8)),
    (Convert(Convert(P, F32), I1), P),
    (Convert(f32(2.5), I32), i32(2)),
    (Compare(Direction.NE, Convert(P, I32), i32(0)), P),
    (Compare(Direction.EQ, P, make.FALSE), Unary(NOT, P, I1)),
    (Compare(Direction.LE, N, N), make.TRUE),
    (Compare(Direction.LT, FromDim(S, I64), FromDim(S + 1, I64)), make.TRUE),
    (Compare(Direction.LT, FromDim(S, I8), FromDim(S + 1, I8)), make.TRUE),
    (Compare(Direction.EQ, FromDim(S, I32), FromDim(S + 1, I32)), make.FALSE),
    (Convert(FromDim(S, I8), I32), FromDim(S, I32)),
    (Convert(FromDim(S, I64), I8), FromDim(S, I8)),
    (binary(ADD, FromDim(S, I8), Const(28, I8)), Convert(FromDim(S + 28, I64), I8)),
    (binary(MULTIPLY, Convert(FromDim(S * 9, I64), I8), Const(3, I8)), Convert(FromDim(S * 27, I64), I8)),
    (Unary(NEGATE, FromDim(S, UI8), UI8), Convert(FromDim(-S, I64), UI8)),
    (Convert(Convert(FromDim(S * 9, I64), DType.I16), I8), Convert(FromDim(S * 9, I64), I8)),
    (Bitcast(Bitcast(X, I32), F32), X),
    (Bitcast(f32(1.0), I32), i32(0x3F800000)),
    (FromDim(const(3), F32), f32(3.0)),
    (InRange(S, S, S + 1), make.TRUE),
    (InRange(S - 1, S, S + 1), make.FALSE),
]


@pytest.mark.parametrize(("node", "wanted"), BECOMES)
def test_formulas_become_simple(node: Scalar, wanted: Scalar) -> None:
    assert simplified(node) == wanted


STAYS: list[Scalar] = [
    binary(ADD, X, f32(0.0)),  # -0.0 + 0.0 is 0.0
    binary(SUBTRACT, X, f32(-0.0)),
    binary(MULTIPLY, X, f32(0.0)),  # NaN, infinity, -0.0
    binary(SUBTRACT, X, X),
    binary(DIVIDE, X, X),
    binary(DIVIDE, X, f32(3.0)),
    binary(DIVIDE, X, f32(2.0**-140)),  # the reciprocal overflows
    binary(BinaryFn.POWER, X, f32(0.5)),  # of -inf it is inf, unlike the square root
    binary(BinaryFn.POWER, X, f32(3.0)),
    binary(BinaryFn.POWER, f32(3.0), f32(1.5)),
    Unary(UnaryFn.EXPONENTIAL, f32(1.0), F32),  # its last bit depends on who computes it
    Compare(Direction.EQ, X, X),
    binary(MULTIPLY, FromDim(S, I64), Const(2**62, I64)),  # 64 bits do not hold the dim
    Compare(Direction.LT, FromDim(S, I8), Convert(FromDim(S + 28, I64), I8)),  # may wrap
    Convert(Convert(X, F16), F32),
    Convert(Convert(Arg("d", F64), F32), F16),  # rounds twice
    Convert(Convert(N, F32), I32),
    Convert(Convert(N, I8), I32),
    Convert(P, I32),
    Convert(Convert(FromDim(S * 9, I64), I8), I32),  # may have wrapped
    Convert(Convert(Arg("e", I8), F32), UI8),  # -1 is held at 0
    Bitcast(f32(math.nan), I32),
    InRange(S, const(0), B),
]


@pytest.mark.parametrize("node", STAYS)
def test_what_would_change_a_value_stays(node: Scalar) -> None:
    assert simplified(node) == node


def test_without_facts_sums_stay_sums() -> None:
    sum_ = binary(ADD, FromDim(S, I32), i32(1))
    assert simplified(sum_, Facts.empty()) == sum_
    assert simplified(sum_) == FromDim(S + 1, I32)


def test_ranges_are_decided_with_facts() -> None:
    facts = Facts.empty().assume_at_least(S, 1, "a size", NOWHERE).with_index(Sym("i"), S)
    i = symbol("i")
    cases: Mapping[tuple[Dim, Dim, Dim], Scalar] = {
        (i, const(0), S): make.TRUE,
        (i - S, const(0), S): make.FALSE,
        (i + S, const(0), S): make.FALSE,
        (i + 1, const(0), S): InRange(i + 1, const(0), S),
        ((i * 2 + 1) // 2, const(0), S): make.TRUE,
        (i % S + 1, const(0), S): InRange(i + 1, const(0), S),
    }
    for (dim, lower, upper), wanted in cases.items():
        assert make.in_range(dim, lower, upper, facts) == wanted


def test_constants_are_rounded_to_their_type() -> None:
    assert make.constant(0.1, F32).value == float(np.float32(0.1))
    assert make.constant(300, UI8).value == 44
    assert make.constant(1, I1) == make.TRUE
