"""What a seed is, the rows that it measures, and how two calls are timed against each other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from benchmarks.timing import Call, time_in_turns
from shlo_disc import CompileOptions

ROUNDS = 15
TURN = 0.02  # seconds of a turn, at least one call
WARM_UP = 3

Compilation: TypeAlias = Literal["in", "out", "only", "-"]  # "only": nothing runs; "-": nothing is compiled


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is measured. `lengths`: the file of real lengths, which may be missing."""

    quick: bool
    lengths: Path

    @property
    def options(self) -> CompileOptions:
        """Those of all programs whose calls are timed: one thread; where there is little time, compiled fast."""
        return CompileOptions(threads=1, optimize=0 if self.quick else 3)

    def pick(self, all_of_them: tuple[Any, ...], quick: int = 1) -> tuple[Any, ...]:
        """All, or the first few where there is little time."""
        return all_of_them[:quick] if self.quick else all_of_them


@dataclass(frozen=True, slots=True)
class Row:
    """One number.

    Attributes:
        what: is measured.
        value: the number, or a sentence where there is none.
        unit: of it; "x" for ratios, below 1 where ours is faster or less.
        dynamic: the axes that vary between calls of the one program.
        compilation: whether the number has compilation in it.
    """

    what: str
    value: float | str
    unit: str
    dynamic: str
    compilation: Compilation

    def to_json(self) -> Mapping[str, Any]:
        """Its fields."""
        return asdict(self)

    @property
    def text(self) -> str:
        """The value with its unit.

        >>> Row("", 0.1234, "x", "", "-").text, Row("", 1234.0, "us", "", "-").text, Row("", 3, "kernels", "", "-").text
        ('0.123 x', '1,234 us', '3 kernels')
        """
        if isinstance(self.value, str):
            return self.value
        if isinstance(self.value, int):
            number = f"{self.value:,}"
        else:
            number = f"{self.value:.3g}" if abs(self.value) < 1000 else f"{self.value:,.0f}"
        return f"{number} {self.unit}".strip()


@dataclass(frozen=True, slots=True)
class Seed:
    """A system that shlo_disc follows.

    Attributes:
        name: of the system.
        paper: authors, title, venue.
        headline: what the paper reports, on its hardware and against its peers.
        source: the part of the paper that the headline is from.
        weaker: where ours, or what is measured here, does less than the original.
        measure: yields the rows.
    """

    name: str
    paper: str
    headline: str
    source: str
    weaker: str
    measure: Callable[[Settings], Iterator[Row]]


def least(*calls: Call) -> list[float]:
    """The least processor seconds of a call of each, in turns: what else the machine does counts little."""
    return [min(seconds) for seconds in time_in_turns(calls, ROUNDS, TURN, WARM_UP, time.process_time)]


def at(shape: tuple[int, ...]) -> str:
    """A shape in the names of rows.

    >>> at((4, 64))
    '4 x 64'
    """
    return " x ".join(map(str, shape))
