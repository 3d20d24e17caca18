"""BladeDISC: a stream of shapes with compilation in it, and schedules compiled ahead for possible sizes."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

import shlo_disc
from benchmarks.seeds.programs import bert_workload
from benchmarks.seeds.rows import Row, Seed, Settings
from benchmarks.timing import measure_in_process
from shlo_disc.host_ir import Choice
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from shlo_disc.runtime.dispatch import selections
from shlo_disc.runtime.steps import leaves

SIDES = (("ours, empty cache", "ours"), ("ours, cached", "ours"), ("XLA", "xla"))


def _stream(settings: Settings) -> Iterator[Row]:
    quick = ["quick"] if settings.quick else []
    found = dict[str, Any]()
    with tempfile.TemporaryDirectory() as cache:
        for name, side in SIDES:
            (found[name],) = measure_in_process("benchmarks.seeds.stream", [side, *quick], 1, cache)
            shapes = f"{bert_workload(quick=settings.quick).count} batches, {found[name]['distinct']} shapes"
            yield Row(f"{shapes}, from nothing: {name}", found[name]["wall"], "s", "b, s", "in")
    for name in ("ours, empty cache", "ours, cached"):
        for clock in ("wall", "cpu"):
            ratio = found[name][clock] / found["XLA"][clock]
            what = "time" if clock == "wall" else "processor time"
            yield Row(f"{what} of the stream over XLA's: {name}", ratio, "x", "b, s", "in")


def _speculation(settings: Settings) -> Iterator[Row]:
    """Schedules that are compiled ahead, and the guards under which they may run."""
    workload = bert_workload(quick=settings.quick)
    text = str(workload.export(workload.weights()).mlir_module())
    for_gpu = compile_text(text, "encoder.mlir", Request(device="cuda"), Stopwatch())
    choices = [step for step in leaves(for_gpu.steps) if isinstance(step, Choice)]
    several = [choice for choice in choices if len(choice.variants) > 1]
    variants = [variant for choice in choices for variant in choice.variants]
    kinds = Counter(guard.relation for variant in variants for guard in variant.guards)
    yield Row("launches of the CUDA program", len(choices), "launches", "b, s", "only")
    yield Row("of these, with several variants", len(several), "launches", "b, s", "only")
    yield Row("variants of all of them", len(variants), "variants", "b, s", "only")
    yield Row("with a guard on sizes", sum(bool(one.guards) for one in variants), "variants", "b, s", "only")
    for relation, count in sorted(kinds.items()):
        yield Row(f"guards of the form size {relation} size", count, "guards", "b, s", "only")
    yield Row("aligned memory as a condition", sum(one.aligned for one in variants), "variants", "b, s", "only")
    products = list(selections(shlo_disc.compile(text, device="cpu", threads=1).executable.artifact))
    yield Row("products of the program for the CPU", len(products), "products", "b, s", "only")
    chosen = sum(not isinstance(one.number, int) for one in products)
    yield Row("of these, whose schedule is chosen by the sizes of a call", chosen, "products", "b, s", "only")


def _measure(settings: Settings) -> Iterator[Row]:
    yield from _stream(settings)
    yield from _speculation(settings)


BLADEDISC = Seed(
    name="BladeDISC",
    paper='Zheng et al., "BladeDISC: Optimizing Dynamic Shape Machine Learning Workloads via Compiler Approach", '
    "Proceedings of the ACM on Management of Data, 2023",
    headline="on A10 and T4 GPUs, on average 3.54x the speed of PyTorch, 3.12x TorchScript, 1.95x TVM, 1.47x ONNX "
    "Runtime, 1.24x XLA, 2.93x Torch Inductor with dynamic shapes, 1.46x TensorRT",
    source="abstract only",
    weaker="One encoder with random weights, beside XLA alone, on the CPU. Variants of the CUDA program are counted, "
    "not timed.",
    measure=_measure,
)
