"""What the launches of the workloads cost on one thread, how many threads would share, and what that could gain.

python -m benchmarks.launches [W3 W4 ...]

Each launch runs alone, and what counts is the time of its thread, so that a busy machine does not matter. Two threads
take the time of the one that has more pieces, and a quarter of a microsecond to share a loop.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from ctypes import c_int64
from dataclasses import dataclass, field, replace
from statistics import median
from time import thread_time_ns
from typing import Any

import jax

import shlo_disc
from benchmarks.workloads import WORKLOADS, Workload
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.cpu.vm import Vm

CALLS = 7
SHARING = 0.25  # microseconds
PIECES = 8  # of a launch on two threads


@dataclass(slots=True)
class Launches:
    """The launches of a call, in order: pieces, grain, and the microseconds that each call took for them."""

    parallel: Any
    sizes: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    times: list[list[float]] = field(default_factory=list[list[float]])
    position: int = 0

    def __call__(self, *arguments: Any) -> None:
        """Time one launch; arguments as of `shlo_parallel`."""
        start = thread_time_ns()
        self.parallel(*arguments)
        took = (thread_time_ns() - start) / 1e3
        if self.position == len(self.sizes):
            extent, grain = (argument.value for argument in arguments[4:6] if isinstance(argument, c_int64))
            self.sizes.append((extent, max(1, grain)))
            self.times.append([])
        self.times[self.position].append(took)
        self.position += 1


def on_two(took: float, extent: int, grain: int) -> float:
    """The microseconds that two threads need for a launch, if both have a core."""
    if extent <= grain:
        return took
    grains = -(-extent // grain)
    piece = grain * -(-grains // PIECES)
    pieces = -(-extent // piece)
    return took * -(-pieces // 2) / pieces + SHARING


def _launch_by_launch(*_: object) -> None:
    """Look at every launch: then none goes by rows with others."""


def row(workload: Workload, run: CpuExecutable, weights: Any, shape: tuple[int, ...]) -> str:
    """A row of the table."""
    launches = Launches(run.runtime.parallel)
    timed = replace(run.runtime, parallel=launches)
    again = CpuExecutable(run.artifact, run.program, timed, Vm(run.artifact, run.program, timed, _launch_by_launch))
    arrays = jax.tree.leaves((weights, *workload.at(shape)))
    for _ in range(CALLS):
        launches.position = 0
        again(arrays)
    took = [median(times) for times in launches.times]
    shared = [extent > grain for extent, grain in launches.sizes]
    two = sum(on_two(one, *sizes) for one, sizes in zip(took, launches.sizes, strict=True))
    alone = sum(one for one, is_shared in zip(took, shared, strict=True) if not is_shared)
    cells = (
        f"{workload.name} at {' x '.join(map(str, shape))}",
        f"{sum(took):.0f}",
        f"{sum(shared)} of {len(took)}",
        f"{100 * alone / sum(took):.0f} %",
        f"{sum(took) / two:.2f}",
        f"{100 * SHARING * sum(shared) / two:.2f} %",
    )
    return f"| {' | '.join(cells)} |"


def main(names: list[str], workloads: Mapping[str, Workload] = WORKLOADS) -> None:
    """Print the table."""
    heads = ("", "µs", "launches shared", "time of the others", "two threads could gain", "sharing, of their time")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name in names or workloads:
        workload = workloads[name]
        weights = workload.weights()
        run = shlo_disc.compile(workload.export(weights), device="cpu", threads=1).executable
        assert isinstance(run, CpuExecutable), "the workloads know their sizes when a call starts"
        for shape in workload.fixed:
            print(row(workload, run, weights, shape), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
