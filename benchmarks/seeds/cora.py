"""CoRa: batches of samples of different lengths without padding, which is not built."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

import shlo_disc
from benchmarks.seeds.rows import Row, Seed, Settings

SETS = ("CoLA", "MRPC", "MNLI", "XNLI", "SQuADv2", "RACE", "Wiki512", "Wiki128")
SAMPLES, BATCH, COST, SEED = 64_000, 32, "layer:512", 1


def _measure(settings: Settings) -> Iterator[Row]:
    yield Row("kernels for ragged batches", "not built: a batch is padded to its longest sample", "", "none", "-")
    if not settings.lengths.exists():
        yield Row("padding of real batches", f"not measured: no file {settings.lengths}", "", "none", "-")
        return
    sets = json.loads(settings.lengths.read_text())
    for name in settings.pick(SETS):
        counts: dict[str, int] = sets[name]["histogram"]
        every = np.repeat(np.array(list(map(int, counts))), list(counts.values()))
        drawn = np.random.default_rng(SEED).choice(every, 64 * BATCH if settings.quick else SAMPLES)
        advice = shlo_disc.advise(drawn, batch=BATCH, cost=COST, buckets=[2])
        ways = {way.name: way for way in advice.ways}
        ours, ragged = ways["shlo_disc.jit, each shape"], ways["no padding (ragged)"]
        what = f"{name}, batches of {BATCH}: work of an encoder layer, padded over needed"
        yield Row(what, ours.work / ragged.work, "x", "b, s", "-")
        yield Row(f"{name}: shapes of its batches, which one program serves", advice.shapes, "shapes", "b, s", "-")


CORA = Seed(
    name="CoRa",
    paper='Fegade et al., "The CoRa Tensor Compiler: Compilation for Ragged Tensors with Minimal Padding", MLSys 2022',
    headline="an encoder layer 1.6x as fast as PyTorch on an Nvidia GPU, attention 1.37x as fast as TensorFlow on a "
    "64-core ARM CPU",
    source="abstract only",
    weaker="What is computed in vain is counted, and nothing avoids it. Lengths are drawn from histograms of real "
    "sets, not taken in their order.",
    measure=_measure,
)
