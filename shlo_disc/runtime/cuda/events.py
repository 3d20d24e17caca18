# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# CuPy has no types here; nothing untyped leaves this module.
"""CUDA events: arrays of other libraries are held until one completes, users of results wait for one; and times."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

_FILLED = 1 << 26  # bytes


class _ThreadEvents(threading.local):
    """State per thread."""

    last: Any = None  # the event of its last `hold`, if that needed one


class Events:
    """The events of one GPU. A completed one is recorded again: creating one costs as much as recording it twice."""

    def __init__(self, cupy: Any) -> None:
        self._cupy, self._own = cupy, cupy.ndarray
        self._local = _ThreadEvents()
        self._lock = threading.Lock()
        self._held: deque[tuple[Any, Sequence[object]]] = deque()  # events that were not complete at the last query
        self._free: list[Any] = []

    def hold(self, owners: Sequence[object]) -> None:
        """Keep owners alive until the current stream has completed its queued work.

        CuPy's own arrays are freed in the order of the stream; those of others are held here until an event completes.
        """
        own = self._own
        foreign = [owner for owner in owners if not isinstance(owner, own)]
        if foreign:
            self._local.last = self._record(foreign)
        else:
            self._local.last = None
            if self._held:
                self._let_go()

    def after_all(self) -> Any:
        """An event after everything that this thread has queued: every call of a program ends with `hold`."""
        event, self._local.last = self._local.last, None
        return event or self._record(())

    def _record(self, owners: Sequence[object]) -> Any:
        self._let_go()
        try:
            event = self._free.pop()
        except IndexError:
            event = self._cupy.cuda.Event(disable_timing=True)
        event.record()
        self._held.append((event, owners))
        return event

    def _let_go(self) -> None:
        """Reuse completed events: a stream that waits for one is not affected if it is recorded again."""
        with self._lock:
            while self._held and self._held[0][0].done:
                self._free.append(self._held.popleft()[0])


class EventTimes:
    """Measures the work of the current stream."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy

    def wait(self) -> None:
        """Wait until the current stream has completed its queued work."""
        self.cupy.cuda.get_current_stream().synchronize()

    def mark(self) -> Any:
        """An event after what is queued on the current stream."""
        event = self.cupy.cuda.Event()
        event.record()
        return event

    def seconds(self, first: Any, last: Any) -> float:
        """Between two events; waits for the last one."""
        last.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(first, last)) * 1e-3

    def occupy(self, steps: int) -> None:
        """A fill of this much memory takes some 20 us, and its launch less than queueing a step by Python."""
        memory = self.cupy.cuda.alloc(_FILLED)
        for _ in range(2 * steps):
            memory.memset_async(0, _FILLED)

    @contextmanager
    def named(self, name: str) -> Generator[None]:
        """A range of NVIDIA's profilers, if this CuPy has them."""
        nvtx: Any = getattr(self.cupy.cuda, "nvtx", None)
        if (push := getattr(nvtx, "RangePush", None)) is None:
            yield
            return
        push(name)
        try:
            yield
        finally:
            nvtx.RangePop()
