"""The floating-point operations of ops, against numbers that follow from the definitions of the ops."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shlo_disc.kernels.flops import flops
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.quick

PROGRAMS: Mapping[str, tuple[str, str, str, int]] = {  # the type of the argument, the op, the type of the result
    "product": (
        "tensor<?x8xf32>",
        "stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<?x8xf32>, tensor<?x8xf32>) -> TYPE",
        "tensor<?x?xf32>",
        2 * 5 * 5 * 8,
    ),
    "product of complex numbers": (
        "tensor<?x8xcomplex<f32>>",
        "stablehlo.dot_general %x, %x, contracting_dims = [1] x [1]"
        " : (tensor<?x8xcomplex<f32>>, tensor<?x8xcomplex<f32>>) -> TYPE",
        "tensor<?x?xcomplex<f32>>",
        8 * 5 * 5 * 8,
    ),
    "convolution": (
        "tensor<?x9x9x4xf32>",
        "stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}"
        " {batch_group_count = 1 : i64, feature_group_count = 2 : i64}"
        " : (tensor<?x9x9x4xf32>, tensor<3x3x2x6xf32>) -> TYPE",
        "tensor<?x7x7x6xf32>",
        2 * 5 * 7 * 7 * 6 * 3 * 3 * 2,
    ),
    "sum": (
        "tensor<?x8xf32>",
        "stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]"
        " : (tensor<?x8xf32>, tensor<f32>) -> TYPE",
        "tensor<?xf32>",
        5 * 8,
    ),
    "exponential": ("tensor<?x8xf32>", "stablehlo.exponential %x : TYPE", "tensor<?x8xf32>", 10 * 5 * 8),
    "difference": ("tensor<?x8xf32>", "stablehlo.subtract %x, %x : TYPE", "tensor<?x8xf32>", 5 * 8),
    "transpose": (
        "tensor<?x8xf32>", "stablehlo.transpose %x, dims = [1, 0] : (tensor<?x8xf32>) -> TYPE", "tensor<8x?xf32>", 0,
    ),
    "conversion": ("tensor<?x8xf32>", "stablehlo.convert %x : (tensor<?x8xf32>) -> TYPE", "tensor<?x8xf16>", 0),
    "integers": ("tensor<?x8xi32>", "stablehlo.add %x, %x : TYPE", "tensor<?x8xi32>", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_operations_are_counted(name: str) -> None:
    given, op, made, expected = PROGRAMS[name]
    text = f"""
func.func @main(%x: {given}) -> {made} {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %k = stablehlo.constant dense<1.0> : tensor<3x3x2x6xf32>
  %0 = {op.replace("TYPE", made)}
  return %0 : {made}
}}"""
    program = legalize(parse_module(text))
    (rows,) = program.given
    assert sum(flops(one).evaluate({rows: 5}) for one in program.body.ops) == expected
