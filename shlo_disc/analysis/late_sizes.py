"""Sound assumptions about late sizes, which become known during a call.

A program that reads sizes from values it computes runs in partitions. Each checks the demands on the sizes that are
known there, so nothing that runs before it may rely on these checks:

- a proof uses a fact about late sizes only if its claim mentions all of them (`expr.prover`);
- a demand on late sizes is not assumed where it would imply something about other sizes alone (`LateSizes.learn`);
- where an equation eliminates a late size, the demands on that size become demands on its value, and are checked as
  soon as that is known (`LateSizes.early`). A call that fails such a check would also fail a later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from shlo_disc.analysis.assumptions import Assumption, Definition, Name
from shlo_disc.dynamic_ops.program import Relation
from shlo_disc.expr.dim import ZERO, Dim, Sym, of
from shlo_disc.expr.facts import Facts


@dataclass(slots=True)
class LateSizes:
    """The late sizes in the order in which they are read, and the values of eliminated ones (in raw sizes)."""

    symbols: list[Sym] = field(default_factory=list[Sym])
    eliminated: dict[Sym, Dim] = field(default_factory=dict[Sym, Dim])

    def learn(self, facts: Facts, assumption: Assumption) -> Facts | None:
        """The facts with an assumption; None if something could rely on it before it is checked."""
        found = assumption.add_to(facts)
        if not self.symbols or found is facts:
            return found
        solved = frozenset(found.solved_since(facts))
        if solved and not _is_ordered(found, self.symbols):
            return None
        difference = (assumption.lhs - assumption.rhs).substitute(self.eliminated)
        gone = self._eliminated_by(solved, facts, found) if solved else []
        if not gone:
            needed = facts.late_of(difference)
            return found if all(needed <= late for late in _late_of_news(facts, found)) else None
        values = _values(gone, difference if assumption.relation is Relation.EQ else None, found)
        if values is None or found.given.products != facts.given.products:
            return None
        self.eliminated = {sym: dim.substitute(values) for sym, dim in self.eliminated.items()} | values
        return found

    def _eliminated_by(self, solved: frozenset[Sym], before: Facts, facts: Facts) -> list[Sym]:
        """The late sizes that became expressed by other sizes when the `solved` symbols were solved for."""
        written = before.given.substitution
        changed = [
            sym
            for sym in self.symbols
            if sym in solved or ((dim := written.get(sym)) is not None and not solved.isdisjoint(dim.symbols()))
        ]
        return [
            sym for sym in changed if sym not in self.eliminated and sym not in facts.late_of(facts.canonical(of(sym)))
        ]

    def learn_all(self, facts: Facts, assumptions: Iterable[Assumption | Definition | Name]) -> Facts:
        """The facts with those of the assumptions that `learn` accepts."""
        facts = facts.with_late(self.symbols)
        for each in assumptions:
            found = self.learn(facts, each) if isinstance(each, Assumption) else each.add_to(facts)
            facts = facts if found is None else found
        return facts

    def early(self, demands: Iterable[Assumption], facts: Facts) -> Iterator[Assumption]:
        """Forms of demands that need fewer late sizes: with eliminated ones substituted, and canonical as in ops."""
        for one in demands if self.symbols else ():
            late = facts.late_of(one.lhs) | facts.late_of(one.rhs)
            if late:
                yield from self._earlier(one, late, facts)

    def _earlier(self, one: Assumption, late: frozenset[Sym], facts: Facts) -> Iterator[Assumption]:
        without = one.lhs.substitute(self.eliminated), one.rhs.substitute(self.eliminated)
        simplest = facts.in_raw(facts.canonical(one.lhs)), facts.in_raw(facts.canonical(one.rhs))
        for lhs, rhs in (without, simplest):
            both, difference = facts.late_of(lhs) | facts.late_of(rhs), lhs - rhs
            if difference.constant is not None:
                continue
            if facts.late_of(difference) < both:
                yield replace(one, lhs=difference, rhs=ZERO)
            elif both < late:
                yield replace(one, lhs=lhs, rhs=rhs)


def _values(gone: Sequence[Sym], equation: Dim | None, facts: Facts) -> dict[Sym, Dim] | None:
    """Values of eliminated sizes: constants, and at most one from `equation` (a dim that is 0); None if not found."""
    values = {sym: dim for sym in gone if (dim := facts.canonical(of(sym))).constant is not None}
    solved = [sym for sym in gone if sym not in values]
    if len(solved) > 1 or (solved and equation is None):
        return None
    for sym in solved:
        split = None if equation is None else equation.substitute(values).linear(sym)
        if split is None or split[0].constant not in (1, -1):
            return None
        values[sym] = -split[1] * split[0]
    return values


def _is_ordered(facts: Facts, late: Sequence[Sym]) -> bool:
    """Whether no symbol is expressed by one that becomes known after it; those not in `late` are known first."""
    order = {sym: k for k, sym in enumerate(late, start=1)}
    for sym, dim in facts.definitions:
        order[sym] = max((order.get(each, 0) for each in dim.symbols()), default=0)
    written = ((sym, facts.canonical(of(sym))) for sym in facts.solved)
    return all(order.get(each, 0) <= order.get(sym, 0) for sym, dim in written for each in dim.symbols())


def _late_of_news(before: Facts, facts: Facts) -> Iterator[frozenset[Sym]]:
    """The late sizes in each entry of the facts that is new since `before`."""
    given, old = facts.given, before.given
    new = [of(atom) for atom, _ in given.substitution.changed_since(old.substitution) if atom not in old.substitution]
    new += [of(atom) for atom, _ in given.limits.changed_since(old.limits)]
    new += [dim for _, dim in given.known.changed_since(old.known)]
    new += [dim for dim, k in given.multiples if (dim, k) not in old.multiples]
    new += [Dim(((product, 1),)) for product, equal in given.products if (product, equal) not in old.products]
    return map(given.late_of, new)
