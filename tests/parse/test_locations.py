"""Locations are kept, and lead to the user's line."""

from __future__ import annotations

import pytest

from shlo_disc.ir.attributes import AliasLocation, FileLocation, NameLocation
from shlo_disc.parse.locations import user_location
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module

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
