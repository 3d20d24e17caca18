"""Compare single ops with jax.jit, side by side on this machine: the least time of a call, at four sizes each.

    python -m benchmarks.ops [FAMILY | FAMILY/NAME ...] [--threads 1,2] [--json FILE]

The least of many calls, made in turns, from arrays that are where each side wants them: NumPy's here, on JAX's device
there. Both make new results, and no result is copied. Each program is compiled once here, with symbolic sizes, unless
JAX cannot export it so (marked =); XLA compiles it for every size. Every number of threads has a process of its own,
which is bound to as many cores. `apart`: the largest difference of results over the largest value.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import shlo_disc
from benchmarks.op_rows import TABLE
from benchmarks.op_rows.row import Row, Sizes
from benchmarks.timing import geometric_mean, measure_in_process, time_in_turns
from shlo_disc.diagnostics import CompileError

ROUNDS = 8
TURN = 0.015  # seconds, at least one call
WARM_UP = 2


@dataclass(frozen=True, slots=True)
class Measured:
    """Least seconds of a call of both; `refused` says why a program did not compile here."""

    family: str
    name: str
    threads: int
    sizes: Sizes
    static: bool
    ours: float = 0.0
    xla: float = 0.0
    apart: float = 0.0
    refused: str = ""

    @property
    def ratio(self) -> float:
        """Our time over XLA's: lower is better for us."""
        return self.ours / self.xla


def measure(row: Row, threads: int) -> Iterator[Measured]:
    """Measure a row at its sizes."""
    with jax.enable_x64(row.wide):
        try:
            symbolic = None if row.static else shlo_disc.compile(row.export(None))
        except CompileError as error:
            refused = str(error).splitlines()[0]
            yield from (
                Measured(row.family, row.name, threads, sizes, row.static, refused=refused) for sizes in row.sizes
            )
            return
        for sizes in row.sizes:
            inputs = row.draw(sizes)
            run = symbolic or shlo_disc.compile(row.export(sizes))
            ours = partial(run, *inputs)
            xla = partial(wait_for, jax.jit(row.program), *jax.device_put(inputs))
            difference = apart(ours(), xla())
            of_us, of_xla = (min(seconds) for seconds in time_in_turns((ours, xla), ROUNDS, TURN, WARM_UP))
            yield Measured(row.family, row.name, threads, sizes, row.static, of_us, of_xla, difference)


def wait_for(program: Callable[..., Any], *arguments: object) -> object:
    return jax.block_until_ready(program(*arguments))


def apart(ours: object, xla: object) -> float:
    """Largest max |difference| / max |value| over the outputs; infinite if shapes or what is finite differ."""
    pairs = zip(jax.tree.leaves(ours), jax.tree.leaves(xla), strict=True)
    return max(_distance(np.asarray(a), np.asarray(b)) for a, b in pairs)


def _distance(ours: Any, xla: Any) -> float:
    if ours.shape != xla.shape or ours.dtype != xla.dtype:
        return np.inf
    wide = np.complex128 if ours.dtype.kind == "c" else np.float64
    a, b = ours.astype(wide), xla.astype(wide)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return np.inf
    a, b = a[finite], b[finite]
    return float(np.abs(a - b).max(initial=0) / max(np.abs(b).max(initial=0), 1e-30))


def chosen(names: Sequence[str]) -> list[Row]:
    """The rows of families, or single ones; all if none is named."""
    found = [row for row in TABLE if not names or {row.family, f"{row.family}/{row.name}"} & set(names)]
    if not found:
        raise SystemExit(f"no row is of {', '.join(names)}; families: {', '.join({row.family: 0 for row in TABLE})}")
    return found


def report(measured: Sequence[Measured], console: Console) -> None:
    """Print the table and its summary."""
    table = Table(title="ops: least time of a call, in microseconds")
    for heading in ("op", "threads", "sizes", "ours", "XLA", "ours / XLA", "apart"):
        table.add_column(heading, justify="left" if heading == "op" else "right")
    for one in measured:
        name = f"{one.family}: {one.name}{' =' if one.static else ''}"
        sizes = "x".join(map(str, one.sizes)) or "-"
        if one.refused:
            table.add_row(name, str(one.threads), sizes, one.refused)
            continue
        ratio = f"[bold red]{one.ratio:.2f}[/]" if one.ratio > 2 else f"{one.ratio:.2f}"
        times = (f"{1e6 * seconds:.1f}" for seconds in (one.ours, one.xla))
        table.add_row(name, str(one.threads), sizes, *times, ratio, f"{one.apart:.0e}")
    console.print(table)
    for threads in dict.fromkeys(one.threads for one in measured):
        ran = [one for one in measured if one.threads == threads and not one.refused]
        ratios = [one.ratio for one in ran]
        over = {limit: sum(ratio > limit for ratio in ratios) for limit in (1, 2)}
        console.print(
            f"{threads} threads: {len(ran)} of {sum(one.threads == threads for one in measured)} measured, "
            f"{over[1]} slower than XLA, {over[2]} more than twice; geometric mean {geometric_mean(ratios):.3f}",
            highlight=False,
        )


def main() -> None:
    """Measure and print; a process of its own for each number of threads does the work."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--threads", default="1", help="a list such as 1,2 (default: 1)")
    parser.add_argument("--json", type=Path, help="also write every number to this file")
    parser.add_argument("--here", type=int, help=argparse.SUPPRESS)  # the threads of the process that measures
    arguments = parser.parse_args()
    rows = chosen(arguments.rows)
    if arguments.here:
        for row in rows:
            for one in measure(row, arguments.here):
                sys.stdout.write(json.dumps(asdict(one)) + "\n")
                sys.stdout.flush()
        return
    console, found = Console(), list[Measured]()
    threads = [int(n) for n in arguments.threads.split(",")]
    with Progress(console=console, transient=True) as progress, tempfile.TemporaryDirectory() as cache:
        task = progress.add_task("", total=len(threads) * sum(len(row.sizes) for row in rows))
        for n in threads:
            for line in measure_in_process("benchmarks.ops", [*arguments.rows, "--here", str(n)], n, cache):
                line["sizes"] = tuple(line["sizes"])
                one = Measured(**line)
                found.append(one)
                progress.update(task, advance=1, description=f"{one.family}: {one.name}, {n}")
    report(found, console)
    if arguments.json:
        machine = {"machine": platform.machine(), "python": platform.python_version(), "jax": jax.__version__}
        arguments.json.write_text(json.dumps({**machine, "ops": [asdict(one) for one in found]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
