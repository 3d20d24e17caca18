"""SymPy judges what facts make of dims: by ideals where all is polynomial, by values where it is not."""

from __future__ import annotations

import itertools
from typing import Any, cast

import sympy  # pyright: ignore[reportMissingTypeStubs]
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.expr.dim import Dim, FloorDiv, Mod, Sym
from shlo_disc.expr.facts import Facts, Truth
from shlo_disc.expr.sympy_bridge import sympy_symbol, to_sympy
from tests.expr.trees import NAMES, Leaf, Tree, dim_of, trees

SYMPY = cast("Any", sympy)
SYMBOLS = [sympy_symbol(Sym(name)) for name in NAMES]
DEGREE = 3  # of polynomials whose Gröbner basis is asked for
GRID = 4  # sizes 0, 1, 2, 3 of each name


def degree(dim: Dim) -> int:
    return max((len(factors) for factors, _ in dim.terms), default=0)


@settings(max_examples=50)
@given(st.lists(st.tuples(trees("+ - *"), trees("+ - *")), min_size=1, max_size=3), trees("+ - *"))
def test_canonical_forms_differ_by_multiples_of_what_is_assumed(relations: list[tuple[Tree, Tree]], tree: Tree) -> None:
    dim, zeros = dim_of(tree), [dim_of(left) - dim_of(right) for left, right in relations]
    assume(all(0 < degree(zero) <= DEGREE for zero in zeros))
    facts = Facts.empty()
    for zero in zeros:
        facts = facts.assume_equal(zero, 0, "drawn", NOWHERE)
    assume(not facts.definitions)  # an integer solution, and no polynomial
    canonical = facts.canonical(dim)
    note(f"{facts.facts}: {dim} -> {canonical}")
    basis = SYMPY.groebner([to_sympy(zero) for zero in zeros], *SYMBOLS, order="grevlex")
    assert basis.contains(to_sympy(dim - canonical).expand())


@st.composite
def relations(draw: st.DrawFn) -> tuple[str, Dim, int]:
    """What may be assumed of a dim: the relation with 0, or its divisor."""
    dim = dim_of(draw(trees()))
    return draw(st.sampled_from(("==", ">=", "%"))), dim, draw(st.integers(2, 4))


def holds(relation: tuple[str, Dim, int], point: dict[Sym, int]) -> bool:
    kind, dim, k = relation
    value = dim.evaluate(point)
    return {"==": value == 0, ">=": value >= 0, "%": value % k == 0}[kind]


def divides(dim: Dim, point: dict[Sym, int]) -> bool:
    """Whether no divisor is 0; there canonical forms may differ."""
    return all(a.denominator.evaluate(point) for a in dim.atoms() if isinstance(a, FloorDiv | Mod))


@settings(max_examples=150)
@given(st.lists(relations(), max_size=3), trees(), trees(), st.randoms(use_true_random=False))
def test_conclusions_hold_at_all_small_sizes(
    given_relations: list[tuple[str, Dim, int]], left: Tree, right: Tree, random: Any
) -> None:
    facts = Facts.empty()
    for name in NAMES:
        facts = facts.assume_at_least(dim_of(Leaf(name)), 0, "a size", NOWHERE)
    for kind, dim, k in given_relations:
        match kind:
            case "==":
                facts = facts.assume_equal(dim, 0, "drawn", NOWHERE)
            case ">=":
                facts = facts.assume_at_least(dim, 0, "drawn", NOWHERE)
            case _:
                facts = facts.assume_divides(k, dim, "drawn", NOWHERE)
    a, b = dim_of(left), dim_of(right)
    involved = [a, b, *(dim for _, dim, _ in given_relations)]
    grid = [dict(zip(map(Sym, NAMES), sizes, strict=True)) for sizes in itertools.product(range(GRID), repeat=4)]
    points = [p for p in grid if all(divides(d, p) for d in involved) and all(holds(r, p) for r in given_relations)]
    equal, at_least, same = facts.equal(a, b), facts.at_least(a, b), facts.canonical(a) == facts.canonical(b)
    difference = to_sympy(a - b)
    for point in random.sample(points, min(len(points), 6)):
        value = difference.subs({sympy_symbol(sym): size for sym, size in point.items()})
        assert not same or value == 0
        assert value == (a - b).evaluate(point)
    for point in points:
        x, y = a.evaluate(point), b.evaluate(point)
        assert equal is not (Truth.FALSE if x == y else Truth.TRUE), f"{a} == {b} at {point}"
        assert at_least is not (Truth.FALSE if x >= y else Truth.TRUE), f"{a} >= {b} at {point}"
