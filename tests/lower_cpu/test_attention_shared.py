"""Gradients of attention whose queries, keys or values are the same tensor: what is added is complete before.

Or these are one row many times, whose rows lie at a distance of 0.

Inputs are fresh in every call, and memory is poisoned before it: a sum of what an earlier call left would be seen.
"""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from tests.emulator.device import EmulatedDevice
from tests.emulator.run import compiled
from tests.pipeline.exports import BF16, F16, FAST, Array, In, by_jax, check, expected, exported, flat

pytestmark = pytest.mark.slow

Function = Callable[..., Any]
SIZES = ({"s": 17, "t": 9}, {"s": 1, "t": 33}, {"s": 64, "t": 64}, {"s": 33, "t": 1}, {"s": 130, "t": 70})


def core(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) * jnp.asarray(0.25, q.dtype), -1) @ v


def backward(function: Function) -> Function:
    """Gradients of all arguments but the last, which is that of the result."""

    def run(*arguments: Any) -> Any:
        *given, upstream = arguments
        return jax.vjp(function, *given)[1](upstream)

    return run


def result_too(function: Function) -> Function:
    def run(*arguments: Any) -> Any:
        *given, upstream = arguments
        result, pulled = jax.vjp(function, *given)
        return result, *pulled(upstream)

    return run


def heads(x: Any) -> Any:
    """All heads read one tensor, and their results are added to it."""
    y = jnp.einsum("sd,dhe->hse", x, jnp.eye(16, dtype=x.dtype).reshape(16, 2, 8))
    return x + core(y, y, y).transpose(1, 0, 2).reshape(x.shape)


def twice(x: Any) -> Any:
    y = x + core(x, x, x)
    return y + core(y, y, y)


X, M = "s, 16", "t, 16"
FORMS: Mapping[str, tuple[Function, tuple[str, ...]]] = {
    "q = k": (lambda x, v: core(x, x, v), (X, X, X)),
    "q = v": (lambda x, k: core(x, k, x), (X, X, X)),
    "k = v": (lambda q, m: core(q, m, m), (X, M, X)),
    "q = k = v": (lambda x: core(x, x, x), (X, X)),
    "residual": (lambda x: x + core(x, x, x), (X, X)),
    "scaled residual": (lambda x: 3 * x + core(2 * x, x, jnp.tanh(x)), (X, X)),
    "batch": (lambda x: x + core(x, x, x), ("t, s, 16", "t, s, 16")),
    "heads": (heads, (X, X)),
    "twice": (twice, (X, X)),
    "broadcast upstream": (lambda x, w: (core(x, x, x) * w).sum(0), (X, "16", "16")),
    "broadcast queries": (lambda x, k, w: core(jnp.broadcast_to(w, x.shape), k, k) * x, (X, M, "16", X)),
}


def inputs(name: str, dtype: Any) -> list[In]:
    return [In(shape, dtype) for shape in FORMS[name][1]]


def draws(given: Sequence[In], sizes: Sequence[Mapping[str, int]]) -> list[list[Array]]:
    """Fresh inputs for every call."""
    rng = np.random.default_rng(len(given))
    return [[one.array(rng, size) for one in given] for size in sizes]


OTHER_TYPES = [(name, dtype) for dtype in (np.float64, BF16, F16) for name in ("q = k", "q = v", "residual")]


@pytest.mark.parametrize(("name", "dtype"), [*((name, np.float32) for name in FORMS), *OTHER_TYPES])
def test_gradients_are_those_of_jax(name: str, dtype: Any) -> None:
    """At the first call and at later ones, to the bit the same on one, two and three threads."""
    function, _ = FORMS[name]
    with jax.enable_x64(np.dtype(dtype) == np.float64):
        source = exported(backward(function), inputs(name, dtype))
        runs = [
            shlo_disc.compile(source, device="cpu", options=replace(FAST, threads=threads)) for threads in (1, 2, 3)
        ]
        assert runs[0].kernels_source.count("shlo_attention_backward_") == 1  # equal kernels are printed once
        calls = draws(inputs(name, dtype), SIZES)
        for arrays, wanted in expected(backward(function), inputs(name, dtype), (*calls, calls[0])):
            found = [flat(run, arrays) for run in runs]
            check(found[0], wanted, f"{name}, {arrays[0].shape}", scale=4, inside=8)
            for threads, others in enumerate(found[1:], start=2):
                for one, other in zip(found[0], others, strict=True):
                    np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8), f"{threads} threads")


@pytest.mark.parametrize("name", FORMS)
def test_results_and_gradients_by_the_vm(name: str) -> None:
    function = FORMS[name][0]
    options = replace(FAST, threads=2, driver="vm")
    run = shlo_disc.compile(exported(result_too(function), inputs(name, np.float32)), device="cpu", options=options)
    given = inputs(name, np.float32)
    for arrays, wanted in expected(result_too(function), given, draws(given, SIZES)):
        check(flat(run, arrays), wanted, f"{name}, {arrays[0].shape}", scale=4, inside=8)


@pytest.mark.parametrize("name", ["q = k", "q = v", "k = v", "residual", "twice"])
def test_gradients_on_an_emulated_gpu(name: str) -> None:
    function = FORMS[name][0]
    run = compiled(exported(backward(function), inputs(name, np.float32)), EmulatedDevice())
    for arrays in draws(inputs(name, np.float32), SIZES[:2]):
        found = [np.asarray(result) for result in run.executable(arrays)]
        check(found, by_jax(backward(function), arrays), f"{name}, {arrays[0].shape}", scale=4, inside=8)


@pytest.mark.parametrize("rows", [1, 3, 17, 200])
def test_results_of_one_row_many_times(rows: int) -> None:
    """Values that are one row many times are the result, keys that are weigh all values alike.

    XLA is no oracle here: jaxlib 0.10.2 computes scores of 17 rows with 300 equal keys that are not equal.
    """

    def function(q: Any, k: Any, w: Any) -> Any:
        row = jnp.broadcast_to(w, k.shape)
        return core(q, k, row), core(q, row, k)

    given = [In(X), In(M), In("16")]
    run = shlo_disc.compile(exported(function, given), device="cpu", options=FAST)
    for keys in (1, 9, 300):
        arrays = [one.array(np.random.default_rng(keys), {"s": rows, "t": keys}) for one in given]
        _, k, w = arrays
        wanted = [np.broadcast_to(row, (rows, 16)).astype(np.float32) for row in (w, k.mean(0, np.float64))]
        check(flat(run, arrays), wanted, f"{rows} rows, {keys} keys", inside=8)
