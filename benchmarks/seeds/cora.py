"""CoRa: batches of samples of different lengths without padding."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

import shlo_disc
from benchmarks.ragged import CORA as ENCODER
from benchmarks.ragged import SETS, SHORT, TINY, Case, Program, drawn_lengths, prelude_of
from benchmarks.seeds.rows import Row, Seed, Settings, least

SAMPLES, BATCH, COST = 64_000, 32, "layer:512"


def _layer(program: Program, name: str, histogram: dict[str, int]) -> Iterator[Row]:
    """A layer of the encoder on one batch, beside the padded program."""
    lengths = drawn_lengths(histogram, BATCH)
    arguments, counted = program.arguments(lengths), program.analysis.report(lengths)
    sides = [program.within(run(*arguments), lengths) for run in (program.padded, program.ragged)]
    np.testing.assert_allclose(*sides, rtol=1e-4, atol=1e-4)
    ragged, padded = least(lambda: program.ragged(*arguments), lambda: program.padded(*arguments))
    what = f"{name}, a batch of {BATCH}: an encoder layer without padding"
    yield Row(f"{what}, time over the padded program's", ragged / padded, "x", "b, s", "out")
    yield Row(f"{what}, FLOPs over the padded program's", counted.needed / counted.padded, "x", "b, s", "-")
    share = prelude_of(program.ragged.profile(*arguments, repeat=3)) / ragged
    yield Row(f"{what}: what is computed of the lengths first, of a call", 100 * share, "%", "b, s", "out")


def _measure(settings: Settings) -> Iterator[Row]:
    if not settings.lengths.exists():
        yield Row("real batches", f"not measured: no file {settings.lengths}", "", "none", "-")
        return
    sets = json.loads(settings.lengths.read_text())
    for name in settings.pick(SETS):
        drawn = drawn_lengths(sets[name]["histogram"], 64 * BATCH if settings.quick else SAMPLES)
        advice = shlo_disc.advise(drawn, batch=BATCH, cost=COST, buckets=[2])
        ways = {way.name: way for way in advice.ways}
        ours, ragged = ways["shlo_disc.jit, each shape"], ways["no padding (ragged)"]
        what = f"{name}, batches of {BATCH}: work of an encoder layer, padded over needed"
        yield Row(what, ours.work / ragged.work, "x", "b, s", "-")
        yield Row(f"{name}: shapes of its batches, which one program serves", advice.shapes, "shapes", "b, s", "-")
    model = TINY if settings.quick else ENCODER
    names = settings.pick(SHORT)
    program = Program(Case("encoder", model, 1, BATCH, names), settings.options)
    for name in names:
        yield from _layer(program, name, sets[name]["histogram"])


CORA = Seed(
    name="CoRa",
    paper='Fegade et al., "The CoRa Tensor Compiler: Compilation for Ragged Tensors with Minimal Padding", MLSys 2022',
    headline="an encoder layer 1.6x as fast as PyTorch on an Nvidia GPU, attention 1.37x as fast as TensorFlow on a "
    "64-core ARM CPU",
    source="abstract only",
    weaker="Attention is computed on padded rows; it skips keys that a mask hides. Lengths are drawn from histograms "
    "of real sets, not taken in their order.",
    measure=_measure,
)
