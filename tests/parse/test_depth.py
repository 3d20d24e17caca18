"""Brackets are nested to a limit that every stack has room for."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable

import pytest

from shlo_disc.diagnostics import ParseError
from shlo_disc.ir.depth import MOST_NESTED
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from shlo_disc.verify.ops import verify_ops


def attribute(opening: str, innermost: str, closing: str) -> str:
    depth = MOST_NESTED - 3
    return f"module attributes {{a = {opening * depth}{innermost}{closing * depth}}} {{\n}}"


def loops() -> str:
    """Nest `while` in its pretty form, which recurs the most for a bracket."""
    opening, closing = "", ""
    for level in range(MOST_NESTED - 4):
        opening += (
            f"%{level} = stablehlo.while(%x{level} = %a) : tensor<i32>\n"
            "cond {\nstablehlo.return %p : tensor<i1>\n} do {\n"
        )
        closing += "stablehlo.return %a : tensor<i32>\n}\n"
    inside = f"{opening}{closing}return %a : tensor<i32>"
    return f"module {{\nfunc.func @main(%a: tensor<i32>, %p: tensor<i1>) -> tensor<i32> {{\n{inside}\n}}\n}}"


DEEPEST = (
    loops(),
    attribute("[", "", "]"),
    attribute("{a = ", "1", "}"),
    attribute("tuple<", "", ">"),
    attribute("!stablehlo.future<", "", ">"),
    attribute("() -> (", "", ")"),
    attribute("#stablehlo.x<a = ", "1", ">"),
    attribute("tensor<4xf32, ", "1", ">"),
    attribute("#x<", "", ">"),
    f'module {{\n}} loc({"callsite(" * 70}"a"{" at unknown)" * 70})',
)


def use(text: str) -> None:
    """Do with a program all that recurs into it."""
    module = parse_module(text)
    verify_ops(module)
    for generic in (False, True):
        printed = print_module(module, generic=generic, locations=True)
        assert print_module(parse_module(printed), generic=generic, locations=True) == printed
    assert len(list(module.walk())) == text.count("stablehlo.while") + text.count("return ")


def called_deeply(call: Callable[[], None], left: int) -> None:
    """Call where the stack has room for about `left` more calls."""

    def descend(depth: int) -> None:
        if depth:
            descend(depth - 1)
        else:
            call()

    descend(sys.getrecursionlimit() - len(inspect.stack(0)) - left)


def test_one_bracket_more_is_refused_there() -> None:
    text = f"module attributes {{a = {'[' * MOST_NESTED}"
    with pytest.raises(ParseError, match="at most 80 nested brackets") as caught:
        parse_module(text)
    assert (caught.value.span.start, caught.value.span.end) == (len(text) - 1, len(text))


@pytest.mark.parametrize("text", DEEPEST)
def test_the_deepest_programs(text: str) -> None:
    use(text)


@pytest.mark.parametrize("text", DEEPEST)
def test_the_deepest_programs_from_a_deep_stack(text: str) -> None:
    called_deeply(lambda: use(text), 60)
