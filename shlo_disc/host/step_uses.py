"""When the steps of a host program run, and which memory they use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from shlo_disc.host.program import HostStep, LaunchStep, bodies_of, slots_of
from shlo_disc.host_ir import Case, Copy, LaunchGroup, While


class StepUses:
    """The steps of a program, numbered in program order, and the homes that they use.

    Attributes:
        count: of all steps, with those in nested bodies.
        last: the number of the last step that uses a home, by home; for uses in a loop, the number of the loop's end.
    """

    def __init__(self, steps: Sequence[HostStep], home: Callable[[int], int]) -> None:
        self._home = home
        self._numbers = dict[int, int]()  # of steps, by their ids
        self._written = dict[int, frozenset[int]]()  # the homes that a loop or a case writes, by its id
        self.last = dict[int, int]()
        self._number(steps)
        self.count = len(self._numbers)

    def number(self, step: HostStep) -> int:
        """The number of a step."""
        return self._numbers[id(step)]

    def _number(self, steps: Sequence[HostStep]) -> None:
        for step in steps:
            self._numbers[id(step)] = len(self._numbers)
            for body in bodies_of(step):
                self._number(body)
            self.last.update((self._home(slot), len(self._numbers) - 1) for slot in slots_of(step))

    def homes_written(self, steps: Sequence[HostStep]) -> frozenset[int]:
        """The homes that steps write, also in nested bodies."""
        found = set[int]()
        for step in steps:
            match step:
                case LaunchStep(written=written):
                    found.update(map(self._home, written))
                case Copy(_, target):
                    found.add(self._home(target))
                case LaunchGroup(members):
                    found.update(self._home(slot) for member in members for slot in member.launch.written)
                case While() | Case():
                    if id(step) not in self._written:
                        inner = [one for body in bodies_of(step) for one in body]
                        self._written[id(step)] = self.homes_written(inner)
                    found |= self._written[id(step)]
                case _:
                    assert_never(step)
        return frozenset(found)
