"""The verifier finds what a pass may have disconnected."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shlo_disc.diagnostics import NOWHERE, VerifyError
from shlo_disc.ir.core import Block, Module, Op
from shlo_disc.ir.verify import verify_module
from shlo_disc.parse.parser import parse_module

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


@pytest.fixture
def module() -> Module:
    return parse_module(TEXT)


def test_a_parsed_module_is_connected(module: Module) -> None:
    verify_module(module)


def test_use_before_definition(module: Module) -> None:
    first, case, *rest = module.functions["main"].body.ops
    with pytest.raises(VerifyError, match="expected '%0' to be defined before it is used"):
        verify_module(with_ops(module, (case, first, *rest)))


def test_value_of_an_inner_region(module: Module) -> None:
    first, case, call, end = module.functions["main"].body.ops
    inner = case.regions[0].block.ops[0].results[0]
    with pytest.raises(VerifyError, match="expected '%2' to be defined"):
        verify_module(with_ops(module, (first, case, replace(call, operands=(inner,)), end)))


def test_two_definitions(module: Module) -> None:
    first, *rest = module.functions["main"].body.ops
    with pytest.raises(VerifyError, match="expected one definition of '%0'"):
        verify_module(with_ops(module, (first, first, *rest)))


def test_return_in_the_middle(module: Module) -> None:
    *ops, end = module.functions["main"].body.ops
    with pytest.raises(VerifyError, match=r"'func\.return' before the end"):
        verify_module(with_ops(module, (end, *ops, end)))


def test_no_return(module: Module) -> None:
    ops = module.functions["main"].body.ops
    with pytest.raises(VerifyError, match=r"'func\.call' at the end"):
        verify_module(with_ops(module, ops[:-1]))


def test_a_call_of_another_type(module: Module) -> None:
    *ops, call, end = module.functions["main"].body.ops
    predicate = module.functions["main"].body.arguments[0]
    with pytest.raises(VerifyError, match="expected the types of '@f'"):
        verify_module(with_ops(module, (*ops, replace(call, operands=(predicate,)), end)))


def test_a_call_of_nothing(module: Module) -> None:
    main = module.functions["main"]
    alone = Module(None, (main,), {}, NOWHERE)
    with pytest.raises(VerifyError, match="found '@f', which is none"):
        verify_module(alone)
