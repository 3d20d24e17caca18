"""The verifier finds what a rewrite may have disconnected, and what a text connects wrongly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shlo_disc.diagnostics import NOWHERE, VerifyError
from shlo_disc.ir.attributes import FunctionType
from shlo_disc.ir.core import Block, Module, Op, Region, Value
from shlo_disc.ir.spelling import spell_type
from shlo_disc.ir.verify import verify_module
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.quick

TEXT = """\
module {
  func.func @main(%p: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.tanh %x : tensor<4xf32>
    %1 = "stablehlo.case"(%p) ({
      %2 = stablehlo.negate %0 : tensor<4xf32>
      stablehlo.return %2 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    %3 = call @f(%1) : (tensor<4xf32>) -> tensor<4xf32>
    return %3 : tensor<4xf32>
  }
  func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
"""


def with_ops(module: Module, ops: tuple[Op, ...]) -> Module:
    main = module.functions["main"]
    body = Block(main.body.arguments, ops)
    return module.with_function(replace(main, body=body))


def refusal(module: Module) -> str:
    """Give the error of a module."""
    with pytest.raises(VerifyError) as caught:
        verify_module(module, spell_type)
    return str(caught.value)


@pytest.fixture
def module() -> Module:
    return parse_module(TEXT)


def test_a_parsed_module_is_connected(module: Module) -> None:
    verify_module(module, spell_type)


# --- values and blocks


def test_use_before_definition(module: Module) -> None:
    first, case, *rest = module.functions["main"].body.ops
    assert refusal(with_ops(module, (case, first, *rest))) == (
        "<string>:5:12: error: expected '%0' to be defined before it is used, in the same block or one around it, "
        "found it defined elsewhere\n"
        "        %2 = stablehlo.negate %0 : tensor<4xf32>\n"
        "             ^^^^^^^^^^^^^^^^\n"
        "<string>:3:5: note: it is defined here\n"
        "      %0 = stablehlo.tanh %x : tensor<4xf32>\n"
        "      ^^"
    )


def test_value_of_an_inner_region(module: Module) -> None:
    first, case, call, end = module.functions["main"].body.ops
    inner = case.regions[0].block.ops[0].results[0]
    found = refusal(with_ops(module, (first, case, replace(call, operands=(inner,)), end)))
    assert "expected '%2' to be defined" in found
    assert "note: it is defined here" in found


def test_value_of_another_function(module: Module) -> None:
    *ops, end = module.functions["main"].body.ops
    other = module.functions["f"].body.arguments[0]
    assert "expected '%x' to be defined" in refusal(with_ops(module, (*ops, replace(end, operands=(other,)))))


def test_two_definitions(module: Module) -> None:
    first, *rest = module.functions["main"].body.ops
    assert "expected one definition of '%0', found another" in refusal(with_ops(module, (first, first, *rest)))


def test_an_argument_is_defined_once(module: Module) -> None:
    main = module.functions["main"]
    first, case, *rest = main.body.ops
    region = Region((Block((main.body.arguments[1],), case.regions[0].block.ops),))
    found = refusal(with_ops(module, (first, replace(case, regions=(region,)), *rest)))
    assert "expected one definition of '%x', found another" in found


def test_return_in_the_middle(module: Module) -> None:
    *ops, end = module.functions["main"].body.ops
    assert "found 'func.return' before the end" in refusal(with_ops(module, (end, *ops, end)))


def test_no_return(module: Module) -> None:
    ops = module.functions["main"].body.ops
    assert "expected 'func.return' at the end of the block, found 'func.call' at" in refusal(with_ops(module, ops[:-1]))
    assert "found nothing at the end" in refusal(with_ops(module, ()))


def test_return_of_a_function_in_a_region(module: Module) -> None:
    *ops, end = module.functions["main"].body.ops
    case = replace(ops[1], regions=(Region((Block((), (replace(end, operands=()),)),)),))
    found = refusal(with_ops(module, (ops[0], case, *ops[2:], end)))
    assert "expected 'stablehlo.return' at the end of the block, found 'func.return'" in found


# --- functions and calls


def test_a_call_of_another_type(module: Module) -> None:
    *ops, call, end = module.functions["main"].body.ops
    predicate = module.functions["main"].body.arguments[0]
    found = refusal(with_ops(module, (*ops, replace(call, operands=(predicate,)), end)))
    assert "expected the types of '@f' at its call, (tensor<4xf32>) -> tensor<4xf32>, found (tensor<i32>) ->" in found
    assert "note: the function is defined here" in found


def test_a_call_of_nothing(module: Module) -> None:
    main = module.functions["main"]
    alone = Module(None, (main,), {}, NOWHERE)
    assert "expected 'callee' to name a function of this module, found '@f', which is none" in refusal(alone)


def test_a_call_without_callee(module: Module) -> None:
    *ops, call, end = module.functions["main"].body.ops
    found = refusal(with_ops(module, (*ops, replace(call, attributes={}), end)))
    assert "expected an attribute 'callee' that names a function" in found


def test_arguments_of_a_function(module: Module) -> None:
    function = module.functions["f"]
    wrong = replace(function, type=FunctionType((), function.type.results))
    expected = "expected the arguments of '@f' to be nothing, found tensor<4xf32>"
    assert expected in refusal(Module(None, (wrong,), {}, NOWHERE))


def test_results_of_a_function(module: Module) -> None:
    function = module.functions["f"]
    wrong = replace(function, type=FunctionType(function.type.inputs, ()))
    assert "expected '@f' to return nothing, found tensor<4xf32>" in refusal(Module(None, (wrong,), {}, NOWHERE))


def test_a_value_of_another_type_is_another_value(module: Module) -> None:
    function = module.functions["f"]
    other = Value("x", function.type.inputs[0], NOWHERE)
    wrong = replace(function, body=Block((other,), function.body.ops))
    assert "expected '%x' to be defined" in refusal(module.with_function(wrong))


# --- symbols


@pytest.mark.parametrize(
    "op",
    [
        "func.call @g() : () -> ()",
        'stablehlo.composite "my.op" {decomposition = @g} : () -> ()',
        "stablehlo.custom_call @foo() {called_computations = [@f, @g]} : () -> ()",
        "stablehlo.custom_call @foo() {api_version = 4 : i32, backend_config = {a = [1, @g]}} : () -> ()",
    ],
)
def test_a_name_of_nothing(op: str) -> None:
    text = f"func.func @f() {{\n  {op}\n  return\n}}\n"
    with pytest.raises(VerifyError, match="found '@g', which is none") as caught:
        parse_module(text)
    assert caught.value.span.line == 2
    parse_module(text + "func.func private @g()\n")  # a declaration is enough


def test_a_name_in_an_attribute_of_another_dialect() -> None:
    parse_module("func.func @f() {\n  stablehlo.custom_call @foo() {my.callee = @g} : () -> ()\n  return\n}\n")


def test_a_call_of_what_is_no_function() -> None:
    mesh = '"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "g"}> : () -> ()'
    with pytest.raises(VerifyError, match="expected an attribute 'callee' that names a function"):
        parse_module(f"module {{\n{mesh}\nfunc.func @f() {{\n  call @g() : () -> ()\n  return\n}}\n}}\n")


def test_two_definitions_of_a_name() -> None:
    with pytest.raises(VerifyError, match="expected one definition of '@f', found another"):
        parse_module("func.func private @f()\nfunc.func private @f()\n")


def test_a_function_may_call_itself() -> None:
    parse_module("func.func @f() {\n  call @f() : () -> ()\n  return\n}\n")
