"""Proofs that one sum of sizes is at least another, for all sizes; the memory verifier relies on them.

It shares no code with `redundant_sums`, which placement uses, so that each can reveal faults of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from shlo_disc.expr.dim import Atom, Dim, FloorDiv, Max, Min, Mod, Product, Sym, const, of, product, total
from shlo_disc.expr.facts import Facts

_MOST_STEPS = 400  # of one proof


class SizeOrder:
    """Proves under facts; `definitions` are symbols that stand for other sums, each in terms of those before it.

    `points` are some values of all symbols: what is false there is not attempted. What is true there, but not proven
    within `most` steps in all, becomes one of the `conditions` if it is true at `more` points too: a sum that must be
    at least 0 at the sizes of every call, or the program must not run.
    """

    def __init__(
        self,
        facts: Facts,
        definitions: Sequence[tuple[Sym, Dim]],
        points: Sequence[Mapping[Sym, int]],
        most: int,
        more: Callable[[], Sequence[Mapping[Sym, int]]] = tuple,
    ) -> None:
        self._facts, self._points, self._left = facts, points, most
        self._more, self._further = more, None  # points that are only made if they are needed
        self._defined = dict(definitions)
        self._place = {symbol: k for k, (symbol, _) in enumerate(definitions)}
        self._known = dict[tuple[Dim, bool, bool], bool]()
        self._lows = dict[Atom, int | None]()
        self._products = dict[tuple[Product, int], int]()
        self._multiples = dict[tuple[Dim, int], bool]()
        self._steps = 0
        self.conditions = dict[Dim, None]()

    def holds_in_calls(self, dim: Dim) -> bool:
        """Whether a sum is at least 0 in every call that runs: by a proof, or else by a condition."""
        return self.at_least(dim, Dim()) or self.make_condition(dim)

    def make_condition(self, dim: Dim) -> bool:
        """Make it a condition that a sum is at least 0; False if it is negative at some point."""
        if dim.constant is not None:
            return dim.constant >= 0
        if self._further is None:
            self._further = self._more()
        if any(value < 0 for value in self._values(dim)) or any(dim.evaluate(point) < 0 for point in self._further):
            return False
        self.conditions[dim] = None
        return True

    def at_least(self, high: Dim, low: Dim) -> bool:
        """Whether `high >= low` is proven."""
        difference = high - low
        if difference.constant is not None:
            return difference.constant >= 0
        if not self.is_proving:
            return False
        for asks in (False, True):
            self._steps = 0
            found = self._nonnegative(difference, asks=asks)
            self._left -= self._steps
            if found:
                return True
        # Maxima and minima that are factors are not taken apart one by one: the facts decide about those.
        return all(value >= 0 for value in self._values(difference)) and self._facts.at_least(high, low).is_true

    @property
    def is_proving(self) -> bool:
        """Whether proof steps are left."""
        return self._left > 0

    def is_multiple(self, dim: Dim, of_: int) -> bool:
        """Whether a sum is proven to be a multiple of a number."""
        key = dim, of_
        if key not in self._multiples:
            self._multiples[key] = all(
                weight % of_ == 0 or any(self._atom_is_multiple(atom, of_) for atom in factors)
                for factors, weight in dim.terms
            )
        return self._multiples[key]

    def _atom_is_multiple(self, atom: Atom, of_: int) -> bool:
        match atom:
            case Sym() if atom in self._defined:
                return self.is_multiple(self._defined[atom], of_)
            case Max(members) | Min(members):
                return all(self.is_multiple(one, of_) for one in members)
            case _:
                return False

    def _nonnegative(self, dim: Dim, *, asks: bool) -> bool:
        """Whether a sum is proven to be at least 0; `asks`: by the facts too, which takes much longer.

        For a maximum that is added, a proof with one of its members suffices; for one subtracted, all need a proof.
        """
        key = dim, asks, True
        if key not in self._known:
            if self._is_over():
                return False
            self._known[key] = self._reaches(dim, asks=asks) or self._holds_for_all(dim, asks=asks)
        return self._known[key]

    def _holds_for_all(self, dim: Dim, *, asks: bool) -> bool:
        """Prove a sum for all alternatives of one term: the last defined of those that need all (`_needs_all`)."""
        terms = [term for term in self._defined_terms(dim) if _needs_all(*term)]
        if not terms or any(value < 0 for value in self._values(dim)):
            return False
        return all(self._nonnegative(option, asks=asks) for option in self._options(dim, *terms[0]))

    def _reaches(self, dim: Dim, *, asks: bool) -> bool:
        """Prove a sum by the lowest values of atoms, or by one alternative of an added term; else by the facts."""
        if (number := dim.constant) is not None:
            return number >= 0
        key = dim, asks, False
        if key not in self._known:
            if self._is_over():
                return False
            self._known[key] = self._found(dim, asks=asks)
        return self._known[key]

    def _found(self, dim: Dim, *, asks: bool) -> bool:
        if any(value < 0 for value in self._values(dim)):
            return False
        if self._is_plain(dim):
            return True
        terms = self._defined_terms(dim)
        added = [term for term in terms if not _needs_all(*term)]
        if added:
            options = [one for one in self._options(dim, *added[0]) if all(value >= 0 for value in self._values(one))]
            return any(map(self._by_lows, options)) or any(self._reaches(option, asks=asks) for option in options)
        return asks and not terms and any(self._facts.at_least(one, 0).is_true for one in (dim, _without_rounding(dim)))

    def _is_over(self) -> bool:
        """Whether a proof has taken too long; counts a step of it."""
        self._steps += 1
        return self._steps > _MOST_STEPS

    def _options(self, dim: Dim, atom: Atom, weight: int) -> list[Dim]:
        """The sum with each alternative of an atom in its place."""
        rest = dim - of(atom) * weight
        return [rest + each * weight for each in self._alternatives(atom)]

    def _values(self, dim: Dim) -> Iterator[int]:
        """The values of a sum at the points; products are cached, as offsets share them."""
        for k, point in enumerate(self._points):
            found = 0
            for factors, weight in dim.terms:
                key = factors, k
                if key not in self._products:
                    self._products[key] = product(map(of, factors)).evaluate(point)
                found += weight * self._products[key]
            yield found

    def _is_plain(self, dim: Dim) -> bool:
        """Whether a sum is nonnegative by the lowest values of atoms alone."""
        return any(map(self._by_lows, (dim, _without_rounding(dim), self._with_larger_parts(dim))))

    def _by_lows(self, dim: Dim) -> bool:
        """Whether no term is negative if every atom is written as its lowest value plus an excess.

        The factors of a negative term must be among those of a positive one, or it is a constant.
        """
        negative = [set(factors) for factors, weight in dim.terms if weight < 0 and factors]
        positive = [set(factors) for factors, weight in dim.terms if weight > 0]
        if not all(any(part <= whole for whole in positive) for part in negative):
            return False
        if not all(self._low(atom) is not None for factors, _ in dim.terms for atom in factors):
            return False
        if all(weight > 0 for _, weight in dim.terms):
            return True
        shifted = dim.replace_top(lambda atom: of(atom) + const(self._low(atom) or 0))
        return all(weight >= 0 for _, weight in shifted.terms)

    def _low(self, atom: Atom) -> int | None:
        """The lowest value of an atom, if that is at least 0."""
        if atom not in self._lows:
            low = self._lowest(atom)
            self._lows[atom] = low if low is not None and low >= 0 else None
        return self._lows[atom]

    def _lowest(self, atom: Atom) -> int | None:
        match atom:
            case Sym() if atom in self._defined:
                return self._low_of(self._defined[atom])
            case Max(members):
                return max((low for low in map(self._low_of, members) if low is not None), default=None)
            case Min(members):
                lows = [low for low in map(self._low_of, members) if low is not None]
                return min(lows) if len(lows) == len(members) else None
            case FloorDiv(numerator, denominator):
                top, bottom = self._low_of(numerator), self._low_of(denominator)
                if top is None or bottom is None or top < 0 or bottom < 0:
                    return None
                return 0 if denominator.constant is None else top // max(1, bottom)
            case _:
                return self._facts.interval(of(atom))[0]

    def _low_of(self, dim: Dim) -> int | None:
        """A lower bound of a sum, if its weights but the constant are positive once `_with_larger_parts` is applied."""
        found = 0
        for factors, weight in self._with_larger_parts(dim).terms:
            lows = [self._low(atom) for atom in factors]
            if factors and (weight < 0 or None in lows):
                return None
            found += weight * prod(low for low in lows if low is not None)
        return found

    def _with_larger_parts(self, dim: Dim) -> Dim:
        """A lower bound: quotients and remainders that are subtracted are replaced by upper bounds (`_whole`)."""
        if all(weight >= 0 for _, weight in dim.terms):
            return dim
        return total(
            product(map(self._whole if self._is_subtracted(*term) else of, term[0])) * term[1] for term in dim.terms
        )

    def _is_subtracted(self, factors: Product, weight: int) -> bool:
        """Whether a term decreases in each of its factors."""
        return weight < 0 and all(self._low(atom) is not None for atom in factors)

    def _whole(self, atom: Atom) -> Dim:
        """An upper bound: for a quotient or remainder the numerator, or for a remainder the divisor; else the atom."""
        match atom:
            case FloorDiv(numerator, denominator) | Mod(numerator, denominator) if self._is_from(denominator, 1):
                if self._is_from(numerator, 0):
                    return numerator
                return denominator - 1 if isinstance(atom, Mod) else of(atom)
            case _:
                return of(atom)

    def _is_from(self, dim: Dim, low: int) -> bool:
        """Whether a sum is at least a number by the lowest values of atoms."""
        found = self._low_of(dim)
        return found is not None and found >= low

    def _alternatives(self, atom: Atom) -> tuple[Dim, ...]:
        """The members of a maximum or a minimum; for a symbol those of a maximum that defines it, or its definition."""
        match atom:
            case Sym():
                dim = self._defined[atom]
                return dim.atom.members if isinstance(dim.atom, Max) else (dim,)
            case Max(members) | Min(members):
                return members
            case _:
                raise AssertionError(f"{atom} is neither defined nor a maximum")

    def _defined_terms(self, dim: Dim) -> list[tuple[Atom, int]]:
        """The defined symbols of a sum with their weights, the last defined first; then its maxima and minima.

        Those come last as they may be in the definition of a symbol too, and cancel out.
        """
        found = list[tuple[int, Atom, int]]()
        for factors, weight in dim.terms:
            if len(factors) != 1:
                continue
            (atom,) = factors
            if isinstance(atom, Max | Min):
                found.append((-1, atom, weight))
            elif isinstance(atom, Sym) and atom in self._place:
                found.append((self._place[atom], atom, weight))
        return [(atom, weight) for _, atom, weight in sorted(found, key=lambda one: -one[0])]


def _needs_all(atom: Atom, weight: int) -> bool:
    """Whether a proof needs all alternatives of an atom: of a minimum that is added, of others if subtracted."""
    return (weight > 0) == isinstance(atom, Min)


def _without_rounding(dim: Dim) -> Dim:
    """A lower bound: sizes that are rounded up or down are replaced by bounds without the rounding."""
    return total(_lowest_term(factors, weight) for factors, weight in dim.terms)


def _lowest_term(factors: Product, weight: int) -> Dim:
    if len(factors) == 1 and isinstance(rounded := factors[0], FloorDiv):
        divisor = rounded.denominator.constant or 0
        if divisor > 0 and weight % divisor == 0:
            lost = divisor - 1 if weight > 0 else 0
            return (rounded.numerator - lost) * (weight // divisor)
    return product(map(of, factors)) * weight
