"""Regions as programs of their own: what runs where sizes become known only while a loop or a branch runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from shlo_disc.dynamic_ops.program import Program
from shlo_disc.dynamic_ops.size_values import Contents
from shlo_disc.expr.dim import Sym
from shlo_disc.ir import core as ir


class NeedsOutlining(Exception):  # noqa: N818 - it is no error: the program is legalized again
    """A loop or a branch computes sizes while it runs."""

    def __init__(self, op: ir.Op) -> None:
        super().__init__(op.name)
        self.op = op


@dataclass(frozen=True, slots=True)
class Outline:
    """A region of an op as a program that takes `arguments`: its own, and what it captures.

    `known` are values that it captures and that are known as dims; `size_of(k, axis)` in them is a size of argument k.
    `number` tells the regions of an op apart. `is_repeated`: it is of a loop, or in one.
    """

    op: ir.Op
    block: ir.Block
    number: int
    name: str
    arguments: tuple[ir.Value, ...]
    known: tuple[tuple[ir.Value, Contents], ...]
    is_repeated: bool


def size_of(argument: int, axis: int) -> Sym:
    """Stand for a size of an argument of an outline, whatever it is called there."""
    return Sym(f"#{argument}.{axis}")


@dataclass(slots=True)
class Outliner:
    """What is outlined in one module, and the programs that were made of it."""

    legalize: Callable[[Outline], Program]
    ops: set[ir.Op] = field(default_factory=set[ir.Op])
    _programs: dict[Outline, Program] = field(default_factory=dict[Outline, Program])

    def program(self, outline: Outline) -> Program:
        """The program of a region; it is made once."""
        if (found := self._programs.get(outline)) is None:
            found = self._programs[outline] = self.legalize(outline)
        return found
