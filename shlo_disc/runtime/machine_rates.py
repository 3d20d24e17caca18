"""What a machine can do at most, as it was measured: the limits that profiles compare steps with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from shlo_disc.records import record


@record
class MachineRates:
    """Limits of a machine with so many threads.

    Attributes:
        threads: that took part.
        copies: bytes of a working set, and the bytes per second that copies within it read and write; ascending.
        flops: floating-point operations per second of multiply-adds in registers, by type: "f32" and "f64".
    """

    threads: int
    copies: tuple[tuple[int, float], ...]
    flops: Mapping[str, float]

    def bandwidth(self, moved: int) -> float:
        """Bytes per second of copies within so many bytes: smaller working sets stay in faster caches."""
        return next((rate for size, rate in self.copies if size >= moved), self.copies[-1][1])

    def fraction(self, moved: int, flops: int, precision: str, seconds: float) -> float | None:
        """The least time of so many bytes and operations, relative to the seconds that they took."""
        if not seconds or not (moved or flops):
            return None
        return max(self._times(moved, flops, precision)) / seconds

    def bound(self, moved: int, flops: int, precision: str) -> str:
        """Which of both takes longer at the limits: "memory" or "arithmetic"; empty if there is nothing to do."""
        memory, arithmetic = self._times(moved, flops, precision)
        return "" if not (moved or flops) else "memory" if memory >= arithmetic else "arithmetic"

    def _times(self, moved: int, flops: int, precision: str) -> tuple[float, float]:
        return moved / self.bandwidth(moved), flops / self.flops[precision]


@record
class Processor:
    """What a program runs on: its name, and its limits if they are known."""

    name: str
    rates: MachineRates | None


def to_bytes(rates: MachineRates) -> bytes:
    """For the cache."""
    return json.dumps([rates.threads, rates.copies, dict(rates.flops)]).encode()


def from_bytes(data: bytes) -> MachineRates:
    """What `to_bytes` wrote. Raises `ValueError` for anything else."""
    try:
        threads, copies, flops = cast("list[Any]", json.loads(data))
        return MachineRates(
            int(threads),
            tuple([(int(size), float(rate)) for size, rate in copies]),
            {name: float(flops[name]) for name in ("f32", "f64")},
        )
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"found no rates of a machine: {error}") from error
