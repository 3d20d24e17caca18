"""What an analysis notes beside states: causes of dependence, and assumptions about the elements of a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shlo_disc.dynamic_ops.program import Op
from shlo_disc.ragged.states import Cause
from shlo_disc.records import record


@record(eq=False)
class MaskAssumption:
    """An assumption of a proof: at `op`, elements are small beside the mask `least`."""

    op: Op[Any]
    least: float


@dataclass(slots=True)
class Notes:
    """Notes of one analysis."""

    assumptions: dict[Op[Any], MaskAssumption] = field(default_factory=dict[Op[Any], MaskAssumption])
    _causes: dict[tuple[Op[Any], Cause, bool, str], Cause] = field(
        default_factory=dict[tuple[Op[Any], Cause, bool, str], Cause]
    )

    def cause(self, op: Op[Any], before: Cause, *, leaks: bool = False, what: str = "") -> Cause:
        """The cause that an op passes on."""
        key = op, before, leaks, what
        if key not in self._causes:
            self._causes[key] = Cause(what or op.name.removeprefix("d_"), op.span, before, leaks)
        return self._causes[key]

    def assume_small(self, op: Op[Any], least: float) -> None:
        """Note that a proof needs elements that are small beside the mask `least`."""
        self.assumptions[op] = MaskAssumption(op, least)
