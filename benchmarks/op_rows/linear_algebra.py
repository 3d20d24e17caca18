"""Linear algebra: LAPACK does it on both sides."""

# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.op_rows.row import Array, Input, Row, Sizes

# Many tiny matrices, some small ones, an odd one, a large one.
BATCHES: tuple[Sizes, ...] = ((2_000, 4), (64, 32), (1, 97), (1, 512))
TALL: tuple[Sizes, ...] = ((2_000, 8, 4), (64, 48, 32), (1, 211, 97), (1, 800, 400))
SQUARE, RECTANGLE, COLUMNS = "b, n, n", "b, m, n", "b, n, 8"


def definite(rng: np.random.Generator, shape: Sizes, _: Mapping[str, int]) -> Array:
    """Symmetric matrices whose eigenvalues are at least n."""
    x = rng.standard_normal(shape)
    return x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])


def regular(rng: np.random.Generator, shape: Sizes, _: Mapping[str, int]) -> Array:
    """Matrices that are far from singular."""
    return rng.standard_normal(shape) + 2 * np.sqrt(shape[-1]) * np.eye(shape[-2], shape[-1])


def general(rng: np.random.Generator, shape: Sizes, _: Mapping[str, int]) -> Array:
    return rng.standard_normal(shape)


def _of(dtype: str, shape: str, draw: Callable[..., Array]) -> Input:
    return Input(np.dtype(dtype), shape, draw)


def _row(name: str, program: Callable[..., Any], *inputs: Input, sizes: tuple[Sizes, ...] = BATCHES) -> Row:
    constraints = ("m >= n",) if any("m" in one.shape for one in inputs) else ()
    return Row("linear_algebra", name, program, inputs, sizes, constraints)


def triangular(a, b):
    return lax.linalg.triangular_solve(a, b, left_side=True, lower=True)


ROWS_OF_FAMILY = (
    _row("cholesky", jnp.linalg.cholesky, _of("float32", SQUARE, definite)),
    _row("cholesky_f64", jnp.linalg.cholesky, _of("float64", SQUARE, definite)),
    _row("triangular_solve", triangular, _of("float32", SQUARE, regular), _of("float32", COLUMNS, general)),
    _row("lu", lambda a: lax.linalg.lu(a)[:2], _of("float32", SQUARE, regular)),
    _row("solve", jnp.linalg.solve, _of("float32", SQUARE, regular), _of("float32", COLUMNS, general)),
    _row("qr", jnp.linalg.qr, _of("float32", RECTANGLE, regular), sizes=TALL),
    _row("eigh", jnp.linalg.eigh, _of("float32", SQUARE, definite)),
    _row("svd", lambda a: jnp.linalg.svd(a, full_matrices=False), _of("float32", RECTANGLE, general), sizes=TALL),
    _row("svd_values", lambda a: jnp.linalg.svd(a, compute_uv=False), _of("float64", RECTANGLE, general), sizes=TALL),
    _row("eig", jnp.linalg.eig, _of("float32", SQUARE, general)),
    _row("det", jax.jit(jnp.linalg.det), _of("float32", SQUARE, regular)),
)
