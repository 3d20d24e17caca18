"""The language of shapes: what it says, its round trips, and every error with the place that it points to."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shlo_disc import ArgumentTypeError, ParseError
from shlo_disc.expr.dim import Dim, const, symbol
from shlo_disc.jit.shape_specs import RESERVED, annotated_shapes, read_shape, read_shapes

pytestmark = pytest.mark.quick

_HELP = "expected a size: a name, a number, '_', '...', '*name', or a sum or product such as 2*s+1"

names = st.from_regex(r"[a-z][a-z0-9]{0,3}", fullmatch=True).filter(lambda name: name not in RESERVED | {"or"})
numbers = st.integers(0, 300)


@st.composite
def sizes(draw: st.DrawFn, depth: int = 2) -> tuple[str, Dim]:
    """The text of a size, and what it is."""
    if depth == 0 or draw(st.booleans()):
        if draw(st.booleans()):
            name = draw(names)
            return name, symbol(name)
        number = draw(numbers)
        return str(number), const(number)
    (left, x), (right, y) = draw(sizes(depth - 1)), draw(sizes(depth - 1))
    match draw(st.sampled_from("+-*")):
        case "+":
            return f"{left}+{right}", x + y
        case "-":
            return f"{left}-({right})", x - y
        case _:
            return f"({left})*({right})", x * y


@given(st.lists(sizes(), max_size=4))
def test_sizes_are_read_as_they_are_written(written: list[tuple[str, Dim]]) -> None:
    text = " ".join(one for one, _ in written)
    spec = read_shape(text)
    assert spec.dims == tuple(dim for _, dim in written)
    assert spec.resolve(len(written), "x") == spec.dims


@given(st.lists(sizes(), max_size=4))
def test_dims_are_read_as_they_are_shown(written: list[tuple[str, Dim]]) -> None:
    """Python's text of a dim is in the language once its spaces are gone."""
    dims = tuple([dim for _, dim in written])
    assert (
        read_shape(
            " ".join(
                str(dim).replace(" ", "").replace("-", "0-", 1) if str(dim)[0] == "-" else str(dim).replace(" ", "")
                for dim in dims
            )
        ).dims
        == dims
    )


@given(st.lists(names, max_size=3), st.lists(names, max_size=3), st.integers(0, 3))
def test_a_variadic_stands_for_the_axes_that_are_left(before: list[str], after: list[str], more: int) -> None:
    rank = len(before) + more + len(after)
    ends = [symbol(name) for name in before], [symbol(name) for name in after]
    named = read_shape(" ".join([*before, "*batch", *after])).resolve(rank, "x")
    assert named == (*ends[0], *[symbol(f"batch_{k}") for k in range(more)], *ends[1])
    anonymous = read_shape(" ".join([*before, "...", *after])).resolve(rank, "x")
    assert anonymous == (*ends[0], *[symbol(f"x_{len(before) + k}") for k in range(more)], *ends[1])


def test_names_of_numbers_and_sizes_of_their_own() -> None:
    assert read_shape("channels=3 _ b").resolve(3, "args[0]['x']") == (const(3), symbol("args_0_x_1"), symbol("b"))
    assert read_shape("").resolve(0, "x") == ()
    assert read_shape("b  \t s\n").dims == (symbol("b"), symbol("s"))


def test_one_text_for_all_arguments() -> None:
    found = read_shapes(", b s,, 3")
    assert [one and one.text for one in found] == [None, "b s", None, "3"]
    assert read_shapes(" , ,") == (None, None, None)


@pytest.mark.parametrize(
    ("text", "column", "marked", "message"),
    [
        ("b #s", 3, "#s", "found '#', expected a size: broadcasting sizes are not supported"),
        ("?b", 1, "?b", "found '?', expected a size: broadcasting sizes are not supported"),
        ("x=#3", 1, "x=#3", "found '#', expected a size: broadcasting sizes are not supported"),
        ("b ... *c", 7, "*c", "expected one of '...' and '*name' at most, found a second one"),
        ("*b s ...", 6, "...", "expected one of '...' and '*name' at most, found a second one"),
        ("1.5", 1, "1.5", f"found '1.5', {_HELP}"),
        ("b s/2", 3, "s/2", f"found 's/2', {_HELP}"),
        ("-3", 1, "-3", f"found '-3', {_HELP}"),
        ("b+", 1, "b+", f"found 'b+', {_HELP}"),
        ("True", 1, "True", f"found 'True', {_HELP}"),
        ("b == 3", 3, "==", f"found '==', {_HELP}"),
        ("f(x)", 1, "f(x)", f"found 'f(x)', {_HELP}"),
        ("s%2", 1, "s%2", f"found 's%2', {_HELP}"),
        ("...b", 1, "...b", f"found '...b', {_HELP}"),
        ("n=", 1, "n=", f"found 'n=', {_HELP}"),
        ("2b", 1, "2b", f"found '2b', {_HELP}"),
        ("(" * 500, 1, None, f"found '{'(' * 500}', {_HELP}"),
        ("*", 1, "*", "found '', expected the name of a size"),
        ("*1", 1, "*1", "found '1', expected the name of a size"),
        ("b max", 3, "max", "found 'max', expected the name of a size"),
        ("2*mod", 1, "2*mod", "found 'mod', expected the name of a size"),
    ],
)
def test_errors_point_at_the_word(text: str, column: int, marked: str | None, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_shape(text)
    head, *lines = str(caught.value).splitlines()
    assert head == f"shapes:1:{column}: error: {message}"
    if marked is not None:
        assert lines == [f"  {text}", " " * (column + 1) + "^" * len(marked)]


@pytest.mark.parametrize(
    ("text", "rank", "message"),
    [
        ("b s", 3, "x: found rank 3, expected 2: 'b s'"),
        ("", 1, "x: found rank 1, expected 0: ''"),
        ("b ... s", 1, "x: found rank 1, expected at least 2: 'b ... s'"),
    ],
)
def test_errors_of_ranks(text: str, rank: int, message: str) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        read_shape(text).resolve(rank, "x")
    assert str(caught.value) == message


@dataclass(frozen=True)
class Float:
    """As jaxtyping's types of arrays."""

    dim_str: str


@dataclass(frozen=True)
class Odd:
    """Something else that has the attribute."""

    dim_str: int


def test_annotations_give_shapes() -> None:
    found = annotated_shapes({"x": Float("b s"), "y": int, "z": Odd(3), "w": Float("... 3"), "return": Float("b")})
    assert {name: one.text for name, one in found.items()} == {"x": "b s", "w": "... 3"}
    with pytest.raises(ParseError, match="broadcasting"):
        annotated_shapes({"x": Float("#b")})
