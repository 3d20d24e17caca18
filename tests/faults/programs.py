# What a program computes is a function of any arrays.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""Programs that ask for memory in every way that a call can: results, temporaries, scratch, copies, packed operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Sequence[NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """A program, arrays of a size, and what it computes."""

    text: str
    inputs: Callable[[int], Arrays]
    wanted: Callable[..., Arrays]
    donate: tuple[int, ...] = ()
    tolerance: float = 0.0
    size: int = 3000


def numbers(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def positive(n: int) -> NDArray[np.float32]:
    x = numbers(n, n)
    return x @ x.T + n * np.eye(n, dtype=np.float32)


def softmax(x: NDArray[np.float32]) -> NDArray[np.float32]:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


MAP = """
func.func @main(%a: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = stablehlo.add %a, %a : tensor<?xf32>
  %1 = stablehlo.negate %a : tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}
"""
SORT = """
func.func @main(%a: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %r : tensor<i1>
    }) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<?x8xf32>
  %2 = "stablehlo.sort"(%1) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %r : tensor<i1>
    }) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}
"""
LAYERS = """
func.func @main(%x: tensor<?x64xf32>, %v: tensor<64x128xf32>, %w: tensor<128x64xf32>) -> tensor<?x64xf32> {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0]
    : (tensor<?x64xf32>, tensor<64x128xf32>) -> tensor<?x128xf32>
  %1 = stablehlo.tanh %0 : tensor<?x128xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0]
    : (tensor<?x128xf32>, tensor<128x64xf32>) -> tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}
"""
UPDATE = """
func.func @main(%x: tensor<?xf32>, %g: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.subtract %x, %g : tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""
LOOP = """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<?xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %z = "stablehlo.sort"(%y) <{dimension = 0 : i64, is_stable = true}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %q = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %q : tensor<i1>
        }) : (tensor<?xf32>) -> tensor<?xf32>
      stablehlo.return %j, %z : tensor<i32>, tensor<?xf32>
    }
  return %r#1 : tensor<?xf32>
}
"""
CHOLESKY = """
func.func @main(%a: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
"""
FFT = """
func.func @main(%a: tensor<?x256xf32>) -> tensor<?x129xcomplex<f32>> {
  %0 = stablehlo.add %a, %a : tensor<?x256xf32>
  %1 = stablehlo.fft %0, type = RFFT, length = [256] : (tensor<?x256xf32>) -> tensor<?x129xcomplex<f32>>
  return %1 : tensor<?x129xcomplex<f32>>
}
"""

CASES = {
    "map": Case(MAP, lambda n: (numbers(n),), lambda x: (x + x, -x)),
    "sort": Case(SORT, lambda n: (numbers(n, 8),), lambda x: (np.sort(x, 0)[::-1],)),
    "layers": Case(
        LAYERS,
        lambda n: (numbers(n, 64), numbers(64, 128) / 8, numbers(128, 64) / 11),
        lambda x, v, w: (np.tanh(x @ v) @ w,),
        tolerance=1e-4,
    ),
    "update": Case(UPDATE, lambda n: (numbers(n), numbers(n)[::-1].copy()), lambda x, g: (x - g,), donate=(0,)),
    "loop": Case(LOOP, lambda n: (numbers(n),), lambda x: (np.sort(x),)),
    "cholesky": Case(
        CHOLESKY,
        lambda n: (positive(n),),
        lambda a: (np.linalg.cholesky(a),),
        tolerance=1e-3,
        size=40,
    ),
    "fft": Case(FFT, lambda n: (numbers(n, 256),), lambda a: (np.fft.rfft(a + a),), tolerance=1e-2, size=60),
}
