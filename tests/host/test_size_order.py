"""Sums of sizes are compared by proofs, and what is proven holds."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.expr.dim import Dim, Sym, const, maximum, minimum, of, symbol
from shlo_disc.expr.facts import Facts
from shlo_disc.host.size_order import SizeOrder

pytestmark = pytest.mark.quick

A, B = Sym("a"), Sym("b")
SIZES = (
    const(0), const(4), const(64), symbol("a") * 4, symbol("b") * 4, symbol("a") * symbol("b"), symbol("a") // 2 * 4,
    symbol("b") * symbol("a") - symbol("b") * (symbol("a") // 3), const(1) - symbol("b") % 4,
    symbol("a") * symbol("a") - symbol("a") * ((symbol("b") - 5) % symbol("a")),
    (symbol("a") * 4 + 63) // 64 * 64, minimum(symbol("a"), 8), maximum(symbol("b"), 3), symbol("a") - 1,
)  # fmt: skip


def order(definitions: Mapping[Sym, Dim], most: int = 1000) -> SizeOrder:
    facts = Facts.empty().assume_at_least(of(A), 1, "a size", NOWHERE).assume_at_least(of(B), 0, "a size", NOWHERE)
    points = [dict[Sym, int]({A: 16, B: 5})]
    for name, dim in definitions.items():
        points[0][name] = dim.evaluate(points[0])
    return SizeOrder(facts, tuple(definitions.items()), points, most)


def sums() -> st.SearchStrategy[Dim]:
    return st.lists(st.sampled_from(SIZES), min_size=1, max_size=3).map(lambda dims: sum(dims, const(0)))


@settings(max_examples=300)
@given(st.lists(st.lists(sums(), min_size=1, max_size=3), min_size=1, max_size=3), sums(), sums(), st.integers(0, 9))
def test_what_is_proven_holds(stacks: list[list[Dim]], high: Dim, low: Dim, size: int) -> None:
    definitions = dict[Sym, Dim]()
    for k, stack in enumerate(stacks):
        below = [of(name) for name in definitions]
        definitions[Sym(f"offset{k}")] = maximum(*stack, *(name + stack[0] for name in below))
    names = [of(name) for name in definitions]
    one = order(definitions)
    for high_, low_ in ((high + names[-1], low + names[0]), (names[-1], low + names[0]), (names[0], low)):
        if one.at_least(high_, low_):
            values = {A: size + 1, B: 9 - size}
            for name, dim in definitions.items():
                values[name] = dim.evaluate(values)
            assert high_.evaluate(values) >= low_.evaluate(values), f"{high_} >= {low_} at {values}"


def test_an_offset_is_at_least_what_it_is_the_largest_of() -> None:
    first, second = Sym("offset0"), Sym("offset1")
    end = of(A) * 64
    one = order({first: maximum(end, of(B) * 64), second: maximum(of(first) + 64, of(B) * 128)})
    assert one.at_least(of(first), end)
    assert one.at_least(of(second), end + 64)
    assert one.at_least(maximum(of(second), 8), of(first) + 64)
    assert not one.at_least(of(first), end + 1)
    assert not one.at_least(of(first), of(second))
    assert one.is_multiple(of(second) + of(A) * 64, 64)
    assert not one.is_multiple(of(second) + of(A), 64)


def test_all_of_what_is_subtracted_has_to_do() -> None:
    """Each of what one offset stands for is below another of what the other does."""
    low, high = Sym("offset0"), Sym("offset1")
    parts = [of(A) * 64, of(B) * 64]
    one = order({low: maximum(*parts), high: maximum(*(part + 64 for part in parts))})
    assert one.at_least(of(high), of(low) + 64)
    assert not one.at_least(of(high), of(low) + 65)


def test_what_holds_at_the_points_without_a_proof_is_a_condition() -> None:
    a, b = of(A), of(B)
    for one in (order({}), order({}, most=0)):
        assert not one.at_least(a, b), "16 and 5 at the point, but not everywhere"
        assert not one.conditions
        assert one.holds_in_calls(a - b)
        assert list(one.conditions) == [a - b]
        assert not one.holds_in_calls(b - a)
        assert not one.holds_in_calls(const(-1))
        assert list(one.conditions) == [a - b]
    facts = Facts.empty().assume_at_least(a, 1, "a size", NOWHERE).assume_at_least(b, 0, "a size", NOWHERE)
    for low, holds in ((7, True), (4, False)):
        point = dict[Sym, int]({A: low, B: 5})
        assert SizeOrder(facts, (), [{A: 16, B: 5}], 1000, lambda point=point: [point]).holds_in_calls(a - b) == holds
    assert order({}).holds_in_calls(a * b)
    assert not order({}, most=0).at_least(a, const(0)), "there are no steps left"


def test_a_quotient_of_a_size_times_another_is_subtracted() -> None:
    a, b = of(A), of(B)
    for part in (a // 2, a % 3, b // 7):
        assert order({}).at_least((b * (a + b) - b * part + 3) // 4 * 64, const(0))
    assert order({}).at_least(a * a - a * (const(-2) % a), const(0))
    assert not order({}).at_least(a * a - a * ((a + 1) % b), const(0)), "b may be 0, or larger than a"
    assert not order({}).at_least(b * (a - 1) - b * ((a + 1) // 2), const(0)), "a may be 1"
    c = Sym("c")  # of any sign
    facts = Facts.empty().assume_at_least(of(A), 1, "a size", NOWHERE)
    assert not SizeOrder(facts, (), [{A: 3, c: 2}], 1000).at_least(of(c) * a - of(c) * (a // 2), const(0))
