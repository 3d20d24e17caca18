"""What a program was compiled from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from shlo_disc.artifact import Artifact
from shlo_disc.options import CompileOptions, Hints
from shlo_disc.runtime.building.machines import TargetMachine

if TYPE_CHECKING:  # the analysis, which loading does not need
    from shlo_disc.ragged.analysis import RaggedAnalysis


class Origin(Protocol):
    """What a program was compiled from: it is compiled again for other machines. `machine`: that its code is for."""

    device: str
    machine: str
    options: CompileOptions
    hints: Hints

    def source(self) -> tuple[str, str]:
        """The StableHLO text, and its name for errors."""
        ...

    def ragged_analysis(self) -> RaggedAnalysis:
        """What padding does in the program, at its ragged sizes. Raises `ShloDiscError` if it has none."""
        ...

    def artifact(self, machine: TargetMachine) -> Artifact:
        """The program for a machine."""
        ...
