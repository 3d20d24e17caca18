"""Reductions over leading dims, and elementwise ops that read them: strips of columns, single vectors and tails."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from tests.pipeline.exports import (
    BF16,
    FAST,
    OPTIMIZED,
    In,
    Program,
    check,
    exported,
    flat,
    infinite,
    program,
    special,
    verify,
)

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


A = In("a, a")
# What is left of one axis of a square is as long as the axis that was reduced.
SQUARES: dict[str, tuple[Callable[[Any, Any], Any], In]] = {
    "a maximum and a map": (lambda xp, x: xp.max(x, 0) + 1, A),
    "a sum and a function": (lambda xp, x: xp.tanh(x.sum(0)) * 2, A),
    "centered": (lambda xp, x: x - xp.mean(x, 0), A),
    "of the transposed": (lambda xp, x: xp.exp(x.T.max(0)) - 1, A),
    "of all rows twice": (lambda xp, x: xp.concatenate([x, x + 1]).sum(0) * 0.5, A),
    "of a part": (lambda xp, x: xp.abs(x[:, 1:].sum(0)), A),
    "several": (lambda xp, x: (x * x).sum(0) + xp.abs(x.max(0) - x.min(0)), A),
    "of a stack": (lambda xp, x: xp.max(x, (0, 1)) + 1, In("3, a, a")),
    "a known width": (lambda xp, x: xp.max(x, 0) + 1, In("127, 127")),
    "a known, large width": (lambda xp, x: xp.tanh(x.sum(0)), In("577, 577")),
}
SIDES = (1, 17, 63, 64, 65, 129, 511, 512, 513, 577, 1100)  # around strips of columns, and as many as are never cut


@pytest.mark.parametrize("name", SQUARES)
def test_threads_share_the_columns_of_squares(name: str) -> None:
    function, one = SQUARES[name]
    program = exported(lambda x: function(jnp, x), [one])
    runs = [shlo_disc.compile(program, options=replace(OPTIMIZED, threads=n)) for n in (1, 2, 3, 8)]
    for side in SIDES if one.symbols() else SIDES[:1]:
        x = one.array(np.random.default_rng(side), {"a": side})
        (alone,), *others = (flat(run, [x]) for run in runs)
        wanted = function(np, x.astype(np.float64)).astype(np.float32)
        check([alone], [wanted], f"{name}, {side}", scale=5, floor=side**0.5)  # a function may make a long sum small
        assert all(alone.tobytes() == found.tobytes() for (found,) in others), side


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


BIG = 2.0**26  # in f32, what is smaller than 4 beside it is lost
# An element, or a start, that is written as a sum; `y` is BIG, `x` is 1 more where it is not BIG, too.
OPERANDS: dict[str, Callable[[Any, Any, int], Any]] = {
    "differences are added": lambda x, y, axis: (x - y).sum(axis),
    "sums are multiplied": lambda x, y, axis: ((x - y) * 0.02 + 1).prod(axis),
    "from a difference on": lambda x, y, axis: lax.reduce(x * 0.25, x[0, 0] - y[0, 0], lax.add, (axis,)),
    "from a sum on": lambda x, y, axis: lax.reduce((x - y) * 0.02 + 1, y[0, 0] + 1, lax.mul, (axis,)),
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", OPERANDS)
def test_an_element_is_one_operand_of_a_reduction(name: str, axis: int) -> None:
    """And so is the start: not its first term or factor only."""
    function = OPERANDS[name]
    program = exported(lambda x, y: function(x, y, axis), [In("b, b"), In("b, b")])
    runs = [shlo_disc.compile(program, options=replace(FAST, threads=n)) for n in (1, 3)]
    for side in (2, 5, 8, 17, 64, 65, 100, 140, 520):
        x, y = np.full((side, side), BIG, np.float32), np.full((side, side), BIG, np.float32)
        x[0], y[0], x[:, 0], y[:, 0] = 1, 0, 1, 0
        different = np.ones(side)
        different[0] = side  # elements that are 1, where the others are 0
        wanted = {
            "differences are added": different,
            "sums are multiplied": 1.02**different,
            "from a difference on": 1 + (0.25 * x.astype(np.float64)).sum(axis),
            "from a sum on": 1.02**different,
        }[name]
        for run in runs:
            np.testing.assert_allclose(flat(run, [x, y])[0], wanted, 1e-4, err_msg=str(side))
