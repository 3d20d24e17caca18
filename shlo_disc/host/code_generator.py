"""What differs on a target while code is generated; `runtime/backend.py` is for what runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

from numpy.typing import NDArray

from shlo_disc.analysis.formula import Producers
from shlo_disc.artifact import SourceFile
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.emit.spelling import Spelling
from shlo_disc.host.program import HostProgram, LaunchRef
from shlo_disc.kernels.groups import Abilities, Group
from shlo_disc.passes.rewriting import Pass
from shlo_disc.schedules.tables import Scheduling


class Lowering(Protocol):
    """The kernels of one program, while they are printed."""

    abilities: ClassVar[Abilities]  # what there are templates for

    def lower(self, group: Group, /) -> LaunchRef:
        """Print the kernel of a group, or find the one of an equal group."""
        ...

    def sources(self, most: int, /) -> tuple[SourceFile, ...]:
        """All that was printed. `most`: how many files to make, where their number is a choice."""
        ...


StartLowering: TypeAlias = Callable[[Program, Producers, Scheduling], Lowering]


def _no_deviation(_program: Program, _inputs: Sequence[NDArray[Any]]) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class CodeGenerator:
    """How code for a target is generated.

    `spelling`: how formulas are written in its language, and which element types that has. Programs go through the
    passes `first`, through those of all targets, and through `last`. `start` begins to lower a program of which these
    passes are done; `print_host` prints the function that launches its kernels. `deviation` says why results may differ
    from the reference for these inputs by more than rounding, or nothing.
    """

    spelling: type[Spelling]
    first: tuple[Pass, ...]
    last: tuple[Pass, ...]
    start: StartLowering
    print_host: Callable[[Program, HostProgram], str]
    deviation: Callable[[Program, Sequence[NDArray[Any]]], str] = _no_deviation
