"""Bounds of dims and proofs that a dim is never negative, from what is known about its atoms.

Every proof is sound; none is complete. As in `dim`, a divisor counts as not zero.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, lcm
from typing import assert_never

from shlo_disc.expr import polynomial
from shlo_disc.expr.assumed import Assumptions
from shlo_disc.expr.bounds import bounds
from shlo_disc.expr.dim import Atom, Data, Dim, FloorDiv, Max, Min, Mod, Product, Sym, const, of
from shlo_disc.expr.intervals import UNBOUNDED, Interval, greatest, least, meet, quotient, remainder, times
from shlo_disc.expr.scalar import Bounds, as_scalar
from shlo_disc.records import record

DEPTH = 8  # nested steps of one proof; real proofs need three or four
WORK = (
    64  # terms of the dims in all steps of one proof; successful ones need two dozen: bounds the cost of hopeless ones
)
# Combinations with assumptions in one proof; successful ones need at most five: bounds the cost of each assumption.
MOST_TRIES = 16
HIGHEST_POWER = 1  # of a name that is written out
MOST_SHIFTED = 512  # factors of a dim whose atoms are shifted by their bounds, before like terms are combined


class _HopelessError(Exception):
    """A proof exceeded its budget of work."""


class Prover:
    """Proves claims from fixed assumptions, with memoization."""

    def __init__(self, given: Assumptions) -> None:
        self._given = given
        self._intervals: dict[Atom, Interval] = {}
        self._divisors: dict[Atom, int] = {}
        self._proofs: dict[Dim, bool] = {}
        self._data: dict[Data, Bounds] = {}
        self._known: dict[frozenset[Atom], list[Dim]] = {}
        self._left = self._tries = 0  # budgets left to the current proof

    def interval(self, dim: Dim) -> Interval:
        """Bound a dim term by term; None: no bound."""
        low: int | None = 0
        high: int | None = 0
        for factors, weight in dim.terms:
            bounds: Interval = (weight, weight)
            for atom in factors:
                bounds = times(bounds, self._atom_interval(atom))
            low = None if low is None or bounds[0] is None else low + bounds[0]
            high = None if high is None or bounds[1] is None else high + bounds[1]
        return low, high

    def nonnegative(self, dim: Dim) -> bool:
        """Whether there is a proof of `dim >= 0`. The dim must be canonical."""
        known = self._proofs.get(dim)
        if known is None:
            known = self._proofs[dim] = self._is_known(dim) or self._is_proven(dim) or self._is_proven_unfolded(dim)
        return known

    def divisor(self, dim: Dim) -> int:
        """Find the largest known integer that divides `dim`; 0 for the dim 0."""
        result = 0
        for factors, weight in dim.terms:
            common = abs(weight)
            for atom in factors:
                if (known := self._divisors.get(atom)) is None:
                    known = self._divisors[atom] = self._atom_divisor(atom)
                common *= known
            result = gcd(result, common)
        for multiple, k in self._given.multiples:
            quotient, rest = polynomial.divide(dim.terms, multiple.terms)
            if not rest and result:
                result = lcm(result, k * polynomial.content(quotient))
        return result

    def _atom_divisor(self, atom: Atom) -> int:
        match atom:
            case Sym() | Data() | FloorDiv():
                return 1
            case Mod(numerator, denominator):
                return gcd(self.divisor(numerator), self.divisor(denominator)) or 1
            case Min(members) | Max(members):
                return gcd(*map(self.divisor, members)) or 1
            case _:
                assert_never(atom)

    def _atom_interval(self, atom: Atom) -> Interval:
        found = self._intervals.get(atom)
        if found is None:
            found = meet(self._structural_interval(atom), self._given.limits.get(atom, UNBOUNDED))
            self._intervals[atom] = found
        return found

    def _structural_interval(self, atom: Atom) -> Interval:
        match atom:
            case Sym():
                bounds = self._given.ranges.get(atom)
                return (self.interval(bounds[0])[0], self.interval(bounds[1])[1]) if bounds else UNBOUNDED
            case Data():
                low, high = self._data_bounds(atom)
                return (
                    None if low is None else self.interval(low)[0],
                    None if high is None else self.interval(high)[1],
                )
            case FloorDiv(numerator, denominator):
                return quotient(self.interval(numerator), self.interval(denominator))
            case Mod(numerator, denominator):
                return remainder(self.interval(numerator), self.interval(denominator))
            case Min(members):
                lows, highs = zip(*map(self.interval, members), strict=True)
                return least(lows, every=True), least(highs, every=False)
            case Max(members):
                lows, highs = zip(*map(self.interval, members), strict=True)
                return greatest(lows, every=False), greatest(highs, every=True)
            case _:
                assert_never(atom)

    def _prove(self, dim: Dim, depth: int) -> bool:
        low, high = self.interval(dim)
        if low is not None and low >= 0:
            return True
        if (high is not None and high < 0) or depth == 0:
            return False
        self._left -= 1 + len(dim.terms)
        if self._left <= 0:
            raise _HopelessError
        index = self._index_to_eliminate(dim)
        if index is not None:
            return self._prove_ends(dim, index, depth - 1)
        return (
            self._prove_shifted(dim)
            or self._prove_factored(dim, depth - 1)
            or any(self._prove_without(dim, atom, depth - 1) for atom in _composites(dim))
            or self._prove_from_known(dim, depth - 1)
        )

    def _is_proven(self, dim: Dim) -> bool:
        self._left, self._tries = WORK, MOST_TRIES
        try:
            return self._prove(dim, DEPTH)
        except _HopelessError:
            return False

    def _is_proven_unfolded(self, dim: Dim) -> bool:
        """Retry with the latest name replaced by its formula; only that one, as the dim grows with each.

        Powers of a name are not expanded: they would be far longer than the formula that got the name.
        """
        symbols, names = dim.symbols(), self._given.names
        latest = max((sym for sym in symbols if sym in names), key=names.place, default=None) if names else None
        if latest is None or max(factors.count(latest) for factors, _ in dim.terms) > HIGHEST_POWER:
            return False
        return self._is_proven(dim.substitute({latest: names[latest]}))

    def _is_known(self, dim: Dim) -> bool:
        """Whether it is an assumed dim plus something nonnegative; proof steps may decompose it beyond recognition."""
        lows = (self.interval(dim - one)[0] for one in self._known_about(dim, dim))
        return any(low is not None and low >= 0 for low in lows)

    def _known_about(self, dim: Dim, goal: Dim) -> list[Dim]:
        """The dims that were assumed never to be negative and share a symbol with this one.

        Assumptions about sizes that become known during a call are checked only then and need not hold before. So a
        proof may use them only if its goal mentions all these sizes.
        """
        atoms = dim.symbols().union(dim.data())
        found = self._known.get(atoms)
        if found is None:
            found = self._known[atoms] = self._given.known_about(atoms)
        if self._given.late:
            late = self._given.late_of(goal)
            return [one for one in found if self._given.late_of(one) <= late]
        return found

    def _index_to_eliminate(self, dim: Dim) -> Sym | None:
        """Pick the innermost index variable that `dim` is linear in."""
        for sym in reversed(tuple(self._given.ranges)):
            if isinstance(sym, Sym) and sym in dim.symbols() and dim.linear(sym) is not None:
                return sym
        return None

    def _prove_ends(self, dim: Dim, index: Sym, depth: int) -> bool:
        """Prove it at both ends of an index range: a linear function is least at one of them."""
        split = dim.linear(index)
        assert split is not None, f"{dim} was chosen because it is linear in {index}"
        lower, upper = self._given.ranges[index]
        return self._prove_between(split, lower, upper, depth)

    def _prove_between(self, split: tuple[Dim, Dim], lower: Dim, upper: Dim, depth: int) -> bool:
        slope, rest = split
        low, high = self.interval(slope)
        rising = low is not None and low >= 0
        falling = high is not None and high <= 0
        return (falling or self._prove(slope * lower + rest, depth)) and (
            rising or self._prove(slope * upper + rest, depth)
        )

    def _prove_shifted(self, dim: Dim) -> bool:
        """Shift every atom by its bound: b*s - b is b*t for s == 1 + t, and 9*b - b*s is b*u for s == 9 - u."""

        def from_below(atom: Atom) -> Dim:
            low, high = self._atom_interval(atom)
            if low is not None:
                return of(atom) + low
            return high - of(atom) if high is not None else of(atom)

        def from_the_side_that_counts(atom: Atom) -> Dim:
            high = self._atom_interval(atom)[1]
            return high - of(atom) if atom in falling and high is not None else from_below(atom)

        if self._is_a_sum_of_sizes(dim, from_below):
            return True
        terms = [factors for factors, weight in dim.terms if weight < 0]
        falling = {atom for factors in terms for atom in factors if self._atom_interval(atom)[1] is not None}
        return bool(falling) and self._is_a_sum_of_sizes(dim, from_the_side_that_counts)

    def _is_a_sum_of_sizes(self, dim: Dim, shift: Callable[[Atom], Dim]) -> bool:
        """Whether no term is negative once every atom is shifted by a bound.

        Also False where that takes more than `MOST_SHIFTED` factors to write out.
        """
        left, shifted = MOST_SHIFTED, dict[Atom, Dim]()
        for factors, _ in dim.terms:
            terms = max(1, len(factors))
            for atom in factors:
                if atom not in shifted:
                    if self._atom_interval(atom) == UNBOUNDED:
                        return False
                    shifted[atom] = shift(atom)
                terms *= max(1, len(shifted[atom].terms))
                if terms > left:
                    return False
            left -= terms
        return all(weight >= 0 for _, weight in dim.replace_top(shifted.__getitem__).terms)

    def _prove_factored(self, dim: Dim, depth: int) -> bool:
        """Take out a factor of all terms that is never negative: 256*b*s - s*s is s*(256*b - s)."""
        common = polynomial.shared(factors for factors, _ in dim.terms)
        if not common or not self._never_negative((common, 1)):
            return False
        left = [(polynomial.cancel(factors, common), weight) for factors, weight in dim.terms]
        return self._prove(Dim(polynomial.from_weights({each: w for each, w in left if each is not None})), depth)

    def _prove_without(self, dim: Dim, atom: Atom, depth: int) -> bool:
        """Substitute the worst case of a data atom, a quotient, a remainder or an extreme."""
        split = dim.linear(atom)
        if split is None:
            return False
        slope, rest = split
        match atom:
            case Sym():
                return False
            case Data():
                return self._prove_data(split, self._data_bounds(atom), depth)
            case Mod(_, denominator):
                return self._positive(denominator) and self._prove_between(split, const(0), denominator - 1, depth)
            case FloorDiv(numerator, denominator):
                return self._positive(denominator) and self._prove_quotient(split, numerator, denominator, depth)
            case Min(members):
                return self._prove_extreme(slope, rest, members, depth)
            case Max(members):
                return self._prove_extreme(-slope, rest, tuple(-member for member in members), depth)
            case _:
                assert_never(atom)

    def _data_bounds(self, data: Data) -> Bounds:
        found = self._data.get(data)
        if found is None:
            found = self._data[data] = bounds(as_scalar(data.formula), _ByIntervals(self))
        return found

    def _prove_data(self, split: tuple[Dim, Dim], ends: Bounds, depth: int) -> bool:
        """Use that an element lies between its bounds, which are not known to be in order."""
        slope, rest = split
        low, high = self.interval(slope)
        rising, falling = low is not None and low >= 0, high is not None and high <= 0
        end = ends[0] if rising else ends[1] if falling else None
        return end is not None and self._prove(slope * end + rest, depth)

    def _prove_quotient(self, split: tuple[Dim, Dim], numerator: Dim, denominator: Dim, depth: int) -> bool:
        """Use that x - d < d*(x//d) <= x. Over the integers, e > -1 is enough for e >= 0."""
        slope, rest = split
        low, high = self.interval(slope)
        if low is not None and low >= 0:
            bound = slope * (numerator - denominator + 1)
        elif high is not None and high <= 0:
            bound = slope * numerator
        else:
            return False
        return self._prove(denominator * rest + bound + denominator - 1, depth)

    def _prove_extreme(self, slope: Dim, rest: Dim, members: tuple[Dim, ...], depth: int) -> bool:
        """Prove slope*min(members) + rest >= 0."""
        low, high = self.interval(slope)
        if low is not None and low >= 0:
            return all(self._prove(slope * member + rest, depth) for member in members)
        if high is not None and high <= 0:
            return any(self._prove(slope * member + rest, depth) for member in members)
        return False

    def _prove_from_known(self, dim: Dim, depth: int) -> bool:
        """Subtract nonnegative multiples of dims that are known not to be negative, as in Farkas' lemma.

        Every combination must cancel the first term that may be negative; if only the constant is, the bounds of the
        other terms are too weak, and any of them may be cancelled. Over the integers, k*e >= 0 follows from
        k*e + k - 1 >= 0.
        """
        if not self._given.known:
            return False
        terms = [term for term in dim.terms if term[0]]
        weak = next((term for term in terms if not self._never_negative(term)), None)
        for factors, weight in terms if weak is None else [weak]:
            for one in self._known_about(Dim(((factors, 1),)), dim):
                for known_factors, known_weight in one.terms:
                    if not known_factors or (weight > 0) != (known_weight > 0):
                        continue
                    left = polynomial.cancel(factors, known_factors)
                    if left is None:
                        continue
                    scale = abs(known_weight) // gcd(weight, known_weight)
                    factor = Dim(((left, weight * scale // known_weight),))
                    low = self.interval(factor)[0]
                    if low is None or low < 0:
                        continue
                    self._tries -= 1
                    if self._tries <= 0:
                        raise _HopelessError
                    if self._prove(dim * scale + (scale - 1) - factor * one, depth):
                        return True
        return False

    def _never_negative(self, term: tuple[Product, int]) -> bool:
        low = self.interval(Dim((term,)))[0]
        return low is not None and low >= 0

    def _positive(self, divisor: Dim) -> bool:
        low = self.interval(divisor)[0]
        return low is not None and low >= 0


def _composites(dim: Dim) -> list[Atom]:
    atoms = dict.fromkeys(atom for factors, _ in dim.terms for atom in factors)
    return [atom for atom in atoms if not isinstance(atom, Sym)]


@record
class _ByIntervals:
    """Judges by intervals alone, as a query within a proof must not start another proof."""

    prover: Prover

    def interval(self, dim: Dim) -> Interval:
        return self.prover.interval(dim)

    def nonnegative(self, dim: Dim) -> bool:
        low = self.prover.interval(dim)[0]
        return low is not None and low >= 0
