"""Bounds of one function, one quotient or one product, at every small number: no rule can be wrong and not be met."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.expr.bounds import bounds
from shlo_disc.expr.dim import Dim, const, symbol
from shlo_disc.expr.evaluate import evaluate
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.intervals import Interval, quotient, remainder, times
from shlo_disc.expr.scalar import Binary, Load, Scalar, Unary
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType, numpy_dtype
from tests.expr.test_bounds import BINARY, UNARY, Source

ENDS = (-9, -2, -1, 0, 1, 3, 8)
RANGES = tuple(combinations_with_replacement(ENDS, 2))
OPEN: tuple[Interval, ...] = (*RANGES, *((None, end) for end in ENDS), *((end, None) for end in ENDS), (None, None))
POINTS = range(-14, 15)


def inside(interval: Interval) -> list[int]:
    """The small numbers in an interval."""
    low, high = interval
    return [x for x in POINTS if (low is None or low <= x) and (high is None or x <= high)]


def check(formula: Scalar, sources: list[Source], ranges: list[Interval]) -> None:
    """Evaluate a formula at all numbers of its sources' ranges at once."""
    low, high = bounds(formula, Facts.empty().judge)
    grids = np.meshgrid(*map(inside, ranges), indexing="ij")
    for values in zip(*(grid.ravel() for grid in grids), strict=True):
        arrays = {s.name: np.array(v, numpy_dtype(s.dtype)) for s, v in zip(sources, values, strict=True)}
        found = int(evaluate(formula, {}, arrays))
        assert low is None or low.evaluate({}) <= found, (formula, values)
        assert high is None or found <= high.evaluate({}), (formula, values)


def sources_of(ranges: list[Interval], dtype: DType) -> list[Source]:
    """A tensor of rank 0 for each range."""
    dims: list[tuple[Dim, Dim]] = [(const(low or 0), const(high or 0)) for low, high in ranges]
    return [Source(f"x{k}", dtype, ends) for k, ends in enumerate(dims)]


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name: str) -> None:
    for ends in RANGES:
        sources = sources_of([ends], DType.I8)
        check(Unary(UnaryFn[name], Load(sources[0], ()), DType.I8), sources, [ends])


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name: str) -> None:
    for first, second in product(RANGES[::2], RANGES[1::2]):
        sources = sources_of([first, second], DType.I8)
        a, b = (Load(source, ()) for source in sources)
        check(Binary(BinaryFn[name], a, b, DType.I8), sources, [first, second])


def values(function: Callable[[int, int], int], a: Interval, b: Interval) -> Iterator[int]:
    """What a function gives for all small numbers of two intervals. A divisor counts as not zero."""
    for x, y in product(inside(a), inside(b)):
        if y or function is product_of:
            yield function(x, y)


def product_of(x: int, y: int) -> int:
    return x * y


def quotient_of(x: int, y: int) -> int:
    return x // y


def remainder_of(x: int, y: int) -> int:
    return x % y


RULES = [(times, product_of), (quotient, quotient_of), (remainder, remainder_of)]


@pytest.mark.parametrize(("rule", "function"), RULES, ids=["times", "quotient", "remainder"])
def test_rules_of_intervals(
    rule: Callable[[Interval, Interval], Interval], function: Callable[[int, int], int]
) -> None:
    for a, b in product(OPEN, OPEN):
        low, high = rule(a, b)
        for value in values(function, a, b):
            assert low is None or low <= value, (a, b)
            assert high is None or value <= high, (a, b)


SIZES = N, S, T = symbol("n"), symbol("s"), symbol("t")


@pytest.mark.parametrize("offset", [-3, -1, 1, 2, 5])
@pytest.mark.parametrize("divisors", [(const(2), const(3)), (const(4), T), (S, const(3)), (S, T)], ids=str)
def test_quotients_of_shifted_quotients(offset: int, divisors: tuple[Dim, Dim]) -> None:
    facts = Facts.empty()
    for size in SIZES:
        facts = facts.assume_at_least(size, 0, "a size", NOWHERE)
    dim = (N // divisors[0] + offset) // divisors[1]
    simple = facts.canonical(dim)
    for values in product(range(30), (1, 2, 5), (1, 3, 4)):
        at = {symbol: value for size, value in zip(SIZES, values, strict=True) for symbol in size.symbols()}
        first, second = (divisor.evaluate(at) for divisor in divisors)
        assert simple.evaluate(at) == (values[0] // first + offset) // second
