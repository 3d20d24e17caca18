"""DietCode: one search for the schedules of all lengths, and tiles that are padded where they are fetched."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import numpy as np

from benchmarks.dispatch import CLOSE, choices, measure, program, tried
from benchmarks.seeds.local_padding import TILE, count
from benchmarks.seeds.rows import Row, Seed, Settings, at
from benchmarks.timing import geometric_mean
from shlo_disc import CompileOptions
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cpu.product_timing import Stand, rate_trials
from shlo_disc.schedules.candidates import MICRO_KERNELS, variants

LONGEST = 128
SIZES = ((768, 2304), (768, 3072))  # K, N: of the products of BERT-base
LENGTHS = (*range(1, 17), 23, 24, 31, 32, 48, 53, 63, 64, 77, 96, 101, 127, 128)
WIDENED = tuple(variant for kernel in MICRO_KERNELS for variant in variants(kernel))
# T, K, N on the emulator: whole tiles, and edges; packs of 4 elements, and none. Products of at most 8 rows have other
# kernels.
EMULATED = ((64, 96, 256), (9, 96, 256), (77, 96, 256), (77, 95, 255))


def _selection(settings: Settings) -> Iterator[Row]:
    stand = Stand(Builder(find_compiler(), CompileOptions().optimize, open_cache()), "f32")
    for size in settings.pick(SIZES):
        taken = choices(program(*size))[:LONGEST]
        name = f"T x {size[0]} x {size[1]}"
        yield Row(f"{name}: lengths of 1 … {LONGEST} with a schedule", len(taken), "lengths", "T", "only")
        lengths = settings.pick(LENGTHS, 2)
        ratios = [row.ratio for row in measure(stand, size, taken, lengths, WIDENED)]
        what = f"over the best of {len(tried(WIDENED))} schedules, {len(lengths)} lengths"
        yield Row(f"{name}: chosen {what}, mean", geometric_mean(ratios), "x", "T", "out")
        yield Row(f"{name}: the worst of them", max(ratios), "x", "T", "out")
        close = 100 * sum(ratio <= CLOSE for ratio in ratios) / len(ratios)
        yield Row(f"{name}: within {round(100 * CLOSE - 100)} % of the best", close, "%", "T", "out")


def _trials() -> Iterator[Row]:
    learnt = sum(1 for kernel in MICRO_KERNELS for _ in rate_trials(kernel))
    alone = LONGEST * len(tried(WIDENED))
    yield Row("trials that learn the costs of micro-kernels, for all products", learnt, "trials", "T", "only")
    yield Row(f"trials that tune each of {LONGEST} lengths alone, one product", alone, "trials", "T", "only")
    yield Row("the first over the second", learnt / alone, "x", "T", "only")


def _padding(settings: Settings) -> Iterator[Row]:
    if shutil.which("g++") is None:
        yield Row("local padding on the emulator", "not measured: no g++, which compiles the emulator", "", "T", "-")
        return
    rng = np.random.default_rng(0)
    for length, k, n in settings.pick(EMULATED):
        x, w = rng.standard_normal((length, k), np.float32), rng.standard_normal((k, n), np.float32)
        padded, checked = count("padded", x, w), count("checked", x, w)
        if not np.array_equal(padded.result, checked.result):
            raise AssertionError(f"padded and checked products differ at T = {length}")
        name, ratio = f"emulated GPU, {at((length, k, n))}", padded.predicates / checked.predicates
        yield Row(f"{name}: predicates over those without local padding", ratio, "x", "T", "out")
        yield Row(f"{name}: rows computed over rows needed", -(-length // TILE) * TILE / length, "x", "T", "out")


def _measure(settings: Settings) -> Iterator[Row]:
    yield from _selection(settings)
    yield from _trials()
    yield from _padding(settings)


DIETCODE = Seed(
    name="DietCode",
    paper='Zheng et al., "DietCode: Automatic Optimization for Dynamic Tensor Programs", MLSys 2022',
    headline="up to 5.88x less time of auto-scheduling (94.1x estimated for all shapes), performance up to 69.5 % "
    "better than the auto-scheduler's and 18.6 % better than the vendor library's, on a GPU",
    source="abstract only",
    weaker="Two micro-kernels written by hand, not a generated search space, on one core of a CPU. On a GPU nothing is "
    "timed: predicates are counted on an emulator.",
    measure=_measure,
)
