"""Programs in StableHLO text, and jitted functions that call them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

import shlo_disc
from shlo_disc import Compiled, CompileOptions
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.xla.library import XlaLibrary, open_library

FAST = CompileOptions(optimize=0, threads=2)
SIZES = (0, 1, 7, 8, 9, 64, 127)
SUM = """
func.func @main(%a: tensor<?x{0}>, %b: tensor<?x{0}>) -> tensor<?x{0}> {{
  %0 = stablehlo.{1} %a, %b : tensor<?x{0}>
  return %0 : tensor<?x{0}>
}}
"""
# (x + y, the sum of x), by a temporary
TWO = """
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (tensor<?xf32>, tensor<f32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.add %x, %y : tensor<?xf32>
  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<?xf32>, tensor<f32>
}
"""
# Loops that XLA cannot see: long enough to be watched.
SLOW = """
func.func @main(%x: tensor<?xf32>, %n: tensor<i32>) -> tensor<?xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%k = %zero, %y = %x) : tensor<i32>, tensor<?xf32>
  cond {
    %1 = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %k, %one : tensor<i32>
    %2 = stablehlo.sine %y : tensor<?xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<?xf32>
  }
  return %0#1 : tensor<?xf32>
}
"""
# A product of matrices of sizes that make it take an arena.
CHAIN = """
func.func @main(%a: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
      : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %1 = stablehlo.tanh %0 : tensor<?x64xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0]
      : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %3 = stablehlo.add %2, %0 : tensor<?x64xf32>
  return %3 : tensor<?x64xf32>
}
"""
# The sum of a slice: its size is an element of an argument, that of the result is not.
SLICED = """
func.func @main(%a: tensor<?xf32>, %s: tensor<1xi32>, %l: tensor<1xi32>, %d: tensor<1xi32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.real_dynamic_slice %a, %s, %l, %d
    : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
"""
# The same slice, which is the result.
PIECE = """
func.func @main(%a: tensor<?xf32>, %s: tensor<1xi32>, %l: tensor<1xi32>, %d: tensor<1xi32>) -> tensor<?xf32> {
  %0 = stablehlo.real_dynamic_slice %a, %s, %l, %d
    : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""
# Partitions: the program computes the size of the slice, the largest element, itself.
LATE = """
func.func @main(%a: tensor<?xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.constant dense<0> : tensor<1xi32>
  %o = stablehlo.constant dense<1> : tensor<1xi32>
  %p = stablehlo.constant dense<1> : tensor<i32>
  %c = stablehlo.convert %a : (tensor<?xf32>) -> tensor<?xi32>
  %n = stablehlo.reduce(%c init: %i) applies stablehlo.maximum across dimensions = [0]
      : (tensor<?xi32>, tensor<i32>) -> tensor<i32>
  %l = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %0 = stablehlo.real_dynamic_slice %a, %s, %l, %o
    : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
"""
TRANSFORM = """
func.func @main(%a: tensor<?x8xcomplex<f32>>) -> tensor<?x8xcomplex<f32>> {
  %0 = stablehlo.fft %a, type = FFT, length = [8] : (tensor<?x8xcomplex<f32>>) -> tensor<?x8xcomplex<f32>>
  return %0 : tensor<?x8xcomplex<f32>>
}
"""


@cache
def program(text: str, options: CompileOptions = FAST) -> Compiled:
    """A program, which all tests share."""
    return fresh(text, options)


def fresh(text: str, options: CompileOptions = FAST, donate: Sequence[int] = ()) -> Compiled:
    """A program of a test's own."""
    return shlo_disc.compile(text, device="cpu", options=options, donate=donate)


def library() -> XlaLibrary:
    """What XLA calls, loaded."""
    executable = program(TWO).executable
    assert isinstance(executable, CpuExecutable)
    return open_library(executable.for_xla)


def normal(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
