"""No sum of two products in the functions of the device headers: a compiler may contract either of them into it.

Which one it takes differs between the copies that it makes of a loop, and so do the bits. One of the two is `times`,
which is never contracted (values/vec.h). Products that have a name are not looked at: tests/pipeline/test_positions.py
compares the bits themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shlo_disc.device import headers

HEADERS = sorted(headers.ROOT.glob("math/*.*h"))
# Products of complex numbers, whose own products are `times`.
OF_COMPLEX = {"x * x + y * y"}
NOT_CODE = re.compile(r"//[^\n]*|^\s*#\s*(?:include|if|elif|else|endif|pragma|undef)[^\n]*", re.MULTILINE)
INNERMOST = re.compile(r"\(([^()]*)\)")
BOUNDARY = re.compile(r"[,?:=<>&|]|\breturn\b")
TOKEN = re.compile(r"(?:0x)?\d[\w.]*(?:(?<=[eEpP])[+-]\d\w*)?|[A-Za-z_][\w.]*|[+\-*/%]")
NUMBER = re.compile(r"\d")


def terms(expression: str) -> list[list[str]]:
    """The terms of a sum without parentheses, as tokens; a sign in front of a term belongs to it."""
    found: list[list[str]] = [[]]
    for token in TOKEN.findall(expression):
        if token in "+-" and found[-1] and found[-1][-1] not in "+-*/%":
            found.append([])
        else:
            found[-1].append(token)
    return found


def is_product(term: list[str]) -> bool:
    """Whether a term ends with a multiplication; numbers are multiplied by the compiler."""
    operators = [token for token in term if token in "*/%"]
    return operators[-1:] == ["*"] and not all(NUMBER.match(token) for token in term if token not in "+-*/%")


def sums_of_products(text: str) -> Iterator[str]:
    for statement in re.split(r"[;{}]", NOT_CODE.sub("", text)):
        rest, parts = statement, list[str]()
        while (found := INNERMOST.search(rest)) is not None:
            parts.append(found[1])
            rest = f"{rest[: found.start()]}Q {rest[found.end() :]}"
        for part in (*parts, rest):
            for expression in BOUNDARY.split(part):
                first, *others = terms(expression)
                if others and is_product(first) and is_product(others[0]):
                    yield " ".join(expression.split())


@pytest.mark.parametrize(
    "sum_", ["a * b + c * d", "f(a) * b - 2.0 * d", "y = -a * b + c * (d + e)", "g(h, a * b - c * c)"]
)
def test_sums_of_two_products_are_found(sum_: str) -> None:
    assert list(sums_of_products(f"x = {sum_};"))


@pytest.mark.parametrize(
    "sum_", ["a * b + times(c, d)", "a * b / c + d * e", "a * b + c - d * e", "2 * 3.5 + a * b", "a * b"]
)
def test_other_sums_are_not(sum_: str) -> None:
    assert not list(sums_of_products(f"x = {sum_};"))


@pytest.mark.parametrize("path", HEADERS, ids=lambda path: path.name)
def test_no_sum_of_two_products(path: Path) -> None:
    assert set(sums_of_products(path.read_text())) <= OF_COMPLEX
