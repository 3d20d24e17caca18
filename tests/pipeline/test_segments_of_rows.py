"""Rows that are cut into segments at seams which depend on the row, of sizes that are quotients."""

from __future__ import annotations

import numpy as np
import pytest

import shlo_disc
from tests.conftest import SEED
from tests.pipeline.exports import FAST

# Each half of the result repeats the same elements, in the first one negated.
HALVES = """func.func @main(%x: tensor<?xui32>) -> tensor<2x?xui32> {
  %begin = stablehlo.constant dense<0> : tensor<1xi32>
  %step = stablehlo.constant dense<STEP> : tensor<1xi32>
  %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xui32>) -> tensor<i32>
  %end = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
  %1 = stablehlo.real_dynamic_slice %x, %begin, %end, %step
      : (tensor<?xui32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xui32>
  %2 = stablehlo.concatenate %1, %1, dim = 0 : (tensor<?xui32>, tensor<?xui32>) -> tensor<?xui32>
  %3 = stablehlo.not %2 : tensor<?xui32>
  %4 = stablehlo.concatenate %3, %2, dim = 0 : (tensor<?xui32>, tensor<?xui32>) -> tensor<?xui32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %5 = stablehlo.get_dimension_size %2, dim = 0 : (tensor<?xui32>) -> tensor<i32>
  %6 = stablehlo.reshape %5 : (tensor<i32>) -> tensor<1xi32>
  %7 = stablehlo.concatenate %two, %6, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %8 = stablehlo.dynamic_reshape %4, %7 : (tensor<?xui32>, tensor<2xi32>) -> tensor<2x?xui32>
  return %8 : tensor<2x?xui32>
}"""


@pytest.mark.parametrize("step", [1, 2, 3])
def test_halves_of_quotients(step: int) -> None:
    run = shlo_disc.compile(HALVES.replace("STEP", str(step)), options=FAST)
    rng = np.random.default_rng([SEED, step])
    for size in (0, 1, 2, 3, 7, 16, 33, 97):
        x = rng.integers(0, 1 << 32, size, np.uint32)
        twice = np.tile(x[::step], 2)
        np.testing.assert_array_equal(run(x)[0], [~twice, twice], err_msg=f"{size}")
