"""Index-like formulas, checked at every point of a small grid that satisfies the assumptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.expr.dim import Dim, FloorDiv, Mod, Sym, const, maximum, minimum, symbol, total
from shlo_disc.expr.facts import Facts, Truth

S, T, I, J = (symbol(name) for name in "stij")  # noqa: E741  # the usual name of an index
Point = dict[Sym, int]


def at_least(facts: Facts, *pairs: tuple[Dim, int | Dim]) -> Facts:
    for dim, bound in pairs:
        facts = facts.assume_at_least(dim, bound, "assumed", NOWHERE)
    return facts


def equal(facts: Facts, a: Dim, b: Dim | int) -> Facts:
    return facts.assume_equal(a, b, "assumed", NOWHERE)


def divides(facts: Facts, k: int, dim: Dim) -> Facts:
    return facts.assume_divides(k, dim, "assumed", NOWHERE)


NOTHING = Facts.empty()
SIZES = at_least(NOTHING, (S, 0), (T, 0))
POSITIVE = at_least(NOTHING, (S, 1), (T, 1))
INDEX_I, INDEX_J = Sym("i"), Sym("j")

Scenario = tuple[Facts, Callable[[int, int, int, int], bool]]
SCENARIOS: dict[str, Scenario] = {
    "nothing is known": (NOTHING, lambda s, t, i, j: True),  # noqa: ARG005
    "sizes": (SIZES, lambda s, t, i, j: s >= 0 and t >= 0),  # noqa: ARG005
    "a loop nest": (
        SIZES.with_index(INDEX_I, S).with_index(INDEX_J, T),
        lambda s, t, i, j: 0 <= i < s and 0 <= j < t,
    ),
    "constant extents": (
        POSITIVE.with_index(INDEX_I, const(3)).with_index(INDEX_J, const(4)),
        lambda s, t, i, j: s > 0 and t > 0 and 0 <= i < 3 and 0 <= j < 4,
    ),
    "one flat loop": (
        SIZES.with_index(INDEX_I, S * T),
        lambda s, t, i, j: s >= 0 and t >= 0 and 0 <= i < s * t,  # noqa: ARG005
    ),
    "a triangle": (
        SIZES.with_index(INDEX_I, S).with_range(INDEX_J, I, S + 1),
        lambda s, t, i, j: 0 <= i < s and t >= 0 and i <= j <= s + 1,
    ),
    "bounds of any sign": (
        at_least(NOTHING, (S, -2), (-T, -3), (2 * I, -3)).with_range(INDEX_J, -S, S + 1),
        lambda s, t, i, j: s >= -2 and t <= 3 and 2 * i >= -3 and -s <= j <= s + 1,
    ),
    "an order": (
        at_least(SIZES, (S, T), (I, 2 * T - 1)),
        lambda s, t, i, j: s >= t >= 0 and i >= 2 * t - 1,  # noqa: ARG005
    ),
    "an equation": (
        equal(SIZES.with_index(INDEX_I, S), S, T + 2),
        lambda s, t, i, j: t >= 0 and s == t + 2 and 0 <= i < s,  # noqa: ARG005
    ),
    "multiples of each other": (
        equal(SIZES, 2 * S, 3 * T).with_index(INDEX_J, T),
        lambda s, t, i, j: 2 * s == 3 * t and 0 <= j < t,  # noqa: ARG005
    ),
    "remainders": (
        divides(equal(SIZES, S % 3, 2), 2, 3 * I + J + 1),
        lambda s, t, i, j: s >= 0 and t >= 0 and s % 3 == 2 and (3 * i + j + 1) % 2 == 0,
    ),
    "a bounded quotient": (
        at_least(NOTHING, (S // 2, 1), (-(T // 3), 0)),
        lambda s, t, i, j: s // 2 >= 1 and t // 3 <= 0,  # noqa: ARG005
    ),
    "a product": (
        divides(at_least(SIZES, (S * T, 2)), 2, S * T),
        lambda s, t, i, j: s >= 0 and t >= 0 and s * t >= 2 and s * t % 2 == 0,  # noqa: ARG005
    ),
    "facts before the equation that changes them": (
        equal(divides(at_least(SIZES, (S + J, I), (S * I, -1)), 2, S * J), J, T - 1),
        lambda s, t, i, j: s >= 0 and t >= 0 and s + j >= i and s * i >= -1 and s * j % 2 == 0 and j == t - 1,
    ),
}


@dataclass(frozen=True)
class World:
    """Assumptions, and points that satisfy them, fresh symbols included."""

    facts: Facts
    points: tuple[Point, ...]


def _points(facts: Facts, holds: Callable[[int, int, int, int], bool]) -> Iterator[Point]:
    for values in product(range(-4, 7), repeat=4):
        if holds(*values):
            raw = dict(zip(map(Sym, "stij"), values, strict=True))
            fresh = {sym: definition.evaluate(raw) for sym, definition in facts.definitions}
            yield {**raw, **fresh}


@cache
def world(name: str) -> World:
    """Enumerate a scenario; of very many points, keep some that lie apart."""
    facts, holds = SCENARIOS[name]
    points = tuple(_points(facts, holds))
    assert points, f"no point satisfies {name}"
    return World(facts, points[:: max(1, len(points) // 150)])


WEIGHTS = st.sampled_from([1, 1, 1, 2, 3, 4, 6, -1, -2])
FACTORS = st.sampled_from([S, T, I, J, I, J, I * T, I * S, S * T, J * S, const(1), const(3)])
DIVISORS = st.sampled_from([*map(const, (2, 3, 4, 6)), S, T, S * T, 2 * S, 4 * T, S + 1, 2 * S + 2 * T, T * T + T])


@st.composite
def sums(draw: st.DrawFn) -> Dim:
    """Draw a polynomial."""
    return total(draw(WEIGHTS) * draw(FACTORS) for _ in range(draw(st.integers(1, 4))))


@st.composite
def nested(draw: st.DrawFn, depth: int) -> Dim:
    """Draw a quotient, a remainder or an extreme of sums."""
    inner = draw(nested(depth - 1)) if depth else draw(sums())
    other = draw(sums())
    match draw(st.sampled_from(["//", "%", "divmod", "min", "max", "-"])):
        case "min":
            return minimum(inner, other)
        case "max":
            return maximum(inner, other)
        case "-":
            return inner - other
        case operator:
            x = inner * draw(st.sampled_from([const(1), T, const(2)])) + other
            d = draw(DIVISORS)
            return {"//": x // d, "%": x % d, "divmod": x // d * d + x % d}[operator]


LINEAR = sums()
DIMS = nested(0) | nested(1) | nested(1)


def relevant(dims: tuple[Dim, ...], points: tuple[Point, ...]) -> list[Point]:
    """The points at which nothing is divided by zero (see `expr.dim`)."""
    divisors = {
        atom.denominator
        for dim in dims
        for atom in dim.atoms()
        if isinstance(atom, FloorDiv | Mod) and atom.denominator.constant is None
    }
    return [point for point in points if all(each.evaluate(point) for each in divisors)]


@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=60)
@given(dim=DIMS)
def test_canonical_forms_and_bounds_hold_everywhere(name: str, dim: Dim) -> None:
    facts, points = world(name).facts, world(name).points
    simple = facts.canonical(dim)
    note(f"{dim} -> {simple}")
    assert facts.canonical(simple) == simple
    low, high = facts.interval(dim)
    divisor = facts.divisor(dim)
    for point in relevant((dim,), points):
        value = dim.evaluate(point)
        assert simple.evaluate(point) == value
        assert low is None or low <= value
        assert high is None or value <= high
        assert value % divisor == 0 if divisor else value == 0


@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=40)
@given(a=LINEAR | DIMS, b=LINEAR | st.just(const(0)))
def test_decisions_hold_everywhere(name: str, a: Dim, b: Dim) -> None:
    facts = world(name).facts
    points = relevant((a,), world(name).points)
    differences = [a.evaluate(point) - b.evaluate(point) for point in points]
    if not differences:
        return
    for offset in (min(differences) - 1, min(differences), min(differences) + 1, max(differences)):
        shifted = b + offset
        found = facts.at_least(a, shifted)
        assert found is not Truth.TRUE or all(each >= offset for each in differences)
        assert found is not Truth.FALSE or all(each < offset for each in differences)
        found = facts.equal(a, shifted)
        assert found is not Truth.TRUE or all(each == offset for each in differences)
        assert found is not Truth.FALSE or all(each != offset for each in differences)
