"""A program's assumptions about sizes, as records that can be assumed again under other symbol names."""

from __future__ import annotations

from shlo_disc.diagnostics import Span
from shlo_disc.dynamic_ops.program import Relation
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.expr.facts import Facts, Truth
from shlo_disc.records import record


@record
class Assumption:
    """A relation between sizes, recorded so that it can be assumed again under other symbol names."""

    relation: Relation
    lhs: Dim
    rhs: Dim
    reason: str
    span: Span

    def add_to(self, facts: Facts) -> Facts:
        """Assume it in `facts`, except for `!=`, which facts cannot represent."""
        match self.relation:
            case Relation.EQ:
                return facts.assume_equal(self.lhs, self.rhs, self.reason, self.span)
            case Relation.GE:
                return facts.assume_at_least(self.lhs, self.rhs, self.reason, self.span)
            case Relation.GT:
                return facts.assume_at_least(self.lhs, self.rhs + 1, self.reason, self.span)
            case Relation.LE | Relation.LT:
                return self._mirrored.add_to(facts)
            case Relation.NE:
                return facts

    def truth(self, facts: Facts) -> Truth:
        """Whether the facts imply it, contradict it, or leave it open."""
        match self.relation:
            case Relation.EQ:
                return facts.equal(self.lhs, self.rhs)
            case Relation.GE:
                return facts.at_least(self.lhs, self.rhs)
            case Relation.GT:
                return facts.greater(self.lhs, self.rhs)
            case Relation.LE | Relation.LT:
                return self._mirrored.truth(facts)
            case Relation.NE:
                return ~facts.equal(self.lhs, self.rhs)

    @property
    def _mirrored(self) -> Assumption:
        return Assumption(self.relation.mirrored, self.rhs, self.lhs, self.reason, self.span)

    def renamed(self, names: dict[Sym, Dim]) -> Assumption:
        """The assumption with its symbols substituted."""
        lhs, rhs = self.lhs.substitute(names), self.rhs.substitute(names)
        return Assumption(self.relation, lhs, rhs, self.reason, self.span)


@record
class Definition:
    """A user-defined symbol that stands for a dim of raw sizes."""

    symbol: Sym
    dim: Dim

    def add_to(self, facts: Facts) -> Facts:
        """Express sizes in terms of the symbol from here on."""
        return facts.define(self.symbol, self.dim)

    def renamed(self, names: dict[Sym, Dim]) -> Definition:
        """The definition with its raw sizes substituted."""
        return Definition(self.symbol, self.dim.substitute(names))


@record
class Name:
    """A compiler-made symbol for a large dim of raw sizes and of earlier names."""

    symbol: Sym
    dim: Dim

    def add_to(self, facts: Facts) -> Facts:
        """Record what the symbol stands for."""
        return facts.name(self.symbol, self.dim)

    def renamed(self, names: dict[Sym, Dim]) -> Name:
        """The name with its raw sizes substituted."""
        return Name(self.symbol, self.dim.substitute(names))
