"""The loops of a stage, and what the stages of a kernel share, however their bodies are printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shlo_disc.codegen.emitter import Emitter
from shlo_disc.codegen.kernel import Axis, Stage
from shlo_disc.codegen.scopes import INDENT
from shlo_disc.lower_cpu.spelling import VectorSpelling


@dataclass(frozen=True, slots=True)
class RowContext:
    """What the stages of one kernel share: `bounds` says where a loop starts and ends if not at 0 and its extent."""

    emit: Emitter
    spell: VectorSpelling
    unroll: bool
    bounds: Mapping[Axis, tuple[str, str]]


class StageLines:
    """What all ways of printing a stage share."""

    def __init__(self, row: RowContext, stage: Stage) -> None:
        self.row, self.stage = row, stage
        self.emit, self.spell = row.emit, row.spell

    def bounds(self, axis: Axis) -> tuple[str, str]:
        """First index of a loop, and the one after the last."""
        if (known := self.row.bounds.get(axis)) is not None:
            return known
        return "0", self.emit.dim_scalar(axis.extent)

    def head(self, axis: Axis) -> str:
        name = axis.symbol.name.removeprefix("%")
        first, last = self.bounds(axis)
        return f"for (int64_t {name} = {first}; {name} < {last}; ++{name}) {{"

    def nest(self, axes: Sequence[Axis], body: list[str]) -> list[str]:
        """Loops around a body; their bounds were printed before."""
        heads = [self.head(axis) for axis in axes]
        lines = [INDENT * depth + head for depth, head in enumerate(heads)]
        lines += [INDENT * len(heads) + line for line in body]
        return lines + [INDENT * depth + "}" for depth in range(len(heads) - 1, -1, -1)]
