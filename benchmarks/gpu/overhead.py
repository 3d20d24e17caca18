"""What a launch costs the host (CuPy, our VM, our C driver, a CUDA graph), and what a call does, beside `jax.jit`."""

# CuPy and JAX are typed in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import cupy
import jax
import numpy as np
from jax import export

import shlo_disc
from benchmarks.gpu.models import compile_workload
from benchmarks.gpu.section import Section
from benchmarks.workloads import WORKLOADS

STEPS = 50  # launches of one call
CALLS = 200


def main() -> None:
    """Microseconds of host time per launch, the device being idle most of the time."""
    section = Section()
    x = cupy.ones(64, cupy.float32)
    add: Any = cupy.ElementwiseKernel("T x", "T y", "y = x + 1", "add_one")
    y = cupy.empty_like(x)

    def cupy_launches() -> None:
        for _ in range(STEPS):
            add(x, y)

    section.add("cupy", _per_launch(cupy_launches))
    for label, options in {
        "vm": shlo_disc.CompileOptions(driver="vm", fusion="none", graphs=False),
        "c": shlo_disc.CompileOptions(fusion="none", graphs=False),
        "graph": shlo_disc.CompileOptions(fusion="none"),
    }.items():
        try:
            section.add(label, _per_launch(partial(_chain(options), x)))
        except shlo_disc.ToolchainError as error:  # no C++ compiler on this machine
            section.add(f"{label}_missing", str(error)[:300])
    launches = {k: f"{v:.2f}" for k, v in section.report.items() if isinstance(v, float)}
    section.add("calls", {**_one_kernel(), **_row_chain()})
    calls = {k: f"{v:.1f}" for k, v in section.report["calls"].items()}
    section.add("summary", [f"microseconds per launch: {launches}", f"microseconds per call: {calls}"])


def _one_kernel() -> dict[str, float]:
    """`x + 1` on 64 numbers: from the arrays of each library, which come again; and from its own last result."""

    def program(x: Any) -> Any:
        return x + 1

    run, jitted = _compiled(program), jax.jit(program)
    last: Any = jax.numpy.ones(64)

    def chain() -> None:
        nonlocal last
        last = run(last)

    rows: dict[str, Callable[[], object]] = {
        "CuPy": partial(run, cupy.ones(64, cupy.float32)),
        "JAX": partial(run, jax.numpy.ones(64)),
        "JAX, bound": run.bind(jax.numpy.ones(64)),
        "JAX, x = run(x)": chain,
        "NumPy": partial(run, np.ones(64, np.float32)),
        "jax.jit": partial(jitted, jax.numpy.ones(64)),
    }
    return {name: _per_call(call) for name, call in rows.items()}


def _row_chain() -> dict[str, float]:
    """W1 at its smallest shape, its weights as arguments and bound."""
    workload = WORKLOADS["W1"]
    weights: Any = jax.device_put(workload.weights())
    inputs: Any = jax.device_put(workload.at(workload.fixed[0]))
    run, jitted = compile_workload(workload, weights), jax.jit(workload.program)
    rows: dict[str, Callable[[], object]] = {
        "W1": partial(run, weights, *inputs),
        "W1, bound": partial(run.bind(weights), *inputs),
        "W1, jax.jit": partial(jitted, weights, *inputs),
    }
    return {name: _per_call(call) for name, call in rows.items()}


def _chain(options: Any) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        for _ in range(STEPS // 2):
            x = jax.numpy.sin(x) + 1.0
        return x

    return _compiled(program, options=options)


def _compiled(program: Callable[[Any], Any], **given: Any) -> Any:
    spec = jax.ShapeDtypeStruct(export.symbolic_shape("n"), "float32")
    return shlo_disc.compile(export.export(jax.jit(program), platforms=("cuda",))(spec), device="cuda", **given)


def _per_launch(call: Callable[[], object]) -> float:
    return _per_call(call) / STEPS


def _per_call(call: Callable[[], object]) -> float:
    """Microseconds, each call after the last one's work is done."""
    for _ in range(20):
        call()
    seconds = list[float]()
    for _ in range(CALLS):
        cupy.cuda.get_current_stream().synchronize()
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    cupy.cuda.get_current_stream().synchronize()
    return statistics.median(seconds) * 1e6


if __name__ == "__main__":
    main()
