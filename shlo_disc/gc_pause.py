"""Pause of Python's cyclic garbage collector during compilation."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager


class _GcPause:
    """Disables the cyclic garbage collector while any thread is inside; the last one restores its state.

    The collector traverses all live objects each time that enough was allocated. A compilation allocates graphs that
    live until its end: the traversals took up to half of its time and freed a twentieth of its memory.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._was_on = False

    @contextmanager
    def __call__(self) -> Generator[None]:
        with self._lock:
            if not self._inside:
                self._was_on = gc.isenabled()
                gc.disable()
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside and self._was_on:
                    gc.enable()


gc_paused = _GcPause()
