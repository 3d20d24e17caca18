# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
"""Scatters of windows that lie wholly, partly or not in the operand, against a loop over NumPy's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.lax import GatherScatterMode

import shlo_disc
from shlo_disc.options import CompileOptions
from tests.pipeline.exports import In, exported

Array = np.ndarray[Any, Any]
I32 = np.int32
_WINDOWS = lax.ScatterDimensionNumbers((1, 2), (), (0, 1))


def dropped(x: Any, places: Any, updates: Any) -> Any:
    return lax.scatter_add(x, places, updates, _WINDOWS, mode=GatherScatterMode.FILL_OR_DROP)


def moved(x: Any, places: Any, updates: Any) -> Any:
    return lax.scatter_add(x, places, updates, _WINDOWS, mode=GatherScatterMode.CLIP)


def by_numpy(x: Array, places: Array, updates: Array, *, clamp: bool) -> Array:
    found, (rows, columns) = x.copy(), updates.shape[1:]
    last = (x.shape[0] - rows, x.shape[1] - columns)
    for (row, column), update in zip(places.tolist(), updates, strict=True):
        if clamp:
            row, column = min(max(row, 0), last[0]), min(max(column, 0), last[1])  # noqa: PLW2901
        if 0 <= row <= last[0] and 0 <= column <= last[1]:
            found[row : row + rows, column : column + columns] += update
    return found


def all_places(shape: Sequence[int], window: Sequence[int]) -> Array:
    """Every place from which a window reaches the operand, and one more on each side."""
    ranges = (range(-extent - 1, size + 2) for size, extent in zip(shape, window, strict=True))
    return np.array(list(product(*ranges)), I32)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("clamp", [False, True])
def test_windows_at_every_place(clamp: bool, threads: int) -> None:
    program = exported(
        moved if clamp else dropped,
        (In("n - 1, m - 1", I32), In("k, 2", I32), In("k, v - 1, w - 1", I32)),
        ["n >= v", "m >= w"],
    )
    run = shlo_disc.compile(program, options=CompileOptions(threads=threads))
    rng = np.random.default_rng(threads)
    for shape, window in (
        ((5, 4), (2, 3)), ((5, 4), (1, 1)), ((5, 4), (5, 4)), ((1, 7), (1, 2)), ((6, 1), (3, 1)), ((3, 40), (2, 17)),
        ((4, 3), (0, 2)), ((4, 3), (2, 0)),
    ):  # fmt: skip
        places = all_places(shape, window)
        rng.shuffle(places)
        x = rng.integers(-9, 9, shape, I32)
        updates = rng.integers(-9, 9, (len(places), *window), I32)
        np.testing.assert_array_equal(run(x, places, updates), by_numpy(x, places, updates, clamp=clamp))


@pytest.mark.parametrize("window", list(product((0, 1), (0, 1, 2, 3))))
def test_windows_of_a_row(window: tuple[int, int]) -> None:
    """An empty window along an axis of one element: its loop and that along the row are not one."""
    spec = [jax.ShapeDtypeStruct(shape, jnp.int32) for shape in ((1, 3), (8, 2), (8, *window))]
    run, rng = shlo_disc.compile(jax.export.export(jax.jit(dropped))(*spec)), np.random.default_rng(4)
    x, updates = rng.integers(-9, 9, (1, 3), I32), rng.integers(-9, 9, (8, *window), I32)
    places = rng.integers(-1, 3, (8, 2), I32)
    np.testing.assert_array_equal(run(x, places, updates), by_numpy(x, places, updates, clamp=False))
