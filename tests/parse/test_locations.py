"""Locations are kept, and lead to the user's line."""

# jaxlib's MLIR bindings are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import pytest
from jax._src.interpreters import mlir
from jaxlib.mlir import ir

from shlo_disc.diagnostics import ParseError
from shlo_disc.ir.attributes import (
    AliasLocation,
    CallLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    UnknownLocation,
)
from shlo_disc.parse.locations import user_location
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module

pytestmark = pytest.mark.quick

TEXT = """\
#loc = loc(unknown)
#loc1 = loc("model.py":12:3 to :9)
#loc2 = loc("name with \\22quote\\22"(#loc1))
#loc3 = loc(callsite(#loc2 at #loc5))
#loc4 = loc(fused[#loc, "x", #loc1])
#loc5 = loc(fused<"meta">[#loc6])
#loc6 = loc("train.py":40:1 to 41:7)
module @m {
  func.func @main(%arg0: tensor<?xf32> loc("x"), %arg1: tensor<?xf32> loc(#loc4)) \
-> tensor<?xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<?xf32> loc(#loc3)
    %1 = stablehlo.tanh %0 : tensor<?xf32> loc(callsite("f"("g.py":1:2) at "h.py":3:4))
    return %1 : tensor<?xf32> loc(#loc5)
  } loc(#loc2)
} loc(#loc)
"""


def test_locations_print_back() -> None:
    module = parse_module(TEXT)
    assert print_module(module, locations=True) == TEXT
    assert "loc(" not in str(module)


def test_aliases_may_be_defined_after_their_use() -> None:
    head, tail = TEXT.split("module @m", 1)
    late = parse_module(f"module @m{tail}{head}")
    assert late.location_aliases == parse_module(TEXT).location_aliases
    assert late.location_aliases["loc1"] == FileLocation("model.py", 12, 3, "to :9")


@pytest.mark.parametrize(("position", "expected"), [(0, "model.py:12"), (1, "g.py:1"), (2, "train.py:40")])
def test_user_location_is_the_innermost_file(position: int, expected: str) -> None:
    module = parse_module(TEXT)
    op = module.functions["main"].body.ops[position]
    assert user_location(op.location, module.location_aliases) == expected


def test_no_file_is_none() -> None:
    aliases = {"a": NameLocation("n", AliasLocation("b")), "b": AliasLocation("a")}
    assert user_location(NameLocation("x", None), {}) is None
    assert user_location(None, {}) is None
    assert user_location(AliasLocation("a"), aliases) is None


LOCATIONS: tuple[tuple[str, Location], ...] = (
    ("unknown", UnknownLocation()),
    ('"a b"', NameLocation("a b", None)),
    ('"a"("b")', NameLocation("a", NameLocation("b", None))),
    ('"\\22\\C3\\A9\\\\"', NameLocation('"é\\', None)),
    ('"f.py":1:2', FileLocation("f.py", 1, 2)),
    ('"f.py":1:2 to :9', FileLocation("f.py", 1, 2, "to :9")),
    ('"f.py":1:2 to 3:4', FileLocation("f.py", 1, 2, "to 3:4")),
    ('callsite("f" at "g"(unknown))', CallLocation(NameLocation("f", None), NameLocation("g", UnknownLocation()))),
    ('fused["a", "b"]', FusedLocation((NameLocation("a", None), NameLocation("b", None)))),
    ('fused<{m = [1 : i32]}>["a"]', FusedLocation((NameLocation("a", None),), "{m = [1 : i32]}")),
)


@pytest.mark.parametrize(("text", "location"), LOCATIONS)
def test_every_form(text: str, location: Location) -> None:
    module = parse_module(f"module {{\n}} loc({text})")
    assert module.location == location
    printed = print_module(module, locations=True)
    assert printed == f"module {{\n}} loc({text})\n"
    assert printed_by_mlir(printed) == printed_by_mlir(f"module {{\n}} loc({text})")


def printed_by_mlir(text: str) -> str:
    with mlir.make_ir_context():
        asm = ir.Module.parse(text).operation.get_asm(enable_debug_info=True)
    assert isinstance(asm, str)
    return asm


def test_an_alias_of_metadata_is_written_out() -> None:
    module = parse_module('#m = {a = 1 : i64}\nmodule {\n} loc(fused<#m>["a"])')
    assert print_module(module, locations=True) == 'module {\n} loc(fused<{a = 1 : i64}>["a"])\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loc(", "a location, found the end of the text"),
        ("loc(nowhere)", "a location, found 'nowhere'"),
        ('loc("a"', "')', found the end"),
        ('loc("a":1)', "':', found ')'"),
        ('loc("a":x:1)', "an integer, found 'x'"),
        ('loc(callsite("a" "b"))', "'at', found '\"b\"'"),
        ("loc(fused[unknown)", "',' or ']', found ')'"),
        ('loc("\ud800")', "a name of Unicode characters"),
        ("loc(#a)", "a definition '#a = loc(…)', found none in the text"),
    ],
)
def test_what_is_no_location(text: str, expected: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_module(f"module {{\n}} {text}")
    assert expected in caught.value.message
    assert caught.value.span.line == 2
