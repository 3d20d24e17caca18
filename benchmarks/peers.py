"""Workloads W0 to W7 beside JAX, ONNX Runtime, OpenVINO and PyTorch, all in one run: the goals and what was reached.

    python -m benchmarks.peers [W1 W2 ...] [--threads 1,2] [--parts steady,cold] [--json FILE] [--markdown FILE]

The programs, weights and shapes are not ours: they lie in `--drivers` (default ../shared/peers), whose `make_envs.sh`
makes an environment for each peer below $PEERS_HOME. One process per peer; all peers of a workload are alive at once
and take turns, so that a slow moment of the machine hits all of them. A ratio is our median over that of the best peer
of that shape, with weights as arguments (`shlo`) and bound once (`shlo-bind`).
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from benchmarks.timing import ROOT, geometric_mean

OURS = ("shlo", "shlo-bind")
PEERS = ("jax", "ort", "openvino", "torch")
COLD_PEERS = ("jax", "jax-pad", "ort")
PARTS = ("steady", "cold")
WORKLOADS = tuple(f"W{number}" for number in range(8))
PACKAGES = {
    "jax": ("jax", "jaxlib", "numpy"),
    "ort": ("onnxruntime", "openvino"),
    "torch": ("torch",),
    "shlo": ("ziglang",),
}
STEADY_GOALS = {"W1": 0.5, "W2": 0.5, "W3": 0.85, "W4": 0.75, "W5": 0.85, "W6": 0.75, "W7": 0.75}
WORST_GOAL = 0.95
DISPATCH_GOAL = 1.5  # us of a call of W0
COLD_GOALS = dict.fromkeys(("W1", "W2", "W3", "W4", "W5", "W6"), 1.0) | {"W7": 3.0}

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Steady:
    """Median microseconds of a call at one shape, by peer."""

    workload: str
    threads: int
    shape: Shape
    microseconds: Mapping[str, float]

    @property
    def best(self) -> str:
        """The fastest one that is not us."""
        return min((p for p in self.microseconds if p not in OURS), key=self.microseconds.__getitem__)

    def ratio(self, ours: str) -> float | None:
        """Our time over that of the best peer."""
        mine = self.microseconds.get(ours)
        return None if mine is None else mine / self.microseconds[self.best]


@dataclass(frozen=True, slots=True)
class Cold:
    """CPU seconds of the stream of 64 shapes from nothing, then of the same stream again; MB of memory in the end."""

    workload: str
    peer: str
    cpu: float
    warm: float
    resident: float
    compilations: int


def _drive(drivers: Path, part: str, workload: str, peers: Sequence[str], threads: int) -> list[dict[str, Any]]:
    """The lines that the driver writes."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines.jsonl"
        command = [sys.executable, str(drivers / "drive.py"), part, "--w", workload, "--peers", ",".join(peers)]
        command += ["--threads", str(threads), "--core", ",".join(map(str, _cores(threads))), "--out", str(lines)]
        environment = {**os.environ, "XDG_CACHE_HOME": str(Path(folder) / "cache")}
        done = subprocess.run(command, cwd=drivers, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
        return [json.loads(line) for line in lines.read_text().splitlines()]


def _cores(threads: int) -> list[int]:
    return sorted(os.sched_getaffinity(0))[-threads:]


def steady(drivers: Path, workload: str, threads: int) -> list[Steady]:
    """All shapes of a workload. A peer that does not run it is left out, and said so."""
    found = dict[Shape, dict[str, float]]()
    for line in _drive(drivers, "steady", workload, (*OURS, *PEERS), threads):
        if "us" in line:
            found.setdefault(tuple(line["shape"]), {})[line["peer"]] = line["us"]
        else:
            print(f"{workload}: {line['peer']} does not run it ({line['error']})", file=sys.stderr)
    return [Steady(workload, threads, shape, times) for shape, times in found.items()]


def cold(drivers: Path, workload: str) -> list[Cold]:
    """From nothing: each peer in a fresh process with an empty cache on disk."""
    rows = list[Cold]()
    for peer in (OURS[0], *COLD_PEERS):
        for line in _drive(drivers, "cold", workload, (peer,), 1):
            if "error" in line:
                print(f"{workload}: {peer} does not run it ({line['error']})", file=sys.stderr)
                continue
            compilations = line.get("n_compiles", 0)
            rows.append(Cold(workload, peer, line["cpu_s"], line["warm_cpu"], line["rss_mb"], compilations))
    return rows


def _verdict(value: float, goal: float) -> str:
    return f"{value:.2f}" if value <= goal else f"**{value:.2f}**"


def steady_summary(rows: Sequence[Steady]) -> list[str]:
    """A line per workload and number of threads: means and worst shapes against the goals, misses in bold."""
    lines = [
        "| | threads | weights | mean ratio to the best peer (goal) | worst shape (goal 0.95) | best peers |",
        "|---|---|---|---|---|---|",
    ]
    for key in dict.fromkeys((row.workload, row.threads) for row in rows):
        group = [row for row in rows if (row.workload, row.threads) == key]
        best = ", ".join(sorted({row.best for row in group}))
        for ours in OURS:
            pairs = [(ratio, row) for row in group if (ratio := row.ratio(ours)) is not None]
            if not pairs:
                continue
            mean, (worst, where) = geometric_mean([ratio for ratio, _ in pairs]), max(pairs, key=lambda pair: pair[0])
            goal = STEADY_GOALS.get(key[0])
            reached = f"{mean:.2f}" if goal is None else f"{_verdict(mean, goal)} ({goal})"
            shape = "x".join(map(str, where.shape))
            weights = "bound" if ours == OURS[1] else "arguments"
            lines.append(
                f"| {key[0]} | {key[1]} | {weights} | {reached} | {_verdict(worst, WORST_GOAL)} at {shape} | {best} |"
            )
    return lines


def steady_table(rows: Sequence[Steady]) -> list[str]:
    """Every shape: microseconds of all peers."""
    peers = (*OURS, *PEERS)
    lines = [f"| | threads | shape | {' | '.join(peers)} |", "|---|---|---|" + "---|" * len(peers)]
    for row in rows:
        times = (f"{row.microseconds[p]:.1f}" if p in row.microseconds else "-" for p in peers)
        lines.append(f"| {row.workload} | {row.threads} | {'x'.join(map(str, row.shape))} | {' | '.join(times)} |")
    return lines


def cold_table(rows: Sequence[Cold]) -> list[str]:
    """CPU seconds from nothing, of ours and of the peers."""
    peers = (OURS[0], *COLD_PEERS)
    lines = [f"| | goal | {' | '.join(peers)} | ours again, warm |", "|---|---|" + "---|" * (len(peers) + 1)]
    for name in dict.fromkeys(row.workload for row in rows):
        by = {row.peer: row for row in rows if row.workload == name}
        goal = COLD_GOALS.get(name)
        cells = list[str]()
        for peer in peers:
            row = by.get(peer)
            if row is None:
                cells.append("-")
            elif peer in OURS and goal is not None:
                cells.append(_verdict(row.cpu, goal))
            else:
                cells.append(f"{row.cpu:.2f}" + (f" ({row.compilations})" if row.compilations > 1 else ""))
        again = f"{by[OURS[0]].warm:.2f}" if OURS[0] in by else "-"
        lines.append(f"| {name} | {'' if goal is None else goal} | {' | '.join(cells)} | {again} |")
    return lines


def _versions() -> dict[str, str]:
    """What the peers are, and the machine."""
    home = Path(os.environ.get("PEERS_HOME", "~/.cache/shlo_disc_peers")).expanduser()
    found = {"cpu": _cpu(), "python": platform.python_version()}
    for environment, packages in PACKAGES.items():
        code = f"from importlib.metadata import version as v; print(*map(v, {packages!r}))"
        command = [str(home / environment / "bin" / "python"), "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found |= dict(zip(packages, done.stdout.split(), strict=False))
    commit = ["git", "rev-parse", "--short", "HEAD"]
    found["shlo_disc"] = subprocess.run(commit, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    return found


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="W", help=", ".join(WORKLOADS))
    parser.add_argument("--threads", default="1,2", help="a list such as 1,2 (default)")
    parser.add_argument("--parts", default=",".join(PARTS), help="steady, cold or both (default)")
    parser.add_argument("--drivers", type=Path, default=ROOT.parent / "shared" / "peers", help="the folder of drive.py")
    parser.add_argument("--json", type=Path, help="write every number to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    return parser.parse_args()


def main() -> None:
    """Measure, print, write."""
    arguments = _arguments()
    names: list[str] = arguments.workloads or list(WORKLOADS)
    threads = [int(n) for n in arguments.threads.split(",")]
    parts: list[str] = arguments.parts.split(",")
    steady_rows, cold_rows = list[Steady](), list[Cold]()
    jobs = len(names) * (len(threads) * ("steady" in parts) + ("cold" in parts))
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=jobs)
        for name in names:
            for n in threads if "steady" in parts else ():
                progress.update(task, description=f"{name}, {n} thread{'s' * (n > 1)}")
                steady_rows += steady(arguments.drivers, name, n)
                progress.advance(task)
            if "cold" in parts:
                progress.update(task, description=f"{name} from nothing")
                cold_rows += cold(arguments.drivers, name)
                progress.advance(task)
    tables = list[str]()
    if steady_rows:
        tables += ["## Steady state", "", *steady_summary(steady_rows), ""]
        tables += ["Medians of a call, in microseconds:", "", *steady_table(steady_rows), ""]
    if cold_rows:
        tables += ["## 64 shapes from nothing", "", "CPU seconds (compilations):", "", *cold_table(cold_rows), ""]
    print("\n".join(tables))
    about = {"date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(), **_versions()}
    if arguments.markdown:
        head = ["# Beside other compilers and libraries", "", ", ".join(f"{k} {v}" for k, v in about.items()), ""]
        arguments.markdown.write_text("\n".join([*head, *tables]))
    if arguments.json:
        rows = {"steady": [asdict(row) for row in steady_rows], "cold": [asdict(row) for row in cold_rows]}
        arguments.json.write_text(json.dumps({**about, **rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
