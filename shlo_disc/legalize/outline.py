"""Outlining: regions as separate programs, where sizes become known only while a loop or a branch runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from shlo_disc.dynamic_ops.program import Program
from shlo_disc.dynamic_ops.size_values import KnownElements
from shlo_disc.expr.dim import Sym
from shlo_disc.ir import core as ir
from shlo_disc.records import record

T = TypeVar("T")


class NeedsOutlining(Exception):  # noqa: N818 - it is no error: the program is legalized again
    """A loop or a branch computes sizes while it runs."""

    def __init__(self, op: ir.Op) -> None:
        super().__init__(op.name)
        self.op = op


class NeedsGuard(Exception):  # noqa: N818 - as above
    """A loop has demands on sizes, and may have no iteration."""

    def __init__(self, op: ir.Op) -> None:
        super().__init__(op.name)
        self.op = op


@record
class NextIteration:
    """The condition that a loop's body evaluates last, on those of its results that vary between iterations."""

    condition: ir.Block
    varies: tuple[bool, ...]

    def of(self, values: Sequence[T]) -> list[T]:
        """Select the values that vary from those that a loop carries."""
        return [x for x, changes in zip(values, self.varies, strict=True) if changes]


@record
class Outline:
    """A region of an op as a program that takes `arguments`: its own, and what it captures.

    `known` are captured values that are known as dims; `size_of(k, axis)` in them is a size of argument k.
    `number` distinguishes the regions of an op. The body of a loop returns
    what varies, and whether there is a next iteration: one program per iteration instead of two.
    """

    op: ir.Op
    block: ir.Block
    number: int
    name: str
    arguments: tuple[ir.Value, ...]
    known: tuple[tuple[ir.Value, KnownElements], ...]
    next_iteration: NextIteration | None = None


def size_of(argument: int, axis: int) -> Sym:
    """The placeholder for a size of an outline's argument, independent of its name in the program."""
    return Sym(f"#{argument}.{axis}")


@dataclass(slots=True)
class Outliner:
    """The outlined ops of one module, and the programs made of their regions.

    Loops in `guards` are wrapped in a case: one branch without iterations, one with the loop.
    """

    legalize: Callable[[Outline], Program]
    ops: set[ir.Op] = field(default_factory=set[ir.Op])
    guards: dict[ir.Op, tuple[ir.Region, ir.Region]] = field(default_factory=dict[ir.Op, tuple[ir.Region, ir.Region]])
    _programs: dict[Outline, Program] = field(default_factory=dict[Outline, Program])

    def guard(self, op: ir.Op) -> None:
        """Wrap the loop in a case."""
        ends = op.regions[1].block.ops[-1]
        without, within = (replace(ends, operands=values) for values in (op.operands, op.results))
        stays, runs = ir.Block((), (without,)), ir.Block((), (op, within))
        self.guards[op] = ir.Region((stays,)), ir.Region((runs,))

    def program(self, outline: Outline) -> Program:
        """The program of a region, made once."""
        if (found := self._programs.get(outline)) is None:
            found = self._programs[outline] = self.legalize(outline)
        return found
