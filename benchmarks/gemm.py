"""Matrix products of f32 beside libraries, on one core: `python -m benchmarks.gemm --out results.json`.

    python -m benchmarks.gemm --peer torch=/path/to/python --peer mkl=libmkl_rt.so --peer dnnl=libdnnl.so

NumPy and JAX are those of this interpreter. Every library runs in a process of its own, bound to the same core; they
take turns, and only one works at a time. Printed for each size: the share of the CPU's peak of multiply-adds that ours
reaches with B as it is and packed before, and its time as a ratio to the best library, from the least times of all
turns. The peak is measured in the same turns, as the clock of a core drifts: of as many multiply-adds as a product of
256 has.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.timing import ROOT, geometric_mean
from shlo_disc.runtime.building.machines import cpu_title

SQUARE = (64, 128, 256, 512, 1024, 2048)
SIZES = (
    *((n, n, n) for n in SQUARE),
    *((m, n, n) for n in (256, 1024, 4096) for m in (1, 4, 16, 64)),
)  # m, n, k
PEAK_SIZE = (256, 256, 256)  # as long as such a product: calls do not count, nobody comes between
OURS = ("ours", "packed")
MODULES = {"torch"}  # peers that are an interpreter; the others are a shared object


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that serves one library."""

    name: str
    process: subprocess.Popen[str]

    def ask(self, size: Sequence[int], seconds: float) -> list[float]:
        """The seconds of every call in a turn."""
        assert self.process.stdin, "stdin is a pipe"
        self.process.stdin.write(json.dumps({"size": size, "seconds": seconds}) + "\n")
        self.process.stdin.flush()
        return self._answer()["seconds"]

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout, "stdout is a pipe"
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended with {self.process.wait()}")
        return json.loads(line)

    def wait_until_ready(self) -> None:
        """Return when it has loaded its library."""
        self._answer()


def start(name: str, core: int, peer: str | None) -> Worker:
    """Start the process of a library; `peer` is its interpreter or shared object."""
    interpreter = peer if peer and name in MODULES else sys.executable
    one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    flags = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    environment = {**os.environ, **one, **flags, "PYTHONPATH": str(ROOT)}
    if peer and name not in MODULES:
        environment["LD_LIBRARY_PATH"] = str(Path(peer).resolve().parent)
    command = ["taskset", "-c", str(core), interpreter, "-m", "benchmarks.gemm_worker", name]
    process = subprocess.Popen(
        [*command, *([peer] if peer and name not in MODULES else ())],
        cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return Worker(name, process)


def measure(workers: Sequence[Worker], size: Sequence[int], rounds: int, turn: float) -> dict[str, float]:
    """GFLOP/s of each by its least time."""
    sizes = {worker.name: PEAK_SIZE if worker.name == "peak" else size for worker in workers}
    least = dict.fromkeys(sizes, float("inf"))
    for _ in range(rounds):
        for worker in workers:
            least[worker.name] = min(least[worker.name], *worker.ask(sizes[worker.name], turn))
    return {name: 2e-9 * math.prod(sizes[name]) / seconds for name, seconds in least.items()}


def row(size: Sequence[int], rates: Mapping[str, float]) -> dict[str, Any]:
    """What is reported of a size: rates, shares of the peak, and times as ratios to the best library's."""
    peers = {name: rate for name, rate in rates.items() if name not in (*OURS, "peak")}
    best = max(peers, key=lambda name: peers[name])
    return {
        "size": list(size),
        "gflops": {name: round(rate, 1) for name, rate in rates.items()},
        "best": best,
        "of_peak": {name: round(rates[name] / rates["peak"], 3) for name in OURS},
        "to_best": {name: round(peers[best] / rates[name], 3) for name in OURS},
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="matrix products beside libraries")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PATH", help="torch, mkl or dnnl")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--turn", type=float, default=0.02, help="seconds")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    peers = dict(peer.split("=", 1) for peer in options.peer)
    names = (*OURS, "peak", "numpy", "jax", *peers)
    workers = [start(name, options.core, peers.get(name)) for name in names]
    for worker in workers:
        worker.wait_until_ready()
    rows = list[dict[str, Any]]()
    for size in SIZES:
        rows.append(row(size, measure(workers, size, options.rounds, options.turn)))
        print(json.dumps(rows[-1]), flush=True)
    for name in OURS:
        print(name, "to the best library:", round(geometric_mean([found["to_best"][name] for found in rows]), 3))
    if options.out:
        found = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "threads": 1,
            "machine": cpu_title(),
            "peak": max(found["gflops"]["peak"] for found in rows),
            "rows": rows,
        }
        options.out.write_text(json.dumps(found, indent=1) + "\n")
    for worker in workers:
        worker.process.terminate()
        worker.process.wait()


if __name__ == "__main__":
    main()
