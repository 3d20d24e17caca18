"""Reductions over leading dims, and elementwise ops that read them: strips of columns, single vectors and tails."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from tests.pipeline.exports import BF16, FAST, In, Program, exported, flat, infinite, program, special, verify

X = In("b, s")


def statistics(x: Any) -> Any:
    centered = x - x.mean(0)
    return centered / jnp.sqrt((centered * centered).mean(0) + 1e-5), x.max(0)


def several(x: Any, y: Any) -> Any:
    return (x * y).sum(0), jnp.exp(x).max(0), (x - y).min(0), x + y


def bias_of_heads(x: Any) -> Any:
    return x.sum((0, 1)), x.max((0, 1)), x.sum(1)


def of_both_kinds(x: Any) -> Any:
    return x - x.mean(0) + x.mean(1, keepdims=True)


def wide(width: int) -> dict[str, int]:
    return {"s": width}


PROGRAMS = (
    program("a column", lambda x: x.sum(0), X, fixed={"s": 1}),
    *(program(f"sums of {n}", lambda x: x.sum(0), X, fixed=wide(n)) for n in (15, 63, 64, 65, 80, 129)),
    program("sums of no rows", lambda x: x.sum(0), In("t - 1, s"), fixed={"t": 1, "s": 130}),
    program("sums of no columns", lambda x: x.sum(0), In("b, t - 1"), fixed={"t": 1}),
    program("a static width", lambda x: x.sum(0), In("b, 100")),
    program("infinities", lambda x: (x.max(0), x.min(0)), In("b, s", draw=infinite), fixed=wide(129)),
    program("special values", lambda x: x.sum(0), In("b, s", draw=special), fixed=wide(129)),
    program("statistics", statistics, X, fixed={"b": 7, "s": 210}),
    program("several", several, X, X, fixed=wide(150)),
    program("both kinds", of_both_kinds, X, fixed=wide(97)),
    program("two leading dims", bias_of_heads, In("b, s, d"), fixed={"b": 3, "d": 81}),
    program("sums of bytes", lambda x: x.sum(0, dtype=jnp.int8), In("b, s", np.int8), fixed=wide(200)),
    program("sums of bf16", lambda x: x.max(0) * 2, In("b, s", BF16), fixed=wide(200)),
    program("any", lambda x: (x.any(0), x.all(0)), In("b, s", np.bool_), fixed=wide(70)),
    program("argmax", lambda x: jnp.argmax(x, 0), X, fixed=wide(70)),
    program("a masked sum", lambda x: jnp.where(jnp.arange(x.shape[1]) < 70, x, 1).sum(0), X, fixed=wide(150)),
    program("a shifted sum", lambda x: jnp.pad(x, ((1, 2), (3, 0))).sum(0), X, fixed=wide(150)),
)


@pytest.mark.parametrize("one", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_columns_agree_with_jax(one: Program) -> None:
    verify(one)


def test_the_extremes_of_columns_with_nan_are_nan() -> None:
    """NumPy is the oracle: XLA's CPU backend loses NaNs of columns."""
    run = shlo_disc.compile(exported(lambda x: (x.max(0), x.min(0)), [X]), options=FAST)
    for shape in ((97, 129), (1, 64), (5, 17)):
        x = special(np.random.default_rng(3), shape, np.dtype(np.float32))
        for found, wanted in zip(flat(run, [x]), (x.max(0), x.min(0)), strict=True):
            np.testing.assert_array_equal(found, wanted)
