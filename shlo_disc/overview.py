"""What the compiler knew and decided, as plain data: for `explain`, and for the report in a browser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FactText:
    """Something that holds for every call, and why.

    `subject`: the symbol, or the value of the program and its dim, that the fact is about. `where` is a line of the
    StableHLO text, `origin` the user's line of Python (or empty). `because`: numbers of the facts that it follows from.
    """

    subject: str
    text: str
    reason: str
    where: str
    origin: str = ""
    because: tuple[int, ...] = ()

    def __str__(self) -> str:
        place = self.origin or self.where
        return f"{self.text}, because {self.reason} at {place}"


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything that people may ask about a compiled program. `topics`: texts for `explain`, by topic."""

    facts: tuple[FactText, ...] = ()
    topics: Mapping[str, str] = field(default_factory=dict[str, str])
