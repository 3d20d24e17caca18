"""Sorts, the largest few, searches."""

# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.op_rows.row import Row, integers, normal

LINE = ((1_000,), (100_000,), (1_000_000,), (99_991,))
ROWS = ((10, 100), (100, 1_000), (1_000, 1_000), (30_011, 3))
FEW = ((10, 100), (100, 1_000), (1_000, 10_000), (3_001, 67))
BYTES = -(1 << 31), 1 << 31


def unique_marks(x):
    """How `jnp.unique` begins: sort, then compare neighbours."""
    ordered = jnp.sort(x)
    return ordered, jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])


ROWS_OF_FAMILY = (
    Row("sort", "f32", jnp.sort, (normal("n"),), LINE),
    Row("sort", "f64", jnp.sort, (normal("n", np.float64),), LINE),
    Row("sort", "i32", jnp.sort, (integers("n", *BYTES),), LINE),
    Row("sort", "u8", jnp.sort, (integers("n", 0, 256, np.uint8),), LINE),
    Row("sort", "f32, descending", lambda x: jnp.sort(x, descending=True), (normal("n"),), LINE),
    Row("sort", "f32, not stable", lambda x: lax.sort(x, is_stable=False), (normal("n"),), LINE),
    Row("sort", "f32 rows", jnp.sort, (normal("n, m"),), ROWS),
    Row("sort", "f32 columns", lambda x: jnp.sort(x, axis=0), (normal("n, m"),), ROWS),
    Row("sort", "argsort, f32", jnp.argsort, (normal("n"),), LINE),
    Row("sort", "argsort, i32", jnp.argsort, (integers("n", 0, 1000),), LINE),
    Row("sort", "argsort of rows", jnp.argsort, (normal("n, m"),), ROWS),
    Row("sort", "keys and values", lambda k, v: lax.sort((k, v), num_keys=1), (normal("n"), normal("n")), LINE),
    Row(
        "sort",
        "two keys and a value",
        lambda a, b, v: lax.sort((a, b, v), num_keys=2),
        (integers("n", 0, 100), normal("n"), normal("n")),
        LINE,
    ),
    Row("sort", "unique's beginning", unique_marks, (integers("n", 0, 5000),), LINE),
    Row("sort", "median of rows", lambda x: jnp.median(x, axis=-1), (normal("n, m"),), ROWS, static=True),
    Row("top_k", "8 of each row", lambda x: lax.top_k(x, 8), (normal("n, m"),), FEW, ("m >= 8",)),
    Row("top_k", "50 of each row", lambda x: lax.top_k(x, 50), (normal("n, m"),), FEW, ("m >= 50",)),
    Row("top_k", "1 of each row", lambda x: lax.top_k(x, 1), (normal("n, m"),), FEW),
    Row("top_k", "100 of a line", lambda x: lax.top_k(x, 100), (normal("n"),), LINE, ("n >= 100",)),
)
