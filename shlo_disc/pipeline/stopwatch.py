"""The time that each stage of a compilation takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shlo_disc.boundary import boundary

if TYPE_CHECKING:  # programs in the cache need no planner
    from shlo_disc.dynamic_ops.program import Body
    from shlo_disc.kernels.groups import Context, Fuse, FusionPlan


class Stopwatch:
    """Seconds spent in each named stage; those of a stage inside another one count for the inner one alone."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds = dict[str, float]()
        self._clock = clock
        self._inside = 0.0  # seconds of the stages within the current one

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        before, self._inside = self._inside, 0.0
        start = self._clock()
        with boundary(name):
            yield
        took = self._clock() - start
        self.seconds[name] = self.seconds.get(name, 0.0) + took - self._inside
        self._inside = before + took

    def timed(self, name: str, fuse: Fuse) -> Fuse:
        """Time a fusion planner as a stage."""

        def watched(body: Body, context: Context) -> FusionPlan:
            with self.stage(name):
                return fuse(body, context)

        return watched
