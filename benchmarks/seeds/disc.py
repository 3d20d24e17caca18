"""DISC: kernels and host code of one compilation for all sizes."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax

import shlo_disc
from benchmarks import fusion, host_programs
from benchmarks.measure import wait_for
from benchmarks.seeds.rows import Row, Seed, Settings, at, least
from benchmarks.timing import geometric_mean
from benchmarks.workloads import WORKLOADS, Shape
from shlo_disc import Profile
from shlo_disc.artifact import Artifact
from shlo_disc.kernels.groups import GroupKind

SHAPES: tuple[Shape, ...] = ((1, 8), (1, 32), (4, 64), (8, 100))
REPEAT = 10
PRODUCTS = tuple(
    kind.value for kind in (GroupKind.DOT, GroupKind.CONVOLUTION, GroupKind.ATTENTION, GroupKind.ATTENTION_BACKWARD)
)


def split(profile: Profile, artifact: Artifact) -> dict[str, float]:
    """Seconds of products with what is fused into them, and of all other steps.

    A launch group is divided in the proportions of its launches when each runs alone.
    """
    found = {"products": 0.0, "other kernels": 0.0}

    def add(*, is_product: bool, seconds: float) -> None:
        found["products" if is_product else "other kernels"] += seconds

    for step in profile.steps:
        alone = sum(member.seconds for member in step.members)
        for member in step.members:
            kind = artifact.report.groups[member.group].kind
            add(is_product=kind in PRODUCTS, seconds=step.seconds.least * member.seconds / alone)
        if not step.members:
            add(is_product=step.kind in ("product", "packing"), seconds=step.seconds.least)
    return found


def _calls(settings: Settings) -> Iterator[Row]:
    """One call of the encoder: its parts, and the whole beside XLA's and beside a program for that shape alone."""
    workload = WORKLOADS["W3"]
    weights = workload.weights()
    run = shlo_disc.compile(workload.export(weights), device="cpu", options=settings.options)
    program, on_device = jax.jit(workload.program), jax.device_put(weights)
    over_xla, over_static = list[float](), list[float]()
    for shape in settings.pick(SHAPES):
        inputs = workload.at(shape)
        parts = split(run.profile(weights, *inputs, repeat=REPEAT), run.executable.artifact)
        for name, seconds in parts.items():
            share = seconds / sum(parts.values())
            yield Row(f"encoder, {at(shape)}: {name}, of all kernels' time", 100 * share, "%", "b, s", "out")
        device_inputs: Any = jax.device_put(inputs)
        static = shlo_disc.compile(workload.export_at(weights, shape), device="cpu", options=settings.options)
        ours, own, xla = least(
            partial(run, weights, *inputs),
            partial(static, weights, *inputs),
            partial(wait_for, program, on_device, *device_inputs),
        )
        over_xla.append(ours / xla)
        over_static.append(ours / own)
        yield Row(f"encoder, {at(shape)}: a call over XLA's", ours / xla, "x", "b, s", "out")
        yield Row(f"encoder, {at(shape)}: a call over our own static program's", ours / own, "x", "b, s", "out")
    yield Row("a call over XLA's, mean of these shapes", geometric_mean(over_xla), "x", "b, s", "out")
    yield Row("a call over our own static program's, mean", geometric_mean(over_static), "x", "b, s", "out")


def _host(settings: Settings) -> Iterator[Row]:
    """The host program with kernels that do nothing: bytecode in C, and the VM in Python."""
    workload = WORKLOADS["W1" if settings.quick else "W3"]
    chosen = [host_programs.workload_program(workload, workload.fixed[0])]
    for time in host_programs.measure(chosen):
        yield Row(f"host program of {time.program}, {time.launches} launches", time.bytecode, "us", "b, s", "out")
        yield Row("the host program over the VM in Python", time.bytecode / time.vm, "x", "b, s", "out")
        yield Row("the host program, of a whole call", 100 * time.bytecode / time.whole, "%", "b, s", "out")


def _kernels(settings: Settings) -> Iterator[Row]:
    """Kernels of the encoder by fusion rules, and XLA's at likely sizes."""
    workload = WORKLOADS["W1" if settings.quick else "W3"]
    text = str(workload.export(workload.weights()).mlir_module())
    found = next(row for row in fusion.measure(workload.name, text) if row.target == "cpu")
    for rules, plan in found.fused.items():
        name = {"full": "full (ours)", "disc": "disc (DISC's)", "bladedisc": "bladedisc (BladeDISC's)"}.get(
            rules, rules
        )
        what = f"kernels of {workload.name} by fusion rules {name}"
        yield Row(what, plan.kernels.total, "kernels", "b, s", "only")
    sizes = ", ".join(f"{name}={size}" for name, size in found.sizes.items())
    yield Row(f"kernels of {workload.name} by XLA, for {sizes}", found.xla.total, "kernels", "none", "only")


def _measure(settings: Settings) -> Iterator[Row]:
    yield from _calls(settings)
    yield from _host(settings)
    yield from _kernels(settings)


DISC = Seed(
    name="DISC",
    paper='Zhu et al., "DISC: A Dynamic Shape Compiler for Machine Learning Workloads", EuroMLSys 2021',
    headline="up to 3.3x the speed of TensorFlow and PyTorch, and 1.8x that of Nimble",
    source="abstract only",
    weaker="The VM is ours, in Python, not Nimble's, and XLA's time is not split. DISC was measured on GPUs.",
    measure=_measure,
)
