"""Programs as other front ends leave them: sizes by `tensor` and `arith`, by `shape`, or by casts between both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module

SIZES = (0, 1, 2, 7, 8)
Array = NDArray[np.float32]

MLP = """func.func @main(%x: tensor<?x?x4xf32>, %w: tensor<4x3xf32>, %c: tensor<3xf32>) -> tensor<?x?x3xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c3_i64 = arith.constant 3 : i64
  %dim = tensor.dim %x, %c0 : tensor<?x?x4xf32>
  %dim_0 = tensor.dim %x, %c1 : tensor<?x?x4xf32>
  %rows = arith.muli %dim, %dim_0 : index
  %from_elements = tensor.from_elements %rows, %c4 : tensor<2xindex>
  %0 = stablehlo.dynamic_reshape %x, %from_elements : (tensor<?x?x4xf32>, tensor<2xindex>) -> tensor<?x4xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
    : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  %2 = arith.index_cast %rows : index to i64
  %from_elements_1 = tensor.from_elements %2, %c3_i64 : tensor<2xi64>
  %3 = stablehlo.dynamic_broadcast_in_dim %c, %from_elements_1, dims = [1]
    : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  %4 = stablehlo.add %1, %3 : tensor<?x3xf32>
  %5 = stablehlo.tanh %4 : tensor<?x3xf32>
  %c3 = arith.index_cast %c3_i64 : i64 to index
  %from_elements_2 = tensor.from_elements %dim, %dim_0, %c3 : tensor<3xindex>
  %6 = stablehlo.dynamic_reshape %5, %from_elements_2 : (tensor<?x3xf32>, tensor<3xindex>) -> tensor<?x?x3xf32>
  return %6 : tensor<?x?x3xf32>
}"""

SUM = """func.func @main(%x: tensor<?x?xf32>, %y: tensor<?xf32>) -> tensor<?x?xf32> {
  %0 = shape.shape_of %x : tensor<?x?xf32> -> tensor<2xindex>
  %1 = shape.shape_of %y : tensor<?xf32> -> tensor<1xindex>
  %2 = shape.cstr_broadcastable %0, %1 : tensor<2xindex>, tensor<1xindex>
  %3 = shape.assuming %2 -> (tensor<?x?xf32>) {
    %4 = shape.broadcast %0, %1 : tensor<2xindex>, tensor<1xindex> -> !shape.shape
    %5 = shape.to_extent_tensor %4 : !shape.shape -> tensor<2xindex>
    %6 = stablehlo.dynamic_broadcast_in_dim %x, %5, dims = [0, 1]
      : (tensor<?x?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
    %7 = stablehlo.dynamic_broadcast_in_dim %y, %5, dims = [1] : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
    %8 = stablehlo.add %6, %7 : tensor<?x?xf32>
    shape.assuming_yield %8 : tensor<?x?xf32>
  }
  return %3 : tensor<?x?xf32>
}"""

HALVES = """func.func private @half(%n: index) -> index {
  %c2 = index.constant 2
  %0 = index.ceildivs %n, %c2
  return %0 : index
}
func.func @main(%x: tensor<?xf32>, %n: tensor<i64>) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c0_i32 = stablehlo.constant dense<0> : tensor<1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %0 = tensor.dim %x, %c0 : tensor<?xf32>
  %1 = func.call @half(%0) : (index) -> index
  %2 = tensor.from_elements %1 : tensor<1xindex>
  %3 = builtin.unrealized_conversion_cast %2 : tensor<1xindex> to tensor<1xi32>
  %4 = stablehlo.real_dynamic_slice %x, %c0_i32, %3, %one
    : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  %5 = tensor.extract %n[] : tensor<i64>
  %6 = arith.index_cast %5 : i64 to index
  %7 = arith.addi %6, %1 : index
  %8 = tensor.from_elements %7 : tensor<1xindex>
  %9 = stablehlo.dynamic_iota %8, dim = 0 : (tensor<1xindex>) -> tensor<?xf32>
  return %4, %9 : tensor<?xf32>, tensor<?xf32>
}"""


def normal(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def test_a_perceptron_of_torch_mlir() -> None:
    run, w, c = shlo_disc.compile(MLP, device="cpu"), normal(4, 3), normal(3)
    program = legalize(parse_module(MLP))
    assert program.checks == ()  # everything is proven
    for b in SIZES:
        for s in SIZES:
            x = normal(b, s, 4)
            np.testing.assert_allclose(run(x, w, c)[0], np.tanh(x @ w + c), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(interpret(program, [x, w, c])[0], np.tanh(x @ w + c), rtol=1e-4, atol=1e-5)


def test_a_sum_that_assumes_sizes_which_broadcast() -> None:
    run, program = shlo_disc.compile(SUM, device="cpu"), legalize(parse_module(SUM))
    for m in SIZES:
        for n in SIZES:
            for k in {n, 1}:
                for x, y in ((normal(m, n), normal(k)), (normal(m, k), normal(n))):
                    np.testing.assert_array_equal(run(x, y)[0], x + y)
                    np.testing.assert_array_equal(interpret(program, [x, y])[0], x + y)
    with pytest.raises(shlo_disc.RuntimeShapeError) as caught:
        run(normal(2, 7), normal(8))
    lines = str(caught.value).splitlines()
    assert lines[0] == "expected sizes that are equal or 1, found 7 and 8"
    assert lines[-3] == "  demanded at <string>:4:8"
    assert lines[-2].strip().startswith("%2 = shape.cstr_broadcastable %0, %1")


@pytest.mark.parametrize("driver", ["c", "vm"])
def test_sizes_pass_through_functions_and_come_from_data(driver: Any) -> None:
    run = shlo_disc.compile(HALVES, device="cpu", options=shlo_disc.CompileOptions(driver=driver))
    assert repr(run).endswith("-> (float32[(s0 + 1) // 2], float32[n + (s0 + 1) // 2])>")
    for m in SIZES:
        for n in SIZES:
            x, half = normal(m), -(-m // 2)
            found = run(x, np.int64(n))
            np.testing.assert_array_equal(found[0], x[:half])
            np.testing.assert_array_equal(found[1], np.arange(n + half))


def test_what_a_branch_assumes_is_checked_where_it_runs() -> None:
    text = """func.func @main(%x: tensor<?xf32>, %c: tensor<i1>) -> tensor<?xf32> {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %0 = "stablehlo.if"(%c) ({
        %n = tensor.dim %x, %c0 : tensor<?xf32>
        %even = arith.remui %n, %c4 : index
        %p = arith.cmpi eq, %even, %c0 : index
        %w = shape.cstr_require %p, "a multiple of 4"
        %1 = shape.assuming %w -> (tensor<?xf32>) {
          %2 = stablehlo.negate %x : tensor<?xf32>
          shape.assuming_yield %2 : tensor<?xf32>
        }
        stablehlo.return %1 : tensor<?xf32>
      }, {
        stablehlo.return %x : tensor<?xf32>
      }) : (tensor<i1>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    run = shlo_disc.compile(text, device="cpu")
    for size in SIZES:
        x = normal(size)
        np.testing.assert_array_equal(run(x, np.bool_(False))[0], x)
        if size % 4:
            with pytest.raises(shlo_disc.RuntimeShapeError, match="a multiple of 4"):
                run(x, np.bool_(True))
        else:
            np.testing.assert_array_equal(run(x, np.bool_(True))[0], -x)


def test_the_size_of_an_argument_may_be_an_index() -> None:
    text = """func.func @main(%n: index, %f: tensor<f32>) -> (tensor<?xf32>, index, tensor<f32>) {
      %half = arith.constant 5.000000e-01 : f32
      %given = tensor.extract %f[] : tensor<f32>
      %c0 = arith.constant 0 : index
      %p = arith.cmpi sgt, %n, %c0 : index
      %one = arith.select %p, %given, %half : f32
      %0 = tensor.from_elements %one : tensor<f32>
      %s = tensor.from_elements %n : tensor<1xindex>
      %1 = stablehlo.dynamic_broadcast_in_dim %0, %s, dims = [] : (tensor<f32>, tensor<1xindex>) -> tensor<?xf32>
      return %1, %n, %0 : tensor<?xf32>, index, tensor<f32>
    }"""
    run = shlo_disc.compile(text, device="cpu")
    for size in SIZES:
        value = np.float32(3 if size else 0.5)
        full, number, one = run(np.int64(size), np.float32(3))
        np.testing.assert_array_equal(full, np.full(size, value))
        assert (int(number), one) == (size, value)
