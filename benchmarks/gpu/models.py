"""Whole models against `jax.jit`: warmed up at fixed shapes, and a stream of 64 shapes from nothing."""

# JAX is typed in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import time
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import export

from benchmarks.gpu.section import Section, geometric_mean, wall_seconds
from benchmarks.workloads import WORKLOADS, Workload
from shlo_disc import compile as compile_program  # the compiler is loaded before the clock starts, as JAX is

NAMES = ("W1", "W2", "W3", "W4", "W5")
TOLERANCE = 5e-3  # of the largest value: both sides may use TF32
XLA_SHAPES = 4  # of the stream of 64, timed and scaled: XLA takes a second or more for each


def main() -> None:
    """Each workload, steady and cold."""
    section = Section()
    for name in NAMES:
        workload = WORKLOADS[name]
        weights: Any = jax.device_put(workload.weights())
        started = time.perf_counter()
        run = compile_workload(workload, weights)
        compiled = time.perf_counter() - started
        cold = _cold(workload, weights, run)
        section.append("cold", {"name": name, "compile": compiled, **cold, "ours": compiled + cold["ours"]})
        for shape in workload.fixed[1::2]:  # XLA compiles each
            section.append("steady", _steady(workload, weights, run, shape))
    steady, cold = section.report["steady"], section.report["cold"]
    section.add("wrong", [f"{c['name']} {c['shape']}" for c in steady if not c["right"]])
    lines = [_line(name, steady, cold) for name in NAMES]
    ratio = geometric_mean(c["seconds"] / c["xla_seconds"] for c in steady)
    section.add("summary", [*lines, f"steady ours / XLA, geometric mean {ratio:.2f}"])


def _line(name: str, steady: list[Any], cold: list[Any]) -> str:
    ratios = [c["seconds"] / c["xla_seconds"] for c in steady if c["name"] == name]
    (stream,) = (c for c in cold if c["name"] == name)
    times = stream["xla_scaled"] / stream["ours"]
    steady_line = f"steady ours / XLA {geometric_mean(ratios):.2f} (worst {max(ratios):.2f})"
    return f"{name}: {steady_line}, cold stream {times:.0f}x faster"


def compile_workload(workload: Workload, weights: Any) -> Any:
    """The program, for all shapes; `weights` are on the GPU."""
    scope = export.SymbolicScope()
    example = workload.at(workload.fixed[0])
    specs = [
        jax.ShapeDtypeStruct(export.symbolic_shape(s, scope=scope), x.dtype)
        for s, x in zip(workload.symbolic, example, strict=True)
    ]
    return compile_program(
        export.export(jax.jit(workload.program), platforms=("cuda",))(weights, *specs), device="cuda"
    )


def _steady(workload: Workload, weights: Any, run: Any, shape: Any) -> dict[str, Any]:
    inputs: Any = jax.device_put(workload.at(shape))
    jitted = jax.jit(workload.program)
    ours, xla = partial(run, weights, *inputs), partial(jitted, weights, *inputs)
    right = all(
        bool(jnp.abs(a - b).max() <= TOLERANCE * jnp.abs(b).max())
        for a, b in zip(jax.tree.leaves(ours()), jax.tree.leaves(xla()), strict=True)
    )
    seconds, xla_seconds = wall_seconds(ours), wall_seconds(xla)
    return {"name": workload.name, "shape": shape, "seconds": seconds, "xla_seconds": xla_seconds, "right": right}


def _cold(workload: Workload, weights: Any, run: Any) -> dict[str, Any]:
    """Seconds of the stream, each result waited for; XLA's are scaled from the first distinct shapes."""
    shapes = workload.stream()
    batches: list[Any] = [jax.device_put(workload.at(shape)) for shape in shapes]
    start = time.perf_counter()
    for inputs in batches:
        jax.block_until_ready(run(weights, *inputs))
    ours = time.perf_counter() - start
    jitted = jax.jit(workload.program)
    distinct = list(dict(zip(shapes, batches, strict=True)).items())
    some = distinct[:XLA_SHAPES]
    start = time.perf_counter()
    for _, inputs in some:
        jax.block_until_ready(jitted(weights, *inputs))
    xla = time.perf_counter() - start
    return {"ours": ours, "xla": xla, "xla_shapes": len(some), "distinct": len(distinct),
            "xla_scaled": xla * len(distinct) / len(some)}  # fmt: skip


if __name__ == "__main__":
    main()
