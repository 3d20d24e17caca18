"""Windows that are scans or nearly, and reductions of axes of one element or nearly: NumPy is the oracle."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import shlo_disc
from shlo_disc import CompileOptions
from tests.conftest import SEED
from tests.pipeline.exports import Array, In, exported

SIZES = (1, 2, 5, 17, 100)


def windows(x: Array, size: int, low: int, start: int) -> Array:
    """Sums of windows that begin `low` elements before each element."""
    padded = np.concatenate([np.zeros(low, x.dtype), x, np.zeros(size, x.dtype)])
    return np.array([padded[k : k + size].sum(dtype=x.dtype) + start for k in range(len(x))], x.dtype)


@pytest.mark.parametrize(
    ("low", "high"),
    [(2, 0), (0, 2), (1, 1), (0, 4), (4, 0)],
    ids=["before", "behind", "both", "all behind", "all before"],
)
def test_a_window_of_some_elements_is_no_scan(low: int, high: int) -> None:
    def program(x: Any) -> Any:
        return jax.lax.reduce_window(x, np.int32(0), jax.lax.add, (low + high + 1,), (1,), ((low, high),))

    run = shlo_disc.compile(exported(program, (In("n,", np.int32),)))
    for n in SIZES:
        x = np.random.default_rng(SEED).integers(-99, 99, n, np.int32)
        np.testing.assert_array_equal(run(x), windows(x, low + high + 1, low, 0))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_runs_in_its_direction(reverse: bool) -> None:
    run = shlo_disc.compile(exported(lambda x: jax.lax.cumsum(x, reverse=reverse), (In("n,", np.int32),)))
    for n in SIZES:
        x = np.random.default_rng(SEED).integers(-99, 99, n, np.int32)
        np.testing.assert_array_equal(run(x), np.cumsum(x[::-1])[::-1] if reverse else np.cumsum(x))


WHOLE = """\
func.func @main(%x: tensor<SIZExi32>) -> tensor<SIZExi32> {
  %start = stablehlo.constant dense<3> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %start) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) {window_dimensions = array<i64: SIZE>, padding = dense<[[BEFORE, 0]]> : tensor<1x2xi64>}
    : (tensor<SIZExi32>, tensor<i32>) -> tensor<SIZExi32>
  return %0 : tensor<SIZExi32>
}
"""


@pytest.mark.parametrize("threads", [1, 3])
def test_each_window_begins_with_the_initial_value(threads: int) -> None:
    n = 60_000
    text = WHOLE.replace("SIZE", str(n)).replace("BEFORE", str(n - 1))
    program = shlo_disc.compile(text, options=CompileOptions(threads=threads, optimize=1))
    x = np.random.default_rng(SEED).integers(-99, 99, n, np.int32)
    # The definition adds n windows of n elements; the initial value stands in each once.
    (found,) = program(x)
    np.testing.assert_array_equal(found, np.cumsum(x) + 3)


def test_axes_of_one_element_beside_others() -> None:
    def program(x: Any, y: Any) -> Any:
        return x.sum((0, 1)), x.max(0), y.sum((0, 2)), y.min((0, 1, 2))

    run = shlo_disc.compile(exported(program, (In("1, n", np.int32), In("1, n, 1", np.int32))))
    for n in SIZES:
        rng = np.random.default_rng(SEED)
        x, y = rng.integers(-99, 99, (1, n), np.int32), rng.integers(-99, 99, (1, n, 1), np.int32)
        wanted = (x.sum(), x[0], y[0, :, 0], y.min())
        for found, expected in zip(run(x, y), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)


PARTS = """\
func.func @main(%x: tensor<16xf32>) -> tensor<17xf32> {
  %places = stablehlo.constant dense<3> : tensor<16xui8>
  %same = "stablehlo.gather"(%x, %places) <{dimension_numbers = #stablehlo.gather<offset_dims = [],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}>
    : (tensor<16xf32>, tensor<16xui8>) -> tensor<16xf32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %joined = stablehlo.pad %same, %one, low = [0], high = [1], interior = [0]
    : (tensor<16xf32>, tensor<f32>) -> tensor<17xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %both:2 = "stablehlo.reduce_window"(%joined, %joined, %zero, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %sum = stablehlo.add %a, %c : tensor<f32>
    %difference = stablehlo.subtract %b, %d : tensor<f32>
    stablehlo.return %sum, %difference : tensor<f32>, tensor<f32>
  }) {window_dimensions = array<i64: 1>} : (tensor<17xf32>, tensor<17xf32>, tensor<f32>, tensor<f32>)
    -> (tensor<17xf32>, tensor<17xf32>)
  return %both#1 : tensor<17xf32>
}
"""


def test_parts_of_an_axis_have_a_window_each() -> None:
    """The windows of both parts of the axis read no element by a loop, so that both are computed before all loops."""
    x = np.random.default_rng(SEED).standard_normal(16, np.float32)
    (found,) = shlo_disc.compile(PARTS)(x)
    np.testing.assert_array_equal(found, [*[-x[3]] * 16, -1])


RAGGED = """\
func.func @main(%x: tensor<2x2xf32>) -> tensor<1xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sums = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
  %weights = stablehlo.broadcast_in_dim %sums, dims = [1] : (tensor<2xf32>) -> tensor<2x2x1xf32>
  %sizes = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
  %products = "chlo.ragged_dot"(%x, %weights, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<
    lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1],
    rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}>
    : (tensor<2x2xf32>, tensor<2x2x1xf32>, tensor<2xi32>) -> tensor<2x1xf32>
  %all = stablehlo.reduce(%products init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<2x1xf32>, tensor<f32>) -> tensor<1xf32>
  return %all : tensor<1xf32>
}
"""


def test_loops_inside_of_an_element_beside_what_a_row_keeps() -> None:
    """Both are named by the kernel, which keeps two reductions for the product of each element."""
    x = np.random.default_rng(SEED).integers(-4, 5, (2, 2)).astype(np.float32)
    (found,) = shlo_disc.compile(RAGGED)(x)
    np.testing.assert_array_equal(found, [(x @ x.sum(0)).sum()])


def test_folds_of_one_point_beside_each_other_hold_the_same_fold() -> None:
    """Two results of windows of one element, which both begin with the same sums."""

    def program(x: Any) -> Any:
        sums = jax.lax.reduce_window(x, np.float32(0), jax.lax.add, (1, 3), (1, 1), ((0, 0), (1, 1)))

        def both(a: Any, b: Any) -> Any:
            return a[0] + b[0], a[1] + b[1]

        one, two = jax.lax.reduce_window((sums, sums), (np.float32(0),) * 2, both, (1, 1), (1, 1), ((0, 0), (0, 0)))
        return one, two + x

    run = shlo_disc.compile(exported(program, (In("b, n"),)))
    for n in SIZES:
        x = np.random.default_rng(SEED).integers(-99, 99, (3, n)).astype(np.float32)
        sums = np.stack([windows(row, 3, 1, 0) for row in x])
        for found, wanted in zip(run(x), (sums, sums + x), strict=True):
            np.testing.assert_array_equal(found, wanted)
