"""Measure what this CPU can do with the threads of a pool (`device/call/limits.h`), or find it in the cache."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from shlo_disc.runtime.building.cache import Cache, digest
from shlo_disc.runtime.building.machines import cpu_name
from shlo_disc.runtime.interop import Array
from shlo_disc.runtime.library import Runtime, pointers, words
from shlo_disc.runtime.machine_rates import MachineRates, from_bytes, to_bytes
from shlo_disc.runtime.memory import aligned

_VERSION = "1"  # of what is measured
_KIND = "rates"
ROUNDS = 2_000_000  # multiply-adds of a chain: some milliseconds
NEAR, FAR = 1 << 16, (1 << 22, 1 << 24, 1 << 27)  # bytes that are read by each thread, and by all of them
_LEAST = 1 << 12
COPIED = 1 << 27  # bytes that a measurement copies at least
_REPEATS = 5
_Kernel = ctypes.CFUNCTYPE(  # `ShloKernel`; it runs without the GIL
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)


def machine_rates(runtime: Runtime, cache: Cache) -> MachineRates | None:
    """The limits of this machine with the threads of a pool: measured at the first call, then in the cache.

    None for a runtime that was compiled without optimization, or that an earlier version saved: it has no such kernels.
    """
    if not hasattr(runtime.library, "shlo_limit_copy"):
        return None
    key = digest(_KIND, _VERSION, cpu_name(), str(runtime.threads))
    if (data := cache.load(_KIND, key)) is not None:
        try:
            return from_bytes(data)
        except ValueError:
            pass  # damaged, or of another version: it is measured again
    found = measure(runtime)
    cache.keep(_KIND, key, to_bytes(found))
    return found


def measure(runtime: Runtime) -> MachineRates:
    """Measure the limits; takes about half a second.

    Threads of Python run the kernels, not those of the pool: that does without its threads when it finds that other
    processes use the cores.
    """
    threads = runtime.threads
    sizes = sorted({max(size, _LEAST) * threads for size in (NEAR, *(total // threads for total in FAR))})
    with ThreadPoolExecutor(threads) as pool:
        measured = [(2 * size, 2 * _copied(runtime, pool, size)) for size in sizes]
        flops = {"f32": _computed(runtime, pool, 4), "f64": _computed(runtime, pool, 8)}
    return MachineRates(threads, tuple(measured), flops)


def _computed(runtime: Runtime, pool: ThreadPoolExecutor, item: int) -> float:
    """Operations per second of all threads."""
    factors, results = aligned(2 * item).view(f"f{item}"), aligned(item * runtime.threads)
    factors[:] = (0.5, 1.0)
    each = runtime.library.shlo_limit_flops
    each.restype = ctypes.c_int64
    work = ROUNDS * int(each(ctypes.c_int64(item)))
    return _rate(runtime, pool, f"shlo_limit_f{8 * item}", (factors, results), (ROUNDS,), work)


def _copied(runtime: Runtime, pool: ThreadPoolExecutor, size: int) -> float:
    """Bytes per second that all threads copy, of `size` bytes again and again."""
    source, target = aligned(size), aligned(size)
    source[:], target[:] = 1, 0  # the system gives memory when it is first written
    times = max(1, COPIED // size)
    part = size // runtime.threads
    return _rate(runtime, pool, "shlo_limit_copy", (source, target), (part, times), part * times)


def _rate(
    runtime: Runtime, pool: ThreadPoolExecutor, name: str, arrays: Sequence[Array], dims: Sequence[int], work: int
) -> float:
    """The most work per second of all threads together, each of which does a task with `work`."""
    kernel = _Kernel((name, runtime.library))
    places, sizes = pointers([array.ctypes.data for array in arrays]), words(dims)
    barrier = Barrier(runtime.threads)

    def run(task: int) -> float:
        barrier.wait()
        started = time.thread_time()
        kernel(None, places, sizes, task, task + 1, None)
        return work / (time.thread_time() - started)

    return max(sum(pool.map(run, range(runtime.threads))) for _ in range(_REPEATS))
