"""What a launch costs the host: CuPy, our VM, our C driver, a CUDA graph."""

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
from jax import export

import shlo_disc
from benchmarks.gpu.section import Section

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
        "vm": shlo_disc.CompileOptions(driver="vm", fusion="none", cuda_graphs=False),
        "c": shlo_disc.CompileOptions(fusion="none", cuda_graphs=False),
        "graph": shlo_disc.CompileOptions(fusion="none"),
    }.items():
        try:
            section.add(label, _per_launch(partial(_chain(options), x)))
        except shlo_disc.ToolchainError as error:  # no C++ compiler on this machine
            section.add(f"{label}_missing", str(error)[:300])
    lines = {k: f"{v:.2f}" for k, v in section.report.items() if isinstance(v, float)}
    section.add("summary", [f"microseconds per launch: {lines}"])


def _chain(options: Any) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        for _ in range(STEPS // 2):
            x = jax.numpy.sin(x) + 1.0
        return x

    spec = jax.ShapeDtypeStruct(export.symbolic_shape("n"), "float32")
    return shlo_disc.compile(export.export(jax.jit(program), platforms=("cuda",))(spec), device="cuda", options=options)


def _per_launch(call: Callable[[], object]) -> float:
    for _ in range(20):
        call()
    seconds = list[float]()
    for _ in range(CALLS):
        cupy.cuda.get_current_stream().synchronize()
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    cupy.cuda.get_current_stream().synchronize()
    return statistics.median(seconds) / STEPS * 1e6


if __name__ == "__main__":
    main()
