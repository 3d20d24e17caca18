"""Loops at the sizes where generated code goes another way: whole vectors, tails, strips, segments, initial values."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc.lower_cpu.rows import LONG_ROW
from shlo_disc.lower_cpu.spelling import LANES
from shlo_disc.lower_cpu.stages.vector_loops import STRIP
from tests.pipeline.exports import In, exported

pytestmark = pytest.mark.slow

WIDTHS = sorted({n + d for n in (LANES, 2 * LANES, STRIP, LONG_ROW) for d in (-1, 0, 1)})
Function = Callable[[Any], Any]

# What JAX exports, and what NumPy makes of it: XLA leaves an initial value out where one element is reduced.
KNOWN: dict[str, tuple[Function, Function]] = {
    "map": (lambda x: x * 2 - 1, lambda x: x * 2 - 1),
    "sum of a row": (lambda x: x.sum(1), lambda x: x.sum(1)),
    "maximum of a column": (lambda x: x.max(0), lambda x: x.max(0)),
    "rows less their maximum": (lambda x: x - x.max(1, keepdims=True), lambda x: x - x.max(1, keepdims=True)),
    "sum from 5": (lambda x: lax.reduce(x, np.float32(5), lax.add, (1,)), lambda x: x.sum(1) + 5),
    "columns from 5": (lambda x: lax.reduce(x, np.float32(5), lax.add, (0,)), lambda x: x.sum(0) + 5),
    "least of columns and -8": (
        lambda x: lax.reduce(x, np.float32(-8), lax.min, (0,)),
        lambda x: np.minimum(x.min(0), -8),
    ),
    "columns from what is loaded": (
        lambda x: lax.reduce(x * 2, x[0, 0], lax.add, (0,)),
        lambda x: (x * 2).sum(0) + x[0, 0],
    ),
}


@pytest.mark.parametrize("width", WIDTHS)
def test_known_widths(width: int) -> None:
    check(KNOWN, f"b, {width}", [(b, width) for b in (1, 2, 4, 5, 33)])


def test_widths_of_a_call() -> None:
    check(KNOWN, "b, s", [(b, s) for b in (1, 3, 8) for s in (1, *WIDTHS)])


PERIODIC: dict[str, Function] = {
    "a tile without its last": lambda x: jnp.tile(x, 3)[:-1] + 1,
    "a tile without its first": lambda x: jnp.tile(x, 3)[1:] * 2,
    "every element several times": lambda x: jnp.repeat(x, 3)[:-2] + 1,
    "a tile and more": lambda x: jnp.concatenate([jnp.tile(x, 2), x[:1]]) - 1,
    "tiles of halves": lambda x: jnp.tile(x[: x.shape[0] // 2], 3)[: x.shape[0]] + 1,
}


def test_periods_that_do_not_divide_a_loop() -> None:
    check(by_jax(PERIODIC), "s", [(s,) for s in (2, 7, 16, 17, 33, 64, 100)], "s >= 2")


SEGMENTS: dict[str, Function] = {
    "shifted left": lambda x: jnp.concatenate([x[:, 3:], x[:, :3]], 1).sum(1),
    "cut beyond the end": lambda x: jnp.where(jnp.arange(x.shape[1]) < 40, x, 0).sum(1),
    "cut before the start": lambda x: jnp.where(jnp.arange(x.shape[1]) - x.shape[0] < 0, x, -x).max(1),
    "padded": lambda x: jnp.pad(x, ((1, 2), (3, 4)), constant_values=2).sum(1),
    "of a row and a column": lambda x: (jnp.tril(x) * 2).sum(0) + jnp.triu(x, 2).sum(),
}


def test_segments_of_loops_that_are_short() -> None:
    check(by_jax(SEGMENTS), "b, s", [(b, s) for b in (1, 5, 45) for s in (3, 8, 39, 40, 41, 90)], "s >= 3")


def by_jax(functions: dict[str, Function]) -> dict[str, tuple[Function, Function]]:
    return {name: (function, function) for name, function in functions.items()}


def check(
    functions: dict[str, tuple[Function, Function]], shape: str, sizes: list[tuple[int, ...]], *constraints: str
) -> None:
    """Whole numbers, whose sums are exact, on one thread and on two; all functions are one program."""
    export = exported(lambda x: [ours(x) for ours, _ in functions.values()], (In(shape),), constraints=constraints)
    runs = [shlo_disc.compile(export, device="cpu", threads=threads) for threads in (1, 2)]
    rng = np.random.default_rng(len(shape))
    for size in sizes:
        x = rng.integers(-9, 10, size).astype(np.float32)
        for run in runs:
            for name, found in zip(functions, run(x), strict=True):
                np.testing.assert_array_equal(found, np.asarray(functions[name][1](x)), err_msg=f"{name} {size}")
