"""Time products under each schedule, on one core of this machine, and fit rates to the times."""

from __future__ import annotations

import ctypes
import importlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.records import record
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.interop import Array
from shlo_disc.runtime.library import open_program
from shlo_disc.runtime.memory import aligned
from shlo_disc.schedules.candidates import FORMS, Candidate, MicroKernel, blocks
from shlo_disc.schedules.model import UNIT, Rates, Shape, cost

Sizes: TypeAlias = tuple[int, int, int]  # m, n, k
Show: TypeAlias = Callable[[int, int], None]  # progress: steps done, of how many

KINDS: Mapping[str, int] = {"f32": 4, "f64": 8}  # bytes of an element, by the prelude's name for its type
_TURN = 1e-4  # seconds between two readings of the clock, at least: one costs a thousandth of that
_SCRATCH = 1 << 20
_FINER = 1 << 10  # parts of a unit, while rates are fitted: rounding to units would hide changes of small ones
_BLOCK = blocks(1)[0]

# Sizes that rates are fitted to, columns and depths: B in a second-level cache and beyond it; rows of A, of B, and of
# both that share cache sets. Rows from one to several tiles and blocks.
_PANELS = ((320, 256), (768, 256), (2304, 768), (1024, 768), (768, 1024), (1024, 1024))
_ROWS = (1, 2, 5, 12, 25, 60, 200, 400)
_ROUNDS = 7
_LEAST_PRODUCT = 0.95  # least time of a multiplication, relative to the fastest trial, which is this near the peak


def _nobody(done: int, total: int) -> None:
    """Show nothing."""


class Gemm(ctypes.Structure):
    """`ShloGemm` of gemm.h."""

    _fields_ = [
        ("a", ctypes.c_void_p), ("b", ctypes.c_void_p),
        ("a_row", ctypes.c_int64), ("a_k", ctypes.c_int64), ("b_k", ctypes.c_int64), ("b_col", ctypes.c_int64),
        ("m", ctypes.c_int64), ("n", ctypes.c_int64), ("k", ctypes.c_int64),
        ("packed", ctypes.c_void_p), ("schedule", ctypes.c_void_p), ("next", ctypes.c_void_p),
    ]  # fmt: skip


class _GemmSchedule(ctypes.Structure):
    """`ShloSchedule` of gemm.h."""

    _fields_ = [
        ("form", ctypes.c_int32), ("tile_rows", ctypes.c_int32), ("tile_vectors", ctypes.c_int32),
        ("pack_left", ctypes.c_int32), ("pack_right", ctypes.c_int32),
        ("depth", ctypes.c_int64), ("rows", ctypes.c_int64), ("columns", ctypes.c_int64),
    ]  # fmt: skip


class Stand:
    """Runs products of one type of elements, of any sizes, on arrays of its own."""

    def __init__(self, builder: Builder, kind: str) -> None:
        self.size = KINDS[kind]
        self._run = open_program(builder.timing(kind)).function(f"shlo_repeat_gemm_{kind}")
        self._scratch = aligned(_SCRATCH)
        self._arrays: dict[tuple[str, int], Array] = {}

    def call(self, candidate: Candidate, sizes: Sizes) -> Callable[[int], None]:
        """A function that computes a product a given number of times."""
        m, n, k = sizes
        a, b, c = (self._memory(name, count) for name, count in (("a", m * k), ("b", k * n), ("c", m * n)))
        kernel = candidate.kernel
        schedule = _GemmSchedule(FORMS.index(kernel.form), kernel.tile_rows, kernel.vectors, depth=kernel.depth)
        gemm = Gemm(a.ctypes.data, b.ctypes.data, k, 1, n, 1, m, n, k, None, ctypes.addressof(schedule))
        keep = (a, b, c, schedule, gemm)
        fixed = [ctypes.c_int64(x) for x in (candidate.rows, self.size)]
        places = [ctypes.c_void_p(x.ctypes.data) for x in (c, self._scratch)]

        def run(times: int) -> None:
            self._run(ctypes.byref(keep[-1]), *fixed, *places, ctypes.c_int64(times))

        return run

    def _memory(self, name: str, count: int) -> Array:
        """An array of at least `count` numbers from 0 to 1."""
        room = 1 << max(12, math.ceil(math.log2(max(1, count))))
        if (found := self._arrays.get((name, room))) is None:
            dtype = np.dtype(f"f{self.size}")
            found = self._arrays[name, room] = aligned(room * self.size).view(dtype)
            found[:] = np.random.default_rng(0).random(room, np.float32)
        return found


