"""How many kernels each model runs, and how many bytes they move, by four sets of rules and by XLA.

    python -m benchmarks.fusion [MODEL ...] [--corpus FOLDER] [--json FILE]

For the models of the corpus: `none` gives every operation a kernel, `disc` and `bladedisc` follow those compilers'
rules, `full` is ours; for both targets, as each can do other things in one kernel. In brackets: kernels without a
product, a convolution or a sort. XLA's are those of its optimized HLO for the CPU at the sizes of the table; bodies of
loops and branches count once on all sides. `missed` counts refusals of `full` that rest on equalities of sizes which
nobody proved, and which hold at 50 random points.

Bytes: every kernel reads its inputs and writes its results once, whole.
"""

from __future__ import annotations

import argparse
import json
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.fusion_rules import PLANNERS
from benchmarks.xla_kernels import KernelCount, xla_kernels
from shlo_disc.analysis.formula import producers_of
from shlo_disc.analysis.sizes import Point, free_symbols, likely_points
from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.program import Body, Program
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import const
from shlo_disc.fusion.traffic import traffic
from shlo_disc.kernels.groups import Abilities, Context, FusionPlan, Group
from shlo_disc.kernels.op_graph import is_control
from shlo_disc.legalize.legalize import legalize
from shlo_disc.lower_cpu.kernels import CpuLowering
from shlo_disc.lower_cuda.kernels import CudaLowering
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from tests.models.recorded import MODELS
from tests.soundness.completeness import missed, telling_points

TARGETS = {"cpu": CpuLowering, "cuda": CudaLowering}
LIKELY = {"b": (8, 1)}  # the batch; other sizes as the planner guesses them
WIDTH = 130  # columns of the table
_COMPUTE_BOUND = (Template.DOT, Template.CONVOLUTION, Template.SORT)


@dataclass(frozen=True, slots=True)
class Fused:
    """What one set of rules makes of a model. `moved`: bytes as a formula; `bytes`: at the sizes of the table."""

    rules: str
    kernels: KernelCount
    moved: str
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """One model on one target."""

    model: str
    target: str
    sizes: Mapping[str, int]
    fused: Mapping[str, Fused]
    xla: KernelCount
    missed: Sequence[str]

    def ratio(self, rules: str) -> float:
        """Our memory-bound kernels over those of other rules."""
        return self.fused["full"].kernels.memory / max(1, self.fused[rules].kernels.memory)


def read_texts(corpus: Path, names: Sequence[str]) -> Mapping[str, str]:
    """The texts of some models of the corpus."""
    with tempfile.TemporaryDirectory() as root, tarfile.open(corpus / "models.tar.xz") as tar:
        wanted = {f"models/{name}/module.mlir": name for name in names}
        tar.extractall(root, filter="data", members=[m for m in tar if m.name.removeprefix("./") in wanted])
        return {name: (Path(root) / path).read_text() for path, name in wanted.items()}


def plans_of(body: Body, rules: str, context: Context) -> Iterator[FusionPlan]:
    """The plan of a body, and those of the bodies that its control flow runs."""
    plan = PLANNERS[rules](body, context)
    yield plan
    for op in body.ops:
        if is_control(op):
            for inner in op.bodies:
                yield from plans_of(inner, rules, context)


def is_compute_bound(group: Group) -> bool:
    """Whether the kernel holds a product, a convolution or a sort."""
    return any(definition(op).template in _COMPUTE_BOUND for op in group.ops)


def measure_rules(program: Program, rules: str, context: Context) -> tuple[Fused, Sequence[FusionPlan]]:
    """Plan a program, count, and add up."""
    start = time.perf_counter()
    plans = list(plans_of(program.body, rules, context))
    seconds = time.perf_counter() - start
    groups = [g for plan in plans for g in plan.groups if not any(is_control(op) for op in g.ops)]
    moved = const(0)
    for group in groups:
        moved += traffic(group, context.producers).moved
    kernels = KernelCount(len(groups), sum(not is_compute_bound(group) for group in groups))
    return Fused(rules, kernels, str(moved), moved.evaluate(context.points[0]), seconds), plans


def legal_program(name: str, text: str) -> Program:
    """What fusion gets to see of a text."""
    program = legalize(parse_module(text, name))
    for step in PASSES:
        program = step.run(program)
    return program


def abilities_of(program: Program, target: str) -> Abilities:
    """What the kernels of a target can do."""
    return TARGETS[target](program, producers_of(program.body)).abilities


def measure(name: str, text: str) -> Iterator[Row]:
    """Give a row per target."""
    program = legal_program(name, text)
    points = likely_points(program, LIKELY)
    shapes = [tuple(dim.evaluate(points[0]) for dim in p.raw_shape) for p in program.parameters]
    xla = xla_kernels(text, shapes)
    telling = telling_points(program, seed=1)
    producers = producers_of(program.body)
    for target in TARGETS:
        context = Context(program.facts, producers, abilities_of(program, target), points)
        fused, lost = dict[str, Fused](), list[str]()
        for rules in PLANNERS:
            fused[rules], plans = measure_rules(program, rules, context)
            if rules == "full":
                refusals = [d for plan in plans for d in missed(plan.decisions, telling)]
                lost = [f"{d.producer.results[0].name} -> {d.consumer}: {d.reason}" for d in refusals]
        yield Row(name, target, named(program, points[0]), fused, xla, lost)


def named(program: Program, point: Point) -> Mapping[str, int]:
    """The sizes that arguments have, by name."""
    return {symbol.name: point[symbol] for symbol in free_symbols(program)}


def show(rows: Sequence[Row], console: Console) -> None:
    """Print counts, bytes, what they come to, and what was missed."""
    counts = Table(title="kernels (of these bound by memory)")
    bytes_moved = Table(title="megabytes moved by one call")
    for table, last in ((counts, ("XLA", "full/disc", "full/XLA", "missed")), (bytes_moved, ("full/disc",))):
        for heading in ("model", "target", "sizes", *PLANNERS, *last):
            table.add_column(heading, justify="left" if heading in ("model", "target", "sizes") else "right")
    for row in rows:
        sizes = ", ".join(f"{name}={size}" for name, size in row.sizes.items())
        head, fused, full = (row.model, row.target, sizes), row.fused.values(), row.fused["full"]
        cells = [f"{count.total} ({count.memory})" for count in (*(f.kernels for f in fused), row.xla)]
        ratios = (f"({row.ratio('disc'):.2f})", f"{full.kernels.total / row.xla.total:.2f}")
        counts.add_row(*head, *cells, *ratios, str(len(row.missed)))
        moved = [f"{f.bytes / 1e6:,.1f}" for f in fused]
        bytes_moved.add_row(*head, *moved, f"{full.bytes / row.fused['disc'].bytes:.2f}")
    console.print(counts, bytes_moved)
    for row in rows:
        for line in row.missed:
            console.print(f"{row.model}, {row.target}: missed {line}")


def main() -> None:
    """Measure what the command line names."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("models", nargs="*", metavar="MODEL", help="models of the corpus; all if none is named")
    options.add_argument("--corpus", type=Path, default=Path("../shared/corpus"))
    options.add_argument("--json", type=Path, help="file for the numbers")
    given = options.parse_args()
    texts = read_texts(given.corpus, given.models or MODELS)
    rows = list[Row]()
    for name, text in track(texts.items(), "models", console=Console(stderr=True)):
        rows += measure(name, text)
    show(rows, Console(width=WIDTH))
    if given.json is not None:
        report: list[dict[str, Any]] = [asdict(row) for row in rows]
        given.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
