"""Nimble: loops and data structures of any size, run by a virtual machine."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import jax

import shlo_disc
from benchmarks.measure import relative_error, wait_for
from benchmarks.seeds.programs import bert_workload, recurrent
from benchmarks.seeds.rows import Row, Seed, Settings, at, least
from benchmarks.timing import geometric_mean
from benchmarks.workloads import Workload
from shlo_disc import CompileOptions
from shlo_disc.host_ir import Case, Step, While
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from shlo_disc.runtime.steps import leaves


def _timed(workload: Workload, axes: str, options: CompileOptions) -> Iterator[Row]:
    """A call by the compiled interpreter of bytecode, by the VM in Python, and by XLA, at some shapes."""
    weights = workload.weights()
    source = workload.export(weights)
    generated, vm = (
        shlo_disc.compile(source, device="cpu", options=each) for each in (options, replace(options, driver="vm"))
    )
    bound = generated.bind(weights)
    program, on_device = jax.jit(workload.program), jax.device_put(weights)
    over_vm, over_xla, bound_over_xla, errors = list[float](), list[float](), list[float](), list[float]()
    for shape in workload.fixed:
        inputs = workload.at(shape)
        device_inputs: Any = jax.device_put(inputs)
        calls = (
            partial(generated, weights, *inputs),
            partial(bound, *inputs),
            partial(vm, weights, *inputs),
            partial(wait_for, program, on_device, *device_inputs),
        )
        errors.append(relative_error(calls[0](), calls[-1]()))
        ours, ours_bound, by_vm, xla = least(*calls)
        over_vm.append(ours / by_vm)
        over_xla.append(ours / xla)
        bound_over_xla.append(ours_bound / xla)
        yield Row(f"{workload.about}: a call at {at(shape)}", 1e6 * ours, "us", axes, "out")
    yield Row(f"{workload.name}: bytecode over the VM in Python, mean", geometric_mean(over_vm), "x", axes, "out")
    yield Row(f"{workload.name}: a call over XLA's, mean", geometric_mean(over_xla), "x", axes, "out")
    yield Row(f"{workload.name}: the same, weights bound once, mean", geometric_mean(bound_over_xla), "x", axes, "out")
    yield Row(f"{workload.name}: largest difference from XLA's result, relative", max(errors), "", axes, "out")


def _control(steps: Iterable[Step]) -> int:
    """Loops and branches whose predicate or index the host reads."""
    found = 0
    for step in steps:
        if isinstance(step, While):
            found += 1 + _control([*step.condition, *step.body])
        elif isinstance(step, Case):
            found += 1 + sum(_control(branch) for branch in step.branches)
    return found


def _placement(workload: Workload, axes: str) -> Iterator[Row]:
    """Of the program for a GPU: what the host computes, and where it waits for the device."""
    text = str(workload.export(workload.weights()).mlir_module())
    artifact = compile_text(text, workload.about, Request(device="cuda"), Stopwatch())
    name = f"{workload.name} for CUDA"
    yield Row(f"{name}: sizes that the host computes", len(artifact.symbols), "sizes", axes, "only")
    yield Row(f"{name}: sizes that the host reads from the device", len(artifact.late), "sizes", axes, "only")
    yield Row(f"{name}: loops and branches that the host waits for", _control(artifact.steps), "", axes, "only")
    yield Row(f"{name}: launches", sum(1 for _ in leaves(artifact.steps)), "launches", axes, "only")


def _measure(settings: Settings) -> Iterator[Row]:
    along_time, over_trees = recurrent(quick=settings.quick)
    chosen = ((along_time, "T"), (over_trees, "n, and the children"), (bert_workload(quick=settings.quick), "b, s"))
    for workload, axes in chosen:
        yield from _timed(workload, axes, settings.options)
    for workload, axes in chosen:
        yield from _placement(workload, axes)


NIMBLE = Seed(
    name="Nimble",
    paper='Shen et al., "Nimble: Efficiently Compiling Dynamic Neural Networks for Model Inference", MLSys 2021',
    headline="up to 20x the speed of existing solutions for dynamic networks, on Intel and ARM CPUs and Nvidia GPUs",
    source="abstract only",
    weaker="Trees are arrays of children, not data types. Products of one row may be slower than XLA's. On a GPU each "
    "iteration of a loop waits for its predicate. The VM is ours, in Python, not Nimble's.",
    measure=_measure,
)
