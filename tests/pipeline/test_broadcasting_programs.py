"""CHLO's broadcasting ops at sizes that are known when the program is called, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import shlo_disc

PROGRAM = """
func.func @main(%m: tensor<?x?xf32>, %v: tensor<?xf32>, %c: tensor<?xi1>, %k: tensor<3xf32>, %s: tensor<f32>)
    -> (tensor<?x?xf32>, tensor<?x?xi1>, tensor<?x?xf32>, tensor<?x?xcomplex<f32>>, tensor<?x3xf32>, tensor<?x?xf32>) {
  %0 = chlo.broadcast_add %m, %v : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  %1 = chlo.broadcast_compare %v, %m {comparison_direction = #chlo<comparison_direction LT>}
      : (tensor<?xf32>, tensor<?x?xf32>) -> tensor<?x?xi1>
  %2 = chlo.broadcast_select %c, %m, %s : (tensor<?xi1>, tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  %3 = chlo.broadcast_complex %m, %v : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xcomplex<f32>>
  %4 = "chlo.broadcast_subtract"(%m, %k) : (tensor<?x?xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %5 = "chlo.broadcast_divide"(%m, %v) {broadcast_dimensions = array<i64: 0>}
      : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<?x?xf32>, tensor<?x?xi1>, tensor<?x?xf32>, tensor<?x?xcomplex<f32>>,
      tensor<?x3xf32>, tensor<?x?xf32>
}
"""


@pytest.fixture(scope="module")
def program() -> shlo_disc.Compiled:
    return shlo_disc.compile(PROGRAM)


@pytest.mark.parametrize(
    ("rows", "columns", "length", "chosen"), [(3, 3, 3, 3), (2, 1, 1, 5), (1, 3, 3, 1), (5, 1, 5, 2), (0, 3, 1, 3)]
)
def test_sizes(program: shlo_disc.Compiled, rows: int, columns: int, length: int, chosen: int) -> None:
    rng = np.random.default_rng([rows, columns, length])
    m, v, k = (rng.normal(size=shape).astype(np.float32) for shape in ((rows, columns), (length,), (3,)))
    c, s = rng.random(chosen) < 0.5, np.array(7, np.float32)
    found = program(m, v, c, k, s)
    wanted = (m + v, v < m, np.where(c, m, s), m + 1j * v, m - k, m / v[:, None])
    for got, expected in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_sizes_that_differ(program: shlo_disc.Compiled) -> None:
    m, v = np.zeros((2, 3), np.float32), np.zeros(4, np.float32)
    with pytest.raises(shlo_disc.RuntimeShapeError, match="a broadcast keeps sizes that are not 1"):
        program(m, v, np.zeros(3, bool), np.zeros(3, np.float32), np.array(0, np.float32))
