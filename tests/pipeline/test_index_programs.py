"""Programs that move elements: gather, scatter, slices, padding, sorting, at every size."""

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

from tests.pipeline.exports import BF16, F16, In, Program, between, corners, program, special, verify

I8, I32, U8, I64, F64 = np.int8, np.int32, np.uint8, np.int64, np.float64
X = In("b, s")
IDS = In("n", I32, between(-30, 120))  # some out of range on either side, for most sizes


def takes(x: Any, ids: Any) -> Any:
    return (
        x[ids],
        jnp.take(x, ids, axis=0, mode="clip"),
        jnp.take(x, ids, axis=0, mode="fill"),
        x.at[jnp.clip(ids, 0, x.shape[0] - 1)].get(mode="promise_in_bounds"),
        jnp.take(x, ids, axis=1, mode="clip"),
        x.at[ids].get(mode="fill", fill_value=-1.0),
    )


def scatters(x: Any, ids: Any, y: Any) -> Any:
    return x.at[ids].add(y), x.at[ids].max(y), x.at[ids].multiply(y), x.at[:, ids].min(1.5, mode="clip")


def scatter_sets(x: Any, ids: Any) -> Any:
    return x.at[ids].set(2.5), x.at[ids, 0].set(1.0, mode="drop"), x.at[0].set(3.0), x.at[..., -1].add(1.0)


def segments(x: Any, ids: Any) -> Any:
    return jax.ops.segment_sum(x, ids, num_segments=9), jax.ops.segment_max(x, ids, num_segments=9)


def rotary(x: Any) -> Any:
    """Turn pairs of features by their position: slices, concatenation and a table made of iotas."""
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] / 10.0 ** (jnp.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)], -1)


