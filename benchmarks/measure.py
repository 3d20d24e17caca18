"""Measure one workload in this process and print JSON lines; `benchmarks.run` starts it.

    python -m benchmarks.measure W1 steady|cold-ours|cold-xla

`steady`: per fixed shape, the median seconds of a call of each side, measured in turns.
`cold-ours`, `cold-xla`: the stream of shapes from nothing: export, compile, run.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import jax
import numpy as np

from benchmarks.timing import Call, time_in_turns
from benchmarks.workloads import WORKLOADS, Array, Workload
from shlo_disc import compile as compile_program

ROUNDS = 12  # turns per shape
TURN = 0.03  # seconds of a turn, at least one call
WARM_UP = 3


def _cpu_seconds() -> float:
    """CPU time of this process and of the compilers it has started."""
    both = (resource.getrusage(k) for k in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def in_turns(*calls: Call) -> list[float]:
    """Median seconds of each call."""
    return [statistics.median(seconds) for seconds in time_in_turns(calls, ROUNDS, TURN, WARM_UP)]


def relative_error(ours: object, xla: object) -> float:
    """Largest max |difference| / max |value| over the outputs."""

    def error(found: Array, wanted: Array) -> float:
        return float(np.abs(found - wanted).max() / np.abs(wanted).max())

    pairs = zip(jax.tree.leaves(ours), jax.tree.leaves(xla), strict=True)
    return max(error(np.asarray(a), np.asarray(b)) for a, b in pairs)


def steady(workload: Workload) -> None:
    """Print what a call takes at each fixed shape; arrays are NumPy's here and JAX's there."""
    weights = workload.weights()
    run = compile_program(workload.export(weights))
    program = jax.jit(workload.program)
    device_weights: Any = jax.device_put(weights)
    for shape in workload.fixed:
        inputs = workload.at(shape)
        device_inputs: Any = jax.device_put(inputs)
        ours = partial(run, weights, *inputs)
        xla = partial(wait_for, program, device_weights, *device_inputs)
        error = relative_error(ours(), xla())
        seconds = in_turns(ours, xla)
        print(json.dumps({"shape": shape, "seconds": seconds, "error": error}), flush=True)


def wait_for(program: Callable[..., Any], *arguments: object) -> object:
    """Call a function of JAX, and wait until its results are there."""
    outputs: Any = program(*arguments)
    jax.block_until_ready(outputs)
    return outputs


def cold(workload: Workload, side: str) -> None:
    """Print what the stream takes from nothing, in seconds and in CPU seconds."""
    shapes = workload.stream()
    batches = [workload.at(shape) for shape in shapes]
    weights = workload.weights()
    device_weights: Any = jax.device_put(weights)  # and XLA's client is there, for both
    import_module("shlo_disc.pipeline.compilation")  # before the clock starts, as JAX is
    start, cpu = time.perf_counter(), _cpu_seconds()
    export_seconds = compile_seconds = 0.0
    if side == "ours":
        exported = workload.export(weights)
        export_seconds = time.perf_counter() - start
        run = compile_program(exported)
        compile_seconds = time.perf_counter() - start - export_seconds
        call = partial(run, weights)
    else:
        call = partial(wait_for, jax.jit(workload.program), device_weights)
    for inputs in batches:
        call(*inputs)
    measured = {
        "wall": time.perf_counter() - start,
        "cpu": _cpu_seconds() - cpu,
        "export": export_seconds,
        "compile": compile_seconds,
        "distinct": len(set(shapes)),
    }
    print(json.dumps(measured), flush=True)


def main() -> None:
    """Measure what the command line names."""
    name, part = sys.argv[1:]
    workload = WORKLOADS[name]
    if part == "steady":
        steady(workload)
    else:
        cold(workload, part.removeprefix("cold-"))


if __name__ == "__main__":
    main()
