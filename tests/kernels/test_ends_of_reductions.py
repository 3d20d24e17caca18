"""What a reduction starts from and where it stores its results holds for reductions of no elements, too.

Loops are cut where a condition changes. In the loop over a part, its index is known to be within the part; before and
after the loop, nothing is known of the part, which may be empty.
"""

# NumPy's arrays of results are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import numpy as np
import pytest

import shlo_disc
from tests.conftest import SEED
from tests.pipeline.exports import FAST

WIDTHS = (8, 9, 16, 17)


def padded(count: int, width: int, rows: int, before: int) -> str:
    """The sums and the largest elements of the rows of a vector with zeros around it."""
    after = width * rows - before - count
    return f"""func.func @main(%x: tensor<{count}xf32>) -> (tensor<{rows}xf32>, tensor<{rows}xf32>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %padded = stablehlo.pad %x, %zero, low = [{before}], high = [{after}], interior = [0]
    : (tensor<{count}xf32>, tensor<f32>) -> tensor<{rows * width}xf32>
  %y = stablehlo.reshape %padded : (tensor<{rows * width}xf32>) -> tensor<{rows}x{width}xf32>
  %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<{rows}x{width}xf32>, tensor<f32>) -> tensor<{rows}xf32>
  %largest = stablehlo.reduce(%y init: %one) applies stablehlo.maximum across dimensions = [1]
    : (tensor<{rows}x{width}xf32>, tensor<f32>) -> tensor<{rows}xf32>
  return %sum, %largest : tensor<{rows}xf32>, tensor<{rows}xf32>
}}"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("before", [0, 1, 7])
@pytest.mark.parametrize("rows", [1, 2, 3, 8])
def test_rows_of_which_some_are_padding(width: int, before: int, rows: int) -> None:
    """Which rows have padding is known; in all others that part of the loop is empty."""
    for count in {max(1, rows * width - width // 2 - before), max(1, rows * width // 2 - before)}:
        x = np.random.default_rng([SEED, count]).normal(size=count).astype(np.float32)
        run = shlo_disc.compile(padded(count, width, rows, before), device="cpu", options=FAST)
        wanted = np.pad(x, (before, width * rows - before - count)).reshape(-1, width)
        found, largest = run(x)
        np.testing.assert_allclose(found, wanted.sum(1), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(largest, np.maximum(wanted.max(1), 1))


def of_no_elements() -> str:
    """Sums along an axis of any size, from a value that depends on this size."""
    return """func.func @main(%x: tensor<?x3xf32>) -> tensor<?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %least = stablehlo.maximum %n, %one : tensor<i32>
  %is_empty = stablehlo.compare LT, %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %seven = stablehlo.constant dense<7.0> : tensor<f32>
  %count = stablehlo.convert %least : (tensor<i32>) -> tensor<f32>
  %start = stablehlo.select %is_empty, %seven, %count : tensor<i1>, tensor<f32>
  %k = stablehlo.reshape %least : (tensor<i32>) -> tensor<1xi32>
  %three = stablehlo.constant dense<3> : tensor<1xi32>
  %m = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %shape = stablehlo.concatenate %three, %m, %k, dim = 0
    : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
  %y = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [1, 0]
    : (tensor<?x3xf32>, tensor<3xi32>) -> tensor<3x?x?xf32>
  %sums = stablehlo.reduce(%y init: %start) applies stablehlo.add across dimensions = [1]
    : (tensor<3x?x?xf32>, tensor<f32>) -> tensor<3x?xf32>
  %flat = stablehlo.multiply %three, %k : tensor<1xi32>
  %all = stablehlo.dynamic_reshape %sums, %flat : (tensor<3x?xf32>, tensor<1xi32>) -> tensor<?xf32>
  return %all : tensor<?xf32>
}"""


@pytest.mark.parametrize("n", [0, 1, 2, 17])
def test_what_a_reduction_of_any_size_starts_from(n: int) -> None:
    x = np.random.default_rng([SEED, n]).normal(size=(n, 3)).astype(np.float32)
    run = shlo_disc.compile(of_no_elements(), device="cpu", options=FAST)
    start, columns = (7.0 if n == 0 else float(n)), max(n, 1)
    wanted = np.repeat((start + x.sum(0))[:, None], columns, axis=1).reshape(-1)
    for _ in range(2):
        np.testing.assert_allclose(run(x)[0], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("before", [0, 4, 6])
def test_rows_of_two_axes_of_which_some_are_padding(width: int, before: int) -> None:
    """The loops over rows become one only if the extents of the inner loops depend on them alike."""
    after = 16 - before
    text = f"""func.func @main(%x: tensor<f32>) -> tensor<6x3xf32> {{
  %y = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<{width}xf32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.abs %y : tensor<{width}xf32>
  %1 = stablehlo.concatenate %0, %y, dim = 0 : (tensor<{width}xf32>, tensor<{width}xf32>) -> tensor<{2 * width}xf32>
  %2 = stablehlo.reshape %1 : (tensor<{2 * width}xf32>) -> tensor<2x{width}xf32>
  %3 = stablehlo.pad %2, %one, low = [{before}, 0], high = [{after}, 0], interior = [0, 0]
    : (tensor<2x{width}xf32>, tensor<f32>) -> tensor<18x{width}xf32>
  %4 = stablehlo.reshape %3 : (tensor<18x{width}xf32>) -> tensor<6x3x{width}xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [2]
    : (tensor<6x3x{width}xf32>, tensor<f32>) -> tensor<6x3xf32>
  return %5 : tensor<6x3xf32>
}}"""
    x = np.float32(-1.5)
    (found,) = shlo_disc.compile(text, device="cpu", options=FAST)(x)
    rows = np.pad(np.outer([1.5, -1.5], np.ones(width)), ((before, after), (0, 0)), constant_values=1)
    np.testing.assert_allclose(found, rows.sum(1).reshape(6, 3), rtol=1e-5, atol=1e-5)
