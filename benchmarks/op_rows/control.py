"""Loops and branches."""

# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.op_rows.row import LINES, Row, integers, normal, uniform

SQUARES = ((8,), (32,), (512,), (97,))
STEPS = ((16, 4), (100, 16), (1_000, 64), (97, 1))  # of time, and of the batch
WIDTH = 64


def count(x):
    """1,000 turns of almost nothing."""
    return lax.fori_loop(0, 1000, lambda i, s: s * 0.999 + i.astype(jnp.float32), x)


def power_iteration(a, v):
    def step(_, v):
        w = a @ v
        return w / jnp.linalg.norm(w)

    return lax.fori_loop(0, 50, step, v)


def newton(x):
    """Square roots, until none changes."""

    def going(state):
        return (state[1] > 1e-4) & (state[2] < 50)

    def step(state):
        y, _, i = state
        new = 0.5 * (y + x / y)
        return new, jnp.abs(new - y).max(), i + 1

    return lax.while_loop(going, step, (x, jnp.float32(1), 0))[0]


def gru(xs, h, w, u):
    def step(h, x):
        a, b = x @ w, h @ u
        update = jax.nn.sigmoid(a[:, :WIDTH] + b[:, :WIDTH])
        reset = jax.nn.sigmoid(a[:, WIDTH : 2 * WIDTH] + b[:, WIDTH : 2 * WIDTH])
        new = jnp.tanh(a[:, 2 * WIDTH :] + reset * b[:, 2 * WIDTH :])
        h = (1 - update) * new + update * h
        return h, h

    return lax.scan(step, h, xs)


def moving_average(xs):
    def step(mean, x):
        mean = 0.9 * mean + 0.1 * x
        return mean, mean

    return lax.scan(step, jnp.zeros_like(xs[0]), xs)


def fill(x):
    """Row by row, in place, each from the one before."""

    def step(i, x):
        return x.at[i].set(x[i - 1] * 0.5 + x[i])

    return lax.fori_loop(1, x.shape[0], step, x)


def collatz(n):
    """A loop for each element until all are done, as vmap makes it."""

    def one(n):
        def step(s):
            return jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1

        return lax.while_loop(lambda s: s[0] > 1, step, (n, 0))[1]

    return jax.vmap(one)(n)


ROWS_OF_FAMILY = (
    Row("while", "1000 turns of a scalar", count, (normal(""),), ((),)),
    Row("while", "1000 turns of a vector", count, (normal("n"),), ((16,), (1_000,), (10_000,), (997,))),
    Row("while", "power iteration", power_iteration, (normal("n, n"), normal("n")), SQUARES),
    Row("while", "Newton", newton, (uniform("n", 1, 9),), ((100,), (100_000,), (1_000_000,), (99_991,))),
    Row(
        "while",
        "GRU over time",
        gru,
        (normal("t, b, 64"), normal("b, 64"), uniform("64, 192", -0.1, 0.1), uniform("64, 192", -0.1, 0.1)),
        STEPS,
    ),
    Row(
        "while",
        "moving average over time",
        moving_average,
        (normal("t, n"),),
        ((16, 8), (1_000, 100), (1_000, 4_000), (997, 3)),
    ),
    Row("while", "rows set in place", fill, (normal("n, m"),), ((10, 100), (100, 1_000), (2_000, 2_000), (3_001, 3))),
    Row(
        "while",
        "Collatz, of a batch",
        collatz,
        (integers("n", 1, 1000),),
        ((100,), (10_000,), (100_000,), (997,)),
    ),
    Row(
        "case",
        "cond",
        lambda p, x: lax.cond(p, lambda x: x * 2, lambda x: x + 1, x),
        (integers("", 0, 2), normal("n")),
        LINES,
    ),
    Row(
        "case",
        "switch of 4",
        lambda i, x: lax.switch(i, (jnp.sin, jnp.exp, jnp.tanh, lambda x: x), x),
        (integers("", 0, 4), normal("n")),
        LINES,
    ),
)
