"""Joins, pads, masks, transposes and column sums against XLA: seconds as ratios, measured side by side in one run."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

import shlo_disc

ROUNDS, LEAST = 15, 2e-3


def causal(x: Any) -> Any:
    mask = jnp.arange(x.shape[1])[None, :] <= jnp.arange(x.shape[0])[:, None]
    return jax.nn.softmax(jnp.where(mask, x, -1e30))


def rotary(x: Any, angle: Any) -> Any:
    half = x.shape[2] // 2
    turned = jnp.concatenate([-x[..., half:], x[..., :half]], 2)
    return x * jnp.cos(angle) + turned * jnp.sin(angle)


def statistics(x: Any) -> Any:
    return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5)


# name: function, symbolic shapes of its arguments, sizes
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[str, ...], tuple[dict[str, int], ...]]] = {
    "join of columns": (lambda x, y: jnp.concatenate([x, y], 1) * 2, ("b, s", "b, t"), (
        {"b": 1000, "s": 500, "t": 500}, {"b": 4096, "s": 33, "t": 31}, {"b": 17, "s": 17, "t": 1})),
    "join of rows": (lambda x, y: jnp.concatenate([x, y]) * 2, ("b, s", "t, s"), (
        {"b": 500, "s": 1000, "t": 500}, {"b": 100000, "s": 3, "t": 100000}, {"b": 17, "s": 17, "t": 1})),
    "a cache joined": (lambda x, y: jnp.concatenate([x, y], 1), ("b, s, 64", "b, t, 64"), (
        {"b": 12, "s": 1023, "t": 1}, {"b": 12, "s": 127, "t": 1})),
    "pad": (lambda x: jnp.pad(x, ((1, 1), (3, 5))) * 2, ("b, s",), ({"b": 1000, "s": 1000}, {"b": 17, "s": 17})),
    "causal softmax": (causal, ("s, s",), ({"s": 1024}, {"s": 128}, {"s": 17})),
    "rotary": (rotary, ("b, s, 64", "s, 64"), ({"b": 12, "s": 512}, {"b": 12, "s": 16})),
    "reversed": (lambda x: x[:, ::-1] * 2, ("b, s",), ({"b": 1000, "s": 1000},)),
    "transpose": (lambda x: x.T * 1, ("b, s",), tuple({"b": n, "s": m} for n, m in (
        (1, 1), (17, 17), (64, 64), (1000, 1000), (997, 1013)))),
    "transposed operand": (lambda x, y: jnp.tanh(x.T + y), ("b, s", "s, b"), (
        {"b": 1000, "s": 1000}, {"b": 64, "s": 64})),
    "heads": (lambda x: jnp.transpose(x, (0, 2, 1)) + 1, ("b, s, d",), ({"b": 12, "s": 512, "d": 64},)),
    "sum of columns": (lambda x: x.sum(0), ("b, s",), (
        {"b": 1000, "s": 1000}, {"b": 100000, "s": 8}, {"b": 100000, "s": 64}, {"b": 17, "s": 17})),
    "sum of all": (lambda x: x.sum(), ("b, s",), ({"b": 1000, "s": 1000}, {"b": 17, "s": 17})),
    "statistics of columns": (statistics, ("b, s",), ({"b": 4096, "s": 768}, {"b": 64, "s": 64})),
}  # fmt: skip


def seconds(run: Callable[[], Any], calls: int) -> float:
    """Of one call, the mean of some."""
    begin = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - begin) / calls


def sizes_of(shape: str, point: dict[str, int]) -> tuple[int, ...]:
    """The numbers of a shape of names and literals."""
    return tuple(point[d] if d in point else int(d) for d in shape.replace(" ", "").split(","))


def measure(name: str) -> None:
    """Print a line per size: the least seconds of each side, and the median ratio."""
    function, shapes, sizes = PROGRAMS[name]
    scope = export.SymbolicScope()
    specs = [jax.ShapeDtypeStruct(export.symbolic_shape(s, scope=scope), np.float32) for s in shapes]
    compiled, theirs = shlo_disc.compile(export.export(jax.jit(function))(*specs)), jax.jit(function)
    for point in sizes:
        rng = np.random.default_rng(0)
        arrays = [rng.standard_normal(sizes_of(s, point)).astype(np.float32) for s in shapes]
        on_device = [jax.device_put(a) for a in arrays]
        runs = (partial(compiled, *arrays), lambda given=on_device: jax.block_until_ready(theirs(*given)))
        np.testing.assert_allclose(np.asarray(runs[0]()), np.asarray(runs[1]()), 1e-3, 1e-2)
        calls = max(1, int(LEAST / max(seconds(runs[1], 3), 1e-7)))
        times = np.array([[seconds(run, calls) for run in runs] for _ in range(ROUNDS)])
        ours, xla = times.min(0) * 1e6
        ratio = np.median(times[:, 0] / times[:, 1])
        print(f"{name:22} {point!s:36} {ours:9.1f} us, XLA {xla:9.1f} us, ours / XLA {ratio:5.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PROGRAMS))
    for chosen in parser.parse_args().names:
        measure(chosen)
