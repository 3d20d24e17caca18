"""Programs whose loops are cut at seams: joins, pads, updates of slices, masks; at sizes around those of vectors."""

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

from tests.pipeline.exports import F16, In, Program, between, infinite, program, special, verify

X, EMPTY = In("b, s", draw=special), In("b, t - 1", draw=special)
PLAIN = In("b, s")
I32 = np.int32


def causal(x: Any) -> Any:
    return jnp.arange(x.shape[1])[None, :] <= jnp.arange(x.shape[0])[:, None]


def rotated(x: Any, angle: Any) -> Any:
    half = x.shape[2] // 2
    turned = jnp.concatenate([-x[..., half:], x[..., :half]], 2)
    return x * jnp.cos(angle) + turned * jnp.sin(angle)


def updated(x: Any, y: Any, k: Any) -> Any:
    """A window of rows and columns, clamped where the start lies outside."""
    return lax.dynamic_update_slice(x, y, (k[0], k[1])) * 2


def banded(x: Any) -> Any:
    rows, columns = jnp.arange(x.shape[0])[:, None], jnp.arange(x.shape[1])[None]
    band = (columns > rows - 3) & (columns < rows + 2)
    return jnp.where(band, x, 0).sum(1), jnp.where(band, x, -jnp.inf).max(1), jnp.where(band, jnp.exp(x), x)


def many_joins(x: Any, y: Any) -> Any:
    return jnp.concatenate([x, y, x + 1, y * 2, x, y, x, y, x, y], 1)


def pads_of_joins(x: Any, y: Any) -> Any:
    z = jnp.pad(jnp.concatenate([x, y], 1), ((1, 2), (3, 1)), constant_values=5)
    return z, z.sum(1), z.max(1)


def tiles(x: Any) -> Any:
    """Indices that are divided along the lanes: whole tiles, parts of them, behind a reduction, transposed."""
    b, s = x.shape
    line = jnp.tile(x.reshape(-1), 3) * 2
    beside = jax.nn.softmax(jnp.tile(x, (1, 2)))
    return line, line[2:-1], jnp.tile(x, (2, 3)), beside, x.T.reshape(b * s), jnp.repeat(x, 19, 1) + 1


def phases(x: Any, y: Any, z: Any, m: Any) -> Any:
    """Indices divided by small constants along the lanes: repeated, bytes, parts between, of types of all widths."""
    return (
        jnp.repeat(x, 3, 1) + 1,
        jnp.repeat(x.reshape(-1), 8),
        jnp.stack([x, x * 2, -x], -1),
        lax.bitcast_convert_type(x, np.uint8),
        lax.bitcast_convert_type(y, np.int8),
        lax.pad(z, z.dtype.type(1), ((0, 0, 2), (1, 2, 4))),
        lax.pad(m, np.bool_(1), ((0, 0, 0), (0, 0, 1))),
        jnp.repeat(z, 5, 1)[:, 2:],
        lax.pad(jnp.repeat(y, 2, 1), y.dtype.type(1), ((0, 1, 0), (3, 0, 3))),
    )


PROGRAMS = (
    program("phases", phases, X, In("b, s", F16), In("b, s", np.int8), In("b, s", np.bool_, between(0, 1))),
    program("tiles", tiles, X),
    program("join of columns", lambda x, y: jnp.concatenate([x, y], 1) * 2, X, EMPTY),
    program("join of rows", lambda x, y: jnp.concatenate([x, y]) * 2, X, In("t - 1, s", draw=special)),
    program("join of three", lambda x, y: jnp.concatenate([y, x, y], 1) + 1, X, EMPTY),
    program("join in the middle", lambda x, y: jnp.concatenate([x, y], 1), In("b, s, 3"), In("b, t - 1, 3")),
    program("join of vectors", lambda x, y: jnp.concatenate([x, y]), In("s"), In("t - 1")),
    program("more joins than cuts", many_joins, PLAIN, In("b, t")),
    program("a sum of a join", lambda x, y: jnp.concatenate([x, y], 1).sum(1), PLAIN, In("b, t - 1")),
    program("an argmax of a join", lambda x, y: jnp.argmax(jnp.concatenate([x, y], 1), 1), PLAIN, In("b, t - 1")),
    program("softmax of a join", lambda x, y: jax.nn.softmax(jnp.concatenate([x, y], 1)), PLAIN, In("b, t - 1")),
    program("columns of a join", lambda x, y: jnp.concatenate([x, y], 1).sum(0), PLAIN, In("b, t - 1")),
    program("rows of a join", lambda x, y: jnp.concatenate([x, y]).sum(0), PLAIN, In("t - 1, s")),
    program("pads of joins", pads_of_joins, PLAIN, In("b, t - 1")),
    program("a pad that crops", lambda x: lax.pad(x, 7.0, ((-1, 2, 0), (3, -1, 0))), X),
    program("a pad within", lambda x: lax.pad(x, 7.0, ((0, 1, 1), (1, 0, 2))), X),
    program("a causal softmax", lambda x: jax.nn.softmax(jnp.where(causal(x), x, -1e30)), PLAIN),
    program("a causal softmax of nothing", lambda x: jax.nn.softmax(jnp.where(causal(x), x, -jnp.inf)),
            In("b, s", draw=infinite)),
    program("a long causal softmax", lambda x: jax.nn.softmax(jnp.where(causal(x), x, -jnp.inf)), PLAIN,
            fixed={"b": 9, "s": 401}),
    program("a long band", banded, PLAIN, fixed={"b": 21, "s": 500}),
    program("triangles", lambda x: (jnp.tril(x), jnp.triu(x, 2), jnp.tril(x, -3).sum(1)), X),
    program("a band", banded, PLAIN),
    program("half a turn", rotated, In("b, s, 64"), In("s, 64")),
    program("half a turn of any length", rotated, In("b, s, 2*d"), In("s, 2*d")),
    program("an update", updated, In("b + 2, s + 3", draw=special), In("2, s"), In("2", I32, between(-9, 90))),
    program("an update of a vector", lambda x, y, k: lax.dynamic_update_slice(x, y, (k[0],)), In("s + t"), In("t"),
            In("1", I32, between(-9, 90))),
    program("reversed", lambda x, y: jnp.concatenate([x, y], 1)[:, ::-1] * 3, X, EMPTY),
    program("every other", lambda x, y: jnp.concatenate([x, y], 1)[:, ::2] * 3, X, In("b, t")),
    program("joins of joins", lambda x, y: jnp.concatenate([jnp.concatenate([x, y], 1)] * 2), PLAIN, In("b, t")),
    program("bytes", lambda x, y: jnp.concatenate([x, y], 1) + x.dtype.type(1), In("b, s", np.int8),
            In("b, t - 1", np.int8)),
    program("complex", lambda x, y: (jnp.concatenate([x, y], 1) * 2, jnp.repeat(x, 2, 1), jnp.tile(x, (1, 2))),
            In("b, s", np.complex64), In("b, t", np.complex64)),
    program("positions", lambda x: jnp.where(jnp.arange(x.shape[0]) < 5, x, jnp.arange(x.shape[0])), In("s")),
)  # fmt: skip


@pytest.mark.parametrize("one", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_segments_together_are_the_whole_loop(one: Program) -> None:
    verify(one)
