"""Upper bounds of formulas of sizes that hold for all sizes, as polynomials with positive weights.

A magnitude bounds the absolute value of a dim and of every intermediate sum and product, in whatever order they are
computed. A symbol of size 0 counts as 1, so that a product is never smaller than a part of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias, assert_never

from shlo_disc.expr.dim import Atom, Data, Dim, FloorDiv, Max, Min, Mod, Sym

Monomial: TypeAlias = tuple[str, ...]  # names, sorted; a power is a repeated name
Magnitude: TypeAlias = Mapping[Monomial, int]

ANY = "*"  # in a monomial: the largest of all symbols
LARGEST = 2**63 - 1
_MOST_TERMS = 16  # of one magnitude; a longer one is bounded by powers of the largest symbol
_MOST_MONOMIALS = 64  # that `covering` returns
_HIGHEST_POWER = 63  # of a symbol: 2**63 is larger than LARGEST
_HUGE: Magnitude = {(): LARGEST}  # of data, which sizes do not bound: nothing that contains it is known to fit


class Magnitudes:
    """Magnitudes of dims over given symbols and over symbols that are defined by others."""

    def __init__(self, sizes: Iterable[Sym]) -> None:
        """`sizes` are those of the given symbols that are never negative."""
        self._not_negative = set(sizes)
        self._defined = dict[Sym, Magnitude]()
        self._found = dict[Dim, tuple[Magnitude, bool]]()

    def define(self, symbol: Sym, dim: Dim) -> None:
        """Define the dim that a symbol stands for."""
        self._defined[symbol], not_negative = self._visit(dim)
        if not_negative:
            self._not_negative.add(symbol)

    def of(self, dim: Dim) -> Magnitude:
        """A bound of a dim, and of all its intermediate results outside of its atoms."""
        return self._visit(dim)[0]

    @property
    def all(self) -> Iterable[Magnitude]:
        """The magnitudes of every dim visited so far, and of every dim inside one."""
        return [magnitude for magnitude, _ in self._found.values()]

    def _visit(self, dim: Dim) -> tuple[Magnitude, bool]:
        """A bound of a dim, and whether the dim is known not to be negative."""
        found = self._found.get(dim)
        if found is None:
            total, not_negative = dict[Monomial, int](), True
            for factors, weight in dim.terms:
                term: Magnitude = {(): abs(weight)}
                not_negative &= weight > 0
                for atom in factors:
                    magnitude, sign = self._atom(atom)
                    term = multiply(term, magnitude)
                    not_negative &= sign
                for monomial, each in term.items():
                    total[monomial] = total.get(monomial, 0) + each
            found = self._found[dim] = (_short(total), not_negative)
        return found

    def _atom(self, atom: Atom) -> tuple[Magnitude, bool]:
        match atom:
            case Sym(name):
                return self._defined.get(atom, {(name,): 1}), atom in self._not_negative
            case Data():
                return _HUGE, False
            case FloorDiv(numerator, denominator):
                (over, over_sign), (_, under_sign) = self._visit(numerator), self._visit(denominator)
                least = abs(denominator.constant or 1)
                return {one: -(-weight // least) for one, weight in over.items()}, over_sign and under_sign
            case Mod(numerator, denominator):
                self._visit(numerator)
                return self._visit(denominator)
            case Min(members):
                return self._least([self._visit(member) for member in members])
            case Max(members):
                found = [self._visit(member) for member in members]
                return add(magnitude for magnitude, _ in found), any(sign for _, sign in found)
            case _:
                assert_never(atom)

    def _least(self, members: list[tuple[Magnitude, bool]]) -> tuple[Magnitude, bool]:
        """A bound of the least of several values: any one if none can be negative, else their sum."""
        if not all(sign for _, sign in members):
            return add(magnitude for magnitude, _ in members), False
        return min((magnitude for magnitude, _ in members), key=_rank), True


def _rank(magnitude: Magnitude) -> tuple[int, int, int]:
    return max(map(len, magnitude), default=0), len(magnitude), max(magnitude.values(), default=0)


def add(magnitudes: Iterable[Magnitude]) -> Magnitude:
    """A bound of a sum.

    >>> add([{("n",): 2}, {("n",): 1, (): 5}])
    {('n',): 3, (): 5}
    """
    total = dict[Monomial, int]()
    for magnitude in magnitudes:
        for monomial, weight in magnitude.items():
            total[monomial] = total.get(monomial, 0) + weight
    return _short(total)


def multiply(a: Magnitude, b: Magnitude) -> Magnitude:
    """A bound of a product.

    >>> multiply({("n",): 2, (): 1}, {("m",): 3})
    {('m', 'n'): 6, ('m',): 3}
    """
    total = dict[Monomial, int]()
    for one, weight in a.items():
        for other, factor in b.items():
            both = _power(one + other)
            total[both] = total.get(both, 0) + weight * factor
    return _short(total)


def _power(names: Monomial) -> Monomial:
    """Sort names, each at most `_HIGHEST_POWER` times: sizes of 2 or more then exceed all limits, others count as 1."""
    if len(names) > _HIGHEST_POWER:
        names = tuple(name for name, count in Counter(names).items() for _ in range(min(count, _HIGHEST_POWER)))
    return tuple(sorted(names))


def _short(magnitude: Magnitude) -> Magnitude:
    """The magnitude, or a coarser bound if it has many terms."""
    if len(magnitude) <= _MOST_TERMS:
        return magnitude
    return {(ANY,) * min(max(map(len, magnitude)), _HIGHEST_POWER): sum(magnitude.values())}


def least(magnitude: Magnitude) -> int:
    """The smallest value of a magnitude, which it has where all sizes are 0 or 1.

    >>> least({("n",): 2, (): 5})
    7
    """
    return sum(magnitude.values())


def covering(magnitudes: Iterable[Magnitude]) -> list[tuple[Monomial, int]]:
    """A few weighted monomials: where none of them exceeds a number, no magnitude exceeds it.

    >>> covering([{("n",): 8, (): 8}, {("m", "n"): 9}, {("m",): 100}])
    [(('m',), 100), (('m', 'n'), 9), (('n',), 16)]
    """
    found = dict[Monomial, int]()
    for magnitude in magnitudes:
        for monomial, weight in magnitude.items():
            found[monomial] = max(found.get(monomial, 0), weight * len(magnitude))
    if len(found) > _MOST_MONOMIALS:
        by_degree = dict[Monomial, int]()
        for monomial, weight in found.items():
            power = (ANY,) * min(len(monomial), _HIGHEST_POWER)
            by_degree[power] = max(by_degree.get(power, 0), weight)
        found = by_degree
    kept = [one for one in found.items() if not any(_exceeds(other, one) for other in found.items())]
    return sorted(kept)


def _exceeds(other: tuple[Monomial, int], one: tuple[Monomial, int]) -> bool:
    """Whether another weighted monomial, of other names, is at least as large for all sizes."""
    if other[0] == one[0] or other[1] < one[1]:
        return False
    rest = list(other[0])
    for name in one[0]:
        if name in rest:
            rest.remove(name)
        elif ANY in rest:
            rest.remove(ANY)
        else:
            return False
    return True
