"""Sizes as bytes: each function of sizes is written once, and what is no size is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

import shlo_disc
from shlo_disc.codec import DamagedError, decode, encode
from shlo_disc.expr.dim import const
from shlo_disc.size_expr import SizeExpr, SizeOp, evaluate
from tests.pipeline.exports import FAST

pytestmark = pytest.mark.quick


def plain(content: Any) -> bytes:
    """An encoding with this JSON text."""
    text = json.dumps(content).encode()
    return len(text).to_bytes(8, "little") + text


@dataclass(frozen=True)
class Sized:
    """What has sizes."""

    sizes: tuple[SizeExpr, ...]


def test_a_size_that_stands_several_times_is_written_once() -> None:
    half = SizeOp("//", ("n", 2))
    value = Sized((half, SizeOp("+", (half, half)), "n", 3, SizeOp("+", (half, half))))
    assert encode(Sized, value)[8:] == b'[[["//","n",2],["+",[0],[0]],"n",3,[1]]]'
    found = decode(Sized, encode(Sized, value))
    assert found == value
    assert found.sizes[1] is found.sizes[4]


def test_operands_have_lower_numbers_than_their_function() -> None:
    less = SizeOp("+", ("m", -1))
    twice = SizeOp("*", (less, 2))
    value = Sized((twice, less, twice))
    assert encode(Sized, value)[8:] == b'[[["*",["+","m",-1],2],[0],[1]]]'
    assert decode(Sized, encode(Sized, value)) == value


@pytest.mark.parametrize(
    "sizes",
    [
        [["//", 1]], [["/", 1, 2]], [["+"]], [[]], [[0]], [["+", 1, [0]]], [["+", 1, 2], [0, 1]], [["+", 1, 2], [-1]],
        [["+", 1, 2], [1]], [["+", 1.5]], [["+", None]], [["+", [True]]], [True], [[["+", 1], 2]], [["+", 1 << 63]],
        [["+", 1, 2], *(["+", [k], [k]] for k in range(60))],  # 2**60 parts of 60 functions
    ],
)  # fmt: skip
def test_what_is_no_size_is_damaged(sizes: list[Any]) -> None:
    with pytest.raises(DamagedError):
        decode(Sized, plain([sizes]))


@pytest.mark.parametrize("value", [0, 2**63 - 1, -(2**63) + 1, 2**63, -(2**63), 2**64 + 5, -(3**100), 10**60])
def test_numbers_beyond_64_bits_are_written(value: int) -> None:
    size = const(value).size_expr()
    assert evaluate(size, {}) == value
    assert decode(Sized, encode(Sized, Sized((size,)))) == Sized((size,))


def test_what_costs_more_than_64_bits_compiles() -> None:
    """Arrays of 2**62 bytes, whose bytes together, and whose products, are more than 64 bits hold."""
    x, y = "tensor<?x1073741824xf32>", "tensor<1073741824x1073741824xf32>"
    text = f"""func.func @main(%x: {x}, %y: {y}) -> ({x}, {y}) {{
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({x}, {y}) -> {x}
      %1 = stablehlo.dot_general %y, %y, contracting_dims = [1] x [0] : ({y}, {y}) -> {y}
      return %0, %1 : {x}, {y}
    }}"""
    artifact = shlo_disc.compile(text, options=FAST).executable.artifact
    assert max(evaluate(group.flops, {"s0": 1}) for group in artifact.report.groups) > 2**63
