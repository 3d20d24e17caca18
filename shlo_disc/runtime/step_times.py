"""The times of the steps of a call: what each target notes of a program that is profiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from shlo_disc.artifact import Artifact
from shlo_disc.records import record
from shlo_disc.runtime.selection import SelectionTrace


@record
class StepTime:
    """One run of a step: its number among those that are `executed`, and when it began and ended, in nanoseconds."""

    step: int
    began: int
    ended: int


@record
class TimedRun:
    """One run of a program, or of a part of one.

    Attributes:
        artifact: the program.
        symbols: the values of its sizes.
        times: of its steps, in the order in which they ran.
        lost: how many steps ran beyond those in `times`, as there was no room to note them; 0 but in the first runs.
        threads: that launches may be shared among; 1 on a GPU.
        choices: on a GPU, how the variant of each choice was chosen, by number.
    """

    artifact: Artifact
    symbols: Mapping[str, int]
    times: tuple[StepTime, ...]
    lost: int
    threads: int
    choices: tuple[SelectionTrace, ...] = ()


Note: TypeAlias = Callable[[TimedRun], None]
