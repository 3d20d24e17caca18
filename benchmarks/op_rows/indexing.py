"""Scatters, gathers, slices at computed places."""

# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.op_rows.row import LINES, ROWS, Row, ascending, booleans, indices, integers, normal

# Elements of the operand, and updates (or indices).
POINTS = ((1_000, 1_000), (100_000, 100_000), (4_000_000, 1_000_000), (99_991, 1_009))
# Rows of a table, its width, and how many are read or written.
TABLE = ((100, 16, 64), (1_000, 128, 1_000), (32_000, 256, 8_192), (30_011, 3, 20_011))
BATCHES = ((8, 100, 16), (32, 1_000, 100), (64, 10_000, 10_000), (5_003, 7, 3))
PLANE = ((32, 32, 100), (300, 300, 30_000), (2_000, 2_000, 1_000_000), (997, 1_009, 10_007))
WINDOWS = ((100, 16, 8), (1_000, 100, 20), (4_000, 1_000, 100), (10_007, 3, 997))


def scatter_batched(x, i, u):
    """Each line of the batch has indices of its own (batching dims)."""
    return jax.vmap(lambda row, at, new: row.at[at].add(new))(x, i, u)


def scatter_windows(x, i, u):
    """Large windows of whole lines, one after the other where they overlap."""
    numbers = lax.ScatterDimensionNumbers((1, 2), (), (0,))
    return lax.scatter_add(x, i[:, None], u, numbers, mode="clip")


def slices(x, i):
    return jax.vmap(lambda at: lax.dynamic_slice(x, (at,), (32,)))(i)


def histogram(x):
    return jnp.zeros(256, jnp.int32).at[x].add(1)


ROWS_OF_FAMILY = (
    Row("scatter", "add, 1-d", lambda x, i, u: x.at[i].add(u), (normal("n"), indices("m", "n"), normal("m")), POINTS),
    Row("scatter", "set, 1-d", lambda x, i, u: x.at[i].set(u), (normal("n"), indices("m", "n"), normal("m")), POINTS),
    Row("scatter", "max, 1-d", lambda x, i, u: x.at[i].max(u), (normal("n"), indices("m", "n"), normal("m")), POINTS),
    Row(
        "scatter",
        "add, few targets",
        lambda x, i, u: x.at[i].add(u),
        (normal("k"), indices("m", "k"), normal("m")),
        ((8, 1_000), (16, 100_000), (100, 4_000_000), (3, 99_991)),
    ),
    Row(
        "scatter",
        "add rows",
        lambda x, i, u: x.at[i].add(u),
        (normal("n, d"), indices("m", "n"), normal("m, d")),
        TABLE,
    ),
    Row(
        "scatter",
        "set rows",
        lambda x, i, u: x.at[i].set(u),
        (normal("n, d"), indices("m", "n"), normal("m, d")),
        TABLE,
    ),
    Row(
        "scatter",
        "add elements, 2-d",
        lambda x, i, j, u: x.at[i, j].add(u),
        (normal("n, d"), indices("m", "n"), indices("m", "d"), normal("m")),
        PLANE,
    ),
    Row(
        "scatter",
        "add, batched",
        scatter_batched,
        (normal("b, n"), indices("b, m", "n"), normal("b, m")),
        BATCHES,
    ),
    Row(
        "scatter",
        "add windows of 16 lines",
        scatter_windows,
        (normal("n, d"), indices("m", "n"), normal("m, 16, d")),
        WINDOWS,
        ("n >= 16",),
    ),
    Row(
        "scatter",
        "gradient of an embedding",
        lambda i, u, like: jnp.zeros_like(like).at[i].add(u),
        (indices("m", "n"), normal("m, d"), normal("n, d")),
        ((64, 16, 100), (1_000, 128, 1_000), (8_192, 256, 32_000), (20_011, 3, 30_011)),
    ),
    Row(
        "scatter",
        "segment sum of rows",
        lambda u, i: jax.ops.segment_sum(u, i, 100),
        (normal("m, d"), integers("m", 0, 100)),
        ((100, 10), (1_000, 100), (100_000, 32), (99_991, 1)),
    ),
    Row("scatter", "histogram of 256", histogram, (integers("m", 0, 256),), LINES),
    Row("scatter", "bincount of u8", lambda x: jnp.bincount(x, length=256), (integers("m", 0, 256, np.uint8),), LINES),
    Row(
        "gather",
        "rows of an embedding",
        lambda x, i: x[i],
        (normal("n, d"), indices("m", "n")),
        TABLE,
    ),
    Row("gather", "elements", lambda x, i: x[i], (normal("n"), indices("m", "n")), POINTS),
    Row(
        "gather",
        "elements, 2-d",
        lambda x, i, j: x[i, j],
        (normal("n, d"), indices("m", "n"), indices("m", "d")),
        PLANE,
    ),
    Row(
        "gather",
        "take_along_axis, last",
        lambda x, i: jnp.take_along_axis(x, i, -1),
        (normal("b, n"), indices("b, m", "n")),
        BATCHES,
    ),
    Row(
        "gather",
        "take_along_axis, first",
        lambda x, i: jnp.take_along_axis(x, i, 0),
        (normal("n, d"), indices("m, d", "n")),
        TABLE,
    ),
    Row(
        "gather",
        "columns",
        lambda x, i: x[:, i],
        (normal("d, n"), indices("m", "n")),
        ((10, 100, 64), (100, 1_000, 1_000), (1_000, 4_000, 4_000), (30_011, 3, 5)),
    ),
    Row(
        "gather",
        "slices of 32",
        slices,
        (normal("n"), indices("m", "n")),
        ((1_000, 32), (100_000, 3_000), (4_000_000, 100_000), (99_991, 1_009)),
        ("n >= 32",),
    ),
    Row(
        "gather",
        "searchsorted",
        jnp.searchsorted,
        (ascending("n"), normal("m")),
        ((1_000, 100), (100_000, 10_000), (1_000_000, 1_000_000), (99_991, 1_009)),
        static=True,
    ),
    Row(
        "gather",
        "interp",
        jnp.interp,
        (normal("m"), ascending("n"), normal("n")),
        ((100, 1_000), (10_000, 1_000), (1_000_000, 1_000), (1_009, 997)),
        static=True,
    ),
    Row(
        "slice",
        "dynamic_slice of rows",
        lambda x, i: lax.dynamic_slice_in_dim(x, i[0], 8, 0),
        (normal("n, d"), indices("1", "n")),
        ((100, 10), (1_000, 100), (2_000, 100_000), (30_011, 3)),
        ("n >= 8",),
    ),
    Row(
        "slice",
        "dynamic_update_slice of rows",
        lambda x, u, i: lax.dynamic_update_slice_in_dim(x, u, i[0], 0),
        (normal("n, d"), normal("8, d"), indices("1", "n")),
        ((100, 10), (1_000, 100), (2_000, 2_000), (30_011, 3)),
        ("n >= 8",),
    ),
    Row("slice", "every third", lambda x: x[::3], (normal("n"),), LINES),
    Row("slice", "a middle block", lambda x: x[2:-3, 1:-1], (normal("n, m"),), ROWS, ("n >= 6", "m >= 3")),
    Row(
        "gather",
        "where",
        jnp.where,
        (booleans("n"), normal("n"), normal("n")),
        LINES,
    ),
)
