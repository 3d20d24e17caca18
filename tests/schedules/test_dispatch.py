"""Schedules in compiled programs: right results under each, what is told about them, and where they are kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import shlo_disc
from shlo_disc import Compiled, CompileOptions, Schedules, tuning
from shlo_disc.runtime.building.cache import Cache, open_cache
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cpu import schedules as known
from shlo_disc.runtime.cpu.product_timing import Stand, TimedCandidate, rate_trials
from shlo_disc.runtime.dispatch import candidate_of, selections
from shlo_disc.runtime.peak import symbols_at
from shlo_disc.schedules.candidates import MICRO_KERNELS, Hardware, MicroKernel, blocks
from shlo_disc.schedules.model import Rates
from shlo_disc.schedules.tables import CostTable, Kinds, analytic
from tests.pipeline.exports import In, exported

KERNELS = MICRO_KERNELS
CHEAP, DEAR = Rates(0, 0, 0, 1, 0, 0, 0, 0, 0, 1), Rates(0, 0, 0, 9, 0, 0, 0, 0, 0, 1)
# 100 for each row, or 60 and 4000 more for each 192 rows: the choice changes at 111 rows
MEASURED = Schedules(CostTable("by hand", "measured", analytic(Hardware(64, 24, 32 << 10, 1 << 20)).kinds))
CROSSING: Kinds = (
    (
        "f32",
        ((KERNELS[1], Rates(0, 0, 0, 100, 0, 0, 0, 0, 0, 1)), (KERNELS[0], Rates(0, 4000, 0, 60, 0, 0, 0, 0, 0, 1))),
    ),
)


def text(kind: str, n: int = 100, k: int = 70) -> str:
    """A product with any number of rows."""
    left, right, result = f"tensor<?x{k}x{kind}>", f"tensor<{k}x{n}x{kind}>", f"tensor<?x{n}x{kind}>"
    return f"""
        func.func @main(%x: {left}, %w: {right}) -> {result} {{
          %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({left}, {right}) -> {result}
          return %0 : {result}
        }}"""


def product(x: Any, w: Any) -> Any:
    """The same as a function of JAX."""
    return x @ w


def favouring(kernel: MicroKernel, kind: str) -> Schedules:
    """Costs by which one micro-kernel is the best everywhere."""
    rates = tuple((one, CHEAP if one == kernel else DEAR) for one in KERNELS)
    return Schedules(CostTable("by hand", "measured", ((kind, rates),)))


def compiled(schedules: Schedules | None, driver: Literal["c", "vm"] = "c", *, traced: bool = False) -> Compiled:
    """The product of f32 on one thread."""
    options = CompileOptions(threads=1, driver=driver, schedules=schedules, trace_selection=traced)
    return shlo_disc.compile(text("f32"), device="cpu", options=options)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_candidate_computes_the_product(kernel: MicroKernel, kind: str) -> None:
    options = CompileOptions(threads=2, schedules=favouring(kernel, kind))
    run = shlo_disc.compile(text(kind), device="cpu", options=options)
    assert kernel.name in run.explain("schedules")
    random = np.random.default_rng(0)
    for m in (0, 1, 2, 5, 7, 13, 25, 49, 193, 800):
        x = random.standard_normal((m, 70)).astype(np.float32 if kind == "f32" else np.float64)
        w = random.standard_normal((70, 100)).astype(x.dtype)
        (found,) = run(x, w)
        np.testing.assert_allclose(found, x @ w, rtol=1e-4, atol=1e-4)


def test_both_drivers_take_the_same_and_tell_it() -> None:
    schedules = Schedules(CostTable("by hand", "measured", CROSSING))
    w, sizes = np.ones((70, 100), np.float32), (1, 110, 111, 500)
    traces = list[Sequence[str]]()
    for driver in ("c", "vm"):
        run = compiled(schedules, driver, traced=True)
        for m in sizes:
            run(np.ones((m, 70), np.float32), w)
        assert [(one.m, one.n, one.k) for (one,) in run.selections] == [(m, 100, 70) for m in sizes]
        traces.append([one.candidate.partition(",")[0] for (one,) in run.selections])
    few, many = KERNELS[1].name, KERNELS[0].name
    assert traces == [[few, few, many, many]] * 2


def test_who_did_not_ask_for_a_trace_is_told_how() -> None:
    with pytest.raises(shlo_disc.ShloDiscError, match="trace_selection=True"):
        _ = compiled(None).selections


def test_a_dispatch_is_explained_with_what_it_takes() -> None:
    run = compiled(Schedules(CostTable("by hand", "measured", CROSSING)))
    (size,) = run.executable.artifact.free
    found = run.explain_dispatch(**{size: 111})
    assert "f32 ? x 100 x 70: 111 x 100 x 70" in found
    assert "tiles 6, 768x128, one of 2" in found
    assert "padding 13.1%, occupancy 100% of 1 threads, predicted" in found
    assert "measured" in found.splitlines()[-1]
    assert "predicted" in run.explain_dispatch(**{size: 0})
    with pytest.raises(shlo_disc.ShloDiscError, match="no_such"):
        run.explain_dispatch(no_such=1)


def test_an_unknown_cpu_is_told_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(known, "_identity", lambda: ("SomeVendor", 1, 2))
    options = CompileOptions(threads=1, cache_dir=tmp_path)
    run = shlo_disc.compile(text("f32"), device="cpu", options=options)
    assert "not measured: guessed from" in run.explain("schedules")


def test_a_type_without_costs_is_told_of() -> None:
    run = shlo_disc.compile(text("i32"), device="cpu", options=CompileOptions(threads=1))
    assert "the prelude chooses: no costs are known of i32" in run.explain("schedules")


@pytest.mark.parametrize(("family", "model", "cpu"), [(25, 97, "Zen 4"), (26, 2, "Zen 5"), (26, 68, "Zen 5")])
def test_shipped_costs_are_found_by_family_and_model(
    monkeypatch: pytest.MonkeyPatch, family: int, model: int, cpu: str
) -> None:
    monkeypatch.setattr(known, "_identity", lambda: ("AuthenticAMD", family, model))
    costs = known.known_costs()
    assert costs.origin == "shipped"
    assert costs.cpu == f"{cpu} (AMD family {family})"
    assert {kind for kind, _ in costs.kinds} == {"f32", "f64"}


# Of Zen 3, of a Zen 5 with vectors of half the width, of Zen 6, and of a CPU by someone else.
@pytest.mark.parametrize(
    "identity", [("AuthenticAMD", 25, 1), ("AuthenticAMD", 26, 36), ("AuthenticAMD", 26, 80), ("", 26, 2)]
)
def test_costs_of_other_cpus_are_guessed(monkeypatch: pytest.MonkeyPatch, identity: tuple[str, int, int]) -> None:
    monkeypatch.setattr(known, "_identity", lambda: identity)
    assert known.known_costs().origin == "analytic"


def test_what_was_measured_is_kept_for_this_cpu_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cache, options = Cache(tmp_path), CompileOptions()
    costs = CostTable("here", "measured", CROSSING)
    known.store_costs(cache, find_compiler(), options, costs)
    assert known.find_schedules(cache, find_compiler(), options, "a program").costs == costs
    monkeypatch.setattr(known, "cpu_name", lambda: "another one")
    assert known.find_schedules(cache, find_compiler(), options, "a program").costs != costs


def test_a_damaged_entry_is_none(tmp_path: Path) -> None:
    cache, options = Cache(tmp_path), CompileOptions()
    known.store_costs(cache, find_compiler(), options, CostTable("here", "measured", CROSSING))
    (path,) = (tmp_path / "schedules").glob("*/*")
    path.write_bytes(path.read_bytes()[:50] + b"x" + path.read_bytes()[51:])
    assert known.find_schedules(cache, find_compiler(), options, "a program").costs == known.known_costs()


def preferring(kernel: MicroKernel) -> Callable[..., list[float]]:
    """What timing would say on a machine where one micro-kernel is the best."""

    def times(stand: Stand, trials: Sequence[TimedCandidate], rounds: int, show: object = None) -> list[float]:
        del stand, rounds, show
        return [1e-6 * trial.sizes[0] * (1 if trial.candidate.kernel == kernel else 3) for trial in trials]

    return times


def test_what_is_tuned_is_returned_and_found_by_the_next_compile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options = CompileOptions(threads=1, cache_dir=tmp_path)
    monkeypatch.setattr(known, "hardware", lambda: Hardware(64, 24, 32 << 10, 1 << 20))
    has = known.hardware()
    known.store_costs(
        open_cache(tmp_path), find_compiler(), options, CostTable("here", "measured", analytic(has).kinds)
    )
    before = shlo_disc.compile(text("f32"), device="cpu", options=options)
    (size,) = before.executable.artifact.free
    monkeypatch.setattr(tuning, "hardware", lambda: has)
    for kernel in (*KERNELS[:2], MicroKernel("stream", 6, depth=64), MicroKernel("tiles", 8, 2)):
        monkeypatch.setattr(tuning, "time_trials", preferring(kernel))
        found = shlo_disc.tune(text("f32"), dims={size: range(1, 400)}, weights={size: np.ones(399)}, options=options)
        (tuned,) = found.tuned
        assert tuned.product == "f32 ? x 100 x 70"
        assert len(tuned.counts) <= tuning.MOST_COUNTS
        assert (tuned.counts[0], tuned.counts[-1]) == (1, 399)
        after = shlo_disc.compile(text("f32"), device="cpu", options=options)
        given = shlo_disc.compile(text("f32"), device="cpu", options=CompileOptions(threads=1, schedules=found))
        for run in (after, given):
            assert "measured for this product" in run.explain("schedules")
            assert f"{kernel.name}, " in run.explain_dispatch(**{size: 77})
        rng = np.random.default_rng(0)
        x, w = (rng.random(shape, np.float32) for shape in ((77, 70), (70, 100)))
        (y,) = given(x, w)
        np.testing.assert_allclose(y, x @ w, rtol=1e-5)
    assert "measured for this product" not in before.explain("schedules")


@pytest.mark.parametrize(
    ("dims", "weights", "message"),
    [
        ({"s0": range(3)}, [1, 2], "found 2 weights of s0, expected 3"),
        ({"s0": [1, 2]}, [-1, 2], r"found weights of s0 \[-1.0, 2.0\], expected numbers from 0 on"),
        ({"s0": [1, 2]}, [math.nan, 2], r"found weights of s0 \[nan, 2.0\], expected numbers from 0 on"),
        ({"s0": [1, 2]}, [0, 0], "that are not all 0"),
        ({"s0": [1, 2]}, ["a", "b"], r"found weights of s0 \['a', 'b'\], expected 2 numbers"),
        ({"s0": [1, 2]}, 3, "found weights of s0 3, expected 2 numbers"),
        ({"s0": [1, 2]}, {"t": [1, 2]}, "found weights of t, expected weights of s0"),
        ({}, [1], "found one list of weights for 0 dims"),
        ({"s0": 5}, None, "found dim s0 = 5, expected several whole numbers"),
        ({"s0": "12"}, None, "found dim s0 = '12', expected several whole numbers"),
        ({"s0": [1.5]}, None, "found a value of dim s0 = 1.5, expected a whole number"),
        ({"s0": []}, None, "found no value of s0"),
        ({"s0": [4, -1]}, None, "found -1 as a value of s0"),
        ([("s0", [1])], None, "expected values by name"),
        ({"q": [1]}, None, "found size 'q', expected s0"),
        ({}, None, "found no value of s0"),
    ],
)  # fmt: skip
def test_wrong_dims_and_weights_are_refused(dims: Any, weights: Any, message: str) -> None:
    with pytest.raises(shlo_disc.ShloDiscError, match=message):
        shlo_disc.tune(text("f32"), dims=dims, weights=weights, options=CompileOptions(schedules=MEASURED))


def test_what_no_call_can_have_is_not_tuned() -> None:
    program = exported(product, (In("s, 8"), In("8, 9")))
    with pytest.raises(shlo_disc.RuntimeShapeError, match="found s = 0, expected >= 1"):
        shlo_disc.tune(program, dims={"s": [0]}, options=CompileOptions(schedules=MEASURED))
    with pytest.raises(shlo_disc.ShloDiscError, match="found dims or weights without a program"):
        shlo_disc.tune(dims={"s0": [1]})


def test_every_length_has_a_schedule_learnt_with_a_fifth_of_the_trials_of_60_lengths() -> None:
    artifact = compiled(MEASURED).executable.artifact
    (selection,), (rows,) = selections(artifact), artifact.free
    assert all(candidate_of(selection, symbols_at(artifact, {rows: count})) for count in range(1, 2049))
    alone = 60 * len([block for _ in MICRO_KERNELS for block in blocks(1)])  # lengths of benchmarks.dispatch
    assert 5 * sum(len(list(rate_trials(kernel))) for kernel in MICRO_KERNELS) <= 4 * alone  # for its four shapes
