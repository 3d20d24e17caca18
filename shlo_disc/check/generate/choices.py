"""Sources of a generator's decisions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol, TypeVar

T = TypeVar("T")


class Choices(Protocol):
    """A source of decisions. 0 is the simplest one, towards which shrinking goes."""

    def below(self, count: int, /) -> int:
        """Decide on a number from 0 to `count` - 1."""
        ...


class RandomChoices:
    """Random decisions; equal seeds give equal ones."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def below(self, count: int, /) -> int:
        """Decide on a number from 0 to `count` - 1."""
        return self._random.randrange(count)


def pick(choices: Choices, items: Sequence[T]) -> T:
    """Decide on one of some items."""
    return items[choices.below(len(items))]


def chance(choices: Choices, one_in: int) -> bool:
    """Decide for something unusual, once in `one_in` times on average."""
    return choices.below(one_in) == one_in - 1
