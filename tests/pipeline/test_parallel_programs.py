"""Programs of many independent groups: launched together, they give what `jax.jit` gives, empty parts included."""

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
from jax import lax

import shlo_disc
from shlo_disc.host_ir import Launch
from shlo_disc.runtime.steps import leaves
from tests.pipeline.exports import FAST, In, by_jax, check, exported, flat, special, ways

Case = tuple[Callable[..., Any], tuple[In, ...], Sequence[Mapping[str, int]]]
X, Z = In("b, s"), In("b - 1, s")
SIZES = ({"b": 1, "s": 1}, {"b": 2, "s": 17}, {"b": 7, "s": 16}, {"b": 33, "s": 5})
NARROW = np.float16


def steps_down(*arrays: Any) -> Any:
    half = len(arrays) // 2
    return [w - 0.1 * g for w, g in zip(arrays[:half], arrays[half:], strict=True)]


def rearranged(x: Any) -> Any:
    """Queries, keys and values: one projection, three shapes."""
    b, s, _ = x.shape
    q, k, v = (a.reshape(b, s, 2, 4) for a in jnp.split(x, 3, -1))
    return q.transpose(0, 2, 1, 3) * 0.5, k.transpose(0, 2, 3, 1), v.transpose(2, 0, 1, 3)


def masks(lengths: Any, x: Any) -> Any:
    places = jnp.arange(x.shape[1])
    causal = jnp.where(places[:, None] >= places[None], 0.0, -jnp.inf)
    return places[None] < lengths[:, None], causal, jnp.cumsum(jnp.ones_like(x), 1), x.astype(np.int32)


def with_nothing(x: Any, z: Any) -> Any:
    """Some parts have no rows, and one has rows of nothing: a sum of it is stored all the same."""
    nothing = x[:, :0]
    return jnp.sin(z), nothing.sum(1), z.sum(0), jax.nn.softmax(z), x.max(1), nothing * 2


def looped(x: Any, y: Any) -> Any:
    def body(_: Any, carry: Any) -> Any:
        a, b = carry
        return jnp.tanh(a) + 0.5, b * 0.5 + b.mean(1, keepdims=True)

    return lax.fori_loop(0, 3, body, (x, y))


def inverted(x: Any, y: Any) -> Any:
    """Parts that read what other parts read too, and results that are read again."""
    a, b = x.sum(1), y.max(1)
    return a, b, x - a[:, None], y * b[:, None], x.T, (x + 1).astype(NARROW)


CASES: dict[str, Case] = {
    "updates": (steps_down, (In("s"), In("b, s"), In("3, s"), In("7")) * 2, SIZES),
    "rearranged": (rearranged, (In("b, s, 24"),), SIZES),
    "masks": (masks, (In("b", np.int32), X), SIZES),
    "with nothing": (with_nothing, (X, Z), SIZES),
    "a loop": (looped, (X, In("s, b")), SIZES),
    "rows of the same extent": (
        lambda x, y: (jax.nn.softmax(x), y / y.sum(1, keepdims=True), x.argmax(1)),
        (X, In("b, s", draw=special)),
        SIZES,
    ),
    "shared operands": (inverted, (X, X), SIZES),
    "products": (lambda x, a, b, c: (x @ a, x @ b + 1, (x @ c).T), (X, In("s, 8"), In("s, 3"), In("s, 8")), SIZES),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_parts_give_what_jax_gives(name: str) -> None:
    function, inputs, cases = CASES[name]
    program = exported(function, inputs)
    runs = ways(program)
    steps = shlo_disc.compile(program, options=FAST).executable.artifact.steps
    assert any(isinstance(step, Launch) and "parallel" in step.kernel for step in leaves(steps))
    for seed, sizes in enumerate(cases):
        rng = np.random.default_rng(seed)
        arrays = [i.array(rng, sizes) for i in inputs]
        wanted = by_jax(function, arrays)
        for way, run in runs.items():
            check(run(arrays), wanted, f"{name}, {sizes}, {way}")


def test_threads_share_the_parts() -> None:
    """Far more work than one thread takes: the range is cut inside parts and between them."""
    program = exported(steps_down, (In("b, s"), In("s, b"), In("s")) * 2)
    rng = np.random.default_rng(0)
    arrays = [i.array(rng, {"b": 301, "s": 997}) for i in (In("b, s"), In("s, b"), In("s")) * 2]
    wanted = by_jax(steps_down, arrays)
    for threads in (1, 2, 5):
        run = shlo_disc.compile(program, options=replace(FAST, threads=threads))
        check(flat(run, arrays), wanted, f"{threads} threads")
