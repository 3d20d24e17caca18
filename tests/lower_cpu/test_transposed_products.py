"""Products whose result is transposed when it is finished, as gradients are: the transposed product is computed."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc.options import CompileOptions
from tests.pipeline.exports import FAST, In, check, expected, exported, flat

X, DY, P = In("t - 1, m"), In("t - 1, n"), In("m, n")
ALONG_ROWS: dict[str, Callable[..., Any]] = {
    "a step of gradient descent": lambda x, dy, p: p - 0.1 * (dy.T @ x).T,
    "a computed operand": lambda x, dy, p: p - ((dy * jnp.tanh(dy)).T @ x).T,
    "a computed operand on the other side": lambda x, dy, p: p - (dy.T @ jnp.exp(x)).T,
    "two results": lambda x, dy, p: ((g := (dy.T @ x).T), p - g),
}
ALONG_COLUMNS: dict[str, Callable[..., Any]] = {
    "not transposed": lambda x, dy, p: p - 0.1 * (x.T @ dy),
    "stored both ways": lambda x, dy, p: ((g := dy.T @ x), p - g.T),
}
SIZES = ((0, 3, 2), (1, 1, 1), (3, 1, 17), (2, 33, 1), (8, 200, 70), (33, 65, 193), (5, 16, 16))


@pytest.mark.parametrize("name", [*ALONG_ROWS, *ALONG_COLUMNS])
def test_results_are_those_of_jax(name: str) -> None:
    function = {**ALONG_ROWS, **ALONG_COLUMNS}[name]
    run = shlo_disc.compile(exported(function, (X, DY, P)), options=CompileOptions(optimize=1, threads=2))
    rng = np.random.default_rng(len(name))
    draws = [[i.array(rng, {"t": t + 1, "m": m, "n": n}) for i in (X, DY, P)] for t, m, n in SIZES]
    for at, (arrays, wanted) in zip(SIZES, expected(function, (X, DY, P), draws), strict=True):
        check(flat(run, arrays), wanted, f"{name} at t, m, n = {at}", scale=2)


@pytest.mark.parametrize("name", ALONG_ROWS)
def test_the_epilogue_goes_along_the_result(name: str) -> None:
    inputs = (In("t, 48"), In("t, 80"), In("48, 80"))
    source = shlo_disc.compile(exported(ALONG_ROWS[name], inputs), options=FAST).kernels_source
    assert "const int64_t m = 48, n = 80;" in source
    assert "store(" in source.split("_store(")[1]  # sixteen elements at a time
