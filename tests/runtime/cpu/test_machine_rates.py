"""The limits of this machine: measured once, then in the cache."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import shlo_disc
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import Cache, open_cache
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cpu import machine_rates as module
from shlo_disc.runtime.library import Runtime
from shlo_disc.runtime.machine_rates import MachineRates

RATES = MachineRates(1, ((8, 1.0),), {"f32": 2.0, "f64": 1.0})


class OptimizedLibrary:
    """A library that has the kernels."""

    shlo_limit_copy = None


def runtime(library: object) -> Runtime:
    run = shlo_disc.compile("func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }")
    return replace(cast("Any", run.executable).runtime, library=cast("Any", library))


def test_limits_are_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = list[int]()

    def measure(found: Runtime) -> MachineRates:
        measured.append(found.threads)
        return RATES

    monkeypatch.setattr(module, "measure", measure)
    cache, here = Cache(tmp_path), runtime(OptimizedLibrary())
    assert module.machine_rates(here, cache) == module.machine_rates(here, cache) == RATES
    assert measured == [here.threads]
    assert module.machine_rates(replace(here, threads=77), cache) == RATES
    assert measured == [here.threads, 77], "of other threads they are others"
    (entry, *_) = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.parent.name == "rates"]
    entry.write_bytes(b"damaged")
    module.machine_rates(here, cache)
    module.machine_rates(replace(here, threads=77), cache)
    assert len(measured) == 3


def test_a_runtime_without_the_kernels_has_no_limits(tmp_path: Path) -> None:
    assert module.machine_rates(runtime(object()), Cache(tmp_path)) is None


@pytest.mark.slow
def test_limits_are_those_of_optimized_code(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Builder(find_compiler(None), 1, open_cache(None)).runtime()
    for name, value in (("ROUNDS", 10_000), ("COPIED", 1 << 20), ("FAR", (1 << 18, 1 << 20))):
        monkeypatch.setattr(module, name, value)
    found = module.measure(replace(runtime(ctypes.PyDLL(str(path))), threads=2))
    assert [size for size, _ in found.copies] == [1 << 18, 1 << 19, 1 << 21]
    assert all(rate > 0 for _, rate in found.copies)
    assert found.flops.keys() == {"f32", "f64"}
    assert all(rate > 0 for rate in found.flops.values())
