"""Executors of the programs of a call that runs several: they run, trace or measure each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shlo_disc.runtime.executable import Executable
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.steps import Observer


class Executor:
    """Runs programs. `keep` and `release` say which arrays are temporaries of the whole call."""

    def run(self, part: Executable, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The results of one program."""
        return part(inputs)

    def keep(self, array: Any) -> None:
        """An array stays for another program."""

    def release(self, array: Any) -> None:
        """No program needs an array any more that was kept."""


class TracingExecutor(Executor):
    """Runs programs on the VM, and shows every step."""

    def __init__(self, observe: Observer) -> None:
        self._observe = observe

    def run(self, part: Executable, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The results of one program."""
        return part.trace(inputs, self._observe)


class MeasuringExecutor(Executor):
    """Runs programs, and finds the most bytes of temporaries at a time: an arena, and what is kept."""

    def __init__(self) -> None:
        self.peak = 0
        self._arena = self._held = 0

    def run(self, part: Executable, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The results of one program."""
        self._arena = part.arena_bytes(inputs)  # before: the program may overwrite what sizes are read from
        self.peak = max(self.peak, self._arena + self._held)
        return part(inputs)

    def keep(self, array: Any) -> None:
        """An array stays; it is there before the arena goes."""
        self._held += _bytes(array)
        self.peak = max(self.peak, self._arena + self._held)

    def release(self, array: Any) -> None:
        """An array that was kept goes."""
        self._held -= _bytes(array)


def _bytes(array: Any) -> int:
    return math.prod(array.shape) * dtype_of(str(array.dtype)).itemsize
