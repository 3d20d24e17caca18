"""What proves that a mask hides a block of scores holds for every score of the block."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shlo_disc.expr.dim import Dim, Sym, const, of
from shlo_disc.expr.evaluate import evaluate
from shlo_disc.expr.scalar import Arg, Binary, Compare, Const, FromDim, InRange, Scalar, Select, Unary
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.attention.masks import END_KEY, END_ROW, FIRST_KEY, FIRST_ROW, hidden_blocks

ROW, KEY = Sym("%r"), Sym("%k")
SIZE = 6  # rows, and keys
FILL, SHOWN = -9.0, 1.0
BLOCKS = [
    (first, end, start, stop)
    for first, end, start, stop in itertools.product((0, 2, 5), (1, 3, 6), (0, 1, 4), (1, 5, 6))
    if first < end and start < stop
]


def linear() -> st.SearchStrategy[Dim]:
    """Linear in the row and in the key, each with weights of both signs."""

    def of_weights(row: int, key: int, constant: int) -> Dim:
        return row * of(ROW) + key * of(KEY) + constant

    return st.builds(of_weights, st.integers(-2, 2), st.integers(-2, 2), st.integers(-6, 6))


def integers() -> st.SearchStrategy[Scalar]:
    return st.one_of(
        linear().map(lambda dim: FromDim(dim, DType.I32)), st.integers(-6, 6).map(lambda n: Const(n, DType.I32))
    )


def conditions() -> st.SearchStrategy[Scalar]:
    comparisons = st.builds(Compare, st.sampled_from(list(Direction)), integers(), integers())
    ranges = st.builds(InRange, linear(), st.integers(-4, 2).map(const), st.integers(-2, 5).map(const))

    def joined(inner: st.SearchStrategy[Scalar]) -> st.SearchStrategy[Scalar]:
        both = st.builds(Binary, st.sampled_from((BinaryFn.AND, BinaryFn.OR)), inner, inner, st.just(DType.I1))
        return both | st.builds(Unary, st.just(UnaryFn.NOT), inner, st.just(DType.I1))

    return st.recursive(comparisons | ranges, joined, max_leaves=4)


@settings(max_examples=400)
@given(conditions(), st.booleans())
def test_a_block_that_is_proven_hidden_has_no_score(condition: Scalar, fills_where_true: bool) -> None:
    x, fill = Arg("x", DType.F32), Const(FILL, DType.F32)
    score = Select(condition, fill, x) if fills_where_true else Select(condition, x, fill)
    found = hidden_blocks(score, ROW, KEY)
    if found is None:
        return
    assert found.fill == FILL
    for first, end, start, stop in BLOCKS:
        block = {FIRST_ROW: first, END_ROW: end, FIRST_KEY: start, END_KEY: stop}
        if evaluate(found.proof, block, {}):
            for row, key in itertools.product(range(first, end), range(start, stop)):
                value = evaluate(score, {ROW: row, KEY: key}, {}, {"x": np.asarray(SHOWN, np.float32)})
                assert float(value) == FILL, (row, key, block)


def test_what_looks_back_is_hidden_whole() -> None:
    """A proof is found for windows of keys before and after the row, written as one difference or as two sides."""
    x, fill = Arg("x", DType.F32), Const(FILL, DType.F32)
    row, key = (FromDim(of(symbol), DType.I32) for symbol in (ROW, KEY))
    ahead = FromDim(of(KEY) - of(ROW), DType.I32)
    for condition in (Compare(Direction.GE, row, key), Compare(Direction.LE, ahead, Const(0, DType.I32))):
        found = hidden_blocks(Select(condition, x, fill), ROW, KEY)
        assert found is not None
        hides = [
            bool(evaluate(found.proof, {FIRST_ROW: a, END_ROW: a + 2, FIRST_KEY: b, END_KEY: b + 2}, {}))
            for a, b in ((0, 2), (0, 1), (2, 0))
        ]
        assert hides == [True, False, False]
