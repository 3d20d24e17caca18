"""What stands around ops: functions with and without a body, aliases, several modules in one text."""

from __future__ import annotations

import pytest

from shlo_disc.diagnostics import CompileError, ParseError, UnsupportedOpError
from shlo_disc.ir.attributes import DictAttr, IntegerAttr, TensorType
from shlo_disc.ir.core import Declaration, Function, Op
from shlo_disc.ir.dtypes import DType
from shlo_disc.parse.parser import parse_module, parse_modules
from shlo_disc.parse.printer import print_module
from tests.parse.exactness import differs_from_mlir, round_trips
from tests.parse.jaxlib_printer import Printer
from tests.parse.structure import structure

MIXED = """\
module @m attributes {a.b = 1 : i32} {
  func.func private @outside(tensor<f32> {a.b = "x"}, tensor<i32>) -> (tensor<f32> {a.c}, tensor<i32>) \
attributes {a.d}
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32> {
    %0:2 = call @outside(%x, %n) : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    return %0#0 : tensor<f32>
  }
  func.func private @nothing()
}
"""


def test_functions_and_other_ops_keep_their_order() -> None:
    module = parse_module(MIXED)
    assert [type(content) for content in module.contents] == [Declaration, Op, Function, Declaration]
    assert list(module.functions) == ["main"]
    assert str(module) == MIXED
    assert not round_trips(MIXED)
    assert differs_from_mlir(MIXED, Printer()) == ""


ALIASES = """\
#small = {a.b = 1 : i32}
!vector = tensor<4xf32>
module @m {
  func.func @main(%x: !vector {a.c = #small}) -> !vector {
    %0 = stablehlo.tanh %x : !vector
    return %0 : tensor<4xf32>
  }
}
"""


def test_aliases_stand_for_what_they_name() -> None:
    main = parse_module(ALIASES).functions["main"]
    (own,) = main.argument_attributes
    assert own == {"a.c": DictAttr({"a.b": IntegerAttr(1, DType.I32)})}
    assert isinstance(main.type.inputs[0], TensorType)
    assert differs_from_mlir(ALIASES, Printer()) == ""


def test_an_alias_may_stand_between_functions_but_before_its_use() -> None:
    text = "func.func private @f()\n!t = tensor<i32>\nfunc.func private @g(!t)"
    assert not round_trips(text)
    assert differs_from_mlir(text, Printer()) == ""
    with pytest.raises(CompileError, match="!t"):
        parse_module("func.func private @g(!t)\n!t = tensor<i32>")


@pytest.mark.parametrize("alias", ["#a = 1 : i32\n#a = 2 : i32", "!a = tensor<f32>\n!a = tensor<i32>"])
def test_an_alias_is_defined_once(alias: str) -> None:
    with pytest.raises(ParseError, match="not defined yet"):
        parse_module(f"{alias}\nmodule {{\n}}")


ONE = "func.func @one(%x: tensor<f32>) -> tensor<f32> {\n  return %x : tensor<f32>\n}\n"
TWO = '#loc1 = loc("two")\nmodule @two {\n  func.func private @g() loc(#loc1)\n}\n'
THREE = '"builtin.module"() ({\n^bb0:\n}) {a.b} : () -> ()\n'


def test_a_text_may_hold_several_modules() -> None:
    text = f"// RUN: something\n// -----\n{ONE}// -----\n{TWO}\n// -----\n{THREE}// -----\n{TWO}"
    modules = parse_modules(text)
    assert [module.name for module in modules] == [None, "two", None, "two"]
    assert [structure(module) for module in modules] == [structure(parse_module(one)) for one in (ONE, TWO, THREE, TWO)]
    assert [module.span.line for module in modules] == [3, 8, 13, 18]


def test_an_error_points_into_the_whole_text() -> None:
    with pytest.raises(ParseError) as caught:
        parse_modules(f"{ONE}// -----\n{ONE.replace('return %x', 'return %y')}")
    assert (caught.value.span.line, caught.value.span.column) == (6, 10)


def test_an_alias_holds_up_to_the_next_mark() -> None:
    with pytest.raises(ParseError, match="loc1"):
        parse_modules(f"{TWO}// -----\n{TWO.partition(chr(10))[2]}")


def test_an_attribute_alias_holds_up_to_the_next_mark() -> None:
    text = "#a = 1 : i32\nmodule attributes {x.y = #a} {\n}\n"
    assert len(parse_modules(f"{text}// -----\n{text}")) == 2
    with pytest.raises(ParseError, match="#a"):
        parse_modules(f"{text}// -----\nmodule attributes {{x.y = #a}} {{\n}}\n")


@pytest.mark.parametrize("text", ["module {\n}\n", THREE])
def test_a_module_may_be_empty(text: str) -> None:
    assert not round_trips(text)
    assert differs_from_mlir(text, Printer()) == ""


def test_who_expects_one_module_is_told_how_many_there_are() -> None:
    with pytest.raises(UnsupportedOpError, match="expected one module, found 3") as caught:
        parse_module(f"{TWO}// -----\n{THREE}// -----\n{ONE}")
    assert "parse_modules" in caught.value.hint


def test_generic_functions_need_no_body() -> None:
    generic = print_module(parse_module(MIXED), generic=True)
    assert structure(parse_module(generic)) == structure(parse_module(MIXED))


SPELLINGS = (
    ("^bb0(%c: tensor<f32>, %d: tensor<f32>):", '^entry(%c: tensor<f32> loc("c"), %d: tensor<f32>):'),
    ("%0 = stablehlo.tanh %x", "%0:1 = stablehlo.tanh %x"),
    ("stablehlo.negate %0 ", "stablehlo.negate %0#0 "),
)


@pytest.mark.parametrize(("usual", "other"), SPELLINGS)
def test_other_spellings_of_names(usual: str, other: str) -> None:
    text = """\
func.func @main(%x: tensor<f32>, %v: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<f32>
  %1 = stablehlo.negate %0 : tensor<f32>
  %2 = "stablehlo.sort"(%v) <{dimension = 0 : i64}> ({
  ^bb0(%c: tensor<f32>, %d: tensor<f32>):
    %3 = stablehlo.compare LT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""
    assert usual in text
    assert structure(parse_module(text.replace(usual, other))) == structure(parse_module(text))
    assert differs_from_mlir(text.replace(usual, other), Printer()) == ""
