"""Damaged text is refused with an error of the program, never with one of the parser's own."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from shlo_disc.diagnostics import ParseError, UnsupportedOpError, VerifyError
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from tests.parse.samples import GENERIC, PRETTY, program
from tests.parse.structure import structure
from tests.parse.test_locations import TEXT

PROGRAMS = (*map(program, (*PRETTY, *GENERIC)), TEXT)
PIECE = re.compile(r"%[\w#]+|tensor<[^>]*>|dense<[^>]*>|[\w.]+|\s+|.")
FRAGMENTS = (
    *("", "%0", "%a", '"', "{", "}", "(", ")", "<", ">", "[", "]", ":", ",", "->", "\\", "\0", "é", "//", "!x"),
    *("tensor<4xf32>", "dense<[1]>", "array<i64: 1>", "#stablehlo", "#loc", "loc(", "0x", "-1", "1.5", "9" * 5000),
    *("stablehlo.add", "@main", "^bb0"),
)
EDIT = st.tuples(
    st.sampled_from(["cut", "insert", "replace", "swap"]),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.sampled_from(FRAGMENTS),
)


def edited(text: str, edits: list[tuple[str, int, int, str]]) -> str:
    pieces = PIECE.findall(text)
    for kind, first, second, fragment in edits:
        i, j = first % len(pieces), second % len(pieces)
        match kind:
            case "cut":
                pieces[i] = ""
            case "insert":
                pieces.insert(i, fragment)
            case "replace":
                pieces[i] = fragment
            case _:
                pieces[i], pieces[j] = pieces[j], pieces[i]
    return "".join(pieces)


@settings(max_examples=400)
@given(st.sampled_from(PROGRAMS), st.lists(EDIT, min_size=1, max_size=3))
def test_damaged_text(text: str, edits: list[tuple[str, int, int, str]]) -> None:
    try:
        module = parse_module(edited(text, edits))
    except (ParseError, UnsupportedOpError, VerifyError):
        return
    assert structure(parse_module(str(module))) == structure(module)
    generic = print_module(module, generic=True, locations=True)
    assert structure(parse_module(generic), locations=True) == structure(module, locations=True)
