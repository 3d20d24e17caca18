"""Errors name the user's line: of the op, or of the call that leads to it."""

from __future__ import annotations

import pytest

from shlo_disc.diagnostics import UnsupportedOpError, VerifyError
from shlo_disc.parse.origins import find_origins, naming_origins
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.quick

LIBRARY = "/home/u/venv/lib/python3.11/site-packages/flax/linen.py"
TEXT = f"""\
#loc1 = loc("model.py":12:3)
#loc2 = loc("jit(f)/dot"(callsite("Dense"("{LIBRARY}":200:8) at #loc1)))
#loc3 = loc("{LIBRARY}":77:1)
func.func @main(%x: tensor<4xf32> loc("x")) -> tensor<4xf32> {{
  %0 = stablehlo.negate %x : tensor<4xf32> loc(#loc2)
  %1 = stablehlo.negate %0 : tensor<4xf32> loc(#loc3)
  %2 = stablehlo.negate %1 : tensor<4xf32> loc("name")
  %3 = call @outer(%2) : (tensor<4xf32>) -> tensor<4xf32> loc(callsite("f"("model.py":40:3) at #loc1))
  return %3 : tensor<4xf32>
}}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("inner")
  return %0 : tensor<4xf32>
}}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = call @outer(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("cycle")
  %1 = stablehlo.tanh %x : tensor<4xf32> loc("tanh")
  return %1 : tensor<4xf32>
}}
"""
MODULE = parse_module(TEXT)


@pytest.mark.parametrize(
    ("function", "position", "expected"),
    [
        ("main", 0, "model.py:12"),  # not the line inside Flax
        ("main", 1, f"{LIBRARY}:77"),  # unless there is no other
        ("main", 2, None),
        ("main", 3, "model.py:40"),  # the innermost of one's own
        ("inner", 1, "model.py:40 (calls @outer)"),
    ],
)
def test_the_line_of_an_op(function: str, position: int, expected: str | None) -> None:
    span = MODULE.functions[function].body.ops[position].span
    assert find_origins(MODULE, [span]).get(span) == expected


def test_the_lines_of_values_and_functions() -> None:
    main, inner = MODULE.functions["main"], MODULE.functions["inner"]
    spans = [main.body.ops[0].results[0].span, main.body.arguments[0].span, inner.span]
    assert find_origins(MODULE, spans) == {spans[0]: "model.py:12", spans[2]: "model.py:40 (calls @outer)"}


def test_functions_that_call_each_other_without_lines() -> None:
    text = "".join(
        f"func.func @{name}(%x: tensor<4xf32>) -> tensor<4xf32> {{\n"
        f"  %0 = call @{other}(%x) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}}\n"
        for name, other in (("main", "a"), ("a", "b"), ("b", "a"))
    )
    module = parse_module(text)
    assert find_origins(module, [module.functions["b"].body.ops[0].span]) == {}


def test_an_error_that_passes_gets_the_line() -> None:
    op = MODULE.functions["main"].body.ops[0]
    with pytest.raises(VerifyError) as caught, naming_origins(MODULE):
        raise VerifyError("expected floats, found none", op.span, hint="convert")
    assert str(caught.value).splitlines()[-2:] == ["  from: model.py:12", "  help: convert"]


def test_a_line_that_is_known_stays() -> None:
    op = MODULE.functions["main"].body.ops[0]
    with pytest.raises(UnsupportedOpError, match=r"\n  from: other\.py:1$"), naming_origins(MODULE):
        raise UnsupportedOpError("op 'a.b' is not supported", op.span, origin="other.py:1")


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        ("loc(#loc2)", "model.py:12"),
        ('loc("g"("other.py":3:4))', "other.py:3"),
        ("loc(unknown)", ""),
        ("loc(#loc9)", ""),
        ("loc(%x", ""),
        ("", ""),
    ],
)
def test_the_line_of_an_op_that_does_not_parse(behind: str, expected: str) -> None:
    with pytest.raises(UnsupportedOpError) as caught:
        parse_module(TEXT.replace("stablehlo.negate %0 : tensor<4xf32> loc(#loc3)", f"a.b %0 : tensor<4xf32> {behind}"))
    assert caught.value.origin == expected


def test_the_line_of_an_op_that_is_not_well_connected() -> None:
    text = TEXT.replace("call @outer(%2)", "call @nowhere(%2)")
    with pytest.raises(VerifyError, match=r"\n  from: model\.py:40$"):
        parse_module(text)