def reshapes(x: Any) -> Any:
    b, s, d = x.shape
    merged = x.reshape(b * s, d)
    heads = x.reshape(b, s, 4, d // 4).transpose(0, 2, 1, 3)
    return merged.sum(1), heads, heads.transpose(0, 2, 1, 3).reshape(b, s * d), x.transpose(2, 0, 1).reshape(d, -1) * 2


def slices(x: Any) -> Any:
    n = x.shape[0]
    return x[::2], x[::-1], x[1:, ::3], x[n // 2 :], x[: n // 2, ::-2], x[-1, -1], x[0]


def pads(x: Any) -> Any:
    zero = np.float32(0.5)
    return (
        jnp.pad(x, ((1, 2), (0, 3))),
        lax.pad(x, zero, ((2, 1, 1), (0, 0, 2))),
        lax.pad(x, zero, ((-1, 2, 0), (1, -1, 0))),
        jnp.pad(x, ((2, 1), (0, 0)), mode="edge"),
    )


def rolls(x: Any) -> Any:
    return (
        jnp.roll(x, 1, 0),
        jnp.roll(x, -2, 1),
        jnp.flip(x, (0, 1)),
        jnp.rot90(x),
        jnp.tile(x, (2, 3)),
        jnp.repeat(x, 3, 0),
    )


def starts(x: Any, i: Any) -> Any:
    piece = lax.dynamic_slice(x, (i[0], i[1]), (1, x.shape[1]))
    return piece, lax.dynamic_update_slice(x, piece * 2, (i[1], 0)), lax.dynamic_index_in_dim(x, i[0], 1)


def cache_update(cache: Any, new: Any, at: Any) -> Any:
    full = lax.dynamic_update_slice(cache, new, (0, at[0], 0))
    return full, full.sum(1)


def sorts(x: Any) -> Any:
    return jnp.sort(x, 0), jnp.sort(x, 1, descending=True), jnp.argsort(x, 1), jnp.argsort(x, 0, stable=True)


def sorts_together(x: Any, y: Any) -> Any:
    return (
        lax.sort((x, y), dimension=1, num_keys=1),
        lax.sort((y, x), dimension=0, num_keys=2),
        jnp.lexsort((x[0], y[0])),
    )


def one_hots(ids: Any, table: Any) -> Any:
    hot = jax.nn.one_hot(ids, table.shape[0])
    return hot, hot @ table, (ids[:, None] == jnp.arange(table.shape[0])).sum(0)


def masks(x: Any) -> Any:
    n, m = x.shape
    causal = jnp.arange(n)[:, None] >= jnp.arange(m)[None, :]
    return (
        jnp.where(causal, x, -jnp.inf),
        jnp.tril(x),
        jnp.triu(x, 1),
        jnp.eye(n, m),
        jax.nn.softmax(jnp.where(causal, x, -jnp.inf)),
    )


PROGRAMS = (
    program("take in every mode", takes, X, IDS),
    program(
        "take with two indices", lambda x, i, j: x[i, j], X, In("n", I32, between(-2, 9)), In("n", I32, between(-9, 3))
    ),
    program("take of u8 by i8", lambda x, i: x[i], In("b, s", U8), In("n", I8, between(-20, 20))),
    program("take by i64", lambda x, i: x[i], In("b, s", F64), In("n", I64, between(-20, 20)), wide=True),
    program(
        "take along an axis",
        lambda x, i: (jnp.take_along_axis(x, i, 1), jnp.take_along_axis(x, i[:1], 0)),
        X,
        In("b, s", I32, between(-1, 1)),
    ),
    program(
        "embedding and projection",
        lambda t, i, w: jnp.tanh(t[i] @ w),
        In("11, d"),
        In("b, s", I32, between(0, 10)),
        In("d, 5"),
    ),
    program("scatter, combining", scatters, X, IDS, In("n, s")),
    program("scatter, setting", scatter_sets, X, IDS),
    program(
        "scatter of i32 and bf16", lambda x, y, i: (x.at[i].add(3), y.at[i].add(1.0)), In("b", I32), In("b", BF16), IDS
    ),
    program("scatter of known sizes", scatters, In("3, 7"), In("4", I32, between(-4, 4)), In("4, 7")),
    program(
        "scatter along rows of known sizes",
        lambda x, y, i: x.at[:, i].multiply(y),
        In("2, 3"),
        In("2, 1"),
        In("1", I32, between(0, 2)),
    ),
    program("segments", segments, In("n, d"), In("n", I32, between(-2, 11))),
    program("gradient of take", jax.grad(lambda x, i: (x[i] ** 2).sum()), X, IDS),
    program("histogram", lambda i: jnp.zeros(12, np.int32).at[i].add(1), IDS),
    program("bincount", lambda i: jnp.bincount(i, length=20), In("n", I32, between(0, 25))),
    program("rotary positions", rotary, In("b, s, 2*h")),
    program("reshapes", reshapes, In("b, s, 4*d")),
    program("slices", slices, X, constraints=("b >= 2",)),
    program("pads", pads, X, constraints=("b >= 2",)),
    program("rolls", rolls, X),
    program(
        "joins",
        lambda x, y: (jnp.concatenate([x, y * 2, x], 0), jnp.concatenate([x, y]).sum(0), jnp.stack([x, x + 1], 1)),
        X,
        In("c, s"),
    ),
    program("joins of axes", lambda x, y: jnp.concatenate([x, y, x[:, :1]], 1).max(1), X, In("b, t")),
    program("run-time starts", starts, X, In("2", I32, between(-3, 20))),
    program("key-value cache", cache_update, In("b, t, 4"), In("b, 1, 4"), In("1", I32, between(-1, 70))),
    program(
        "run-time start in a window",
        lambda x, i: lax.dynamic_slice(x, (i[0],), (x.shape[0] // 2,)),
        In("n"),
        In("1", I32, between(-5, 60)),
        constraints=("n >= 2",),
    ),
    program("sort and argsort", sorts, X),
    program("sort of specials", sorts, In("b, s", draw=special)),
    program("sort several", sorts_together, In("b, s", I32, between(0, 3)), In("b, s", draw=between(0, 2))),
    program(
        "sort of f16 and i8",
        lambda x, y: (jnp.sort(x, 1), jnp.sort(y, 0), jnp.argsort(y, 1)),
        In("b, s", F16),
        In("b, s", I8),
    ),
    program("top_k", lambda x: lax.top_k(x, 3), In("b, 17")),
    program("top_k of a symbol", lambda x: lax.top_k(x, x.shape[1] // 2), X, constraints=("s >= 2",)),
    program("median", lambda x: lax.dynamic_index_in_dim(jnp.sort(x, 0), x.shape[0] // 2), X),
    program("one-hot", one_hots, In("n", I32, between(-2, 20)), In("v, 4")),
    program("masks", masks, X),
    program("where of three", lambda x, y, c: jnp.where(c, x, y), In("b, s"), In("s"), In("b, 1", bool)),
    program(
        "linspace and arange",
        lambda x: (jnp.linspace(0, 1, x.shape[0]), jnp.arange(x.shape[1]) * 2, jnp.zeros_like(x)),
        X,
        constraints=("b >= 2",),
    ),
    program("meshgrid", lambda x, y: (x[:, None] * y, jnp.meshgrid(x, y)), In("n"), In("m")),
    program("expand and squeeze", lambda x: (x[:, None, :, None], x.sum(1, keepdims=True).squeeze(1)[:, None] * x), X),
    program(
        "corner integers through moves",
        lambda x: (x[::-1], jnp.concatenate([x, x[:1]]), x.T.reshape(-1)),
        In("b, s", I32, corners),
    ),
    program(
        "reduce window",
        lambda x: (
            lax.reduce_window(x, 0.0, lax.add, (2, 3), (1, 2), "SAME"),
            lax.reduce_window(x, -np.inf, lax.max, (2, 2), (2, 2), "VALID"),
        ),
        X,
        constraints=("b >= 2", "s >= 2"),
    ),
    program(
        "gradient of max pooling",
        jax.grad(lambda x: (lax.reduce_window(x, -np.inf, lax.max, (2, 2), (2, 2), "VALID") ** 2).sum()),
        X,
        constraints=("b >= 2", "s >= 2"),
    ),
)


# Views of a value that a program computes, and ops that read one view through several of their operands.
VIEWS: dict[str, Any] = {
    "slice": lambda x: x[1:],
    "reverse": lambda x: x[::-1],
    "strides": lambda x: x[::2],
    "transpose": lambda x: x.reshape(-1, 1).T[0],
    "join": lambda x: jnp.concatenate([x, x]),
}
READERS: dict[str, Any] = {
    "scatter": lambda v: v.at[v].add(v, mode="drop"),
    "scatter of itself": lambda v: v.at[v].set(2, mode="drop"),
    "scatter to zeros": lambda v: jnp.zeros_like(v).at[v].max(v, mode="drop"),
    "gather": lambda v: jnp.take(v, v, mode="fill", fill_value=7),
    "update": lambda v: lax.dynamic_update_slice(v, v[:1], (v[0],)),
    "slice": lambda v: lax.dynamic_slice(v, (v[-1],), (1,)) + v,
    "sort": lambda v: lax.sort((v, v, v * v), num_keys=1),
    "product": lambda v: (v @ v, v[:, None] @ v[None]),
    "scan": lambda v: jnp.cumsum(v) + v,
    "window": lambda v: lax.reduce_window(v, v[0], lax.max, (3,), (1,), ((1, 1),)),
    "loop": lambda v: lax.fori_loop(0, 3, lambda k, y: y + v[k % v.shape[0]], v),
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_read_from_memory_and_by_its_formula(view: str) -> None:
    """Templates read operands from memory, and compute indices and updates from what a view is a view of."""
    for name, reader in READERS.items():
        verify(
            program(
                f"{view}, {name}",
                lambda x, reader=reader: reader(VIEWS[view]((x * x + 3) % 5)),
                In("n + 2", I32),
                draws=1,
            )
        )


@pytest.mark.parametrize("one", PROGRAMS, ids=lambda one: one.name)
def test_program_moves_elements_as_jax_does(one: Program) -> None:
    verify(one)
