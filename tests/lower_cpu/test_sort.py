"""Sorts by keys: XLA is the oracle, at lengths around those where the algorithm changes."""

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

import shlo_disc
from tests.pipeline.exports import BF16, F16, In, by_jax, exported, special

LENGTHS = (0, 1, 2, 16, 17, 128, 129, 257, 20_001)
NARROW = (np.bool_, np.int8, np.uint8, np.int16, np.uint16, F16, BF16, np.int32, np.uint32, np.float32)
WIDE = (np.int64, np.uint64, np.float64, np.complex64)


def each_type(*arrays: Any) -> Any:
    """Every type by itself, downwards, and what it was called before it was sorted."""
    return [(jnp.sort(x), jnp.argsort(x), jnp.argsort(x, descending=True, stable=True)) for x in arrays]


def several(x: Any, y: Any, z: Any) -> Any:
    return (
        lax.sort((x, y, z), num_keys=1),
        lax.sort((x, y, z), num_keys=2),
        lax.sort((z, x, y), num_keys=3),
        lax.sort(y, is_stable=False),
        lax.sort(z, is_stable=False),
        lax.sort((x, z), num_keys=1, is_stable=False),
        lax.sort((x, z), num_keys=2, is_stable=False),
    )


def columns(x: Any, y: Any) -> Any:
    return jnp.sort(x, axis=0), jnp.argsort(x, axis=1), lax.sort((y, x), dimension=0, num_keys=2)


def leading(x: Any, y: Any) -> Any:
    """Few and many of the largest."""
    few = [lax.top_k(a, k) for a in (x, y) for k in (1, 8, 32, 33, 120)]
    return few, jnp.sort(x)[:5], jnp.argsort(-y)[:40]


def drawn(rng: np.random.Generator, length: int, dtype: Any, *shape: int) -> np.ndarray[Any, Any]:
    """Ties, and all bytes of integers in use; NaN, infinities, zeros of both signs among floats."""
    kind, shape = np.dtype(dtype), (*shape, length)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return np.where(
            rng.random(shape) < 0.5,
            rng.integers(info.min, info.max, shape, kind, endpoint=True),
            rng.integers(0, 9, shape).astype(kind),
        )
    return rng.random(shape) < 0.5 if kind.kind == "b" else special(rng, shape, kind)


def agree(program: Callable[..., Any], run: Callable[..., Any], inputs: list[np.ndarray[Any, Any]]) -> None:
    """Bit by bit: zeros of both signs are equal elements, and stay in their order."""
    for found, wanted in zip(jax.tree.leaves(run(inputs)), by_jax(program, inputs), strict=True):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        assert found.tobytes() == wanted.tobytes()


def compiled(program: Callable[..., Any], inputs: list[In]) -> Callable[[list[np.ndarray[Any, Any]]], Any]:
    run = shlo_disc.compile(exported(program, inputs))
    return lambda arrays: run(*arrays)


@pytest.mark.parametrize("dtypes", [NARROW, WIDE], ids=["narrow", "wide"])
def test_every_type_is_sorted_as_xla_sorts_it(dtypes: tuple[Any, ...]) -> None:
    with jax.enable_x64(dtypes is WIDE):
        run, rng = compiled(each_type, [In("n - 1", dtype) for dtype in dtypes]), np.random.default_rng(0)
        for length in LENGTHS:
            agree(each_type, run, [drawn(rng, length, dtype) for dtype in dtypes])


def test_several_keys_and_values() -> None:
    dtypes = (np.float32, np.int32, np.uint8)
    run, rng = compiled(several, [In("n - 1", dtype) for dtype in dtypes]), np.random.default_rng(1)
    for length in LENGTHS:
        agree(several, run, [drawn(rng, length, dtype) for dtype in dtypes])


def test_rows_and_columns() -> None:
    run, rng = compiled(columns, [In("b, n - 1"), In("b, n - 1", np.int8)]), np.random.default_rng(2)
    for shape in ((3, 200), (200, 3), (1, 40), (40, 0)):
        agree(columns, run, [drawn(rng, shape[1], dtype, shape[0]) for dtype in (np.float32, np.int8)])


@pytest.mark.parametrize("order", ["random", "ascending", "descending", "equal"])
def test_the_leading_elements(order: str) -> None:
    run = compiled(leading, [In("b, n + 120"), In("b, n + 120", np.int32)])
    rng = np.random.default_rng(3)
    for length in (121, 152, 273, 500, 5_003):
        arrays = [drawn(rng, length, dtype, 2) for dtype in (np.float32, np.int32)]
        if order != "random":
            arrays = [np.sort(x)[:, :: -1 if order == "descending" else 1].copy() for x in arrays]
        if order == "equal":
            arrays = [np.zeros_like(x) for x in arrays]
        agree(leading, run, arrays)
