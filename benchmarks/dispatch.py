"""How often the schedule that a compiled program chooses is the best there is, and what finding that out costs.

    python -m benchmarks.dispatch [FILE]

Products `T x K` by `K x N` in f32 on one thread, for T from 1 to 2048. A program with a dynamic T is compiled for each
(K, N), from the costs of this CPU that `compile` finds; its formula says what it takes at any. At a sample of T every
micro-kernel is timed on blocks of two sizes, in turns, least time of many: the best of them is what tuning that T alone
would find. Times are of the thread, so that what else the machine does counts less. Writes every number as JSON to FILE
(default: `benchmarks/results/<date>-dispatch.json`).
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.artifact import Artifact
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.building.machines import cpu_title
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cpu.product_timing import Stand, TimedCandidate, rate_trials, time_trials
from shlo_disc.runtime.cpu.schedules import hardware
from shlo_disc.runtime.dispatch import candidate_of, selections
from shlo_disc.runtime.peak import symbols_at
from shlo_disc.schedules.candidates import MICRO_KERNELS, Candidate, MicroKernel, blocks

SHAPES = ((768, 2304), (768, 3072), (256, 1024), (1024, 1024))  # K, N
LONGEST = 2048
CLOSE = 1.1  # times the best: as good as the best
OTHER_BLOCK = (192, 64)
RESULTS = Path(__file__).parent / "results"


def sample() -> tuple[int, ...]:
    """61 lengths: all up to 16, powers of two and their neighbours, primes."""
    powers = [(1 << k) + d for k in range(5, 12) for d in (-1, 0, 1)]
    primes = [19, 23, 29, 37, 43, 53, 61, 73, 89, 101, 113, 151, 193, 223, 307, 359, 401, 449, 607, 709, 811, 907, 1201]
    return tuple(sorted({*range(1, 17), *powers, *primes, 1499} - {LONGEST + 1}))


@dataclass(frozen=True, slots=True)
class Row:
    """What one length took: seconds of each candidate, and which one the program chooses."""

    k: int
    n: int
    t: int
    chosen: str
    seconds: dict[str, float]

    @property
    def ratio(self) -> float:
        """The time of the chosen one, in times of the best."""
        return self.seconds[self.chosen] / min(self.seconds.values())


def program(k: int, n: int) -> Artifact:
    """A product with any number of rows."""
    left, right, result = f"tensor<?x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<?x{n}xf32>"
    text = f"""
        func.func @main(%x: {left}, %w: {right}) -> {result} {{
          %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({left}, {right}) -> {result}
          return %0 : {result}
        }}"""
    return shlo_disc.compile(text, device="cpu", options=CompileOptions(threads=1)).executable.artifact


def choices(artifact: Artifact) -> list[Candidate]:
    """What a program takes for 1, 2, … rows. Fails if there is a length without a schedule."""
    (selection,) = selections(artifact)
    (rows,) = artifact.free
    found = [candidate_of(selection, symbols_at(artifact, {rows: t})) for t in range(1, LONGEST + 1)]
    covered = [candidate for candidate in found if candidate is not None]
    assert len(covered) == LONGEST, "every length has a schedule"
    return covered


def tried(kernels: Sequence[MicroKernel] = MICRO_KERNELS) -> list[Candidate]:
    """All that a length alone would be tuned among."""
    return [Candidate(kernel, *block) for kernel in kernels for block in (*blocks(1), OTHER_BLOCK)]


def rounds(t: int) -> int:
    """How often a length is timed: short ones are soon done."""
    return 10 if t < 128 else 5 if t < 600 else 3


def measure(
    stand: Stand,
    size: tuple[int, int],
    taken: Sequence[Candidate],
    lengths: Sequence[int],
    kernels: Sequence[MicroKernel] = MICRO_KERNELS,
) -> Iterator[Row]:
    """Time every candidate of the kernels at each length, for a size K x N. `taken`: what is chosen for 1, 2, …."""
    (k, n), space = size, tried(kernels)
    for t in lengths:
        seconds = time_trials(stand, [TimedCandidate(one, (t, n, k)) for one in space], rounds(t))
        yield Row(k, n, t, taken[t - 1].name, dict(zip((one.name for one in space), seconds, strict=True)))


def summary(rows: Sequence[Row]) -> dict[str, float]:
    """Shares and counts over all lengths of one shape, or of all."""
    close = [row.ratio <= CLOSE for row in rows]
    mean = sum(row.ratio for row in rows) / len(rows)
    return {"share": sum(close) / len(close), "mean": mean, "worst": max(row.ratio for row in rows)}


def main() -> None:
    """Measure, print and write."""
    found, taken = list[Row](), {shape: choices(program(*shape)) for shape in SHAPES}
    stand = Stand(Builder(find_compiler(), CompileOptions().optimize, open_cache()), "f32")
    console = Console()
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("", total=len(SHAPES) * len(sample()))
        for k, n in SHAPES:
            for row in measure(stand, (k, n), taken[k, n], sample()):
                found.append(row)
                progress.update(task, advance=1, description=f"{row.t} x {k} x {n}")
    learnt = sum(len(list(rate_trials(kernel))) for kernel in MICRO_KERNELS)
    alone = len(tried()) * len(found)
    table = Table("K x N", "within 10 % of the best", "mean time / best", "worst")
    for k, n in SHAPES:
        one = summary([row for row in found if (row.k, row.n) == (k, n)])
        table.add_row(f"{k} x {n}", f"{one['share']:.0%}", f"{one['mean']:.3f}", f"{one['worst']:.2f}")
    console.print(table)
    console.print(
        f"{len(sample())} of {LONGEST} lengths timed, all covered; {learnt} trials learnt the costs for all shapes;"
        f" {alone} would tune these lengths alone ({learnt / alone:.1%})"
    )
    target = Path(sys.argv[1]) if sys.argv[1:] else RESULTS / f"{datetime.now(UTC):%Y-%m-%d}-dispatch.json"
    content = {
        "machine": f"{cpu_title()}, {hardware().text}", "python": platform.python_version(),
        "compiler": find_compiler().version, "threads": 1, "trials": {"learning": learnt, "alone": alone},
        "all": summary(found), "rows": [{**asdict(row), "ratio": row.ratio} for row in found],
    }  # fmt: skip
    target.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
