"""Programs that fusion could get wrong: values of other rows, parts of products, diamonds, loops that alias."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.pipeline.exports import In, Program, between, program, verify

X, SQUARE = In("b, s"), In("b, b")
I32 = np.int32


def beside(other: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A softmax whose exponentials are also read elsewhere."""

    def run(x: Any) -> Any:
        y = jnp.exp(x)
        return y / y.sum(-1, keepdims=True) + other(y)

    return run


def after(view: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A view of what a reduction has normalised."""
    return lambda x: view(jnp.exp(x) - jnp.exp(x).mean(1, keepdims=True)) * 2


def epilogue(view: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A view of a product, then an elementwise op."""
    return lambda x, w: view(x @ w) * 2


def shifted(y: Any) -> Any:
    return jnp.concatenate([y[1:], y[:1]], 0)


def reductions_of_three_dims(x: Any) -> Any:
    y = jnp.exp(x)
    return y.sum((0, 1)), y.sum(1), y.sum((1, 2)), y - y.max((1, 2), keepdims=True) - y.max(2, keepdims=True), y.max(1)


def normalised_twice(x: Any) -> Any:
    for _ in range(4):
        x = x - x.mean(1, keepdims=True)
        x = x / (1 + jnp.abs(x).max(0, keepdims=True))
    return x


def through_sort(x: Any) -> Any:
    y = jnp.exp(x)
    z = jnp.sort(y, 1)
    return y * z + z.sum(1, keepdims=True) + y.max(1, keepdims=True)


def through_dot(x: Any, w: Any) -> Any:
    y = x.sum(1, keepdims=True)
    z = jnp.tanh(x - y) @ w
    u = z + y
    v = u - u.max(1, keepdims=True)
    return v @ w.T * y, v + x


def gated(x: Any, w: Any) -> Any:
    a, b = x @ w, x @ w.T
    return jax.nn.silu(a) * b, a, (a + b).sum(0), (x @ w) @ (x @ w).T


def scatter_between(x: Any, ids: Any) -> Any:
    y = x + 1
    z = y.at[ids].add(2.0)
    return z, y, z.at[ids].mul(y[:1]), x.at[ids].set(x[0])


def rotating_loop(x: Any) -> Any:
    y = x * 2
    a, b, c = lax.fori_loop(0, 3, lambda _, c: (c[1] + y, c[0], c[2] + c[0]), (x, y, y))
    return a, b, c, y, x


def loops_in_a_row(x: Any) -> Any:
    a = lax.fori_loop(0, 3, lambda _, c: c * 0.5 + x, x)
    b = lax.fori_loop(0, 3, lambda _, c: jnp.tanh(c * a), x)
    return a + b, lax.fori_loop(0, 2, lambda _, c: jnp.tanh(c @ a.T @ b * 0.01), x)


def branches_in_a_row(x: Any, k: Any) -> Any:
    y = x * 2
    a = lax.cond(k[0] > 0, lambda: y.sum(0), lambda: y.max(0))
    b = lax.cond(k[0] > 1, lambda: a * y[0], lambda: a)
    return lax.switch(k[0], [lambda: b, lambda: a, lambda: y[0]])


def nested_scans(x: Any) -> Any:
    def outer(c: Any, row: Any) -> Any:
        last, each = lax.scan(lambda d, q: (d * 0.5 + q, d.sum() + c.sum()), c, x)
        return last * 0.1 + row, each

    return lax.scan(outer, x[0], x)


def kept_matrices(x: Any, y: Any) -> Any:
    """Rows of two dims that do not flatten, with two values that wait for the reduction between."""
    y = jnp.swapaxes(y, 1, 2)
    a, b = jnp.exp(x) + jnp.exp(y), jnp.sin(x) * jnp.exp(y)
    largest = (a * b).max((1, 2), keepdims=True)
    mean = jnp.tanh(a - largest).mean((1, 2), keepdims=True)
    return (a - largest) * b, a * 2 + b * mean


def entropy(x: Any, lengths: Any) -> Any:
    mask = jnp.arange(x.shape[1])[None] < lengths[:, None]
    p = jax.nn.softmax(jnp.where(mask, x, -jnp.inf))
    return p, -(jnp.where(p > 0, p * jnp.log(p), 0)).sum(1)


def long_chain(x: Any) -> Any:
    for k in range(120):
        x = jnp.sin(x) + k * 0.01 if k % 3 else x * 0.9 + jnp.cos(x)
    return x


PROGRAMS = (
    program("beside: itself backwards", beside(lambda y: lax.rev(y, (1,))), X),
    program("beside: rows backwards", beside(lambda y: lax.rev(y, (0,))), X),
    program("beside: transposed", beside(lambda y: y.T), SQUARE),
    program("beside: the next row", beside(shifted), X),
    program("beside: the row above, padded", beside(lambda y: jnp.pad(y, ((1, 0), (0, 0)))[:-1]), X),
    program("beside: the first row", beside(lambda y: y[:1]), X),
    program("beside: sums of columns", beside(lambda y: y.sum(0, keepdims=True)), X),
    program("beside: sums of other rows", beside(lambda y: lax.rev(y.sum(1), (0,))[:, None]), X),
    program("beside: gathered rows", lambda x, i: beside(lambda y: y[i])(x), X, In("b", I32, between(-3, 9))),
    program("after: columns cut off", after(lambda y: y[:, 1:]), X),
    program("after: rows cut off", after(lambda y: y[1:]), X),
    program("after: every other row", after(lambda y: y[::2]), X),
    program("after: transposed", after(lambda y: y.T), X),
    program("after: joined rows", after(lambda y: jnp.concatenate([y, y * 2])), X),
    program("after: one line", after(lambda y: y.reshape(-1)), X),
    program("after: running sums", after(lambda y: jnp.cumsum(y, 1)), X),
    program("epilogue of some columns", epilogue(lambda z: z[:, :3]), X, In("s, 8")),
    program("epilogue of the first row", epilogue(lambda z: z[:1]), X, In("s, 8")),
    program("epilogue backwards", epilogue(lambda z: lax.rev(z, (1,))), X, In("s, n")),
    program("epilogue with its transpose", epilogue(lambda z: z + z.T), X, In("s, b")),
    program("epilogue joined", lambda x, w: jnp.concatenate([x @ w, w * 2]) * 2, X, In("s, b")),
    program("epilogue padded", epilogue(lambda z: jnp.pad(z, ((1, 1), (0, 2)))), X, In("s, n")),
    program("epilogue repeated", epilogue(lambda z: jnp.repeat(z, 2, 0)), X, In("s, n")),
    program("epilogue spread", lambda x, w: (x @ w)[:, None] * jnp.ones((1, 3, 1)), X, In("s, n")),
    program("epilogue reshaped", lambda x, w: (x @ w).reshape(-1, 4, 2).transpose(1, 0, 2) + 1, X, In("s, 8")),
    program("rows of two kinds", beside(lambda y: y / y.sum(0)), X),
    program("reductions of three dims", reductions_of_three_dims, In("b, s, d")),
    program("normalised along both axes", normalised_twice, X, scale=10),
    program(
        "softmax of merged dims", lambda x: jax.nn.softmax(x.transpose(1, 0, 2).reshape(x.shape[1], -1)), In("b, s, d")
    ),
    program("diamond through a sort", through_sort, X),
    program("diamond through a dot", through_dot, X, In("s, s"), scale=5),
    program("gated products", gated, X, In("s, s")),
    program("scatter between readers", scatter_between, X, In("n", I32, between(-20, 20))),
    program("loop of rotating carries", rotating_loop, X),
    program("loops in a row", loops_in_a_row, X),
    program("branches in a row", branches_in_a_row, X, In("1", I32, between(-1, 3))),
    program("scan in a scan", nested_scans, X, fixed={"b": 7}),
    program("kept matrices", kept_matrices, In("b, s, t"), In("b, t, s"), draws=4),
    program("entropy", entropy, X, In("b", I32, between(1, 20))),
    program("long chain", long_chain, X, draws=1, scale=10),
)


@pytest.mark.parametrize("one", PROGRAMS, ids=lambda one: one.name)
def test_fusion_keeps_the_meaning(one: Program) -> None:
    verify(one)
