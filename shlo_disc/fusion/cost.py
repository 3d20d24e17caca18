"""Fusion's cost model: memory traffic and work, evaluated at likely sizes, in additions.

A value that a group computes for itself is neither written nor read, but its operands are read there, and its work is
repeated at every use, though hoisted out of the innermost loops on which it does not depend. A kernel takes the longer
of its memory time and its compute time (the roofline of Williams, Waterman and Patterson, CACM 2009).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add, mul, sub
from typing import TypeAlias

from shlo_disc.analysis.access import Access
from shlo_disc.analysis.reads import Reads
from shlo_disc.dynamic_ops.program import Shape, Tensor
from shlo_disc.expr.dim import Dim, Sym, product
from shlo_disc.kernels.groups import Machine

Amounts: TypeAlias = tuple[float, ...]  # one for each of the likely sizes
UNKNOWN_SIZE = 64  # assumed for sizes that are known only at run time


class _Point(defaultdict[Sym, int]):
    """Values of symbols; those without a value get `UNKNOWN_SIZE`."""

    def __init__(self, known: Mapping[Sym, int]) -> None:
        super().__init__(lambda: UNKNOWN_SIZE, known)


@dataclass(slots=True, eq=False)
class Costs:
    """Evaluates formulas of sizes at likely sizes."""

    machine: Machine
    points: Sequence[Mapping[Sym, int]]
    _known: dict[Dim, Amounts] = field(default_factory=dict[Dim, Amounts])
    _sizes: dict[Shape, Amounts] = field(default_factory=dict[Shape, Amounts])
    _tensors: dict[Tensor, Amounts] = field(default_factory=dict[Tensor, Amounts])

    @staticmethod
    def at(machine: Machine, points: Sequence[Mapping[Sym, int]]) -> Costs:
        """Costs at these points, or at `UNKNOWN_SIZE` if no legal call is known."""
        return Costs(machine, [_Point(point) for point in points] or [_Point({})])

    def amounts(self, dim: Dim) -> Amounts:
        """A dim at the points, at least 1."""
        if (known := self._known.get(dim)) is None:
            known = self._known[dim] = tuple(float(max(dim.evaluate(point), 1)) for point in self.points)
        return known

    def size(self, shape: Shape) -> Amounts:
        """The number of elements of a shape."""
        if (known := self._sizes.get(shape)) is None:
            known = self._sizes[shape] = self.amounts(product(shape))
        return known

    def memory(self, tensors: Iterable[Tensor]) -> Amounts:
        """What it costs to read, or to write, these tensors once."""
        amounts = list(map(self._tensor, tensors))
        return tuple(map(sum, zip(*amounts, strict=True))) if amounts else self.nothing

    def _tensor(self, tensor: Tensor) -> Amounts:
        if (known := self._tensors.get(tensor)) is None:
            rate = self.machine.additions_per_byte * tensor.dtype.bytes
            known = self._tensors[tensor] = times(self.size(tensor.shape), rate)
        return known

    @property
    def nothing(self) -> Amounts:
        """No cost."""
        return (0.0,) * len(self.points)

    @property
    def launch(self) -> Amounts:
        """What it costs to start a kernel."""
        return (self.machine.launch,) * len(self.points)

    def visits(self, reads: Reads, access: Access, around: Amounts) -> Amounts:
        """How often an accessed element is computed if its reader is computed `around` times.

        An access that does not depend on the reader's innermost symbols is hoisted out of its innermost loops.
        """
        used = {s for dim in access.index for s in dim.symbols()}
        space = reads.space
        if any(dim.data() for dim in access.index):
            return multiplied(around, self.amounts(reads.repetitions(access)))
        for position in range(len(space.shape) - 1, -1, -1):
            if used & space.index[position].symbols():
                break
            around = divided(around, self.amounts(space.shape[position]))
        return multiplied(around, self.amounts(reads.repetitions(access))) if reads.loops else around


def plus(a: Amounts, b: Amounts) -> Amounts:
    """Add at every point."""
    return tuple(map(add, a, b))


def minus(a: Amounts, b: Amounts) -> Amounts:
    """Subtract at every point."""
    return tuple(map(sub, a, b))


def times(a: Amounts, factor: float) -> Amounts:
    """Scale at every point."""
    return tuple([x * factor for x in a])


def multiplied(a: Amounts, b: Amounts) -> Amounts:
    """Multiply at every point."""
    return tuple(map(mul, a, b))


def divided(a: Amounts, b: Amounts) -> Amounts:
    """Divide at every point; at least 1."""
    return tuple(max(x / y, 1.0) for x, y in zip(a, b, strict=True))


def largest(a: Amounts, b: Amounts) -> Amounts:
    """The larger one at every point."""
    return tuple(map(max, a, b))


def ratio(a: Amounts, b: Amounts) -> float:
    """The average of `a / b` over the points."""
    return sum([x / max(y, 1.0) for x, y in zip(a, b, strict=True)]) / len(a)
