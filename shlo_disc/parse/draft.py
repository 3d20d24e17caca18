"""State of the parser while it reads an op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from shlo_disc.ir.attributes import Attribute, Location, Type
from shlo_disc.ir.core import Region, Value
from shlo_disc.records import record

ResultNames: TypeAlias = list[tuple[str, int, int]]  # `%a:2, %b =`: names, number of values each, and where


@dataclass(slots=True)
class OpDraft:
    """An op that is being read."""

    name: str
    at: int
    operands: list[Value] = field(default_factory=list[Value])
    operands_at: list[int] = field(default_factory=list[int])
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    results: Sequence[Type] = ()
    regions: list[Region] = field(default_factory=list[Region])
    applies: str = ""  # `reduce … applies NAME`: the region is made once the op's location is known


@record
class Count:
    """How many operands, results or regions an op takes; no `most` means any number."""

    least: int
    most: int | None

    def __str__(self) -> str:
        if self.most is None:
            return f"at least {self.least}" if self.least else "any number of"
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


@record
class Named:
    """A block argument or a group of results, before it is a value."""

    name: str
    at: int
    type: Type
    location: Location | None
