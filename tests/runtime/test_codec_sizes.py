"""Sizes as bytes: each function of sizes is written once, and what is no size is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from shlo_disc.codec import DamagedError, decode, encode
from shlo_disc.size_expr import SizeExpr, SizeOp


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
