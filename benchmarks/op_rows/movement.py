"""What moves elements, and what makes them from indices."""

# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.op_rows.row import LINES, ROWS, Row, integers, normal

CUBES = ((4, 16, 16), (10, 100, 100), (50, 200, 200), (503, 7, 31))
SQUARES = ((32, 32), (300, 300), (2_000, 2_000), (997, 1_009))
BYTE = (-128, 128, np.int8)

ROWS_OF_FAMILY = (
    Row("move", "concatenate", lambda x, y: jnp.concatenate([x, y]), (normal("n"), normal("n")), LINES),
    Row("move", "concatenate columns", lambda x, y: jnp.concatenate([x, y], 1), (normal("n, m"), normal("n, m")), ROWS),
    Row("move", "stack last", lambda x, y: jnp.stack([x, y], -1), (normal("n"), normal("n")), LINES),
    Row("move", "pad", lambda x: jnp.pad(x, ((1, 2), (3, 4))), (normal("n, m"),), ROWS),
    Row("move", "pad between", lambda x: lax.pad(x, 0.0, ((1, 1, 1), (0, 0, 1))), (normal("n, m"),), ROWS),
    Row("move", "reverse", lambda x: x[::-1], (normal("n"),), LINES),
    Row("move", "reverse rows", lambda x: x[:, ::-1], (normal("n, m"),), ROWS),
    Row("move", "transpose", lambda x: x.T, (normal("n, m"),), SQUARES),
    Row("move", "transpose, i8", lambda x: x.T, (integers("n, m", *BYTE),), SQUARES),
    Row("move", "transpose 0, 2, 1", lambda x: x.transpose(0, 2, 1), (normal("n, m, k"),), CUBES),
    Row("move", "transpose 2, 0, 1", lambda x: x.transpose(2, 0, 1), (normal("n, m, k"),), CUBES),
    Row("move", "transpose 1, 0, 2", lambda x: x.transpose(1, 0, 2), (normal("n, m, k"),), CUBES),
    Row("move", "roll", lambda x: jnp.roll(x, 3), (normal("n"),), LINES, ("n >= 4",)),
    Row("move", "roll rows", lambda x: jnp.roll(x, 1, axis=1), (normal("n, m"),), ROWS),
    Row("move", "repeat each 3 times", lambda x: jnp.repeat(x, 3, axis=0), (normal("n"),), LINES),
    Row("move", "tile 3 times", lambda x: jnp.tile(x, 3), (normal("n"),), LINES),
    Row("move", "outer sum", lambda x, y: x[:, None] + y, (normal("n"), normal("m")), SQUARES),
    Row("mask", "iota", lambda x: jnp.arange(x.shape[0], dtype=jnp.float32) * 2, (normal("n"),), LINES),
    Row(
        "mask",
        "causal mask",
        lambda x: jnp.where(jnp.arange(x.shape[1]) <= jnp.arange(x.shape[0])[:, None], x, -jnp.inf),
        (normal("n, m"),),
        SQUARES,
    ),
    Row(
        "mask",
        "length mask",
        lambda x, n: jnp.arange(x.shape[1]) < n[:, None],
        (normal("n, m"), integers("n", 0, 9)),
        ROWS,
    ),
    Row("mask", "tril", jnp.tril, (normal("n, m"),), SQUARES),
    Row("mask", "triu", jnp.triu, (normal("n, m"),), SQUARES),
    Row("mask", "eye", lambda x: jnp.eye(x.shape[0], x.shape[1], dtype=jnp.float32), (normal("n, m"),), SQUARES),
    Row(
        "mask",
        "one_hot of 100",
        lambda i: jax.nn.one_hot(i, 100),
        (integers("n", 0, 100),),
        ((10,), (1_000,), (40_000,), (997,)),
    ),
    Row("mask", "clip", lambda x: jnp.clip(x, -1, 1), (normal("n"),), LINES),
    Row("mask", "isnan or greater", lambda x, y: jnp.isnan(x) | (x > y), (normal("n"), normal("n")), LINES),
)
