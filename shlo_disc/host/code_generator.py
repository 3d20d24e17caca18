"""The target-specific part of code generation; `runtime/backend.py` is that of the runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias

from numpy.typing import NDArray

from shlo_disc.analysis.formula import Producers
from shlo_disc.artifact import SourceFile
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.emit.spelling import Spelling
from shlo_disc.host.program import HostProgram, LaunchRef
from shlo_disc.kernels.groups import Abilities, Group
from shlo_disc.passes.rewriting import Pass
from shlo_disc.records import record
from shlo_disc.schedules.tables import Scheduling


class Lowering(Protocol):
    """Prints the kernels of one program."""

    abilities: ClassVar[Abilities]  # which templates exist

    def lower(self, group: Group, /) -> LaunchRef:
        """Print the kernel of a group, or find the one of an equal group."""
        ...

    def sources(self, most: int, /) -> tuple[SourceFile, ...]:
        """All printed files, at most `most` where the target can choose their number."""
        ...


StartLowering: TypeAlias = Callable[[Program, Producers, Scheduling], Lowering]


def no_host(_program: Program, _host: HostProgram) -> str:
    """No text: the steps of the artifact are the host program."""
    return ""


def _no_deviation(_program: Program, _inputs: Sequence[NDArray[Any]]) -> str:
    return ""


@record
class CodeGenerator:
    """How code for a target is generated.

    `spelling`: how formulas are written in its language, and which element types that has. The passes `first` run
    before those of all targets, `last` after them. `start` begins to lower a program after these passes; `print_host`
    prints the function that launches its kernels (`no_host`: none). `deviation` returns why results for these inputs
    may differ from the reference by more than rounding, or an empty string.
    """

    spelling: type[Spelling]
    first: tuple[Pass, ...]
    last: tuple[Pass, ...]
    start: StartLowering
    print_host: Callable[[Program, HostProgram], str]
    deviation: Callable[[Program, Sequence[NDArray[Any]]], str] = _no_deviation
