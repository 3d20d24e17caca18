"""Quantized tensors against the formulas of the specification, written in NumPy: compiled, and interpreted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from tests.emulator.device import EmulatedDevice
from tests.emulator.run import compiled
from tests.nearness import product

Array = NDArray[Any]
SIZES = (0, 1, 2, 15, 16, 17, 131)


@dataclass(frozen=True)
class Q:
    """The parameters of a quantized type; those along an axis are arrays that broadcast."""

    scale: Any
    zero: Any = 0
    storage: Any = np.int8
    bounds: tuple[int, int] | None = None
    expressed: Any = np.float32

    def store(self, x: Array) -> Array:
        limits: Any = ml_dtypes.iinfo(self.storage)
        least, most = self.bounds or (limits.min, limits.max)
        number = np.dtype(self.expressed).type
        scaled = (x.astype(number) / np.asarray(self.scale).astype(number)) + np.asarray(self.zero).astype(number)
        clamped = np.rint(np.clip(scaled, number(least), number(most)))
        inside = np.clip(np.nan_to_num(clamped.astype(np.float64)), limits.min, limits.max)
        return inside.astype(np.int64).astype(self.storage)

    def meant(self, stored: Array) -> Array:
        number = np.dtype(self.expressed).type
        return (stored.astype(np.int64) - self.zero).astype(number) * np.asarray(self.scale).astype(number)


X = Q(0.05, 3)
Y = Q(0.125, 28, np.int8, (-123, 122))
U = Q(0.05, 128, np.uint8, (5, 250))
Z = Q(0.3, -7)
W = Q(np.array([0.1, 0.2, 0.05]))
R = Q(np.array([0.1, 0.2, 0.3, 0.4]), np.array([1, -2, 0, 5]))
TOTAL = Q(0.004, 0, np.int32)
TYPES = {
    "!x": "!quant.uniform<i8:f32, 0.05:3>",
    "!y": "!quant.uniform<i8<-123:122>:f32, 0.125:28>",
    "!z": "!quant.uniform<i8:f32, 0.3:-7>",
    "!w": "!quant.uniform<i8:f32:1, {0.1, 0.2, 0.05}>",
    "!r": "!quant.uniform<i8:f32:1, {0.1:1, 0.2:-2, 0.3, 0.4:5}>",
    "!v": "!quant.uniform<i8:f32:0, {0.1, 0.2, 0.05}>",
    "!u": "!quant.uniform<u8<5:250>:f32, 0.05:128>",
    "!t": "!quant.uniform<i32:f32, 0.004>",
}
TEXT = re.sub(r"!\w\b", lambda found: TYPES[found[0]], """
func.func @main(%x: tensor<?x4xf32>, %y: tensor<?x4x!y>, %w: tensor<4x3x!w>) -> (
    tensor<?x4x!x>, tensor<?x4x!z>, tensor<?x4x!z>, tensor<?x4x!z>, tensor<?x4xi1>, tensor<?x4x!z>, tensor<4x3xf32>,
    tensor<?x3xf32>, tensor<?x3x!t>, tensor<?x3x!z>, tensor<4x?x!x>, tensor<4x!x>, tensor<?x4x!x>, tensor<?x6x!x>,
    tensor<3x4x!v>, tensor<?x4xi8>, tensor<?x8x!x>, tensor<?x4x!u>,
    tensor<?x4x!r>, tensor<?x4xf32>) {
  %a = stablehlo.uniform_quantize %x : (tensor<?x4xf32>) -> tensor<?x4x!x>
  %sum = stablehlo.add %a, %y : (tensor<?x4x!x>, tensor<?x4x!y>) -> tensor<?x4x!z>
  %exp = stablehlo.exponential %a : (tensor<?x4x!x>) -> tensor<?x4x!z>
  %less = stablehlo.compare LT, %a, %a, FLOAT : (tensor<?x4x!x>, tensor<?x4x!x>) -> tensor<?x4xi1>
  %again = stablehlo.uniform_quantize %y : (tensor<?x4x!y>) -> tensor<?x4x!z>
  %product = stablehlo.multiply %a, %again : (tensor<?x4x!x>, tensor<?x4x!z>) -> tensor<?x4x!z>
  %weights = stablehlo.uniform_dequantize %w : (tensor<4x3x!w>) -> tensor<4x3xf32>
  %hybrid = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<?x4xf32>, tensor<4x3x!w>) -> tensor<?x3xf32>
  %dot = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
    : (tensor<?x4x!x>, tensor<4x3x!w>) -> tensor<?x3x!t>
  %narrow = stablehlo.uniform_quantize %dot : (tensor<?x3x!t>) -> tensor<?x3x!z>
  %turned = stablehlo.transpose %a, dims = [1, 0] : (tensor<?x4x!x>) -> tensor<4x?x!x>
  %least = stablehlo.constant() <{value = dense<-128> : tensor<i8>}> : () -> tensor<!x>
  %largest = stablehlo.reduce(%a init: %least) across dimensions = [0] : (tensor<?x4x!x>, tensor<!x>) -> tensor<4x!x>
    reducer(%p: tensor<!x>, %q: tensor<!x>) {
      %m = stablehlo.maximum %p, %q : tensor<!x>
      stablehlo.return %m : tensor<!x>
    }
  %sorted = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<!x>, %q: tensor<!x>):
    %c = stablehlo.compare GT, %p, %q, FLOAT : (tensor<!x>, tensor<!x>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<?x4x!x>) -> tensor<?x4x!x>
  %padded = stablehlo.pad %a, %least, low = [0, 1], high = [0, 1], interior = [0, 0]
    : (tensor<?x4x!x>, tensor<!x>) -> tensor<?x6x!x>
  %axis = stablehlo.transpose %w, dims = [1, 0]
    : (tensor<4x3x!w>) -> tensor<3x4x!v>
  %bits = stablehlo.bitcast_convert %y : (tensor<?x4x!y>) -> tensor<?x4xi8>
  %both = stablehlo.concatenate %a, %sorted, dim = 1 : (tensor<?x4x!x>, tensor<?x4x!x>) -> tensor<?x8x!x>
  %unsigned = stablehlo.uniform_quantize %x : (tensor<?x4xf32>) -> tensor<?x4x!u>
  %axes = stablehlo.uniform_quantize %a : (tensor<?x4x!x>) -> tensor<?x4x!r>
  %meant = stablehlo.uniform_dequantize %axes : (tensor<?x4x!r>) -> tensor<?x4xf32>
  return %a, %sum, %product, %exp, %less, %again, %weights, %hybrid, %dot, %narrow, %turned, %largest, %sorted,
    %padded, %axis, %bits, %both, %unsigned, %axes, %meant : tensor<?x4x!x>, tensor<?x4x!z>, tensor<?x4x!z>,
    tensor<?x4x!z>, tensor<?x4xi1>, tensor<?x4x!z>, tensor<4x3xf32>, tensor<?x3xf32>, tensor<?x3x!t>,
    tensor<?x3x!z>, tensor<4x?x!x>, tensor<4x!x>, tensor<?x4x!x>, tensor<?x6x!x>, tensor<3x4x!v>, tensor<?x4xi8>,
    tensor<?x8x!x>, tensor<?x4x!u>, tensor<?x4x!r>, tensor<?x4xf32>
}
""")  # fmt: skip


def wanted(x: Array, y: Array, w: Array) -> list[Array]:
    """The results of `TEXT`."""
    with np.errstate(all="ignore"):
        return _wanted(x, y, w)


def _wanted(x: Array, y: Array, w: Array) -> list[Array]:
    a = X.store(x)
    dot = TOTAL.store(X.meant(a) @ W.meant(w))
    ordered = -np.sort(-a.astype(np.int16), axis=1)
    return [
        a,
        Z.store(X.meant(a) + Y.meant(y)),
        Z.store(X.meant(a) * Z.meant(Z.store(Y.meant(y)))),
        Z.store(np.exp(X.meant(a))),
        np.zeros(a.shape, bool),
        Z.store(Y.meant(y)),
        W.meant(w),
        x @ W.meant(w),
        dot,
        Z.store(TOTAL.meant(dot)),
        a.T,
        a.max(0, initial=-128),
        ordered.astype(np.int8),
        np.pad(a, ((0, 0), (1, 1)), constant_values=-128),
        w.T,
        y,
        np.concatenate([a, ordered.astype(np.int8)], axis=1),
        U.store(x),
        R.store(X.meant(a)),
        R.meant(R.store(X.meant(a))),
    ]


def arrays(size: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(size)
    x = (rng.standard_normal((size, 4)) * 4).astype(np.float32)
    x.reshape(-1)[::7] = rng.choice([np.nan, np.inf, -np.inf, 1e9, -0.0, 0.125], x.reshape(-1)[::7].shape)
    y = rng.integers(-123, 123, (size, 4)).astype(np.int8)
    return x, y, rng.integers(-128, 128, (4, 3)).astype(np.int8)


def hold(found: Sequence[Array], x: Array, y: Array, w: Array) -> None:
    """Stored integers may be one apart where a sum in another order rounds to the other side."""
    finite = np.isfinite(x).all(axis=1)
    for k, (one, other) in enumerate(zip(found, wanted(x, y, w), strict=True)):
        assert one.dtype == other.dtype, k
        assert one.shape == other.shape, k
        if k == 7:
            product(x[finite], W.meant(w)).check(one[finite])
        else:
            apart = 1 if k in (3, 8, 9) else 0
            np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), rtol=0, atol=apart, err_msg=k)


@pytest.fixture(scope="module")
def run() -> shlo_disc.Compiled:
    return shlo_disc.compile(TEXT)


@pytest.mark.parametrize("size", SIZES)
def test_compiled(size: int, run: shlo_disc.Compiled) -> None:
    inputs = arrays(size)
    hold(run(*inputs), *inputs)


@pytest.mark.parametrize("size", SIZES)
def test_interpreted(size: int) -> None:
    inputs = arrays(size)
    hold(interpret(legalize(parse_module(TEXT)), inputs), *inputs)


def test_emulated() -> None:
    run = compiled(TEXT, EmulatedDevice()).executable
    for size in (0, 3, 67):
        inputs = arrays(size)
        hold([np.asarray(x) for x in run(inputs)], *inputs)


STORAGE = {
    "A": ("i8:f32, 0.5:1", Q(0.5, 1)),
    "B": ("i32:f32, 0.25", Q(0.25, 0, np.int32)),
    "C": ("i4:f32, 0.5:1", Q(0.5, 1, ml_dtypes.int4)),
    "D": ("i16:f64, 0.01", Q(0.01, 0, np.int16, expressed=np.float64)),
    "E": ("u8:bf16, 0.125:7", Q(0.125, 7, np.uint8, expressed=ml_dtypes.bfloat16)),
    "F": ("u4<1:14>:f32, 0.5:3", Q(0.5, 3, ml_dtypes.uint4, (1, 14))),
}
STORED = """
func.func @main(%x: tensor<?x4xf32>, %d: tensor<?x4xf64>, %h: tensor<?x4xbf16>)
    -> (tensor<?x!B>, tensor<?x4x!C>, tensor<?x4x!D>, tensor<?x4x!E>, tensor<?x4x!F>, tensor<?x4xf32>) {
  %a = stablehlo.uniform_quantize %x : (tensor<?x4xf32>) -> tensor<?x4x!A>
  %init = stablehlo.constant() <{value = dense<1> : tensor<i8>}> : () -> tensor<!A>
  %0 = "stablehlo.reduce"(%a, %init) <{dimensions = array<i64: 1>}> ({
  ^bb0(%p: tensor<!B>, %q: tensor<!B>):
    %s = stablehlo.add %p, %q : tensor<!B>
    stablehlo.return %s : tensor<!B>
  }) : (tensor<?x4x!A>, tensor<!A>) -> tensor<?x!B>
  %1 = stablehlo.uniform_quantize %x : (tensor<?x4xf32>) -> tensor<?x4x!C>
  %2 = stablehlo.uniform_quantize %d : (tensor<?x4xf64>) -> tensor<?x4x!D>
  %3 = stablehlo.uniform_quantize %h : (tensor<?x4xbf16>) -> tensor<?x4x!E>
  %4 = stablehlo.uniform_quantize %x : (tensor<?x4xf32>) -> tensor<?x4x!F>
  %5 = stablehlo.uniform_dequantize %1 : (tensor<?x4x!C>) -> tensor<?x4xf32>
  return %0, %1, %2, %3, %4, %5
    : tensor<?x!B>, tensor<?x4x!C>, tensor<?x4x!D>, tensor<?x4x!E>, tensor<?x4x!F>, tensor<?x4xf32>
}
"""


def test_every_storage_and_expressed_type() -> None:
    """A reduction whose region is written for wider storage and another scale stores its operands anew."""
    text = re.sub(r"!([A-F])\b", lambda found: f"!quant.uniform<{STORAGE[found[1]][0]}>", STORED)
    x = (np.random.default_rng(0).standard_normal((67, 4)) * 6).astype(np.float32)
    inputs = [x, x.astype(np.float64), x.astype(ml_dtypes.bfloat16)]
    types = {name: parameters for name, (_, parameters) in STORAGE.items()}
    narrow = types["C"].store(x)
    wanted = [
        types["B"].store(types["A"].meant(types["A"].store(x)).sum(1)),
        narrow,
        *(types[name].store(one) for name, one in zip("DEF", (inputs[1], inputs[2], x), strict=True)),
        types["C"].meant(narrow),
    ]
    for found in (shlo_disc.compile(text)(*inputs), interpret(legalize(parse_module(text)), inputs)):
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one.astype(np.float64), other.astype(np.float64))
