"""Where XLA is known to be wrong, its results are not compared, and elsewhere they are."""

from __future__ import annotations

import numpy as np
import pytest

from shlo_disc.check.deviations import xla_deviation
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.lower_cuda.deviations import library_deviation
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("values", "dtype", "is_wrong"), [([1, 7], "i32", False), ([1, -7], "i32", True), ([1, 7], "i64", True)]
)
def test_leading_zeros_of_some_constants(values: list[int], dtype: str, is_wrong: bool) -> None:
    """XLA folds them as 32 bits: `jax.jit(lambda: lax.clz(np.int32(-1)))()` is -32."""
    module = parse_module(f"""func.func @main() -> tensor<2x{dtype}> {{
  %0 = stablehlo.constant dense<{values}> : tensor<2x{dtype}>
  %1 = stablehlo.count_leading_zeros %0 : tensor<2x{dtype}>
  return %1 : tensor<2x{dtype}>
}}""")
    assert ("leading zeros" in xla_deviation(module, legalize(module), [])) == is_wrong


def test_nans_that_extremes_lose() -> None:
    module = parse_module("""func.func @main(%x: tensor<3xf32>) -> tensor<f32> {
  %init = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.maximum across dimensions = [0]
      : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}""")
    program = legalize(module)
    assert "drops NaN" in xla_deviation(module, program, [np.array([1, np.nan, 2], np.float32)])
    assert not xla_deviation(module, program, [np.array([1, 3, 2], np.float32)])


def test_infinite_products_of_complex_matrices() -> None:
    """The specification's sum of products gives inf - inf i; XLA, as BLAS, multiplies it by 1 + 0i, which gives NaN."""
    module = parse_module("""func.func @main(%x: tensor<2x2xcomplex<f64>>) -> tensor<2x2xcomplex<f64>> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0]
      : (tensor<2x2xcomplex<f64>>, tensor<2x2xcomplex<f64>>) -> tensor<2x2xcomplex<f64>>
  return %0 : tensor<2x2xcomplex<f64>>
}""")
    program, x = legalize(module), np.array([[0, 0], [0, complex(np.inf, -1)]])
    (found,) = interpret(program, [x])
    assert (found[1, 1].real, found[1, 1].imag) == (np.inf, -np.inf)
    assert "infinite products" in xla_deviation(module, program, [x])
    assert not xla_deviation(module, program, [np.ones((2, 2), np.complex128)])


def test_a_gpu_s_libraries() -> None:
    program = legalize(
        parse_module("""func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}""")
    )
    assert not library_deviation(program, [np.ones(4, np.complex64)])
    assert "cuFFT" in library_deviation(program, [np.array([1, 2, np.inf, 3], np.complex64)])
    program = legalize(
        parse_module("""func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}""")
    )
    assert "cuSOLVER" in library_deviation(program, [np.eye(3, dtype=np.float32)])
