"""Programs on arrays of size 0: written `b - 1` in the export, since JAX's symbols are at least 1."""

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

from tests.pipeline.exports import In, between, by_jax, check, exported, ways


def layer_norm(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def spread(x: Any, y: Any) -> Any:
    """Elements moved apart twice, as by the gradient of `associative_scan`, where there may be none."""
    zero = np.float32(0)
    wide = lax.pad(jnp.tanh(x), zero, ((0, 0, 0), (0, 2, 1)))
    wide = lax.pad(wide * 2, zero, ((0, 0, 0), (0, 1, 2)))
    return wide + y[:1, :1]


EMPTY = {
    "softmax": (lambda x: jax.nn.softmax(x + 1, -1), In("b - 1, s - 1")),
    "layer norm": (layer_norm, In("b - 1, s - 1")),
    "reductions": (
        lambda x: (x.sum(), x.sum(0), x.max(1, initial=-np.inf), x.prod((0, 1)), (x > 0).all(1), (x > 0).any()),
        In("b - 1, s - 1"),
    ),
    "dot": (lambda x, y: (x @ y, jax.nn.gelu(x @ y + 1)), In("b - 1, s - 1"), In("s - 1, n - 1")),
    "batched dot": (lambda x, y: jnp.einsum("bij,bkj->bik", x, y) + 1, In("b - 1, i, s - 1"), In("b - 1, k, s - 1")),
    "matrix and vector": (lambda x, y: x @ y, In("b - 1, s - 1"), In("s - 1")),
    "sort": (lambda x: (jnp.sort(x, 1), jnp.argsort(x, 0)), In("b - 1, s - 1")),
    "gather": (lambda x, i: jnp.take(x, i, axis=0, mode="clip"), In("b, s - 1"), In("n - 1", np.int32, between(-2, 9))),
    "scatter": (
        lambda x, i: (x.at[i].add(1.0), x.at[i].set(2.0)),
        In("b, s - 1"),
        In("n - 1", np.int32, between(-2, 9)),
    ),
    "concatenate": (lambda x, y: jnp.concatenate([x, y * 2, x], 1), In("b - 1, s - 1"), In("b - 1, t - 1")),
    "pad": (
        lambda x: (jnp.pad(x, ((1, 2), (0, 1))), lax.pad(x, np.float32(1), ((1, 0, 2), (0, 0, 1)))),
        In("b - 1, s - 1"),
    ),
    "interior pads of nothing": (lambda x, y: (spread(x[:, :0], y), spread(x[:0].T, y)), In("b, s"), In("b, 1")),
    "moves": (
        lambda x: (x.T, lax.rev(x, (0,)), lax.rev(x, (1,)), jnp.tile(x, (2, 1)), x[None] * 2),
        In("b - 1, s - 1"),
    ),
    "cumulative": (lambda x: (jnp.cumsum(x, 0), lax.cummax(x, 0)), In("b, s - 1")),
    "loop": (
        lambda x, n: lax.fori_loop(0, n[0], lambda _, c: c * 2 + x, x),
        In("b - 1, s - 1"),
        In("1", np.int32, between(0, 3)),
    ),
    "passthrough": (lambda x: (x, x, x * 1, jnp.zeros_like(x)), In("b - 1, s - 1")),
    "update": (lambda x, y: lax.dynamic_update_slice(x, y, (0, 0)), In("b, s + 2"), In("1, s - 1")),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_arrays_give_what_jax_gives(name: str) -> None:
    function, *inputs = EMPTY[name]
    text = exported(function, inputs)
    runs = ways(text)
    symbols = sorted({s for i in inputs for s in i.symbols()})
    rng = np.random.default_rng(0)
    for empty in ((), *((s,) for s in symbols), tuple(symbols)):
        sizes = {s: 1 if s in empty else 5 for s in symbols}
        arrays = [i.array(rng, sizes) for i in inputs]
        wanted = by_jax(function, arrays)
        for way, run in runs.items():
            check(run(arrays), wanted, f"{name}, {sizes}, {way}")


@pytest.mark.parametrize("shape", ["13, 0, 3", "13, 5, 0", "0, 5, 3"])
def test_nothing_is_read_for_static_results_without_elements(shape: str) -> None:
    """All indices of `3 x 0` are 0: a load at a fixed index left the loop that never runs, and read an empty array."""

    def function(x: Any) -> tuple[Any, ...]:
        y = (x - x.sum(0)).reshape(3, -1)
        return y, jnp.sin(jax.nn.log_softmax(x, 0).reshape(-1, 3)) * 2, y.sum(1), (x[:, ::-1] * 3).T.reshape(-1)

    inputs = [In(shape)]
    arrays = [i.array(np.random.default_rng(0), {}) for i in inputs]
    wanted = by_jax(function, arrays)
    for way, run in ways(exported(function, inputs)).items():
        check(run(arrays), wanted, way)
