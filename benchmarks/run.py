"""Compare shlo_disc with jax.jit, side by side on this machine.

    python -m benchmarks.run [W1 W2 ...] [--threads 1,2] [--parts steady,cold] [--json FILE]

Every number comes from a process of its own that is bound to as many cores as it has threads.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.timing import geometric_mean, measure_in_process
from benchmarks.workloads import WORKLOADS, Shape

PARTS = ("steady", "cold")


@dataclass(frozen=True, slots=True)
class Steady:
    """Median seconds of a call at one shape, and how far the two results are apart."""

    workload: str
    threads: int
    shape: Shape
    ours: float
    xla: float
    error: float

    @property
    def ratio(self) -> float:
        """Our time over XLA's: lower is better for us."""
        return self.ours / self.xla


@dataclass(frozen=True, slots=True)
class Stream:
    """Seconds of the stream of shapes from nothing: wall clock and CPU, compilers included."""

    workload: str
    threads: int
    side: str
    wall: float
    cpu: float
    export: float
    compile: float
    distinct: int


def _steady(name: str, threads: int) -> Iterator[Steady]:
    with tempfile.TemporaryDirectory() as cache:
        for line in measure_in_process("benchmarks.measure", [name, "steady"], threads, cache):
            ours, xla = line["seconds"]
            yield Steady(name, threads, tuple(line["shape"]), ours, xla, line["error"])


def _cold(name: str, threads: int) -> Iterator[Stream]:
    """Ours with an empty cache on disk, again with what that left there, then XLA."""
    with tempfile.TemporaryDirectory() as cache:
        for side, part in (("cold", "ours"), ("warm", "ours"), ("XLA", "xla")):
            for line in measure_in_process("benchmarks.measure", [name, f"cold-{part}"], threads, cache):
                yield Stream(name, threads, side, **line)


def _steady_table(rows: Sequence[Steady]) -> Table:
    table = Table(title="steady state: median of a call, in microseconds")
    for heading in ("W", "threads", "shape", "ours", "XLA", "ours / XLA", "error"):
        table.add_column(heading, justify="right")
    for key in dict.fromkeys((row.workload, row.threads) for row in rows):
        group = [row for row in rows if (row.workload, row.threads) == key]
        name, threads = key[0], str(key[1])
        for row in group:
            shape = "x".join(map(str, row.shape))
            times = (f"{1e6 * t:.1f}" for t in (row.ours, row.xla))
            table.add_row(name, threads, shape, *times, f"{row.ratio:.2f}", f"{row.error:.0e}")
        mean = geometric_mean([row.ratio for row in group])
        table.add_row(name, threads, "mean", "", "", f"[bold]{mean:.2f}[/bold]", "")
        table.add_section()
    return table


def _cold_table(rows: Sequence[Stream]) -> Table:
    table = Table(title="64 shapes from nothing: export, compile, run; seconds")
    headings = ("W", "threads", "side", "wall", "CPU", "export", "compile")
    for heading in (*headings, "gain (wall)", "gain (CPU)"):
        table.add_column(heading, justify="right")
    xla = {(row.workload, row.threads): row for row in rows if row.side == "XLA"}
    for row in rows:
        times = (f"{t:.2f}" for t in (row.wall, row.cpu, row.export, row.compile))
        peer = xla[row.workload, row.threads]
        gains = (f"{peer.wall / row.wall:.1f}", f"{peer.cpu / row.cpu:.1f}")
        table.add_row(row.workload, str(row.threads), row.side, *times, *gains)
        if row.side == "XLA":
            table.add_section()
    return table


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="W", help=", ".join(WORKLOADS))
    parser.add_argument("--threads", default="1", help="a list such as 1,2 (default: 1)")
    parser.add_argument("--parts", default=",".join(PARTS), help="steady, cold or both (default)")
    parser.add_argument("--json", type=Path, help="also write every number to this file")
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    arguments = _arguments()
    names: list[str] = arguments.workloads or list(WORKLOADS)
    threads = [int(n) for n in arguments.threads.split(",")]
    parts: list[str] = arguments.parts.split(",")
    steady, cold = list[Steady](), list[Stream]()
    console = Console()
    per_pair = sum({"steady": len(WORKLOADS["W1"].fixed), "cold": 3}[part] for part in parts)
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("", total=len(names) * len(threads) * per_pair)
        for n in threads:
            for name in names:
                progress.update(task, description=f"{name}, {n} thread{'s' * (n > 1)}")
                for row in _steady(name, n) if "steady" in parts else ():
                    steady.append(row)
                    progress.advance(task)
                for stream in _cold(name, n) if "cold" in parts else ():
                    cold.append(stream)
                    progress.advance(task)
    if steady:
        console.print(_steady_table(steady))
    if cold:
        console.print(_cold_table(cold))
    if arguments.json:
        machine = {"machine": platform.machine(), "python": platform.python_version()}
        rows = {"steady": [asdict(row) for row in steady], "cold": [asdict(row) for row in cold]}
        arguments.json.write_text(json.dumps({**machine, **rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
