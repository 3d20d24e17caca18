# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Programs live as long as a function of JAX may call them; calls of several threads do not disturb each other."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
import weakref
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from shlo_disc import CompileOptions
from shlo_disc.runtime.building.build import XLA_FUNCTIONS, Builder
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.building.toolchain import find_compiler
from tests.runtime.xla.texts import CHAIN, SUM, TWO, fresh, library, normal, program

W = normal(0, 64, 64) / 8


def collect() -> int:
    """Drop what nothing refers to; returns how many programs are loaded after that."""
    jax.clear_caches()
    gc.collect()
    found = library().loaded
    gc.collect()  # a program's functions refer to themselves
    return found


@pytest.fixture
def loaded() -> int:
    """How many programs are loaded at the beginning, by those who keep them."""
    return collect()


def test_a_jitted_function_keeps_its_program(loaded: int, tmp_path: Path) -> None:
    run = fresh(TWO, CompileOptions(optimize=0, cache_dir=tmp_path))
    watched, traced = weakref.ref(run.executable), jax.jit(run.as_jax())
    for size in (3, 5, 3):
        traced(normal(0, size), normal(1, size))
    assert library().loaded == loaded + 2, "one for each size"
    again = jax.jit(partial(run.as_jax(), normal(0, 5)))
    again(normal(1, 5))
    assert library().loaded == loaded + 2, "one for all functions"
    del run, again
    collect()
    assert str(tmp_path) in Path("/proc/self/maps").read_text()
    np.testing.assert_array_equal(traced(normal(0, 5), normal(1, 5))[0], normal(0, 5) + normal(1, 5))
    np.testing.assert_array_equal(traced(normal(0, 8), normal(1, 8))[0], normal(0, 8) + normal(1, 8))
    del traced
    assert collect() == loaded
    assert watched() is None
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()


def test_an_executable_keeps_its_program(loaded: int) -> None:
    """XLA's part of it alone, when Python has let go of everything that it lowered."""
    run = fresh(TWO)
    x = normal(0, 6)
    lowered = jax.jit(run.as_jax()).lower(x, x)
    watched = weakref.ref(run.executable)
    del run
    assert collect() == loaded + 1, "the module that was lowered has it"
    compiled = lowered.compile()
    held = compiled.runtime_executable()
    np.testing.assert_array_equal(compiled(x, x)[0], x + x)
    del lowered, compiled
    assert collect() == loaded + 1
    assert watched() is not None
    del held
    assert collect() == loaded
    assert watched() is None


def test_a_module_that_is_never_compiled(loaded: int) -> None:
    lowered = jax.jit(fresh(TWO).as_jax()).lower(normal(0, 6), normal(0, 6))
    assert library().loaded == loaded + 1
    del lowered
    assert collect() == loaded


def test_calls_leave_no_memory() -> None:
    """A thousand calls take the memory of one."""
    run = program(CHAIN)
    traced = jax.jit(lambda a: run.as_jax()(a, W)[0])
    unused = library().handle.shlo_xla_unused_memory
    unused.restype = ctypes.c_int64
    for size, turns in ((300, 1000), (5000, 20)):
        a = normal(size, size, 64)
        wanted = run(a, W)[0]
        unused(1)
        np.testing.assert_array_equal(traced(a), wanted)
        before = unused(0)
        assert before > 0
        for _ in range(turns):
            traced(a)
        jax.block_until_ready(traced(a))
        assert unused(0) == before


def test_results_arrive_later() -> None:
    """Calls that are not waited for; their arguments go before they end."""
    step = jax.jit(lambda x: program(TWO).as_jax()(x, x)[0])
    x = jax.numpy.ones(50_000)
    for _ in range(10):
        x = step(x)
    assert x.block_until_ready()[-1] == 1024


def test_threads_call_at_once() -> None:
    """From Python's threads and on XLA's: traced calls of several sizes, and calls of the program itself."""
    run = program(CHAIN)
    two = jax.jit(lambda a, b: (run.as_jax()(a, W)[0], run.as_jax()(b, W)[0]))
    sizes = (1, 9, 127, 5000)
    arrays = {size: normal(size, size, 64) for size in sizes}
    wanted = {size: run(arrays[size], W)[0] for size in sizes}
    wrong = list[Any]()

    def work(number: int) -> None:
        for turn in range(12):
            a, b = sizes[(number + turn) % 4], sizes[turn % 4]
            found = (*two(arrays[a], arrays[b]), *run(arrays[a], W))
            for ours, size in zip(found, (a, b, a), strict=True):
                if np.asarray(ours).tobytes() != wanted[size].tobytes():
                    wrong.append((number, turn, size))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_programs_are_traced_in_threads_while_others_go(loaded: int) -> None:
    wrong = list[int]()

    def work(number: int) -> None:
        for turn in range(4):
            run = fresh(SUM.format(("f32", "i32")[turn % 2], ("add", "multiply")[number % 2]))
            x = normal(number, number + turn).astype((np.float32, np.int32)[turn % 2])
            (found,) = jax.jit(run.as_jax())(x, x)
            if not np.array_equal(found, (x + x, x * x)[number % 2]):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    assert collect() == loaded


def test_options_are_those_of_the_program() -> None:
    """The library is loaded once, for programs of any options."""
    for threads in (1, 3):
        run = fresh(SUM.format("f32", "add"), CompileOptions(optimize=1, threads=threads))
        x = normal(0, 300_000)
        np.testing.assert_array_equal(jax.jit(run.as_jax())(x, x)[0], x + x)


def test_the_handler_of_each_compiler(compiler: str, tmp_path: Path) -> None:
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    for optimize in (0, 3):
        builder = Builder(find_compiler(compiler, 60), optimize, open_cache(tmp_path))
        for name in ("xla_handler.cc", "xla_cuda_handler.cc"):
            handle = ctypes.CDLL(str(builder.xla_handlers(f"call/{name}", header.read_text())))
            assert all(handle[function] for function in XLA_FUNCTIONS)


def test_the_end_of_a_process() -> None:
    """XLA destroys executables when Python has cleared its modules; what they refer to is still there."""
    text = """
import jax, numpy as np
from tests.runtime.xla.texts import TWO, normal, program
x = normal(0, 5)
traced = jax.jit(program(TWO).as_jax())
held = traced.lower(x, x).compile().runtime_executable()
np.testing.assert_array_equal(traced(x, x)[0], x + x)
kept = [traced, held, lambda: kept]
"""
    environment = {**os.environ, "MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "165"}
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
