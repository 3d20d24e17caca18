"""What differs on a target, as far as text is generated; `runtime` runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

from shlo_disc.analysis.formula import Producers
from shlo_disc.artifact import DeviceKind, SourceFile
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


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of device that programs are compiled for.

    `spelling`: how formulas are written in its language, and which element types that has. Programs go through the
    passes `first`, through those of all targets, and through `last`. `start` begins to lower a program of which these
    passes are done; `print_host` prints the function that launches its kernels.
    """

    name: DeviceKind
    spelling: type[Spelling]
    first: tuple[Pass, ...]
    last: tuple[Pass, ...]
    start: StartLowering
    print_host: Callable[[Program, HostProgram], str]
