"""A call crosses into C once where nothing has to be converted, and is as right as by Python in between."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import ctypes
import gc
import inspect
import os
import resource
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.entry import Entry
from shlo_disc.runtime.interop import Array
from shlo_disc.runtime.library import Runtime
from shlo_disc.runtime.memory import size_class
from tests.runtime.sample import DOUBLE, LOOP, SAMPLE, expected

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
W = np.ones(3, np.float32)


@pytest.fixture
def run(options: CompileOptions) -> CpuExecutable:
    """The sample program, which has seen the sizes of `X` and `W`."""
    run = build(SAMPLE, options)
    run((X, W))
    return run


def entry_of(run: CpuExecutable) -> Entry:
    assert run.entry is not None
    return run.entry


def check(found: Any, x: Array = X, weight: Array = W) -> None:
    for got, wanted in zip(found, expected(x, weight), strict=True):
        assert type(got) is np.ndarray
        assert got.dtype == wanted.dtype
        assert got.flags.c_contiguous
        assert got.flags.writeable
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_known_sizes_are_served(run: CpuExecutable) -> None:
    check(entry_of(run).flat((X, W)))
    assert run.stats.calls == 2


def test_new_sizes_want_a_plan(run: CpuExecutable) -> None:
    assert entry_of(run).flat((np.ones((5, 3), np.float32), W)) is None
    assert entry_of(run).flat((X, W[:2])) is None  # which will be refused
    assert run.stats.calls == 1


@pytest.mark.parametrize(
    "arrays",
    [
        (X.astype(np.float64), W),
        (X.astype(">f4"), W),
        (np.asfortranarray(X), W),
        (X[:, ::2], W[:2]),
        (np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3), W),
        (X.view(np.matrix), W),
        (jnp.asarray(X, jnp.int32), W),
        (X, jnp.asarray(W, jnp.float16)),
        (X.tolist(), W),
        (X[0], W),
        (X,),
        (X, W, W),
        [X, W],
    ],
    ids=[
        "dtype", "byte order", "fortran", "strided", "misaligned", "subclass", "integers of JAX", "halves of JAX",
        "list", "rank", "few", "many", "no tuple",
    ],
)  # fmt: skip
def test_what_is_to_be_converted_or_refused_is_left_to_python(run: CpuExecutable, arrays: Any) -> None:
    assert entry_of(run).flat(arrays) is NotImplemented
    assert run.stats.calls == 1


def test_arrays_of_jax_are_read_where_their_type_is_that_of_the_program(run: CpuExecutable) -> None:
    entry, x, weight = entry_of(run), jnp.asarray(X), jnp.asarray(W)
    entry.know_jax(type(x))
    for got, wanted in zip(entry.flat((x, weight)), expected(X, W), strict=True):
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5, atol=1e-5)
    for other in (jnp.int32, jnp.uint32, jnp.float16, jnp.bool_):
        assert entry.flat((x.astype(other), weight)) is NotImplemented
        assert entry.flat((x, weight.astype(other))) is NotImplemented


def test_both_ways_give_the_same(run: CpuExecutable, options: CompileOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runtime, "refusal", "asked by a test", raising=False)
    by_ctypes = build(SAMPLE, options)
    assert by_ctypes.entry is None
    assert by_ctypes.notes == ("calls cross into C three times: asked by a test",)
    for sizes in ((0, 0), (1, 1), (7, 5), (300, 40)):
        x, weight = np.ones(sizes, np.float32), np.ones(sizes[1], np.float32)
        for _ in range(2):
            for found, wanted in zip(run((x, weight)), by_ctypes((x, weight)), strict=True):
                np.testing.assert_array_equal(found, wanted)


def test_results_live_as_long_as_somebody_looks_at_them(run: CpuExecutable) -> None:
    flat = entry_of(run).flat
    first, rest = flat((X, W)), flat((X, W))
    view = rest[0][1:]
    del rest
    gc.collect()
    kept = view.copy()
    for _ in range(50):
        flat((X + 1, W))
    np.testing.assert_array_equal(view, kept)
    check(first)


def test_memory_is_used_again(run: CpuExecutable) -> None:
    flat = entry_of(run).flat
    address = flat((X, W))[0].ctypes.data
    assert address in {flat((X, W))[0].ctypes.data for _ in range(3)}


def test_a_loop_that_replaces_its_arrays_needs_two_of_them(options: CompileOptions) -> None:
    run = shlo_disc.compile(DOUBLE, options=options)
    x, addresses = np.ones(100_000, np.float32), set[int]()
    for _ in range(20):
        (x,) = run(x)
        addresses.add(x.ctypes.data)
    assert len(addresses) == 2


def test_too_much_unused_memory_is_let_go(run: CpuExecutable, options: CompileOptions) -> None:
    unused = run.runtime.library.shlo_unused_memory
    assert unused(ctypes.c_int64(1)) == 0
    double = build(SAMPLE, options)
    x, weight = np.ones((1000, 512), np.float32), np.ones(512, np.float32)
    double((x, weight))
    del x
    assert unused(ctypes.c_int64(0)) >= size_class(1000 * 512 * 4)
    assert unused(ctypes.c_int64(1)) == 0


def test_calls_of_all_sizes_share_their_temporaries(run: CpuExecutable, options: CompileOptions) -> None:
    unused = run.runtime.library.shlo_unused_memory
    sample, weight = build(SAMPLE, options), np.ones(512, np.float32)
    unused(ctypes.c_int64(1))
    held = list[object]()  # so that results are not what lies unused

    def temporaries(rows: int) -> int:
        found = sample((np.ones((rows, 512), np.float32), weight))
        check(found, np.ones((rows, 512), np.float32), weight)
        held.append(found)
        return unused(ctypes.c_int64(0))

    assert temporaries(500) == temporaries(500) == size_class(500 * 512 * 4) == 1 << 20  # once, whoever keeps it
    assert temporaries(1000) == size_class(1000 * 512 * 4)
    assert temporaries(3000) == size_class(3000 * 512 * 4)  # in its place
    assert temporaries(700) == temporaries(2999) == size_class(3000 * 512 * 4)  # in the same
    held.append(sample((np.zeros((270_000, 512), np.float32), weight)))
    assert unused(ctypes.c_int64(0)) == 0  # that was more than may lie unused


def test_no_reference_is_lost_or_kept(options: CompileOptions) -> None:
    run = shlo_disc.compile(DOUBLE, options=options)
    x = np.ones(3, np.float32)
    assert isinstance(run.executable, CpuExecutable)
    flat = entry_of(run.executable).flat
    watched = (x, x.dtype, None, NotImplemented, run.executable)

    def counts() -> list[int]:
        gc.collect()
        return [sys.getrefcount(one) for one in watched]

    for _ in range(3):
        run(x)
    before = counts()
    for _ in range(1000):
        run(x)
        assert flat((x.dtype,)) is NotImplemented
    assert np.abs(np.subtract(counts(), before)).max() < 10


def test_calls_that_python_serves_lose_no_reference(options: CompileOptions) -> None:
    run = shlo_disc.compile(DOUBLE, options=options)
    x, wrong = np.ones(3, np.float32), np.ones(3, np.int32)
    watched = (x, wrong, None, NotImplemented, run.executable, run.__call__)

    def counts() -> list[int]:
        gc.collect()
        return [sys.getrefcount(one) for one in watched]

    def call(*args: Any, **kwargs: Any) -> None:
        with pytest.raises(ShloDiscError):
            run(*args, **kwargs)

    def calls() -> None:
        np.testing.assert_array_equal(run(x[::-1])[0], x + x)
        call(wrong)
        call(x, other=x)
        call(other=x)
        call()

    calls()
    before = counts()
    for _ in range(300):
        calls()
    assert np.abs(np.subtract(counts(), before)).max() < 10


@pytest.mark.parametrize("driver", ["c", "vm"])
def test_a_program_is_called_by_a_function_of_its_own_which_does_not_keep_it(
    options: CompileOptions, driver: Any
) -> None:
    run = shlo_disc.compile(DOUBLE, options=replace(options, driver=driver))
    x = np.ones(3, np.float32)
    assert callable(run)
    assert str(inspect.signature(run)) == "(*args, **kwargs)"
    other = shlo_disc.compile(DOUBLE.replace("add", "multiply"), options=replace(options, driver=driver))
    np.testing.assert_array_equal(np.concatenate([*run(x), *other(x)]), [2, 2, 2, 1, 1, 1])
    gone, executable, call = weakref.ref(run), weakref.ref(run.executable), run.__call__
    del run  # no cycle: it goes without the collector
    assert gone() is None
    np.testing.assert_array_equal(call(x[::-1])[0], x + x)
    np.testing.assert_array_equal(call(x)[0], x + x)
    del call
    gc.collect()
    assert executable() is None


def test_calls_leave_nothing_behind(options: CompileOptions) -> None:
    run = shlo_disc.compile(DOUBLE, options=options)
    x = np.ones(1000, np.float32)

    def calls(count: int) -> int:
        for _ in range(count):
            run(x)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = calls(1000)
    assert calls(100_000) - before < 50_000  # KiB; a lost result would be 400 MB
    sample = build(SAMPLE, options)
    large, weight = np.ones((1000, 60), np.float32), np.ones(60, np.float32)
    for _ in range(3):
        sample((large, weight))
    before = calls(1)
    for _ in range(2000):
        sample((large, weight))
    assert calls(1) - before < 50_000  # lost temporaries would be 480 MB


def test_donated_memory_of_another_library_is_copied(options: CompileOptions) -> None:
    class Lender:
        def __init__(self, array: Array) -> None:
            self._array = array

        def __dlpack__(self, **options: Any) -> object:
            return self._array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self._array.__dlpack_device__()

    run = shlo_disc.compile(DOUBLE, options=options, donate=[0])
    x = np.ones(16, np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(run(Lender(x))[0], x + x)
        np.testing.assert_array_equal(x, 1)
    assert run(x)[0].ctypes.data == x.ctypes.data


def test_a_function_keeps_what_it_needs(options: CompileOptions) -> None:
    run = build(SAMPLE, options)
    run((X, W))
    flat = entry_of(run).flat
    executable, alive = run, sys.getrefcount(run)
    del run
    assert sys.getrefcount(executable) == alive - 1  # no cycle through C
    del executable
    gc.collect()
    check(flat((X, W)))


def test_many_sizes(options: CompileOptions) -> None:
    run = shlo_disc.compile(DOUBLE, options=options)
    for _ in range(2):
        for size in range(5000):  # more than plans are kept
            x = np.full(size, size, np.float32)
            np.testing.assert_array_equal(run(x)[0], x + x)


def ticks_during(call: Callable[[], object]) -> int:
    """How often this thread gets its turn while another one makes a call."""
    ticks, seen = 0, list[int]()

    def watched() -> None:
        seen.append(ticks)
        call()
        seen.append(ticks)

    other, interval = threading.Thread(target=watched), sys.getswitchinterval()
    sys.setswitchinterval(10)  # a thread gets its turn when the other one leaves it
    try:
        other.start()
        while len(seen) < 2:
            ticks += 1
            time.sleep(0)
        other.join()
    finally:
        sys.setswitchinterval(interval)
    return seen[1] - seen[0]


def test_short_calls_keep_the_lock_and_long_ones_do_not(options: CompileOptions) -> None:
    run = shlo_disc.compile(DOUBLE, options=options)
    large, small = np.ones(8_000_000, np.float32), np.ones(1, np.float32)
    for x in (large, small):
        for _ in range(10):
            run(x)
    assert any(ticks_during(lambda: run(large)) for _ in range(100))  # a busy machine may have no core for this thread
    assert ticks_during(lambda: [run(small) for _ in range(1000)]) == 0


def test_a_loop_is_never_taken_for_short(options: CompileOptions) -> None:
    run = build(LOOP, options)
    x = np.ones(1000, np.float32)
    for _ in range(20):
        run((x, 0, 0))  # no turns: as short as can be
    assert any(ticks_during(lambda: run((x, 100_000, 0))) for _ in range(100))


def test_arrays_stay_while_another_thread_empties_their_list() -> None:
    jax = pytest.importorskip("jax")
    export: Any = pytest.importorskip("jax.export")
    (n,) = export.symbolic_shape("n")
    one = jax.ShapeDtypeStruct((n,), np.float32)

    def model(xs: Any) -> Any:
        return xs[0] * 2 + xs[1]

    run = shlo_disc.compile(export.export(jax.jit(model))([one, one]))
    stop = threading.Event()
    pairs = [[np.ones(500_000, np.float32), np.ones(500_000, np.float32)]]

    def replace_arrays() -> None:
        while not stop.is_set():
            pairs[0][:] = [np.ones(500_000, np.float32), np.ones(500_000, np.float32)]

    other = threading.Thread(target=replace_arrays)
    other.start()
    try:
        for _ in range(50):
            assert (run(pairs[0]) == 3).all()
    finally:
        stop.set()
        other.join()


def test_very_many_arrays_go_the_other_way(options: CompileOptions) -> None:
    arguments = ", ".join(f"%a{k}: tensor<?xf32>" for k in range(4100))
    text = f"func.func @main({arguments}) -> tensor<?xf32> {{\n return %a7 : tensor<?xf32>\n}}\n"
    run = shlo_disc.compile(text, options=options)
    assert isinstance(run.executable, CpuExecutable)
    assert run.executable.entry is None
    assert run.explain().endswith("calls cross into C three times: found 4101 arrays, expected at most 4000")
    arrays = [np.full(2, k, np.float32) for k in range(4100)]
    np.testing.assert_array_equal(run(*arrays)[0], arrays[7])


def test_results_may_outlive_the_interpreter_s_modules(options: CompileOptions) -> None:
    script = (
        "import sys, numpy as np, shlo_disc\n"
        f"run = shlo_disc.compile('''{DOUBLE}''')\n"
        "x = np.ones(5, np.float32)\n"
        "run(x); sys.kept = run(x), run, run.__call__\n"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(options.cache_dir)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
