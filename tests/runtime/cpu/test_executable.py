"""Programs run right at all sizes, by both drivers and every compiler, from several threads."""

from __future__ import annotations

import multiprocessing
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.artifact import Donation
from shlo_disc.diagnostics import ArgumentTypeError, RuntimeShapeError
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.donation import take
from shlo_disc.runtime.library import pointers
from shlo_disc.runtime.memory import ALIGNMENT
from tests.runtime.sample import LOOP, SAMPLE, expected

DRIVERS: tuple[Literal["c", "vm"], ...] = ("c", "vm")
SIZES = [(0, 0), (0, 4), (4, 0), (1, 1), (2, 3), (7, 512), (1000, 30)]

Floats = NDArray[np.float32]


@pytest.fixture(params=DRIVERS)
def run(request: pytest.FixtureRequest, options: CompileOptions) -> CpuExecutable:
    """The sample program, by each driver."""
    return build(SAMPLE, replace(options, driver=request.param))


def sample_arrays(b: int, s: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng([b, s])
    x, weight = rng.standard_normal((b, s)), rng.standard_normal(s)
    return x.astype(np.float32), weight.astype(np.float32)


def check(run: CpuExecutable, x: Floats, weight: Floats) -> None:
    found = run((x, weight))
    for got, wanted in zip(found, expected(x, weight), strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
        assert got.ctypes.data % ALIGNMENT == 0
        assert got.flags.c_contiguous
        assert got.flags.writeable


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("optimize", [1, 3])
def test_each_compiler_and_driver_is_right(
    compiler: str, driver: Literal["c", "vm"], optimize: int, options: CompileOptions
) -> None:
    options = replace(options, compiler=compiler, driver=driver, optimize=optimize)
    run = build(SAMPLE, options)
    for b, s in SIZES:
        check(run, *sample_arrays(b, s))


@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("branch", [0, 1, 2, -1])
@pytest.mark.parametrize("driver", DRIVERS)
def test_loops_and_branches(driver: Literal["c", "vm"], branch: int, count: int, options: CompileOptions) -> None:
    run = build(LOOP, replace(options, driver=driver))
    for size in (0, 3, 1000):
        x = np.linspace(-2, 2, size, dtype=np.float32)
        (found,) = run((x, count, np.int32(branch)))
        np.testing.assert_allclose(found, x**count if branch == 0 else -(x**count), rtol=1e-5)


def test_statistics(options: CompileOptions) -> None:
    run = build(SAMPLE, options, {"parse": 1.5})
    for b, s in ((2, 3), (2, 3), (4, 3)):
        run(sample_arrays(b, s))
    with pytest.raises(RuntimeShapeError):
        run(sample_arrays(1, 513))
    stats = run.stats
    assert (stats.compilations, stats.calls, stats.signatures) == (1, 3, 2)
    assert list(stats.seconds) == ["parse", "build", "load"]
    assert stats.seconds["parse"] == 1.5


def test_the_arena_is_known_before_the_call(run: CpuExecutable) -> None:
    assert run.arena_bytes(sample_arrays(3, 5)) == 60
    assert run.stats.calls == 0


def test_results_do_not_share_memory_with_anything(run: CpuExecutable) -> None:
    x, weight = sample_arrays(8, 16)
    first = run((x, weight))
    copies = [array.copy() for array in first]
    for _ in range(20):
        run((x + 1, weight))
    for array, copy in zip(first, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert not np.shares_memory(first[0], x)


def test_memory_of_a_result_is_used_again(options: CompileOptions) -> None:
    run = build(SAMPLE, options)
    x, weight = sample_arrays(1000, 500)
    first = run((x, weight))
    address = first[0].ctypes.data
    del first
    again = [run((x, weight))[0].ctypes.data for _ in range(5)]
    assert address in again


def test_arguments_are_not_kept_alive(options: CompileOptions) -> None:
    class Watched(np.ndarray[tuple[int, ...], np.dtype[np.float32]]):
        pass

    gone: list[bool] = []
    run = build(SAMPLE, options)
    x, weight = sample_arrays(2, 3)
    watched = x.view(Watched)
    finalizer = weakref.finalize(watched, gone.append, True)
    run((watched, weight))
    assert finalizer.alive
    del watched
    assert gone == [True]


@pytest.mark.parametrize("driver", DRIVERS)
def test_threads_may_call_at_once(driver: Literal["c", "vm"], options: CompileOptions) -> None:
    run = build(SAMPLE, replace(options, driver=driver))

    def work(seed: int) -> None:
        for i in range(30):
            check(run, *sample_arrays((seed * 7 + i) % 40, 1 + (seed + i) % 50))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert run.stats.calls == 120


def test_the_gil_is_released(options: CompileOptions) -> None:
    run = build(LOOP, options)
    x = np.ones(1000, np.float32)
    done = threading.Event()
    ticks = 0

    def call() -> None:
        run((x, 100_000, 0))
        done.set()

    thread = threading.Thread(target=call)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0)
    thread.join()
    assert ticks > 100  # with the GIL held there would be one or two


def call_in_child(run: CpuExecutable) -> None:
    x, weight = sample_arrays(300, 40)
    check(run, x, weight)
    with ThreadPoolExecutor(2) as pool:
        for job in [pool.submit(check, run, x, weight) for _ in range(4)]:
            job.result()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_a_forked_child_can_call(options: CompileOptions) -> None:
    run = build(SAMPLE, options)
    check(run, *sample_arrays(300, 40))  # the pool has threads now, which the child will lack
    child = multiprocessing.get_context("fork").Process(target=call_in_child, args=(run,))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    check(run, *sample_arrays(300, 40))


X, W = sample_arrays(2, 3)


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        ((X,), ArgumentTypeError, "found 1 arrays, expected 2: args[0]['x'], args[1]"),
        (
            (X, W.astype(np.float64)),
            ArgumentTypeError,
            "args[1]: found dtype float64, expected float32\n"
            "  help: convert it first, for example with .astype('float32')",
        ),
        (
            (X[0], W),
            ArgumentTypeError,
            "args[0]['x']: found rank 1, shape (3,), expected rank 2, shape (b, s)",
        ),
        (
            (X, 1.5),
            ArgumentTypeError,
            "args[1]: found rank 0, shape (), expected rank 1, shape (w,)",
        ),
        (
            (X, "text"),
            ArgumentTypeError,
            "args[1]: found str, expected a NumPy, JAX or DLPack array, or a number for rank 0",
        ),
        (
            (X, W[:2]),
            RuntimeShapeError,
            "args[1], dim 0: found 2, expected s = 3\n"
            "  found w = 2, expected == s = 3\n"
            "  where w is args[1], dim 0, s is args[0]['x'], dim 1\n"
            "  demanded at m.mlir:3:5",
        ),
        (
            sample_arrays(1, 600),
            RuntimeShapeError,
            "Expected 's <= 512', got s = 600\n"
            "  found s = 600, expected <= 512\n"
            "  where s is args[0]['x'], dim 1\n"
            "  demanded at m.mlir:4:7",
        ),
    ],
)
def test_bad_arrays_are_named(
    run: CpuExecutable, arrays: tuple[object, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        run(arrays)
    assert str(caught.value) == message
    assert run.stats.calls == 0
    check(run, X, W)  # and the next call is as good as ever


def test_fixed_and_repeated_sizes_are_checked(options: CompileOptions) -> None:
    first, second = SAMPLE.arguments
    same = replace(second, shape=("s",))
    fixed = replace(SAMPLE, arguments=(first, same), raw=((0, 0), (0, 1), (0, 1)))  # w is read where s is
    with pytest.raises(RuntimeShapeError) as caught:
        build(fixed, options)((X, W[:2]))
    assert str(caught.value) == (
        "args[1], dim 0: found size 2, expected 3, the size s of args[0]['x'], dim 1\n  found shape (2,), expected (s,)"
    )
    fixed = replace(fixed, arguments=(first, replace(second, shape=(3,))))
    check(build(fixed, options), X, W)
    with pytest.raises(RuntimeShapeError) as caught:
        build(fixed, options)((X, W[:2]))
    assert str(caught.value) == ("args[1], dim 0: found size 2, expected 3\n  found shape (2,), expected (3,)")


def test_errors_are_also_the_builtin_ones(options: CompileOptions) -> None:
    run = build(SAMPLE, options)
    with pytest.raises(TypeError):
        run((X,))
    with pytest.raises(ValueError, match="demanded at"):
        run((X, W[:2]))


def test_donated_memory_that_no_vector_could_start_in_is_copied() -> None:
    """Kernels that take over the memory may move 16 bytes of it at a time."""
    room = np.arange(40, dtype=np.float32)
    aligned = -room.ctypes.data % 16 // 4
    for offset, is_taken in ((0, True), (1, False), (2, False), (4, True)):
        given = room[aligned + offset :][:8]
        addresses = pointers([given.ctypes.data])
        found = take([Donation(0, None)], [given], [given], addresses)[0]
        assert (found.ctypes.data == given.ctypes.data) is is_taken
        assert addresses[0] == found.ctypes.data
        np.testing.assert_array_equal(found.view(np.float32), given)
