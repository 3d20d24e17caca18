"""A program of a generalization, and which calls it serves with which further arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shlo_disc.expr.dim import Sym as Symbol
from shlo_disc.expr.dim import const, symbol
from shlo_disc.jit.abstraction import Abstraction, Sizes
from shlo_disc.jit.generalized.generalization import Generalization
from shlo_disc.jit.leaves import LeafType
from shlo_disc.jit.program import TracedProgram
from shlo_disc.jit.tracing import Trace


@dataclass(frozen=True)
class GeneralProgram:
    """A program for all sizes of a generalization.

    `carried` are sizes that its other arguments do not give: those of one more, last argument without elements.
    """

    generalization: Generalization
    program: TracedProgram
    carried: tuple[Symbol, ...] = ()

    @property
    def further(self) -> int:
        """How many arguments it takes after the function's own."""
        return len(self.generalization.given) + bool(self.carried)

    def further_arguments(self, sizes: Sizes, fixed: Trace) -> list[Any] | None:
        """These arguments; None if it is not what the trace at these sizes says."""
        found = self.program.trace
        if not found.allows(sizes):
            return None
        given = self.generalization.match(fixed.jaxpr, sizes)
        if given is None or (found.broken(sizes) and not self.program.agrees(sizes, fixed)):
            return None
        carrier = [np.zeros((*[sizes[one] for one in self.carried], 0), bool)] if self.carried else []
        return [*given, *carrier]


def arguments_of(found: Generalization) -> tuple[Abstraction, list[LeafType], tuple[Symbol, ...]]:
    """The shapes and types of all arguments of its program, and the sizes that the last one is there for."""
    every = Abstraction((*found.argument_shapes, *found.shapes))
    types = [*found.argument_types, *found.types]
    unknown = {*every.undefined, *[one.name for one in found.symbols if one not in every.symbols]}
    carried = tuple([one for one in found.symbols if one.name in unknown])
    if not carried:
        return every, types, ()
    carrier = (*[symbol(one.name) for one in carried], const(0))
    return Abstraction((*every.shapes, carrier)), [*types, LeafType(np.dtype(bool), len(carrier))], carried
