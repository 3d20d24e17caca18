"""What a program was compiled from."""

from __future__ import annotations

from typing import Protocol

from shlo_disc.artifact import Artifact
from shlo_disc.options import CompileOptions, Hints
from shlo_disc.runtime.building.machines import TargetMachine


class Origin(Protocol):
    """What a program was compiled from: it is compiled again for other machines. `machine`: that its code is for."""

    device: str
    machine: str
    options: CompileOptions
    hints: Hints

    def source(self) -> tuple[str, str]:
        """The StableHLO text, and its name for errors."""
        ...

    def artifact(self, machine: TargetMachine) -> Artifact:
        """The program for a machine."""
        ...
