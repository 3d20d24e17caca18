"""Shapes with symbols: solving, and what is learned from calls, against brute force."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shlo_disc.expr.dim import Dim, const, symbol
from shlo_disc.expr.dim import Sym as Symbol
from shlo_disc.jit.abstraction import Abstraction, Shapes, SizeHistory, fixed, size_name

pytestmark = pytest.mark.quick

_LARGEST = 4  # value of a symbol, where all are tried
A, B, C = (symbol(name) for name in "abc")
_DIMS = (const(0), const(2), A, B, C, A + 1, 2 * A, 2 * B + A, A + B, A * B, B * C + A, 3 * C - 2, A * A)

abstractions = st.lists(st.lists(st.sampled_from(_DIMS), max_size=3).map(tuple), min_size=1, max_size=3).map(
    lambda shapes: Abstraction(tuple(shapes))
)


def brute_force(one: Abstraction, shapes: Shapes, largest: int) -> list[dict[str, int]]:
    """All values of the symbols, up to the largest, for which the abstraction is these shapes."""
    found = list[dict[str, int]]()
    for values in product(range(largest + 1), repeat=len(one.symbols)):
        sizes = dict(zip(one.symbols, values, strict=True))
        if tuple([tuple([dim.evaluate(sizes) for dim in shape]) for shape in one.shapes]) == shapes:
            found.append({symbol.name: value for symbol, value in sizes.items()})
    return found


@given(abstractions, st.lists(st.integers(0, _LARGEST), min_size=3, max_size=3))
def test_solve_finds_the_values(one: Abstraction, values: list[int]) -> None:
    sizes = dict(zip([Symbol(name) for name in "abc"], values, strict=True))
    shapes = tuple([tuple([dim.evaluate(sizes) for dim in shape]) for shape in one.shapes])
    found = one.solve(shapes)
    if found is None:  # a factor that is 0 hides another symbol, or a symbol stands only in products
        others = brute_force(one, shapes, _LARGEST)
        assert one.undefined or len(others) > 1 or 0 in values
    else:
        assert {symbol.name: value for symbol, value in found.items()} in brute_force(one, shapes, _LARGEST)
    if not one.undefined and 0 not in values:
        assert found == {symbol: sizes[symbol] for symbol in one.symbols}


@given(abstractions, abstractions, st.lists(st.integers(0, _LARGEST), min_size=3, max_size=3))
def test_solve_refuses_what_does_not_fit(one: Abstraction, other: Abstraction, values: list[int]) -> None:
    sizes = dict(zip([Symbol(name) for name in "abc"], values, strict=True))
    shapes = tuple([tuple([dim.evaluate(sizes) for dim in shape]) for shape in other.shapes])
    found = one.solve(shapes)
    if found is not None:
        assert fixed(shapes).shapes == one.substitute(found).shapes
    elif not one.undefined and [*map(len, one.shapes)] == [*map(len, shapes)]:
        assert all(0 in solution.values() for solution in brute_force(one, shapes, _LARGEST))


@given(abstractions)
def test_undefined_symbols_are_those_that_no_call_gives(one: Abstraction) -> None:
    """With the values 5, 7 and 11 all products differ, so `solve` fails for one reason alone."""
    sizes = {symbol: {"a": 5, "b": 7, "c": 11}[symbol.name] for symbol in one.symbols}
    shapes = tuple([tuple([dim.evaluate(sizes) for dim in shape]) for shape in one.shapes])
    assert (one.solve(shapes) is None) == bool(one.undefined)


def test_numbers_take_the_places_of_symbols() -> None:
    one = Abstraction(((A, A + B), (const(3),)))
    assert one.substitute({Symbol("a"): 2}).shapes == ((const(2), B + 2), (const(3),))
    assert (one.names, str(one)) == (("a", "b"), "[a, a + b], [3]")
    assert size_name("args[0]['x']", 1) == "args_0_x_1"
    assert size_name("[]", 0) == "size_0"


# --- what is learned --------------------------------------------------------------------------------------------------

RANKS = (2, 1, 2)
small = st.integers(0, 3)
calls = st.tuples(*[st.tuples(*[small] * rank) for rank in RANKS])
streams = st.lists(calls, min_size=1, max_size=8)
NAMES = ("x", "y", "z")


def learned(stream: list[Shapes], declared: tuple[tuple[Dim, ...] | None, ...] = (None,) * 3) -> SizeHistory:
    history = SizeHistory(NAMES, declared)
    for shapes in stream:
        history.add(shapes)
    return history


@given(streams)
def test_every_call_fits_what_was_learned_of_it(stream: list[Shapes]) -> None:
    for related in (False, True):
        found = learned(stream).abstraction(related=related)
        assert all(found.solve(shapes) is not None for shapes in stream)
        assert not found.undefined


@given(streams)
def test_sizes_share_a_symbol_if_they_were_always_equal(stream: list[Shapes]) -> None:
    columns = [*zip(*[[size for shape in shapes for size in shape] for shapes in stream], strict=True)]
    dims = [dim for shape in learned(stream).abstraction().shapes for dim in shape]
    for dim, sizes in zip(dims, columns, strict=True):
        assert (dim.constant is not None) == (len(set(sizes)) == 1)
    for (one, sizes), (other, others) in product(zip(dims, columns, strict=True), repeat=2):
        if one.constant is None and other.constant is None:
            assert (one == other) == (sizes == others)


@given(streams)
def test_as_many_abstractions_as_axes_and_one_more(stream: list[Shapes]) -> None:
    """Of calls that fit the last one, nothing is learned: so do families."""
    history, made = SizeHistory(NAMES, (None,) * 3), list[Abstraction]()
    for shapes in stream:
        if not any(one.solve(shapes) is not None for one in made):
            history.add(shapes)
            made.append(history.abstraction())
            assert made[-1].solve(shapes) is not None
    assert len(made) <= 1 + sum(RANKS)


@given(st.lists(calls, min_size=2, max_size=30))
def test_two_abstractions_if_all_variation_is_in_two_calls(stream: list[Shapes]) -> None:
    """All axes that ever change do so between the first two calls, to sizes of their own."""
    first = tuple([tuple([100 * number + axis for axis in range(rank)]) for number, rank in enumerate(RANKS)])
    second = tuple([tuple([size + 10 for size in shape]) for shape in first])
    found = learned([first, second]).abstraction()
    assert all(found.solve(shapes) is not None for shapes in stream)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=12, unique=True), st.integers(1, 5), st.integers(-3, 3))
def test_linear_relations_hold_in_all_calls(values: list[int], factor: int, offset: int) -> None:
    stream: list[Shapes] = [((n, 7), (factor * n + offset + 3,), (7, n)) for n in values]
    found = learned(stream).abstraction(related=True)
    x = found.shapes[0][0]
    assert found.shapes[1][0] == factor * x + (offset + 3)
    assert found.shapes[2] == (const(7), x)
    assert len(found.symbols) == 1
    for shapes in stream:
        assert found.solve(shapes) is not None


@given(streams)
def test_relations_are_no_wider_than_what_was_seen(stream: list[Shapes]) -> None:
    wide, narrow = learned(stream).abstraction(), learned(stream).abstraction(related=True)
    assert len(narrow.symbols) <= len(wide.symbols)
    for values in product(range(3), repeat=len(narrow.symbols)):
        sizes = dict(zip(narrow.symbols, values, strict=True))
        shapes = tuple([tuple([dim.evaluate(sizes) for dim in shape]) for shape in narrow.shapes])
        if all(size >= 0 for shape in shapes for size in shape):
            assert wide.solve(shapes) is not None


def test_declared_shapes_stay_and_keep_their_names() -> None:
    """A size that is learned gets none of the names that are declared, nor that of another one."""
    stream: list[Shapes] = [((3, 3), (4,), (3, 3)), ((5, 6), (7,), (8, 9))]
    declared = ((symbol("z_0"), symbol("y_0")), None, None)
    found = learned(stream, declared).abstraction()
    assert found.shapes[0] == declared[0]
    assert len(set(found.names)) == 5
    assert found.solve(((1, 2), (3,), (4, 5))) is not None
    assert found.solve(((1, 2), (1,), (2, 1))) is not None
