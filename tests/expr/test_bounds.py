"""Bounds of integers read from tensors: whatever the formula computes lies between them, wrap-around included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.expr.bounds import bounds, decide
from shlo_disc.expr.dim import Data, Dim, Sym, const, maximum, minimum, of, symbol
from shlo_disc.expr.evaluate import evaluate
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import (
    NO_BOUNDS,
    Binary,
    Bounds,
    Compare,
    Const,
    Convert,
    FromDim,
    Load,
    Scalar,
    Select,
    Unary,
)
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType, numpy_dtype

N = symbol("n")
FACTS = Facts.empty().assume_at_least(N, 1, "a size", NOWHERE).limited(Sym("n"), 2**31 - 1)
I32 = DType.I32
BINARY = [
    "ADD",
    "SUBTRACT",
    "MULTIPLY",
    "DIVIDE",
    "REMAINDER",
    "MINIMUM",
    "MAXIMUM",
    "AND",
    "OR",
    "XOR",
    "SHIFT_RIGHT_LOGICAL",
    "SHIFT_RIGHT_ARITHMETIC",
]
UNARY = ["NEGATE", "ABS", "SIGN", "NOT", "POPCNT", "COUNT_LEADING_ZEROS"]


@dataclass(frozen=True)
class Source:
    """A tensor of rank 0."""

    name: str
    dtype: DType
    bounds: Bounds = NO_BOUNDS


@dataclass(frozen=True)
class Drawn:
    """A formula, and what its leaves are."""

    formula: Scalar
    size: int
    values: dict[str, int]


@st.composite
def formulas(draw: st.DrawFn) -> Drawn:
    """A formula of one integer type; small types wrap around soon."""
    dtype = draw(st.sampled_from([DType.I8, DType.UI8, DType.I32, DType.I32]))
    size, values, sources = draw(st.integers(1, 9)), dict[str, int](), list[Source]()
    for name in ("x", "y"):
        low, high = sorted((draw(_numbers(dtype)), draw(_numbers(dtype))))
        ends: list[Bounds] = [NO_BOUNDS, (const(low), const(high)), (const(low), None), (None, const(high))]
        values[name] = draw(st.integers(low, high))
        if 0 <= values[name] < size:
            ends.append((const(0), N - 1))
        sources.append(Source(name, dtype, draw(st.sampled_from(ends))))

    def node(depth: int) -> Scalar:
        kind = draw(st.sampled_from(["leaf"] if depth == 0 else ["leaf", "unary", "binary", "binary", "select"]))
        if kind == "unary":
            return Unary(UnaryFn[draw(st.sampled_from(UNARY))], node(depth - 1), dtype)
        if kind == "binary":
            return Binary(BinaryFn[draw(st.sampled_from(BINARY))], node(depth - 1), node(depth - 1), dtype)
        if kind == "select":
            return Select(condition(depth - 1), node(depth - 1), node(depth - 1))
        leaf = draw(st.sampled_from(["load", "load", "constant", "size"]))
        if leaf == "constant":
            return Const(draw(_numbers(dtype)), dtype)
        if leaf == "size":
            dim = draw(st.sampled_from([N, N - 1, 2 * N]))
            return FromDim(dim, dtype) if dtype is I32 else Convert(FromDim(99 * dim, DType.I64), dtype)
        return Load(draw(st.sampled_from(sources)), ())

    def condition(depth: int) -> Scalar:
        kind = draw(st.sampled_from(["compare"] * 3 + ["and", "or", "not", "differ"]))
        if kind == "compare" or depth == 0:
            return Compare(draw(st.sampled_from(list(Direction))), node(0), node(0))
        if kind == "not":
            return Unary(UnaryFn.NOT, condition(depth - 1), DType.I1)
        if kind == "differ":
            return Compare(Direction.NE, condition(depth - 1), condition(depth - 1))
        return Binary(BinaryFn[kind.upper()], condition(depth - 1), condition(depth - 1), DType.I1)

    return Drawn(node(3), size, values)


def _numbers(dtype: DType) -> st.SearchStrategy[int]:
    low, high = dtype.integer_bounds
    return st.integers(max(low, -4), 4) | st.sampled_from([low, low + 1, high - 1, high])


def value_of(drawn: Drawn, formula: Scalar) -> int:
    arrays = {name: np.array(value, numpy_dtype(drawn.formula.dtype)) for name, value in drawn.values.items()}
    return int(evaluate(formula, {Sym("n"): drawn.size}, arrays))


@settings(max_examples=200)
@given(formulas())
def test_values_lie_between_their_bounds(drawn: Drawn) -> None:
    value, at = value_of(drawn, drawn.formula), {Sym("n"): drawn.size}
    low, high = bounds(drawn.formula, FACTS.judge)
    note(f"{low} <= {value} <= {high} at {at}")
    assert low is None or low.evaluate(at) <= value
    assert high is None or value <= high.evaluate(at)
    least, greatest = FACTS.interval(of(Data(drawn.formula)))
    assert least is None or least <= value
    assert greatest is None or value <= greatest


@settings(max_examples=100)
@given(formulas())
@example(Drawn(Select(Compare(Direction.LT, Const(1, I32), FromDim(N, I32)), Const(0, I32), Const(1, I32)), 1, {}))
def test_decided_conditions_are_right(drawn: Drawn) -> None:
    for part in (drawn.formula, *([drawn.formula.condition] if isinstance(drawn.formula, Select) else [])):
        if part.dtype.is_bool and (found := decide(part, FACTS.judge)) is not None:
            assert found == bool(value_of(drawn, part))
    if not drawn.formula.dtype.is_bool:
        canonical = FACTS.canonical(of(Data(drawn.formula)))
        note(f"{canonical}")
        assert value_of(drawn, FromDim(canonical, DType.I64)) == value_of(drawn, drawn.formula)


X = Load(Source("x", I32), ())
AT = Load(Source("at", I32, (const(0), N - 1)), ())
SIZE = FromDim(N, I32)


def below(x: Scalar, y: Scalar) -> Compare:
    return Compare(Direction.LT, x, y)


def add(x: Scalar, y: Scalar) -> Binary:
    return Binary(BinaryFn.ADD, x, y, I32)


ZERO = Const(0, I32)
REMAINDER = Binary(BinaryFn.REMAINDER, X, SIZE, I32)
MIXED = Compare(Direction.NE, below(REMAINDER, ZERO), below(SIZE, ZERO))


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        (AT, (const(0), N - 1)),
        (add(AT, Const(1, I32)), (const(1), N)),
        (Binary(BinaryFn.SUBTRACT, FromDim(N - 1, I32), AT, I32), (const(0), N - 1)),
        (Select(below(AT, ZERO), add(AT, SIZE), AT), (const(0), N - 1)),
        (Binary(BinaryFn.MINIMUM, Binary(BinaryFn.MAXIMUM, X, ZERO, I32), FromDim(N - 1, I32), I32), (const(0), N - 1)),
        (Select(Binary(BinaryFn.AND, MIXED, Compare(Direction.NE, REMAINDER, ZERO), DType.I1), add(REMAINDER, SIZE),
                REMAINDER), (const(0), N - 1)),
        (Convert(below(X, AT), I32), (const(0), const(1))),
        (Convert(Load(Source("byte", DType.UI8), ()), I32), (const(0), const(255))),
        (Binary(BinaryFn.AND, X, Const(15, I32), I32), (const(0), const(15))),
        (Binary(BinaryFn.MULTIPLY, AT, Const(-1, I32), I32), (-N + 1, const(0))),
    ],
)  # fmt: skip
def test_bounds_of_indices(formula: Scalar, wanted: tuple[Dim, Dim]) -> None:
    assert bounds(formula, FACTS.judge) == wanted
    index = of(Data(formula))
    assert FACTS.at_least(index, wanted[0]).is_true
    assert FACTS.at_least(wanted[1], index).is_true


def test_indices_in_bounds_are_not_clamped() -> None:
    index = of(Data(AT))
    assert FACTS.canonical(maximum(0, minimum(index, N - 1))) == index
    assert FACTS.canonical(of(Data(Select(below(AT, ZERO), add(AT, SIZE), AT)))) == index


@pytest.mark.parametrize(
    ("fn", "a", "b", "wanted"),
    [
        (BinaryFn.MINIMUM, AT, SIZE, AT), (BinaryFn.MINIMUM, SIZE, AT, AT), (BinaryFn.MAXIMUM, AT, SIZE, SIZE),
        (BinaryFn.MAXIMUM, SIZE, AT, SIZE), (BinaryFn.MINIMUM, AT, X, None), (BinaryFn.MAXIMUM, X, AT, None),
    ],
)  # fmt: skip
def test_an_extreme_is_the_side_that_it_is_known_to_be(
    fn: BinaryFn, a: Scalar, b: Scalar, wanted: Scalar | None
) -> None:
    extreme = Binary(fn, a, b, I32)
    assert FACTS.canonical(of(Data(extreme))) == FACTS.canonical(of(Data(extreme if wanted is None else wanted)))
    assert wanted is None or FACTS.canonical(of(Data(extreme))) != of(Data(extreme))


def test_an_index_says_nothing_of_the_size() -> None:
    """There is an element only if the size is not 0, so that one exists must not be concluded from its bounds."""
    facts = Facts.empty().assume_at_least(N, 0, "a size", NOWHERE)
    assert facts.at_least(N - 1 - of(Data(AT)), 0).is_true
    assert not facts.at_least(N, 1).known


def test_sums_that_may_wrap_around_have_no_bounds() -> None:
    twice = add(Load(Source("at", I32, (const(0), 2 * N)), ()), SIZE)
    assert bounds(twice, FACTS.judge)[1] == const(2**31 - 1)
    assert not FACTS.at_least(of(Data(twice)), 0).known
