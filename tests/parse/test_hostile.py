"""Texts that are made to keep a parser busy are refused, or read, in time that grows as they do."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.parse.test_fuzz import SECONDS, check, limited

SIZE = 200_000


def many(text: str) -> str:
    return text * (SIZE // len(text))


def attribute(text: str) -> str:
    return f"module attributes {{a = {text}}} {{\n}}"


BLOB = f'dense<"0x{"0" * 5000}">'

TEXTS: Mapping[str, str] = {
    "quotes": many('"'),
    "escaped quotes": '"' + many('\\"'),
    "symbols without end": many('@"\\"'),
    "literals without end": many('dense<"'),
    "brackets in a literal": "dense<" + many("["),
    "long literals": many(BLOB),
    "long literals in a comment": "//" + many(BLOB),
    "long literals in words": many(f"x{BLOB}"),
    "sections without end": many("{-#"),
    "sections in strings": many('"{-#" ') + "#-}",
    "sections in a comment": "//" + many("{-#") + "#-}",
    "comments": many("// a\n"),
    "comments in strings": many('"//" '),
    "a comment of comments": many("//"),
    "marks": many("\n// -----\n"),
    "locations without end": many('loc("'),
    "a number": attribute("9" * SIZE),
    "a hexadecimal number": attribute("0x" + "F" * SIZE),
    "a size": attribute(f"tensor<{many('4')}xf32>"),
    "sizes": attribute(f"tensor<{many('4x')}f32>"),
    "one element in many lists": attribute(f"dense<{'[' * SIZE}1{']' * SIZE}> : tensor<{many('1x')}i32>"),
    "half of complex numbers": attribute(f"dense<[{many('(')}]> : tensor<4xcomplex<f32>>"),
    "names of attributes": attribute("1, " + ", ".join([f"a{k}" for k in range(SIZE // 8)])),
    "foreign text": attribute(f"#x<{many('a ')}>"),
    "aliases": "".join([f"#a{k} = [{k}]\n" for k in range(SIZE // 14)]) + "module {\n}",
    "locations that name each other": "".join([f'#loc{k} = loc("a"(#loc{k + 1}))\n' for k in range(SIZE // 26)]),
    "more results than there are": "func.func @f(%a: i32) {\n%0:9223372036854775807 = stablehlo.tanh %a : i32\nreturn}",
    "declarations": "".join([f"func.func private @f{k}()\n" for k in range(SIZE // 27)]),
    "bytes that are no text": attribute('"' + many("\udc80") + '"'),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_time_is_limited(text: str) -> None:
    with limited(2 * SECONDS):
        check(text)
