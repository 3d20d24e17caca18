"""Apollo: fusion in layers, of a training step."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np

import shlo_disc
from benchmarks.compile_time import training_export, training_params
from benchmarks.fusion import LIKELY, TARGETS, abilities_of, legal_program, measure_rules
from benchmarks.measure import wait_for
from benchmarks.seeds.rows import Row, Seed, Settings, at, least
from benchmarks.workloads import WORKLOADS
from benchmarks.xla_kernels import xla_kernels
from shlo_disc.analysis.formula import producers_of
from shlo_disc.analysis.sizes import likely_points
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.kernels.groups import Context, FusionPlan, GroupKind

LAYERS, SHAPES = 2, ((1, 32), (4, 64))


def _of_plans(plans: Sequence[FusionPlan], target: str) -> Iterator[Row]:
    groups = [group for plan in plans for group in plan.groups]
    shared = [group for group in groups if group.kind is GroupKind.PARALLEL]
    parts = sum(len(group.parts) for group in shared)
    yield Row(f"{target}: launches that independent groups share", len(shared), "launches", "b, s", "only")
    yield Row(f"{target}: groups in them", parts, "groups", "b, s", "only")
    decisions = [decision.merged for plan in plans for decision in plan.decisions]
    yield Row(f"{target}: decisions with a reason", len(decisions), "decisions", "b, s", "only")
    yield Row(f"{target}: of these, refusals", decisions.count(False), "decisions", "b, s", "only")


def _layers(program: Program, target: str) -> Iterator[Row]:
    """Kernels of a call with more and more of the rules."""
    producers, points = producers_of(program.body), likely_points(program, LIKELY)
    whole = abilities_of(program, target)
    abilities = {"without": replace(whole, parallel=None), "with": whole}
    steps = (
        ("no fusion", "none", "without"),
        ("loops and one reduction (DISC's rules)", "disc", "without"),
        ("ours, without sharing launches", "full", "without"),
        ("ours, all layers", "full", "with"),
    )
    plans: Sequence[FusionPlan] = ()
    for name, rules, sharing in steps:
        context = Context(program.facts, producers, abilities[sharing], points)
        fused, plans = measure_rules(program, rules, context)
        yield Row(f"{target}, kernels: {name}", fused.kernels.total, "kernels", "b, s", "only")
        yield Row(f"{target}, bytes moved: {name}", fused.bytes / 1e6, "MB", "b, s", "only")
    yield from _of_plans(plans, target)


def _steps(settings: Settings, layers: int) -> Iterator[Row]:
    """A training step beside XLA's."""
    source, params = training_export(layers), jax.tree.map(np.asarray, training_params(layers))
    run, program = shlo_disc.compile(source, device="cpu", options=settings.options), jax.jit(source.call)
    on_device: Any = jax.device_put(params)
    for shape in settings.pick(SHAPES):
        tokens, lengths = WORKLOADS["W3"].at(shape)
        inputs = (tokens, lengths, np.roll(tokens, 1, axis=1))
        device_inputs: Any = jax.device_put(inputs)
        ours, xla = least(partial(run, params, *inputs), partial(wait_for, program, on_device, *device_inputs))
        yield Row(f"training step, {at(shape)}: over XLA's", ours / xla, "x", "b, s", "out")


def _measure(settings: Settings) -> Iterator[Row]:
    layers = 1 if settings.quick else LAYERS
    text = str(training_export(layers).mlir_module())
    program = legal_program("training.mlir", text)
    for target in ("cuda",) if settings.quick else TARGETS:
        yield from _layers(program, target)
    if not settings.quick:
        point = likely_points(program, LIKELY)[0]
        shapes = [tuple(dim.evaluate(point) for dim in p.raw_shape) for p in program.parameters]
        yield Row("kernels by XLA for the CPU", xla_kernels(text, shapes).total, "kernels", "none", "only")
    yield from _steps(settings, layers)


APOLLO = Seed(
    name="Apollo",
    paper='Zhao et al., "Apollo: Automatic Partition-based Operator Fusion through Layer by Layer Optimization", '
    "MLSys 2022",
    headline="training 1.86x as fast as TensorFlow and 1.37x as XLA on one GPU, 1.96x and 1.18x on several",
    source="abstract only",
    weaker="Times are of one thread of a CPU. There is no polyhedral scheduler, and no feedback from loops to the "
    "grouping: a model of costs decides.",
    measure=_measure,
)
