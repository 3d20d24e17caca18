"""What holds for the rules of all ops: which ops are looked at, and what an error shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

import shlo_disc
from shlo_disc.diagnostics import VerifyError
from shlo_disc.ir.core import Block, Module, Op
from shlo_disc.parse.parser import parse_module
from shlo_disc.verify.ops import verify
from shlo_disc.verify.walk import Walk

pytestmark = pytest.mark.quick


def error_of(body: str, arguments: str = "%x: tensor<2x3xf32>") -> VerifyError:
    """Give the error of a function whose body starts on line 2."""
    module = parse_module(f"func.func @main({arguments}) {{\n{body}\n  return\n}}\n")
    with pytest.raises(VerifyError) as caught:
        verify(module)
    return caught.value


def with_first_op(module: Module, op: Op) -> Module:
    main = module.functions["main"]
    return module.with_function(replace(main, body=Block(main.body.arguments, (op, *main.body.ops[1:]))))


def test_an_error_shows_the_line_and_where_the_value_comes_from() -> None:
    error = error_of(
        "  %0 = stablehlo.reverse %x, dims = [0] : tensor<2x3xf32>\n  %1 = stablehlo.not %0 : tensor<2x3xf32>"
    )
    assert str(error) == (
        "<string>:3:8: error: expected 'operand' to hold integers or booleans, found tensor<2x3xf32> (I1 of not)\n"
        "    %1 = stablehlo.not %0 : tensor<2x3xf32>\n"
        "         ^^^^^^^^^^^^^\n"
        "<string>:2:3: note: '%0' is defined here\n"
        "    %0 = stablehlo.reverse %x, dims = [0] : tensor<2x3xf32>\n"
        "    ^^"
    )


def test_public_name() -> None:
    assert shlo_disc.verify is verify


def test_ops_that_are_alike_are_looked_at_once() -> None:
    negate = "  %{} = stablehlo.negate %x : tensor<2x3xf32>\n"
    body = "".join([negate.format(number) for number in range(5)])
    module = parse_module(f"func.func @main(%x: tensor<2x3xf32>) {{\n{body}  return\n}}\n")
    assert [op.name for op in Walk(module).ops()] == ["stablehlo.negate", "func.return"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "%0 = stablehlo.reverse %x, dims = [1] : tensor<2x3xf32>",
            "%1 = stablehlo.reverse %x, dims = [2] : tensor<2x3xf32>",
        ),
        (
            "%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
            "%1 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x1xf32>",
        ),
        (
            "%0 = stablehlo.dynamic_reshape %x, %s : (tensor<2x3xf32>, tensor<1xi32>) -> tensor<6xf32>",
            "%1 = stablehlo.dynamic_reshape %x, %t : (tensor<2x3xf32>, tensor<1xi32>) -> tensor<6xf32>",
        ),
    ],
)
def test_ops_differ_in_attributes_types_and_constants(first: str, second: str) -> None:
    constants = "%s = stablehlo.constant dense<6> : tensor<1xi32>\n%t = stablehlo.constant dense<5> : tensor<1xi32>\n"
    assert error_of(constants + first + "\n" + second).span.line == 5


def test_ops_within_regions_are_looked_at() -> None:
    body = (
        '"stablehlo.case"(%i) ({\n}, {\n%0 = stablehlo.not %x : tensor<f32>\nstablehlo.return\n}) : (tensor<i32>) -> ()'
    )
    error = error_of(body.replace("({\n}", "({\nstablehlo.return\n}"), "%i: tensor<i32>, %x: tensor<f32>")
    assert error.message.endswith("(I1 of not)")


def test_an_op_without_its_regions() -> None:
    text = '"stablehlo.if"(%p) ({\nstablehlo.return\n}, {\nstablehlo.return\n}) : (tensor<i1>) -> ()'
    module = parse_module(f"func.func @main(%p: tensor<i1>) {{\n{text}\n  return\n}}\n")
    op = module.functions["main"].body.ops[0]
    with pytest.raises(VerifyError, match=r"expected 'stablehlo\.if' to have 2 regions, found 1"):
        verify(with_first_op(module, replace(op, regions=op.regions[:1])))


def test_structure_is_looked_at_first() -> None:
    module = parse_module("func.func @main(%x: tensor<f32>) {\n  %0 = stablehlo.not %x : tensor<f32>\n  return\n}\n")
    end = module.functions["main"].body.ops[-1]
    with pytest.raises(VerifyError, match="expected one return per block"):
        verify(with_first_op(module, end))
