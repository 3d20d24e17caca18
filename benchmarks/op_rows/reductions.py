"""Reductions over each axis and over all."""

# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.op_rows.row import LINES, ROWS, Row, booleans, integers, normal

CUBES = ((4, 16, 16), (10, 100, 100), (50, 200, 200), (503, 7, 31))


def _of_axes(name: str, function: Callable[..., Any]) -> tuple[Row, ...]:
    return (
        Row("reduce", f"{name} of all", function, (normal("n"),), LINES),
        Row("reduce", f"{name} of rows", partial(function, axis=1), (normal("n, m"),), ROWS),
        Row("reduce", f"{name} of columns", partial(function, axis=0), (normal("n, m"),), ROWS),
    )


ROWS_OF_FAMILY = (
    *_of_axes("sum", jnp.sum),
    *_of_axes("max", jnp.max),
    *_of_axes("argmax", jnp.argmax),
    *_of_axes("logsumexp", jax.nn.logsumexp),
    *_of_axes("var", jnp.var),
    Row("reduce", "argmin of all", jnp.argmin, (normal("n"),), LINES),
    Row("reduce", "sum of the middle axis", partial(jnp.sum, axis=1), (normal("n, m, k"),), CUBES),
    Row("reduce", "sum, f64", jnp.sum, (normal("n", np.float64),), LINES),
    Row("reduce", "sum, bf16", jnp.sum, (normal("n", jnp.bfloat16),), LINES),
    Row("reduce", "sum, i32", jnp.sum, (integers("n", -9, 9),), LINES),
    Row("reduce", "sum, i8 as i32", partial(jnp.sum, dtype=jnp.int32), (integers("n", -9, 9, np.int8),), LINES),
    Row("reduce", "product", jnp.prod, (normal("n"),), LINES),
    Row("reduce", "any", jnp.any, (booleans("n"),), LINES),
    Row("reduce", "all of rows", partial(jnp.all, axis=1), (booleans("n, m"),), ROWS),
    Row("reduce", "count_nonzero", jnp.count_nonzero, (normal("n"),), LINES),
)
