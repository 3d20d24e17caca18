"""What a call costs on the host, beside `jax.jit` and NumPy: `python -m benchmarks.host_cost [RESULTS.json]`.

The program computes next to nothing, so that its time is that of the call: checks, pytrees, memory for the result, and
the run. Microseconds, the least of ROUNDS turns of about TURN seconds each; all candidates take turns. Bind the process
to one core, for example with `taskset -c 1`.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ctypes
import json
import sys
import timeit
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

import shlo_disc
from benchmarks.timing import Call

ROUNDS = 300
TURN = 0.0003
LEAVES = (1, 4, 16, 64)
JIT_LEAVES = (1, 16, 64, 300, 1000)
WARM = 20_000  # arrays that calls return before they are timed, and WARM_PER_LEAF times as many as leaves
WARM_PER_LEAF = 150


class OnlyDLPack:
    """An array that hands out its memory by DLPack alone."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> object:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def add_one(x: Any) -> Any:
    """W0."""
    return x + 1


def add_leaves(params: Mapping[str, Any], x: Any) -> Any:
    """What takes many small arrays, and does as little as can be done with them."""
    for leaf in params.values():
        x = x + leaf
    return x


def update_leaves(params: Mapping[str, Any], x: Any) -> dict[str, Any]:
    """What takes many small arrays and returns as many, as a step of training does."""
    return {name: leaf + x for name, leaf in params.items()}


class Loop:
    """A loop that replaces its parameters, which it donates."""

    def __init__(self, step: Any, params: Any, x: Any) -> None:
        self._step, self._params, self._x = step, params, x

    def __call__(self) -> None:
        self._params = self._step(self._params, self._x)


def microseconds(calls: Mapping[str, Call]) -> dict[str, float]:
    """The least that each call took, in turns, so that a slow moment of the machine hits all."""
    timers = {name: timeit.Timer(call) for name, call in calls.items()}
    counts = {name: max(1, int(TURN / timer.timeit(20) * 20)) for name, timer in timers.items()}
    least = dict.fromkeys(timers, float("inf"))
    for _ in range(ROUNDS):
        for name, timer in timers.items():
            least[name] = min(least[name], timer.timeit(counts[name]) / counts[name])
    return {name: round(seconds * 1e6, 3) for name, seconds in least.items()}


def dispatch() -> dict[str, float]:
    """A call with one array of one element."""
    (n,) = jax.export.symbolic_shape("n")
    run = shlo_disc.compile(jax.export.export(jax.jit(add_one))(jax.ShapeDtypeStruct((n,), np.float32)))
    x = np.ones(1, np.float32)
    of_jax = jax.device_put(x)
    bare = ctypes.CDLL(None).abs
    calls: dict[str, Call] = {
        "a ctypes call with one argument": partial(bare, 1),
        "numpy: x + 1": partial(add_one, x),
        "from NumPy": partial(run, x),
        "from JAX": partial(run, of_jax),
        "jax.jit": partial(jax.jit(add_one), of_jax),
        "from DLPack": partial(run, OnlyDLPack(x)),
        "jaxlib sees our memory as an array": _put(run(x)),
        "a buffer of a JAX array": partial(memoryview, of_jax),
    }
    if find_spec("torch"):
        calls["from torch"] = partial(run, import_module("torch").ones(1))
    return microseconds(calls)


def _put(x: np.ndarray[Any, Any]) -> Call:
    """The least that a result costs that is JAX's: it has no cheaper way to see memory as an array."""
    device = jax.devices("cpu")[0]
    put = import_module("jaxlib.xla_client").batched_device_put
    aval, sharding = jax.typeof(x), jax.sharding.SingleDeviceSharding(device)
    return partial(put, aval, sharding, [x], [device], False, enable_x64=True)


def leaves(count: int) -> dict[str, float]:
    """A call with a dict of so many arrays of one element beside it."""
    (n,) = jax.export.symbolic_shape("n")
    params = {f"layer{k}": np.full(1, k, np.float32) for k in range(count)}
    x = np.ones(1, np.float32)
    shapes = {name: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for name, leaf in params.items()}
    run = shlo_disc.compile(jax.export.export(jax.jit(add_leaves))(shapes, jax.ShapeDtypeStruct((n,), np.float32)))
    device_params, device_x = jax.device_put((params, x))
    return microseconds(
        {
            "NumPy": partial(run, params, x),
            "NumPy, bound": partial(run.bind(params), x),
            "JAX": partial(run, device_params, device_x),
            "JAX, bound": partial(run.bind(device_params), device_x),
            "jax.jit": partial(jax.jit(add_leaves), device_params, device_x),
        }
    )


def jit_leaves(count: int) -> dict[str, float]:
    """Functions of `shlo_disc.jit` and `jax.jit` on a dict of so many JAX arrays of one element, and an array.

    The arrays are the same in all calls; those of a loop are the results of the last one.
    """
    params, x = {f"layer{k}": jnp.full(1, k, jnp.float32) for k in range(count)}, jnp.ones(1, jnp.float32)
    calls: dict[str, Call] = {}
    for what, function in (("in", add_leaves), ("in and out", update_leaves)):
        ours = shlo_disc.jit(function)
        ours(params, x)
        calls[f"shlo_disc.jit, {what}"] = partial(ours, params, x)
        calls[f"its program, {what}"] = partial(ours.compiled, params, x)
        calls[f"jax.jit, {what}"] = partial(jax.jit(function), params, x)
    for name, jit in (("shlo_disc.jit", shlo_disc.jit), ("jax.jit", jax.jit)):
        calls[f"{name}, donated loop"] = Loop(jit(update_leaves, donate_argnums=0), jax.tree.map(jnp.copy, params), x)
    for call in calls.values():
        for _ in range(WARM // count + WARM_PER_LEAF if count > 1 else 100):
            call()
    return microseconds(calls)


def print_leaves(found: Mapping[int, Mapping[str, float]]) -> None:
    """A table with a column for each number of leaves."""
    print("| leaves | " + " | ".join(map(str, found)) + " |\n|---|" + "---|" * len(found))
    for name in next(iter(found.values())):
        print(f"| {name} | " + " | ".join(f"{times[name]:.2f}" for times in found.values()) + " |")


def main() -> None:
    """Print all tables, and write the numbers if a file is named."""
    found: dict[str, Any] = {"dispatch": dispatch(), "leaves": {count: leaves(count) for count in LEAVES}}
    for name, time in found["dispatch"].items():
        print(f"| {name} | {time:.2f} |")
    print_leaves(found["leaves"])
    found["jit leaves"] = {count: jit_leaves(count) for count in JIT_LEAVES}
    print_leaves(found["jit leaves"])
    if len(sys.argv) > 1:
        found["versions"] = {name: import_module(name).__version__ for name in ("jax", "jaxlib", "numpy")}
        Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
