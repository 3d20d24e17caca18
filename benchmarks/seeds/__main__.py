"""What the systems that shlo_disc follows are known for, measured here: a table for each.

    python -m benchmarks.seeds [--only disc,nimble] [--quick] [--json FILE] [--lengths FILE]

Every number is measured in this run, on one thread, each system in a process that is bound to one core. Times of calls
are processor seconds, the least of many in turns; those of a stream are of all of it. The numbers of the papers are of
other machines and other peers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from benchmarks.gpu_check import commit
from benchmarks.seeds.rows import Row
from benchmarks.seeds.table import SEEDS, as_json, table
from benchmarks.timing import ROOT, measure_in_process
from shlo_disc.runtime.building.machines import cpu_title

RESULTS = ROOT / "benchmarks" / "results"
LENGTHS = ROOT.parent / "shared" / "lengths" / "lengths.json"
WIDTH = 130  # columns of the tables


@dataclass(frozen=True, slots=True)
class _Given:
    names: tuple[str, ...]
    quick: bool
    json: Path | None
    lengths: Path


def _given(arguments: Sequence[str] | None) -> _Given:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="SYSTEM,...", help=f"some of {', '.join(SEEDS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="small programs and few sizes: to see that all of it runs")
    parser.add_argument("--json", type=Path, help="file for the numbers (default: none with --only or --quick)")
    parser.add_argument("--lengths", type=Path, default=LENGTHS, help="histograms of real lengths, for CoRa")
    given = parser.parse_args(arguments)
    names: tuple[str, ...] = tuple(given.only.split(",")) if given.only else tuple(SEEDS)
    if unknown := [name for name in names if name not in SEEDS]:
        parser.error(f"found the system {unknown[0]!r} in --only, expected some of {', '.join(SEEDS)}")
    target: Path | None = given.json
    if target is None and not given.only and not given.quick:
        target = RESULTS / f"{datetime.now(UTC):%Y-%m-%d}-seeds.json"
    return _Given(names, given.quick, target, given.lengths)


def _measured(name: str, given: _Given, cache: str) -> Iterator[Row]:
    arguments = [name, str(given.lengths), *(["quick"] if given.quick else [])]
    for line in measure_in_process("benchmarks.seeds.worker", arguments, 1, cache):
        yield Row(**line)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write."""
    given, console = _given(arguments), Console(width=WIDTH)
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    found = dict[str, list[Row]]()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(given.names))
        for name in given.names:
            progress.update(task, description=SEEDS[name].name)
            found[name] = []
            for row in _measured(name, given, cache):
                found[name].append(row)
                progress.update(task, description=f"{SEEDS[name].name}: {row.what}")
            progress.advance(task)
            console.print(table(SEEDS[name], found[name]))
    if given.json is not None:
        content = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"), "commit": commit(), "machine": cpu_title(),
            "python": platform.python_version(), "jax": version("jax"), "threads": 1,
            "seeds": [as_json(SEEDS[name], rows) for name, rows in found.items()],
        }  # fmt: skip
        given.json.write_text(json.dumps(content, indent=1) + "\n")
        console.print(f"written to {given.json}")


if __name__ == "__main__":
    main()