@record
class TimedCandidate:
    """A candidate, and the sizes of the product that it is timed on."""

    candidate: Candidate
    sizes: Sizes


def time_trials(stand: Stand, trials: Sequence[TimedCandidate], rounds: int, show: Show = _nobody) -> list[float]:
    """The least seconds of each trial over `rounds` of all trials: a disturbance slows one round of each of them."""
    calls = [stand.call(trial.candidate, trial.sizes) for trial in trials]
    times = [_repeats(call) for call in calls]
    least = [math.inf] * len(trials)
    for done in range(rounds):
        for number, (call, count) in enumerate(zip(calls, times, strict=True)):
            call(1)  # caches are then as warm as in a program that computes little else
            started = time.thread_time()
            call(count)
            least[number] = min(least[number], (time.thread_time() - started) / count)
        show(done + 1, rounds)
    return least


def _repeats(call: Callable[[int], None]) -> int:
    """How often to call between two readings of the clock; the first call warms caches."""
    call(1)
    started = time.thread_time()
    call(1)
    return max(1, math.ceil(_TURN / max(time.thread_time() - started, 1e-9)))


def rate_trials(kernel: MicroKernel) -> Iterator[TimedCandidate]:
    """The trials that the rates of a micro-kernel are fitted to."""
    for n, k in _PANELS:
        for m in _ROWS:
            yield TimedCandidate(Candidate(kernel, *_BLOCK), (m, n, k))


def fit_rates(trials: Sequence[TimedCandidate], seconds: Sequence[float], near: int) -> Rates:
    """The rates by which the model comes closest to the measured times.

    Least squares of the logarithms of ratios, under a loss that grows like their absolute value where they are large
    (`soft_l1`): trials that another process slowed hardly affect the fit. `near`: elements that a second-level cache
    holds. The rate of multiplications is bounded by their time in the fastest trial. Otherwise the fit moves their time
    to the rates of results and tiles, whose numbers are proportional to theirs in trials of one depth, and deeper
    products seem too cheap.
    """
    units = np.array([one * 1e9 / UNIT for one in seconds])
    shape = Shape(*(np.array(sizes) for sizes in zip(*(trial.sizes for trial in trials), strict=True)))
    candidate = trials[0].candidate
    packs = candidate.kernel.form == "tiles"
    product = float((units / (shape.m * shape.n * shape.k)).min())
    guess = np.array(
        [100.0 / UNIT, product, product, product, product, product / 10, product / 10, product, product / 10]
    )

    def rates(scales: NDArray[np.float64], finer: int = 1) -> Rates:
        call, pack, tile, each, store, alias_a, alias_b, read, reread = (
            round(x) for x in (scales * guess * finer).tolist()
        )
        return Rates(call, pack if packs else 0, tile, each, store, alias_a, alias_b, read, reread, near)

    def ratios(scales: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.log(cost(candidate, rates(scales, _FINER), shape, 1, np.maximum) / (units * _FINER))

    optimize: Any = importlib.import_module("scipy.optimize")  # untyped; takes a third of a second, in tuning only
    least = [_LEAST_PRODUCT if field.name == "product" else 0.0 for field in fields(Rates)[: len(guess)]]
    found = optimize.least_squares(
        ratios, np.ones(len(guess)), bounds=(least, np.inf), loss="soft_l1", f_scale=0.05, diff_step=1e-3
    )
    return rates(found.x)


def learn(
    stand: Stand, kernels: Sequence[MicroKernel], near: int, show: Show = _nobody
) -> list[tuple[MicroKernel, Rates]]:
    """Time all micro-kernels, interleaved, and fit the rates of each."""
    trials = [trial for kernel in kernels for trial in rate_trials(kernel)]
    seconds = time_trials(stand, trials, _ROUNDS, show)
    found = list[tuple[MicroKernel, Rates]]()
    for kernel in kernels:
        numbers = [k for k, trial in enumerate(trials) if trial.candidate.kernel == kernel]
        found.append((kernel, fit_rates([trials[k] for k in numbers], [seconds[k] for k in numbers], near)))
    return found
