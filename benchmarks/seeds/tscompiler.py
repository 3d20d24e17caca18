"""TSCompiler: few compiled schedules of a product, one of which a cost model selects for the sizes of a call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import shlo_disc
from benchmarks.dispatch import CLOSE, rounds, tried
from benchmarks.seeds.rows import Row, Seed, Settings
from benchmarks.timing import geometric_mean
from benchmarks.workloads import WORKLOADS, Shape
from shlo_disc import CompileOptions
from shlo_disc.artifact import Artifact
from shlo_disc.host_ir import Launch
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cpu.product_timing import Stand, TimedCandidate, time_trials
from shlo_disc.runtime.dispatch import candidate_of, selections, shape_of
from shlo_disc.runtime.peak import symbols_at
from shlo_disc.runtime.steps import leaves

SHAPES: tuple[Shape, ...] = ((1, 8), (1, 31), (2, 77), (4, 64), (8, 128))


def _regret(artifact: Artifact, shape: Shape) -> Iterator[float]:
    """The time of the schedule that each product takes, over that of the best candidate."""
    stand = Stand(Builder(find_compiler(), CompileOptions().optimize, open_cache()), "f32")
    symbols = symbols_at(artifact, dict(zip(artifact.free, shape, strict=True)))
    for selection in {one.product: one for one in selections(artifact)}.values():
        chosen, size = candidate_of(selection, symbols), shape_of(selection, symbols)
        if chosen is None or chosen.kernel.form == "own" or size.batch != 1:
            continue
        space = [chosen, *(one for one in tried() if one != chosen)]
        sizes = (size.m, size.n, size.k)
        seconds = time_trials(stand, [TimedCandidate(one, sizes) for one in space], rounds(size.m))
        yield seconds[0] / min(seconds)


def _propagation(artifact: Artifact) -> Iterator[Row]:
    """To how many launches, and kernels with other epilogues, the schedules of one product go."""
    launches, kernels = defaultdict[str, int](int), defaultdict[str, set[str]](set)
    for step in leaves(artifact.steps):
        if isinstance(step, Launch):
            for selection in step.selections:
                if selection.candidates:
                    launches[selection.product] += 1
                    kernels[selection.product].add(step.kernel)
    for product, count in launches.items():
        what = f"{product}: fusion groups that take its schedules"
        yield Row(what, count, "groups", "b, s", "only")
        yield Row(f"{product}: kernels among them, by what is fused", len(kernels[product]), "kernels", "b, s", "only")


def _measure(settings: Settings) -> Iterator[Row]:
    workload, shapes = WORKLOADS["W3"], settings.pick(SHAPES)
    weights = workload.weights()
    options = replace(settings.options, trace_selection=True)
    run = shlo_disc.compile(workload.export(weights), device="cpu", options=options)
    artifact = run.executable.artifact
    ratios = [ratio for shape in shapes for ratio in _regret(artifact, shape)]
    what = f"{len(ratios)} products of the encoder at {len(shapes)} shapes: selected schedule"
    yield Row(f"{what} over the best of all, mean", geometric_mean(ratios), "x", "b, s", "out")
    yield Row("the worst of them", max(ratios), "x", "b, s", "out")
    close = 100 * sum(ratio <= CLOSE for ratio in ratios) / len(ratios)
    yield Row(f"within {round(100 * CLOSE - 100)} % of the best", close, "%", "b, s", "out")
    yield from _propagation(artifact)
    for shape in shapes:
        run(weights, *workload.at(shape))
    yield Row(f"selections in the trace of {len(shapes)} calls", sum(map(len, run.selections)), "", "b, s", "out")


TSCOMPILER = Seed(
    name="TSCompiler",
    paper='Luo et al., "TSCompiler: efficient compilation framework for dynamic-shape models", Science China '
    "Information Sciences 67(10), 2024",
    headline="kernels up to 3.97x as efficient on an RTX 3090, and up to 10.30x on an A100",
    source="abstract only",
    weaker="Measured on one core of a CPU, with few candidates. Variants of CUDA's kernels are selected by a model of "
    "occupancy as well, which is not measured here.",
    measure=_measure,
)
