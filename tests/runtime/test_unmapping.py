"""The code of a program leaves memory with the last that needs it, and not before."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import shlo_disc
from shlo_disc import Compiled, CompileOptions
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.cuda.backend import CudaBackend
from tests.emulator.device import EmulatedDevice

pytestmark = pytest.mark.slow

DRIVERS: tuple[Literal["c", "vm"], ...] = ("c", "vm")
ADD = """\
func.func @main(%a: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> (tensor<?x64xf32>, tensor<?xf32>) {{
  %c = stablehlo.constant dense<{number}.5> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
      : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1]
      : (tensor<?x64xf32>, tensor<f32>) -> tensor<?xf32>
  return %0, %1 : tensor<?x64xf32>, tensor<?xf32>
}}
"""
W = np.eye(64, dtype=np.float32)


def program(number: int, folder: Path, driver: Literal["c", "vm"] = "c") -> Compiled:
    options = CompileOptions(cache_dir=folder, optimize=0, threads=2, driver=driver)
    return shlo_disc.compile(ADD.format(number=number), device="cpu", options=options)


def mapped(folder: Path) -> int:
    """How many mappings there are of files in a folder."""
    return sum(str(folder) in line for line in Path("/proc/self/maps").read_text().splitlines())


def is_right(run: Callable[..., Any], number: int) -> bool:
    a = np.random.default_rng(number).standard_normal((300, 64), np.float32)
    found, sums = run(a, W)
    return bool(np.allclose(found, a)) and bool(np.allclose(sums, a.sum(1) + number + 0.5, atol=1e-5))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if not Path("/proc/self/maps").exists():
        pytest.skip("the system does not list what is mapped")
    assert is_right(program(1000, tmp_path), 1000)  # what no program brings is there now
    gc.collect()
    return tmp_path


@pytest.mark.parametrize("driver", DRIVERS)
def test_programs_leave_no_mappings(driver: Literal["c", "vm"], folder: Path) -> None:
    before = mapped(folder)
    for number in range(50):
        assert is_right(program(number, folder, driver), number)
    gc.collect()
    assert mapped(folder) <= before


def test_bound_programs_and_results_outlive_what_they_come_from(folder: Path) -> None:
    before, a = mapped(folder), np.ones((7, 64), np.float32)
    run = program(1, folder)
    results = run(a, W)
    bound = shlo_disc.compile(
        ADD.format(number=2), device="cpu", options=CompileOptions(cache_dir=folder, optimize=0)
    ).bind(a)
    watched = weakref.ref(run.executable)
    del run
    gc.collect()
    assert watched() is None
    assert mapped(folder) > before, "the bound program is there"
    np.testing.assert_array_equal(results[0], a)
    np.testing.assert_array_equal(bound(W)[1], np.full(7, 66.5, np.float32))
    del bound
    gc.collect()
    assert mapped(folder) <= before
    np.testing.assert_array_equal(results[1], np.full(7, 65.5, np.float32))


def test_programs_die_while_others_run(folder: Path) -> None:
    before, wrong = mapped(folder), list[int]()

    def work(first: int) -> None:
        for number in range(first, first + 20):
            run = program(number % 7, folder)
            for _ in range(20):
                if not is_right(run, number % 7):
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(10 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert not wrong
    assert mapped(folder) <= before


def test_a_call_keeps_its_program(folder: Path) -> None:
    """The only reference to a program goes while a function of a user's runs in the middle of it."""
    held = list[Compiled]()

    def forget(x: Any, **_: object) -> Any:
        held.clear()
        gc.collect()
        return x + 1

    shlo_disc.register_custom_call("forget", forget)
    text = """func.func @main(%a: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = stablehlo.negate %a : tensor<1000xf32>
  %1 = stablehlo.custom_call @forget(%0) : (tensor<1000xf32>) -> tensor<1000xf32>
  %2 = stablehlo.negate %1 : tensor<1000xf32>
  return %2 : tensor<1000xf32>
}"""
    before = mapped(folder)
    for driver in DRIVERS:
        options = CompileOptions(cache_dir=folder, optimize=0, driver=driver)
        held.append(shlo_disc.compile(text, device="cpu", options=options))
        for x in (np.arange(1000, dtype=np.float32),):
            np.testing.assert_array_equal(held[0](x)[0], x - 1)
        assert not held
    gc.collect()
    assert mapped(folder) <= before


def test_host_programs_of_gpus(folder: Path) -> None:
    before = mapped(folder)
    for number in range(3):
        options = CompileOptions(cache_dir=folder, optimize=0, matmul_precision="highest")
        found = compile_for(CudaBackend(EmulatedDevice()), ADD.format(number=number), options).executable
        assert mapped(folder) > before

        def run(*arrays: Any, found: Any = found) -> list[Any]:
            return [np.asarray(x) for x in found(arrays)]

        assert is_right(run, number)
        del run, found
    gc.collect()
    assert mapped(folder) <= before


def test_the_end_of_a_process_unmaps_nothing(folder: Path) -> None:
    text = f"""
import threading, numpy as np
from pathlib import Path
from tests.runtime.test_unmapping import program, is_right
run = program(1, Path({str(folder)!r}))
def work():
    while True: is_right(run, 1)
for _ in range(3): threading.Thread(target=work, daemon=True).start()
assert is_right(run, 1)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
