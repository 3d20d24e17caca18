"""The thread pool shares out every index once, on as many threads as it was given."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.options import CompileOptions
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.library import open_runtime, pointers, words
from tests.runtime.sample import PROBE

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Seen:
    """What the probe kernel wrote for each index."""

    visits: Integers
    thread: Integers
    scratch: Integers
    piece: Integers


@pytest.fixture(scope="module")
def probe(cache_dir: Path) -> CpuExecutable:
    """The probe kernel, and a loaded runtime."""
    return build(PROBE, CompileOptions(cache_dir=cache_dir))


def launch(probe: CpuExecutable, extent: int, grain: int = 1, threads: int = 2, spin: int = 0) -> Seen:
    seen = Seen(*(np.zeros(extent, np.int64) for _ in range(4)))
    arrays = (seen.visits, seen.thread, seen.scratch, seen.piece)
    runtime = open_runtime(lambda: pytest.fail("the runtime is loaded already"), threads)
    runtime.parallel(
        ctypes.c_void_p(runtime.address),
        ctypes.c_void_p(probe.program.address("probe")),
        pointers([array.ctypes.data for array in arrays]),
        words([spin]),
        ctypes.c_int64(extent),
        ctypes.c_int64(grain),
        ctypes.c_int64(512),
    )
    return seen


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("grain", [0, 1, 7, 1000])
@pytest.mark.parametrize("extent", [0, 1, 2, 13, 64, 1000, 1001])
def test_each_index_is_visited_once(probe: CpuExecutable, extent: int, grain: int, threads: int) -> None:
    for _ in range(5):
        seen = launch(probe, extent, grain, threads)
        assert (seen.visits == 1).all()
        assert len(set(seen.thread.tolist())) <= threads
        assert (seen.scratch % 64 == 0).all()
        small = seen.piece < min(max(grain, 1), extent)
        assert small.sum() < max(grain, 1)  # only the last piece may be smaller


def test_a_large_loop_uses_all_threads(probe: CpuExecutable) -> None:
    by_thread = set[tuple[int, int]]()
    for _ in range(200):  # a busy machine may leave the second thread waiting for a core, and nothing is shared then
        threading.Event().wait(0.01)
        seen = launch(probe, 400, spin=20_000)
        by_thread = {(int(t), int(s)) for t, s in zip(seen.thread, seen.scratch, strict=True)}
        if len(by_thread) > 1:
            break
    threads, scratches = zip(*by_thread, strict=True)
    assert len(set(threads)) == len(set(scratches)) == len(by_thread) == 2


def test_a_small_loop_stays_on_its_thread(probe: CpuExecutable) -> None:
    seen = launch(probe, 100, grain=100, spin=1000)
    assert set(seen.piece.tolist()) == {100}
    assert set(seen.thread.tolist()) == {threading.get_ident()}


def test_one_thread_needs_no_pool(probe: CpuExecutable) -> None:
    seen = launch(probe, 100, threads=1)
    assert set(seen.piece.tolist()) == {100}


def test_several_callers_share_one_pool(probe: CpuExecutable) -> None:
    failures: list[str] = []

    def call() -> None:
        for i in range(200):
            seen = launch(probe, 50 + i, spin=10)
            if not (seen.visits == 1).all():
                failures.append(f"extent {50 + i}: {seen.visits.tolist()}")

    run_together([call] * 4)
    assert failures == []


def test_sleeping_workers_wake_up(probe: CpuExecutable) -> None:
    for pause in (0.0, 0.001, 0.02):
        threading.Event().wait(pause)
        assert (launch(probe, 100).visits == 1).all()


def test_small_loops_wake_nobody_until_many_come(probe: CpuExecutable) -> None:
    """While all others sleep, each loop is done alone; loops that follow each other at once share the next wake-up."""
    count = 1 << 14
    seen = np.zeros((4, count), np.int64)
    runtime = open_runtime(lambda: pytest.fail("the runtime is loaded already"), 2)
    rows = [pointers([row.ctypes.data + 8 * at for row in seen]) for at in range(0, count, 4)]
    fixed = [ctypes.c_void_p(runtime.address), ctypes.c_void_p(probe.program.address("probe"))]
    rest = [words([20_000]), ctypes.c_int64(4), ctypes.c_int64(1), ctypes.c_int64(512)]
    for buffers in rows[:8]:
        threading.Event().wait(0.05)  # long enough to fall asleep
        runtime.parallel(*fixed, buffers, *rest)
    assert set(seen[1, :32].tolist()) == {threading.get_ident()}
    for start in range(8, len(rows), 200):  # a busy machine may leave the second thread waiting for a core
        for buffers in rows[start : start + 200]:
            runtime.parallel(*fixed, buffers, *rest)
        if len(set(seen[1].tolist()) - {0}) > 1:
            break
    assert len(set(seen[1].tolist()) - {0}) == 2


def test_callers_leave_each_other_cores(probe: CpuExecutable) -> None:
    """While one caller has a loop, another one of this process gets a thread less, also from a pool of its own."""
    begun, done = threading.Event(), threading.Event()
    overlapped, pieces = False, list[int]()

    def occupy() -> None:
        begun.set()
        launch(probe, 4, threads=2, spin=30_000_000)
        done.set()

    launch(probe, 400, threads=3, spin=10)  # the threads are there
    for _ in range(30):  # on a busy machine the other caller may not have come so far, or be done
        begun.clear()
        done.clear()
        other = threading.Thread(target=occupy)
        other.start()
        begun.wait()
        threading.Event().wait(0.01)
        pieces = [int(launch(probe, 400, threads=n).piece.max()) for n in (2, 3)]
        overlapped = not done.is_set()
        other.join()
        if overlapped and pieces[1] < 400:  # all, where cores were seen to be busy
            break
        threading.Event().wait(0.1)
    assert overlapped
    assert pieces == [400, 50]  # one piece, and four for each of two threads


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux")
def test_who_has_nothing_to_do_sleeps(probe: CpuExecutable) -> None:
    """A thread that spins is running or waits for a core; one that sleeps does neither."""
    before, workers = set(Path("/proc/self/task").iterdir()), set[Path]()
    for _ in range(
        100
    ):  # a pool of its own, whose threads start with the first loop that is shared: not on a busy machine
        launch(probe, 100, threads=23, spin=100)
        if workers := set(Path("/proc/self/task").iterdir()) - before:
            break
        threading.Event().wait(0.05)
    assert len(workers) == 22
    for _ in range(100):  # a busy machine may let them spin late
        threading.Event().wait(0.05)
        if all((worker / "stat").read_text().rsplit(")", 1)[1].split()[0] == "S" for worker in workers):
            return
    pytest.fail("some thread still spins after five seconds")


def test_a_pool_can_be_destroyed(probe: CpuExecutable) -> None:
    library = ctypes.CDLL(str(probe.runtime.path))
    library.shlo_runtime_create.restype = ctypes.c_void_p
    for _ in range(20):
        pool = ctypes.c_void_p(library.shlo_runtime_create(ctypes.c_int64(3)))
        seen = np.zeros((4, 30), np.int64)
        library.shlo_parallel(
            pool,
            ctypes.c_void_p(probe.program.address("probe")),
            pointers([row.ctypes.data for row in seen]),
            words([0]),
            ctypes.c_int64(30),
            ctypes.c_int64(1),
            ctypes.c_int64(512),
        )
        library.shlo_runtime_destroy(pool)
        assert (seen[0] == 1).all()


def run_together(work: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=job) for job in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
