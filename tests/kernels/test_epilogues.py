"""What follows a product is stored with it only if each of its elements is one of the product's."""

from __future__ import annotations

import pytest

from shlo_disc.analysis.formula import producers_of
from shlo_disc.kernels.contraction import epilogue_index
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module

PROGRAM = """func.func @main(%x: tensor<?x16x4xf32>, %y: tensor<?x4x1xf32>) -> (tensor<?x16x1xf32>, {type}) {{
  %dot = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1]
      : (tensor<?x16x4xf32>, tensor<?x4x1xf32>) -> tensor<?x16x1xf32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x16x4xf32>) -> tensor<i32>
  %rows = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %rest = stablehlo.constant dense<{rest}> : tensor<{rank}xi32>
  %shape = stablehlo.concatenate %rows, %rest, dim = 0 : (tensor<1xi32>, tensor<{rank}xi32>) -> tensor<{whole}xi32>
  %negated = stablehlo.negate %dot : tensor<?x16x1xf32>
  %other = stablehlo.dynamic_reshape %negated, %shape : (tensor<?x16x1xf32>, tensor<{whole}xi32>) -> {type}
  return %dot, %other : tensor<?x16x1xf32>, {type}
}}"""


@pytest.mark.parametrize("rest", [(16, 1), (16,), (1, 16)])
def test_results_of_several_shapes_are_no_epilogue(rest: tuple[int, ...]) -> None:
    type_ = f"tensor<?x{'x'.join(map(str, rest))}xf32>"
    text = PROGRAM.format(type=type_, rest=list(rest), rank=len(rest), whole=len(rest) + 1)
    program = legalize(parse_module(text))
    product, other = program.body.results
    ops = [op for op in program.body.ops if op.name != "d_dot"]
    producers = producers_of(program.body)
    assert epilogue_index(product, [other], ops, program.facts, producers) is not None
    found = epilogue_index(product, [product, other], ops, program.facts, producers)
    assert (found is not None) == (rest == (16, 1))
