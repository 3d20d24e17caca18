"""Calls of a program while one request for memory, or for a thread, fails: for every such request. Run with the shim.

With PYTHONMALLOC=malloc requests of Python and NumPy fail too: a sample of them, and only in first calls.

usage: python -m tests.faults.child PROGRAM DRIVER THREADS CACHE; prints how many faults each kind of call met.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, cast

import numpy as np

import shlo_disc
from shlo_disc.compiled import Compiled
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.library import open_runtime
from shlo_disc.runtime.memory import POOL
from tests.faults.programs import CASES, Arrays, Case

FOREVER = 10**9
MOST = 4000  # requests of one call, far beyond those of any program here
Run = Callable[..., Arrays]


class Faults:
    """The shim, which this process was started with."""

    def __init__(self, folder: bytes | None) -> None:
        self._library = ctypes.CDLL(None)
        self._library.fault_arm.argtypes = (ctypes.c_char_p, ctypes.c_long, ctypes.c_long)
        self._library.fault_disarm.restype = ctypes.c_long
        self._folder = folder

    def during(self, call: Callable[[], Arrays], first: int, last: int) -> tuple[Arrays | None, int]:
        """What the call returned, or None if it raised MemoryError; and how many requests there were."""
        self._library.fault_arm(self._folder, first, last)
        try:
            found = call()
        except MemoryError:
            found = None
        finally:
            seen = self._library.fault_disarm()
        return found, seen


def check(case: Case, found: Arrays, wanted: Arrays) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=case.tolerance, atol=case.tolerance)


def sweep(case: Case, faults: Faults, run: Run, *, lasting: bool) -> int:
    """Each request fails once, or all from it on; after each fault the call works. How many faults were raised.

    Sizes grow from call to call, and nothing lies unused, so that calls have to ask.
    """
    raised = 0
    for number in range(1, MOST):
        arrays = case.inputs(case.size + number * case.size // 3)
        wanted, copies = case.wanted(*arrays), [array.copy() for array in arrays]
        drop_unused()
        found, seen = faults.during(partial(run, *copies), number, FOREVER if lasting else number)
        raised += found is None
        if found is not None:
            check(case, found, wanted)
        del found, copies
        check(case, run(*[array.copy() for array in arrays]), wanted)
        if seen < number:
            return raised
    raise AssertionError(f"found more than {MOST} requests for memory in one call")


def in_children(case: Case, faults: Faults, run: Run, step: int) -> int:
    """The same for the first call of a process, and each `step`-th request: each in a process of its own."""
    arrays = case.inputs(case.size)
    wanted = case.wanted(*arrays)
    for number in range(1, MOST, step):
        if not (child := os.fork()):
            status = 1
            signal.alarm(60)  # nobody waits for what never comes
            try:
                found, seen = faults.during(lambda: run(*[array.copy() for array in arrays]), number, number)
                if found is not None:
                    check(case, found, wanted)
                check(case, run(*[array.copy() for array in arrays]), wanted)
                status = 0 if seen >= number else 2
            finally:
                if sys.exc_info()[0] is not None:
                    traceback.print_exc()
                os._exit(status)
        _, ended = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(ended)
        assert code in {0, 2}, f"found exit code {code} where request {number} of the first call fails"
        if code == 2:
            return number - 1
    raise AssertionError(f"found more than {MOST} requests for memory in the first call")


def drop_unused() -> None:
    """Let go of memory that lies unused from earlier calls."""
    POOL.drop_unused()
    open_runtime(Path, 1).library.shlo_unused_memory(ctypes.c_int64(1))


class Usage(ctypes.Structure):
    """What `mallinfo2` returns."""

    _fields_ = [(name, ctypes.c_size_t) for name in (*map(str, range(4)), "hblkhd", "5", "6", "uordblks", "8", "9")]
    hblkhd: int
    uordblks: int


def allocated() -> int:
    """Bytes that the C library has lent out."""
    drop_unused()

    gc.collect()
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = Usage
    usage = cast("Usage", library.mallinfo2())
    return usage.uordblks + usage.hblkhd


def main(name: str, driver: str, threads: str, cache: str) -> None:
    case, everyone = CASES[name], os.environ.get("PYTHONMALLOC") == "malloc"
    options = CompileOptions(
        driver=cast("Literal['c', 'vm']", driver),
        threads=int(threads.removesuffix("any")),
        optimize=1,
        cache_dir=Path(cache),
    )
    run: Compiled = shlo_disc.compile(case.text, device="cpu", donate=case.donate, options=options)
    faults = Faults(None if everyone else cache.encode())
    first = in_children(case, faults, run, 19 if everyone else 1)
    if everyone:  # Python's own requests are many: a sweep over them takes a process each
        print(f"{name} {driver}: some {first} requests of anyone in the first call")
        return
    later = [sweep(case, faults, run, lasting=lasting) for lasting in (False, True)]
    before = allocated()
    for _ in range(3):
        sweep(case, faults, run, lasting=False)
    print(
        f"{name} {driver} {threads}: {first} requests in the first call, MemoryError raised {later} times later,"
        f" {allocated() - before} bytes more"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
