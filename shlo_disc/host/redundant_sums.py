"""The order of sums of sizes, for all sizes: finds the sums that a maximum need not compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from shlo_disc.expr.dim import Atom, Dim, FloorDiv, Product, Sym, const, of, product, total
from shlo_disc.expr.facts import Facts
from shlo_disc.records import record

_MOST_PROOFS = 16  # differences after which the facts are no longer used: a proof may take a millisecond


@record
class Sum:
    """A dim, the same with every atom relative to its least value, and its values at the points."""

    dim: Dim
    shifted: Dim
    values: tuple[int, ...]


Front: TypeAlias = tuple[Sum, ...]


class SumOrder:
    """Compares sums under facts.

    Mostly weight by weight: with `b >= 1` written as `1 + b'`, a sum whose weights are all at least those of another
    is never smaller, as all factors are nonnegative. Sizes that were rounded up are bounded by what they were rounded
    from. The facts decide what remains, a limited number of times.
    """

    def __init__(self, facts: Facts, points: Sequence[Mapping[Sym, int]]) -> None:
        self._facts, self._points = facts, points
        self._least = dict[Atom, int | None]()
        self._proofs = dict[Dim, bool]()
        self._shifts = dict[Dim, Dim]()

    def front(self, dim: Dim) -> Front:
        """The front of a single sum."""
        symbols_known = all(dim.symbols() <= point.keys() for point in self._points)
        values = tuple(dim.evaluate(point) for point in self._points) if symbols_known else ()
        return (Sum(dim, self._shifted(dim), values),)

    def named(self, name: Sym, front: Front) -> Front:
        """A symbol that stands for the largest of some sums."""
        values = zip(*(s.values for s in front), strict=False)
        return (Sum(of(name), of(name), tuple(map(max, values))),)

    def raised(self, front: Front, size: Dim) -> Front:
        """Each sum plus a size."""
        if not front:
            return self.front(size)
        ((_, shifted, values),) = [(s.dim, s.shifted, s.values) for s in self.front(size)]
        return tuple(
            Sum(s.dim + size, s.shifted + shifted, tuple(a + b for a, b in zip(s.values, values, strict=False)))
            for s in front
        )

    def highest(self, fronts: Iterable[Front]) -> Front:
        """The sums of which one is the largest, whatever the sizes, without those that another always reaches."""
        found = list[Sum]()
        for candidate in dict.fromkeys(s for front in fronts for s in front):
            if any(self._covers(kept, candidate) for kept in found):
                continue
            found = [kept for kept in found if not self._covers(candidate, kept)]
            found.append(candidate)
        return tuple(found)

    def _covers(self, high: Sum, low: Sum) -> bool:
        """Whether `high` is proven to be at least `low`."""
        if any(a < b for a, b in zip(high.values, low.values, strict=False)):
            return False
        if self._is_nonnegative(high.shifted - low.shifted):
            return True
        difference = high.dim - low.dim
        known = self._proofs.get(difference)
        if known is None:
            known = self._proofs[difference] = self._proven(difference)
        return known

    def _proven(self, difference: Dim) -> bool:
        least = total(_least(factors, weight) for factors, weight in difference.terms)
        if self._is_nonnegative(self._shifted(least)):
            return True
        if len(self._proofs) >= _MOST_PROOFS or not all(isinstance(a, Sym) for f, _ in least.terms for a in f):
            return False
        return self._facts.at_least(least, 0).is_true

    def _is_nonnegative(self, shifted: Dim) -> bool:
        return all(w >= 0 and all(self._lowest(atom) is not None for atom in f) for f, w in shifted.terms)

    def _shifted(self, dim: Dim) -> Dim:
        if (known := self._shifts.get(dim)) is None:
            known = self._shifts[dim] = dim.replace_top(lambda atom: of(atom) + const(self._lowest(atom) or 0))
        return known

    def _lowest(self, atom: Atom) -> int | None:
        """The least value of an atom if it is at least 0; offsets and rounded sizes have no facts of their own."""
        if atom not in self._least:
            low = self._facts.interval(of(atom))[0]
            self._least[atom] = low if low is not None and low >= 0 else None
        return self._least[atom]


def _least(factors: Product, weight: int) -> Dim:
    """A lower bound of a term, without the division of a size that was rounded up."""
    if len(factors) == 1 and isinstance(rounded := factors[0], FloorDiv):
        divisor = rounded.denominator.constant or 0
        if divisor and weight % divisor == 0:
            return (rounded.numerator - (divisor - 1 if weight > 0 else 0)) * (weight // divisor)
    return product(map(of, factors)) * weight
