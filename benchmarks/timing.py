"""How benchmarks measure: processes bound to their cores, calls in turns, means of ratios."""

from __future__ import annotations

import compileall
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

Call = Callable[[], object]


@cache
def compile_bytecode() -> None:
    """Compile our modules to Python's bytecode, as installers do: else each process may compile what it imports."""
    for folder in ("shlo_disc", "benchmarks"):
        compileall.compile_dir(ROOT / folder, quiet=1)


def measure_in_process(
    module: str, arguments: Sequence[str], threads: int, cache_home: str
) -> Iterator[dict[str, Any]]:
    """Run a module in a process that is bound to as many cores as it has threads; yield the JSON lines it prints."""
    compile_bytecode()
    cores = sorted(os.sched_getaffinity(0))[:threads]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XDG_CACHE_HOME": cache_home}
    environment.pop("SHLO_DISC_CACHE", None)  # it would be used in place of `cache_home`
    if threads == 1:
        environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    command = ["taskset", "-c", ",".join(map(str, cores)), sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout, "stdout is a pipe"
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {process.returncode}")


def time_in_turns(
    calls: Sequence[Call], rounds: int, turn: float, warm_up: int, clock: Callable[[], float] = time.perf_counter
) -> list[list[float]]:
    """Seconds of every call of each; in turns of `turn` seconds, so that a slow moment of the machine hits all."""
    seconds = [list[float]() for _ in calls]
    for call in calls:
        for _ in range(warm_up):
            call()
    for _ in range(rounds):
        for call, so_far in zip(calls, seconds, strict=True):
            so_far.extend(_turn(call, turn, clock))
    return seconds


def _turn(call: Call, length: float, clock: Callable[[], float]) -> list[float]:
    seconds, end = list[float](), clock() + length
    while not seconds or clock() < end:
        start = clock()
        call()
        seconds.append(clock() - start)
    return seconds


def geometric_mean(ratios: Sequence[float]) -> float:
    """The mean of ratios that is the same whichever side is divided by."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
