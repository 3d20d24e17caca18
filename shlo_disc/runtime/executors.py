"""Executors for calls of several programs: run, trace or measure each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shlo_disc.runtime.executable import Executable
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.steps import Observer

if TYPE_CHECKING:  # few programs are profiled
    from shlo_disc.runtime.step_times import Note


class Executor:
    """Runs programs. `keep` and `release` delimit the lifetimes of temporaries of the whole call."""

    def run(self, part: Executable, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The results of one program."""
        return part(inputs)

    def keep(self, array: Any) -> None:
        """Note that an array stays alive for another program."""

    def release(self, array: Any) -> None:
        """Note that no program needs a kept array any more."""


class TracingExecutor(Executor):
    """Runs programs on the VM, and calls an observer after every step."""

    def __init__(self, observe: Observer) -> None:
        self._observe = observe

    def run(self, part: Executable, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The results of one program."""
        return part.trace(inputs, self._observe)


class TimingExecutor(Executor):
    """Runs programs, and notes the times of their steps."""

    def __init__(self, note: Note, *, apart: bool) -> None:
        self._note, self._apart = note, apart
        self._timed = dict[Executable, Executable]()

    def run(self, part: Executable, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The results of one program."""
        if part not in self._timed:
            self._timed[part] = part.timed(self._note, apart=self._apart)
        return self._timed[part](inputs)


class MeasuringExecutor(Executor):
    """Runs programs, and measures the peak of temporaries in bytes: the arena and kept arrays."""

    def __init__(self) -> None:
        self.peak = 0
        self._arena = self._held = 0

    def run(self, part: Executable, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The results of one program."""
        self._arena = part.arena_bytes(inputs)  # before the run, which may overwrite what sizes are read from
        self.peak = max(self.peak, self._arena + self._held)
        return part(inputs)

    def keep(self, array: Any) -> None:
        """Count an array that stays; it exists beside the arena."""
        self._held += _bytes(array)
        self.peak = max(self.peak, self._arena + self._held)

    def release(self, array: Any) -> None:
        """Discount an array that was kept."""
        self._held -= _bytes(array)


def _bytes(array: Any) -> int:
    return math.prod(array.shape) * dtype_of(str(array.dtype)).itemsize
