"""What a compiled program costs inside of `jax.jit`: `python -m benchmarks.xla_calls [RESULTS.json]`.

A jitted function with one call of a program that computes x + 1, beside one with a custom call that does nothing, and
beside `jax.jit` of x + 1. A hundred calls in one function tell what each adds without the cost of `jax.jit` itself.
Microseconds until the result is there, the median and the least of ROUNDS turns; all candidates take turns.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import statistics
import sys
import timeit
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import jax.export
import numpy as np

import shlo_disc
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.xla.library import open_library

ROUNDS = 300
TURN = 0.001
CALLS = 100
NOTHING = "shlo_disc_nothing"

Function = Callable[[Any], Any]


def add_one(x: Any) -> Any:
    """The program."""
    return x + 1


def functions() -> Mapping[str, Function]:
    """A call of each kind, from an array to an array of the same type."""
    (n,) = jax.export.symbolic_shape("n")
    run = shlo_disc.compile(
        jax.export.export(jax.jit(add_one))(jax.ShapeDtypeStruct((n,), np.float32)), device="cpu", threads=1
    )
    assert isinstance(run.executable, CpuExecutable)
    library = open_library(run.executable.for_xla)
    jax.ffi.register_ffi_target(NOTHING, jax.ffi.pycapsule(library.handle.shlo_xla_nothing), platform="cpu")

    def nothing(x: Any) -> Any:
        return jax.ffi.ffi_call(NOTHING, jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    return {"the program": run.as_jax(), "a custom call that does nothing": nothing, "x + 1 of XLA": add_one}


def repeated(function: Function) -> Function:
    """A function that makes CALLS calls, one after the other."""

    def run(x: Any) -> Any:
        for _ in range(CALLS):
            x = function(x)
        return x

    return run


def wait_for(function: Function, x: Any) -> None:
    """A call, and its result."""
    function(x).block_until_ready()


def microseconds(calls: Mapping[str, Function], x: Any) -> dict[str, dict[str, float]]:
    """What each call takes, in turns, so that a slow moment of the machine hits all."""
    timers = {name: timeit.Timer(partial(wait_for, jax.jit(one), x)) for name, one in calls.items()}
    counts = {name: max(1, int(TURN / timer.timeit(20) * 20)) for name, timer in timers.items()}
    took = {name: list[float]() for name in timers}
    for _ in range(ROUNDS):
        for name, timer in timers.items():
            took[name].append(timer.timeit(counts[name]) / counts[name] * 1e6)
    return {
        name: {"median": round(statistics.median(all_), 3), "least": round(min(all_), 3)} for name, all_ in took.items()
    }


def main() -> None:
    """Print the table, and write the numbers if a file is named."""
    calls, x = functions(), jax.device_put(np.ones(1, np.float32))
    found = {"one call": microseconds(calls, x)}
    many = microseconds({name: repeated(one) for name, one in calls.items()}, x)
    found["each of a hundred"] = {
        name: {kind: round(time / CALLS, 4) for kind, time in times.items()} for name, times in many.items()
    }
    for title, rows in found.items():
        print(f"| {title} | median | least |\n|---|---|---|")
        for name, times in rows.items():
            print(f"| {name} | {times['median']:.2f} | {times['least']:.2f} |")
    if len(sys.argv) > 1:
        versions = {name: import_module(name).__version__ for name in ("jax", "jaxlib", "numpy")}
        Path(sys.argv[1]).write_text(json.dumps({**found, "versions": versions}, indent=1) + "\n")


if __name__ == "__main__":
    main()
