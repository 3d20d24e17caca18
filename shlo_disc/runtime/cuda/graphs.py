"""Recorded commands (CUDA graphs), for calls that repeat with the same sizes and the same memory.

A graph holds addresses. Two alternatives were rejected: memory of the graph's own for every argument and result costs a
copy of each at every call, also of all weights; and patching the addresses in its nodes costs about what launching the
kernels costs. So the key of a graph is sizes and addresses together. In a loop these repeat: weights stay where they
are, and the memory pool returns what the last call released. A call whose addresses never repeat pays for one look-up.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from shlo_disc.runtime.cuda.device import Graph

_KEPT = 32  # graphs
_WATCHED = 256  # keys that are counted until they are worth a graph
_CALLS_BEFORE = 2  # capturing and instantiating costs more than a few calls


class GraphCache:
    """Graphs by key; the least recently used ones are dropped."""

    def __init__(self, kept: int = _KEPT, watched: int = _WATCHED) -> None:
        self._kept, self._watched = kept, watched
        self._graphs: OrderedDict[Hashable, Graph] = OrderedDict()
        self._calls: OrderedDict[Hashable, int] = OrderedDict()
        self._lock = threading.Lock()
        self.captures = self.launches = 0

    def get(self, key: Hashable) -> Graph | None:
        """The graph of a key, to be launched; None if there is none yet."""
        with self._lock:
            found = self._graphs.get(key)
            if found is not None:
                self._graphs.move_to_end(key)
                self.launches += 1
            return found

    def find(self, key: Hashable, capture: Callable[[], Graph]) -> Graph | None:
        """The same, captured when the key comes for the third time; None if the call has to run without a graph."""
        if (found := self.get(key)) is not None:
            return found
        with self._lock:
            calls = self._calls.pop(key, 0) + 1
            if calls <= _CALLS_BEFORE:
                self._calls[key] = calls
                if len(self._calls) > self._watched:
                    self._calls.popitem(last=False)
                return None
            found = self._graphs[key] = capture()
            self.captures += 1
            self.launches += 1
            if len(self._graphs) > self._kept:
                self._graphs.popitem(last=False)
            return found
