"""What the sections of the GPU check share: where they write, how they time."""

# CuPy has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import cupy
import jax
import numpy as np

from shlo_disc.runtime.cuda.cupy_device import open_gpu

Report = dict[str, Any]
ROUNDS = 9
ROUND_SECONDS = 0.02
WARM_ROWS, TIMED_ROWS = 4, 5


class Section:
    """Collects what a section finds, and writes it after each step, so that a crash keeps what was there."""

    def __init__(self) -> None:
        self.target = Path(sys.argv[1])
        self.corpus = Path(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2] else None
        self.report: Report = {}

    def add(self, key: str, value: object) -> None:
        """Add one entry."""
        self.report[key] = value
        self.target.write_text(json.dumps(self.report))

    def append(self, key: str, value: object) -> None:
        """Add to a list."""
        self.report.setdefault(key, []).append(value)
        self.target.write_text(json.dumps(self.report))


def gpu_seconds(*calls: Callable[[], object]) -> list[float]:
    """Median seconds of each call on the GPU, by events, in turns; inputs stay where they are."""
    counts = list[int]()
    for call in calls:
        for _ in range(3):
            call()
        once = max(_timed(call, 1), 1e-6)
        counts.append(max(1, min(1000, math.ceil(ROUND_SECONDS / once))))
    found = [list[float]() for _ in calls]
    for _ in range(ROUNDS):
        for call, count, seconds in zip(calls, counts, found, strict=True):
            seconds.append(_timed(call, count))
    return [statistics.median(seconds) for seconds in found]


def _timed(call: Callable[[], object], count: int) -> float:
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    cupy.cuda.get_current_stream().synchronize()
    start.record()
    for _ in range(count):
        call()
    end.record()
    end.synchronize()
    return cupy.cuda.get_elapsed_time(start, end) / 1e3 / count


def random_on_gpu(shape: tuple[int, ...], dtype: str, *, below: int = 0) -> Any:
    """A JAX array on the GPU: normal numbers, or integers from 0 to `below`."""
    key = jax.random.key(math.prod(shape))
    if below:
        return jax.random.randint(key, shape, 0, below, dtype)
    return jax.random.normal(key, shape, "float32").astype(dtype)


def as_cupy(array: Any) -> Any:
    """A JAX array as CuPy sees it, also where CuPy knows its type only by name: to time kernels, not arrays' ways."""
    gpu = open_gpu()
    found = gpu.import_array(jax.block_until_ready(array))
    return gpu.view(found.pointer, found.shape, np.dtype(array.dtype), array)


def wall_seconds(call: Callable[[], Any], count: int = 20) -> float:
    """Seconds of a call of JAX, which has streams of its own: by the clock, over `count` calls in a row.

    The results of a row are kept to its end, so that there are `count` sets of addresses: the first rows, in which
    graphs are recorded for each of them, do not count.
    """
    seconds, found = list[float](), list[Any]()
    for _ in range(WARM_ROWS + TIMED_ROWS):
        found.clear()
        start = time.perf_counter()
        found += [call() for _ in range(count)]
        jax.block_until_ready(found)
        seconds.append((time.perf_counter() - start) / count)
    return statistics.median(seconds[WARM_ROWS:])


def geometric_mean(values: Iterable[float]) -> float:
    """The mean of ratios."""
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan
