"""Ops that move elements of quantized tensors: stored integers move, and scales with their axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.options import CompileOptions
from shlo_disc.parse.parser import parse_module
from tests.emulator.device import EmulatedDevice
from tests.emulator.run import compiled

Array = NDArray[Any]


@dataclass(frozen=True)
class Kind:
    """How a tensor is quantized. `scales` has one scale, or one for each index along the axis of a type."""

    storage: str
    bounds: str
    scales: tuple[float, ...]
    zeros: tuple[int, ...]
    expressed: str = "f32"

    def text(self, axis: int) -> str:
        pairs = ", ".join(f"{scale}:{zero}" for scale, zero in zip(self.scales, self.zeros, strict=True))
        along, parameters = ("", pairs) if len(self.scales) == 1 else (f":{axis}", f"{{{pairs}}}")
        return f"!quant.uniform<{self.storage}{self.bounds}:{self.expressed}{along}, {parameters}>"

    @property
    def numpy(self) -> Any:
        return {"i4": ml_dtypes.int4, "u4": ml_dtypes.uint4}.get(
            self.storage, np.dtype({"i": "int", "u": "uint"}[self.storage[0]] + self.storage[1:])
        )

    def meant(self, stored: Array, axis: int) -> Array:
        shape = [-1 if k == axis else 1 for k in range(stored.ndim)] if len(self.scales) > 1 else [1] * stored.ndim
        number = np.float64 if self.expressed == "f64" else np.float32
        scales = np.array(self.scales).astype(number).reshape(shape)
        return (stored.astype(np.int64) - np.array(self.zeros).reshape(shape)).astype(number) * scales


KINDS = {
    "i8": Kind("i8", "", (0.5,), (-3,)),
    "u8 of a range": Kind("u8", "<5:250>", (0.25,), (128,)),
    "i4": Kind("i4", "", (1.5,), (1,)),
    "i32, f64": Kind("i32", "", (0.001,), (7,), "f64"),
    "i16": Kind("i16", "", (0.125,), (0,)),
    "an axis": Kind("i8", "", (0.5, 0.25, 2.0), (1, -2, 0)),
}


def padded(q: Array) -> Array:
    return np.array([q[k // 2] if k % 2 else np.full(3, q[0, 0], q.dtype) for k in range(8)])


# The type of an operand and of the result, with Q0, Q1 … for types quantized along axis 0, 1 …; a `?` is 4 at run time.
I64X2 = "tensor<2xi64>"
MOVES: dict[str, tuple[str, str, str, int, int, Callable[[Array], Array]]] = {
    "reshape": ("%r = stablehlo.reshape %q : (tensor<4x3xQ1>) -> tensor<2x2x3xQ2>",
                "4x3", "2x2x3", 1, 2, lambda q: q.reshape(2, 2, 3)),
    "reshape away": ("%r = stablehlo.reshape %q : (tensor<1x4x3xQ2>) -> tensor<4x3xQ1>",
                     "1x4x3", "4x3", 2, 1, lambda q: q.reshape(4, 3)),
    "broadcast_in_dim": ("%r = stablehlo.broadcast_in_dim %q, dims = [2, 0] : (tensor<4x3xQ1>) -> tensor<3x2x4xQ0>",
                         "4x3", "3x2x4", 1, 0, lambda q: np.broadcast_to(q.T[:, None], (3, 2, 4))),
    "broadcast_in_dim of the same shape": (
        "%r = stablehlo.broadcast_in_dim %q, dims = [0, 1] : (tensor<4x3xQ1>) -> tensor<4x3xQ1>",
        "4x3", "4x3", 1, 1, lambda q: q),
    "dynamic_reshape": (
        "%s = stablehlo.constant dense<[3, 4]> : tensor<2xi64> "
        "%t = stablehlo.transpose %q, dims = [1, 0] : (tensor<?x3xQ1>) -> tensor<3x?xQ0> "
        "%r = stablehlo.dynamic_reshape %t, %s : (tensor<3x?xQ0>, tensor<2xi64>) -> tensor<3x?xQ0>",
        "?x3", "3x?", 1, 0, lambda q: q.T),
    "dynamic_broadcast_in_dim": (
        "%s = stablehlo.constant dense<[2, 4, 3]> : tensor<3xi64> "
        "%r = stablehlo.dynamic_broadcast_in_dim %q, %s, dims = [1, 2] "
        ": (tensor<?x3xQ1>, tensor<3xi64>) -> tensor<2x?x3xQ2>",
        "?x3", "2x?x3", 1, 2, lambda q: np.stack([q, q])),
    "transpose": ("%r = stablehlo.transpose %q, dims = [1, 0] : (tensor<?x3xQ1>) -> tensor<3x?xQ0>",
                  "?x3", "3x?", 1, 0, lambda q: q.T),
    "slice": ("%r = stablehlo.slice %q [1:4:2, 0:3] : (tensor<4x3xQ1>) -> tensor<2x3xQ1>",
              "4x3", "2x3", 1, 1, lambda q: q[1:4:2]),
    "real_dynamic_slice": (
        "%a = stablehlo.constant dense<[1, 0]> : tensor<2xi64> %b = stablehlo.constant dense<[4, 3]> : tensor<2xi64> "
        "%c = stablehlo.constant dense<[2, 1]> : tensor<2xi64> "
        f"%r = stablehlo.real_dynamic_slice %q, %a, %b, %c "
        f": (tensor<?x3xQ1>, {I64X2}, {I64X2}, {I64X2}) -> tensor<?x3xQ1>",
        "?x3", "?x3", 1, 1, lambda q: q[1:4:2]),
    "dynamic_slice": (
        "%i = stablehlo.constant dense<9> : tensor<i32> %z = stablehlo.constant dense<0> : tensor<i32> "
        "%r = stablehlo.dynamic_slice %q, %i, %z, sizes = [2, 3] "
        ": (tensor<?x3xQ1>, tensor<i32>, tensor<i32>) -> tensor<2x3xQ1>",
        "?x3", "2x3", 1, 1, lambda q: q[2:4]),
    "dynamic_update_slice": (
        "%i = stablehlo.constant dense<1> : tensor<i32> %z = stablehlo.constant dense<0> : tensor<i32> "
        "%p = stablehlo.dynamic_slice %q, %z, %z, sizes = [2, 3] "
        ": (tensor<?x3xQ1>, tensor<i32>, tensor<i32>) -> tensor<2x3xQ1> "
        "%r = stablehlo.dynamic_update_slice %q, %p, %i, %z "
        ": (tensor<?x3xQ1>, tensor<2x3xQ1>, tensor<i32>, tensor<i32>) -> tensor<?x3xQ1>",
        "?x3", "?x3", 1, 1, lambda q: np.concatenate([q[:1], q[:2], q[3:]])),
    "concatenate": ("%r = stablehlo.concatenate %q, %q, dim = 0 : (tensor<?x3xQ1>, tensor<?x3xQ1>) -> tensor<?x3xQ1>",
                    "?x3", "?x3", 1, 1, lambda q: np.concatenate([q, q])),
    "pad": (
        "%one = stablehlo.slice %q [0:1, 0:1] : (tensor<4x3xQ1>) -> tensor<1x1xQ9> "
        "%v = stablehlo.reshape %one : (tensor<1x1xQ9>) -> tensor<Q9> "
        "%r = stablehlo.pad %q, %v, low = [1, 0], high = [0, 0], interior = [1, 0] "
        ": (tensor<4x3xQ1>, tensor<Q9>) -> tensor<8x3xQ1>",
        "4x3", "8x3", 1, 1, padded),
    "reverse": ("%r = stablehlo.reverse %q, dims = [0] : tensor<?x3xQ1>", "?x3", "?x3", 1, 1, lambda q: q[::-1]),
    "gather": (
        "%i = stablehlo.constant dense<[3, 0, 7]> : tensor<3xi32> "
        '%r = "stablehlo.gather"(%q, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], '
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} "
        ": (tensor<?x3xQ1>, tensor<3xi32>) -> tensor<3x3xQ1>",
        "?x3", "3x3", 1, 1, lambda q: q[[3, 0, 3]]),
    "select": (
        "%b = stablehlo.reverse %q, dims = [0] : tensor<?x3xQ1> "
        "%c = stablehlo.constant dense<true> : tensor<i1> "
        "%r = stablehlo.select %c, %b, %q : tensor<i1>, tensor<?x3xQ1>", "?x3", "?x3", 1, 1, lambda q: q[::-1]),
    "sort": (
        '%r = "stablehlo.sort"(%q) ({ ^bb0(%a: tensor<Q9>, %b: tensor<Q9>): '
        "%c = stablehlo.compare GT, %a, %b : (tensor<Q9>, tensor<Q9>) -> tensor<i1> stablehlo.return %c "
        ": tensor<i1> }) "
        "{dimension = 0 : i64, is_stable = true} : (tensor<?x3xQ1>) -> tensor<?x3xQ1>",
        "?x3", "?x3", 1, 1, lambda q: -np.sort(-q.astype(np.int64), 0)),
    "if": (
        "%c = stablehlo.constant dense<false> : tensor<i1> "
        '%r = "stablehlo.if"(%c) ({ stablehlo.return %q : tensor<?x3xQ1> }, '
        "{ %b = stablehlo.reverse %q, dims = [0] : tensor<?x3xQ1> stablehlo.return %b : tensor<?x3xQ1> }) "
        ": (tensor<i1>) -> tensor<?x3xQ1>", "?x3", "?x3", 1, 1, lambda q: q[::-1]),
    "while": (
        "%z = stablehlo.constant dense<0> : tensor<i32> %n = stablehlo.constant dense<3> : tensor<i32> "
        "%one = stablehlo.constant dense<1> : tensor<i32> "
        "%w:2 = stablehlo.while(%i = %z, %x = %q) : tensor<i32>, tensor<?x3xQ1> "
        "cond { %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %c "
        ": tensor<i1> } "
        "do { %b = stablehlo.reverse %x, dims = [0] : tensor<?x3xQ1> %j = stablehlo.add %i, %one : tensor<i32> "
        "stablehlo.return %j, %b : tensor<i32>, tensor<?x3xQ1> } "
        "%r = stablehlo.optimization_barrier %w#1 : tensor<?x3xQ1>", "?x3", "?x3", 1, 1, lambda q: q[::-1]),
    "bitcast_convert": (
        "%r = stablehlo.bitcast_convert %q : (tensor<?x3xQ1>) -> tensor<?x3xQ1>", "?x3", "?x3", 1, 1, lambda q: q),
}  # fmt: skip
ALONG_AXES = {name for name in MOVES if "reshape" in name or "broadcast" in name or name == "transpose"}  # as specified


def text_of(name: str, kind: Kind) -> str:
    lines, given, result, before, after, _ = MOVES[name]
    q, r = f"tensor<{given}xQ{before}>", f"tensor<{result}xQ{after}>"
    text = f"""func.func @main(%q: {q}) -> ({r}, tensor<{result}x{kind.expressed}>) {{
  {lines}
  %d = stablehlo.uniform_dequantize %r : ({r}) -> tensor<{result}x{kind.expressed}>
  return %r, %d : {r}, tensor<{result}x{kind.expressed}>
}}"""
    for axis in (0, 1, 2, 9):
        text = text.replace(f"Q{axis}", kind.text(axis))
    return text


CASES = [(name, kind) for name in MOVES for kind in KINDS if name in ALONG_AXES or kind != "an axis"]


def stored(name: str, kind: Kind) -> Array:
    shape = [4 if size == "?" else int(size) for size in MOVES[name][1].split("x")]
    low, high = (5, 250) if kind.bounds else (-8, 7) if kind.storage == "i4" else (-100, 100)
    return np.random.default_rng(5).integers(low, high + 1, shape).astype(kind.numpy)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_stored_integers_move(name: str, kind: str) -> None:
    how = KINDS[kind]
    text, q = text_of(name, how), stored(name, how)
    moved = np.asarray(MOVES[name][5](q)).astype(how.numpy)
    meant = how.meant(moved, MOVES[name][4])
    runs: list[Callable[[Array], Any]] = [lambda x: interpret(legalize(parse_module(text)), [x])]
    drivers: tuple[Literal["c", "vm"], ...] = ("c", "vm")
    runs += [shlo_disc.compile(text, device="cpu", options=CompileOptions(driver=d, optimize=0)) for d in drivers]
    for run in runs:
        found, numbers = run(q)
        assert found.dtype == moved.dtype
        np.testing.assert_array_equal(found.astype(np.int64), moved.astype(np.int64))
        np.testing.assert_array_equal(numbers, meant)


@pytest.mark.parametrize("name", ["reshape", "broadcast_in_dim", "dynamic_broadcast_in_dim", "transpose"])
def test_stored_integers_move_on_the_emulated_gpu(name: str) -> None:
    how = KINDS["an axis"]
    q = stored(name, how)
    moved = np.asarray(MOVES[name][5](q))
    found, numbers = compiled(text_of(name, how), EmulatedDevice()).executable([q])
    np.testing.assert_array_equal(found, moved)
    np.testing.assert_array_equal(numbers, how.meant(moved, MOVES[name][4]))
