"""Loops, branches, and programs of unusual signatures, at every size."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.pipeline.exports import In, Program, between, program, verify

I8, I32 = np.int8, np.int32
X = In("b, s")
COUNT = In("1", I32, between(0, 5))


def collatz(n: Any) -> Any:
    """Steps until each number is 1, and how often the loop ran."""

    def step(state: Any) -> Any:
        x, steps, rounds = state
        after = jnp.where(x % 2 == 0, x // 2, 3 * x + 1)
        return jnp.where(x > 1, after, x), steps + (x > 1), rounds + 1

    return lax.while_loop(lambda state: (state[0] > 1).any(), step, (n, jnp.zeros_like(n), 0))


def swap(x: Any, y: Any, n: Any) -> Any:
    """Carries that trade places, so that no copy may overwrite what another still reads."""
    return lax.fori_loop(0, n[0], lambda _, c: (c[1], c[2], c[0]), (x, y, x + y))


def fibonacci(x: Any, n: Any) -> Any:
    return lax.fori_loop(0, n[0], lambda _, c: (c[1], c[0] + c[1]), (x, x * 2))


def power_iteration(a: Any, x: Any) -> Any:
    def step(_: Any, v: Any) -> Any:
        w = a @ v
        return w / (1 + jnp.abs(w).max())

    return lax.fori_loop(0, 7, step, x)


def nested(x: Any) -> Any:
    def outer(i: Any, total: Any) -> Any:
        inner = lax.fori_loop(0, i, lambda j, t: t + x * j, jnp.zeros_like(x))
        return total + inner.sum(0)

    return lax.fori_loop(0, 4, outer, jnp.zeros_like(x[0]))


def recurrence(x: Any, w: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        state = jnp.tanh(state @ w * 0.1 + row)
        return state, (state.sum(), state * 2)

    return lax.scan(step, jnp.zeros_like(x[0]), x)


def scans(x: Any) -> Any:
    up = lax.scan(lambda c, row: (c + row, c), jnp.zeros_like(x[0]), x)
    down = lax.scan(lambda c, row: (c * 0.5 + row, c.max()), jnp.ones_like(x[0]), x, reverse=True)
    return up, down, lax.map(lambda row: row - row.mean(), x)


def cond(x: Any, k: Any) -> Any:
    scaled = x * 3  # read by both branches and after them
    return lax.cond(k[0] > 1, lambda y: y.sum(0) + scaled[0], lambda y: (y - scaled).max(0), x) + scaled.min(0)


def switch(x: Any, k: Any) -> Any:
    rows = [lambda y: (y + 1, y.sum()), lambda y: (y * 2, y.max()), lambda y: (y, jnp.float32(0))]
    return lax.switch(k[0], rows, x)


def loop_in_branch(x: Any, k: Any) -> Any:
    def loop(y: Any) -> Any:
        return lax.while_loop(lambda c: c[1] < k[0], lambda c: (c[0] * 1.5 + x, c[1] + 1), (y, 0))[0]

    return lax.cond(k[0] % 2 == 0, loop, lambda y: -y, x)


def branch_in_loop(x: Any) -> Any:
    def step(i: Any, c: Any) -> Any:
        return lax.switch(i % 3, [lambda y: y + x, lambda y: y * x, lambda y: y[::-1]], c)

    return lax.fori_loop(0, 8, step, jnp.ones_like(x))


def decode(table: Any, first: Any, steps: Any) -> Any:
    """Greedy decoding: a loop over a cache, with a gather, a dot and an argmax inside."""

    def step(i: Any, state: Any) -> Any:
        token, cache = state
        logits = table[token] @ table.T + cache.sum(0)[: table.shape[0]]
        chosen = jnp.argmax(logits, -1).astype(jnp.int32)
        return chosen, lax.dynamic_update_slice(cache, logits[:1] * 0.01, (i, 0))

    return lax.fori_loop(0, steps[0], step, (first, jnp.zeros((6, table.shape[0]), np.float32)))


def updates(x: Any, n: Any) -> Any:
    """Windows that move out at both ends; of one and of both dims; from the carry itself, before and after."""

    def step(i: Any, state: Any) -> Any:
        a, b, c, seen = state
        a = lax.dynamic_update_slice(a, a[:1] + a[-1:] * 0.5, (i - 2, 0))
        b = lax.dynamic_update_slice(b, x[:1, :1] * i, (2 * i - 3, i - 1))
        changed = lax.dynamic_update_slice(c, c[::-1][:1] + 1, (i, 0))
        return a, b, changed, seen + c.sum(0) + changed.max(0)

    return lax.fori_loop(0, n[0], step, (x, -x, x * 2, x[0]))


def rows_in_place(x: Any) -> Any:
    """Each from the one before, and from itself."""
    return lax.fori_loop(1, x.shape[0], lambda i, y: y.at[i].set(y[i - 1] * 0.5 + y[i]), x)


def updates_that_trade_places(x: Any, n: Any) -> Any:
    def step(i: Any, state: Any) -> Any:
        a, b = state
        return lax.dynamic_update_slice(b, a[:1] * 2, (i, 0)), lax.dynamic_update_slice(a, b[:1], (i, 0))

    return lax.fori_loop(0, n[0], step, (x, x + 1))


def view_around_a_loop(x: Any, n: Any) -> Any:
    """What the view is of is needed as well: the body reads it."""
    view = jnp.exp(x)[:, None]
    return lax.fori_loop(0, n[0], lambda _, y: y + view, view)


def newton(x: Any) -> Any:
    def step(state: Any) -> Any:
        y, _ = state
        new = 0.5 * (y + x / y)
        return new, jnp.abs(new - y).max()

    return lax.while_loop(lambda state: state[1] > 1e-3, step, (x, jnp.float32(np.inf)))[0]


def random_numbers(x: Any) -> Any:
    key = jax.random.key(7)
    return jax.random.bits(key, (4,)), jax.random.permutation(key, 16), x + jax.random.uniform(key, (3, 1))[0]


def kinds_of_results(x: Any, y: Any) -> Any:
    z = x + 1
    return {
        "twice": (z, z),
        "passed": (y, x, y),
        "constant": np.arange(3, dtype=np.int32),
        "number": 2.0,
        "view": x.reshape(-1),
    }


PROGRAMS = (
    program("while over integers", collatz, In("n", I32, between(1, 30))),
    program("carries trade places", swap, X, X, COUNT),
    program("carries read each other", fibonacci, X, COUNT),
    program("dot in a loop", power_iteration, In("n, n"), In("n")),
    program("loop in a loop", nested, X),
    program("recurrent network", recurrence, In("b, s"), In("s, s")),
    program("scan up, down and map", scans, X),
    program("cond", cond, X, COUNT),
    program("switch, index out of range", switch, X, In("1", I32, between(-2, 5))),
    program(
        "switch by i8",
        lambda x, k: lax.switch(k[0].astype(jnp.int32), [lambda y: y + 1, lambda y: y * 2], x),
        X,
        In("1", I8, between(-3, 3)),
    ),
    program("loop in a branch", loop_in_branch, X, COUNT),
    program("branch in a loop", branch_in_loop, X),
    program("decoding", decode, In("v, 4"), In("1", I32, between(0, 0)), COUNT),
    program("updates of carries", updates, X, COUNT),
    program("rows in place", rows_in_place, X),
    program("updates of carries that trade places", updates_that_trade_places, X, COUNT),
    program("newton's method", newton, In("n", draw=between(1, 4))),
    program("loop invariant", lambda x, n: lax.fori_loop(0, n[0], lambda _, c: c + (x @ x.T).sum(), x[0, 0]), X, COUNT),
    program("a view begins a loop and is read inside", view_around_a_loop, X, COUNT),
    program(
        "vmap of a while",
        jax.vmap(lambda x: lax.while_loop(lambda c: c < 50, lambda c: c * 2 + 1, x)),
        In("n", draw=between(1, 9)),
    ),
    program("random numbers", random_numbers, X),
    program("results: twice, passed through, constant, view", kinds_of_results, X, In("n", I32)),
    program("argument returned", lambda x: x, X),
    program("argument unused", lambda _, y: y * 2, X, In("n")),
    program("scalars", lambda x, y: (x + y, x * 2, x < y), In(""), In("")),
    program("no arguments", lambda: (jnp.arange(5) * 2, jnp.float32(1.5), jnp.eye(3).sum(0)), draws=1),
    program(
        "sizes as values", lambda x: (x.shape[0] * x.shape[1] + jnp.int32(0), x.sum() / x.shape[0], x * x.shape[1]), X
    ),
    program("size arithmetic", lambda x: jnp.ones((x.shape[0] * 2 + 1, (x.shape[1] + 3) // 4)) * x.sum(), X),
)


@pytest.mark.parametrize("one", PROGRAMS, ids=lambda one: one.name)
def test_program_runs_as_in_jax(one: Program) -> None:
    verify(one)
