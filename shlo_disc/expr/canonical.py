"""The simplest form of a dim under assumptions.

The index of an element after a chain of reshapes is nested quotients and remainders, which the rules here simplify.
Every rule is an identity of the integers under conditions that are proven first; as in `dim`, a divisor counts as not
zero, so a factor of a divisor that is known not to be negative counts as positive.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import assert_never

from shlo_disc.expr import polynomial
from shlo_disc.expr.assumed import Assumptions
from shlo_disc.expr.bounds import decide
from shlo_disc.expr.dim import (
    ONE,
    ZERO,
    Atom,
    Data,
    Dim,
    FloorDiv,
    Max,
    Min,
    Mod,
    Sym,
    const,
    divide,
    maximum,
    minimum,
    of,
    split_constant,
)
from shlo_disc.expr.prover import Prover
from shlo_disc.expr.scalar import Binary, Compare, FromDim, Scalar, Select, as_scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction


class Canonical:
    """Simplifies under fixed assumptions, with memoization.

    `outer` simplifies under a subset of the assumptions, and has memoized most dims that do not mention the index
    variable `index`.
    """

    def __init__(self, given: Assumptions, *, outer: Canonical | None = None, index: Sym | None = None) -> None:
        self.given = given
        self.prover = Prover(given)
        self._outer = outer
        self._index = index
        self._dims: dict[Dim, Dim] = {}
        self._atoms: dict[Atom, Dim] = {}

    def dim(self, dim: Dim) -> Dim:
        """Simplify a dim."""
        found = self._dims.get(dim)
        if found is None:
            start = dim
            if self._outer is not None and self._index not in dim.symbols():
                start = self._outer.dim(dim)
            found = start if self._is_plain(start) else self._recombine(start.replace_top(self._atom))
            if self.given.products:
                found = self._with_known_products(found)
            self._dims[dim] = self._dims[found] = found
        return found

    def _with_known_products(self, dim: Dim) -> Dim:
        """Replace products by equal dims of lower-ranked products."""
        for factors, weight in dim.terms:
            for product, equal in self.given.products:
                if len(factors) >= len(product) and (left := polynomial.cancel(factors, product)) is not None:
                    smaller = dim + Dim(((left, weight),)) * (equal - Dim(((product, 1),)))
                    return self._with_known_products(self._recombine(smaller))
        return dim

    def _is_plain(self, dim: Dim) -> bool:
        substitution = self.given.substitution
        for factors, _ in dim.terms:
            for atom in factors:
                if type(atom) is not Sym or atom in substitution:
                    return False
        return True

    def _atom(self, atom: Atom) -> Dim:
        found = self._atoms.get(atom)
        if found is None:
            found = self._simplify_atom(atom)
            if not found.terms or found.terms[0][0]:
                low, high = self.prover.interval(found)
                if low is not None and low == high:
                    found = const(low)
            self._atoms[atom] = found
        return found

    def _simplify_atom(self, atom: Atom) -> Dim:
        match atom:
            case Sym():
                value = self.given.substitution.get(atom)
                return of(atom) if value is None else self.dim(value)
            case Data(formula):
                value = self.given.substitution.get(atom)
                return self._data(as_scalar(formula)) if value is None else self.dim(value)
            case FloorDiv(numerator, denominator):
                return self.quotient(self.dim(numerator), self.dim(denominator))
            case Mod(numerator, denominator):
                return self.remainder(self.dim(numerator), self.dim(denominator))
            case Min(members):
                return minimum(*self._undominated([self.dim(member) for member in members], 1))
            case Max(members):
                return maximum(*self._undominated([self.dim(member) for member in members], -1))
            case _:
                assert_never(atom)

    def _data(self, formula: Scalar) -> Dim:
        """Simplify the formula of an integer where it is known which side of a selection or an extreme it is."""
        match formula:
            case FromDim(dim, dtype) if dtype.is_integer:
                return self.dim(dim)
            case Select(condition, then, other) if (chosen := decide(condition, self.prover)) is not None:
                return self._data(then if chosen else other)
            case Binary(BinaryFn.MINIMUM | BinaryFn.MAXIMUM, a, b):
                less = decide(Compare(Direction.LE, a, b), self.prover)
                if less is not None:
                    return self._data(a if less == (formula.fn is BinaryFn.MINIMUM) else b)
            case _:
                pass
        return of(Data(formula))

    def _undominated(self, members: list[Dim], sign: int) -> list[Dim]:
        """Drop members that are never less (sign 1) or never greater (sign -1) than another one."""
        kept = list(members)
        for member in members:
            if any(other is not member and self.prover.nonnegative((member - other) * sign) for other in kept):
                kept.remove(member)
        return kept

    def quotient(self, numerator: Dim, denominator: Dim) -> Dim:
        """Simplify `numerator // denominator`, both canonical."""
        raw = numerator // denominator

        def improve(atom: Atom) -> Dim:
            return self._quotient_atom(atom.numerator, atom.denominator) if isinstance(atom, FloorDiv) else of(atom)

        return self._recombine(raw.replace_top(improve))

    def remainder(self, numerator: Dim, denominator: Dim) -> Dim:
        """Simplify `numerator % denominator`, both canonical."""
        raw = numerator % denominator

        def improve(atom: Atom) -> Dim:
            return self._remainder_atom(atom.numerator, atom.denominator) if isinstance(atom, Mod) else of(atom)

        return self._recombine(raw.replace_top(improve))

    def _quotient_atom(self, x: Dim, d: Dim) -> Dim:
        if (value := self._whole_quotient(x, d)) is not None:
            return const(value)
        if (parts := self._divided_otherwise(x, d)) is not None:
            return self._with_known_products(parts[0]) + self.quotient(parts[1], d)
        for factor, taken, rest, left in self._factorings(x, d):
            # (g*t + r) // (g*e) == (t + r//g) // e
            inner = self.quotient(rest, factor)
            if not _has_division(inner):
                return self.quotient(taken + inner, left)
        variable, offset = split_constant(x)
        match variable.atom:
            case FloorDiv(inner_x, inner_d) if self._positive(d):
                return self.quotient(inner_x + inner_d * offset, inner_d * d)  # (x//a + c)//b == (x + c*a)//(a*b)
            case Mod(inner_x, inner_d) if not offset and self._positive(d):
                outer, rest = divide(inner_d, d)
                if not rest.terms and self._positive(outer):
                    return self.remainder(self.quotient(inner_x, d), outer)  # (x % (d*e)) // d == (x//d) % e
            case _:
                pass
        if self._turns(x, d):
            return -self.quotient(d - 1 - x, d)
        return of(FloorDiv(x, d))

    def _remainder_atom(self, x: Dim, d: Dim) -> Dim:
        if (k := d.constant) is not None and self.prover.divisor(x) % k == 0:
            return ZERO
        if (value := self._whole_quotient(x, d)) is not None:
            return x - d * value
        if (parts := self._divided_otherwise(x, d)) is not None:
            return self.remainder(parts[1], d)
        for factor, taken, rest, left in self._factorings(x, d):
            # (g*t + r) % (g*e) == g*((t + r//g) % e) + r%g
            inner = self.quotient(rest, factor)
            if not _has_division(inner):
                return factor * self.remainder(taken + inner, left) + rest - factor * inner
        if self._turns(x, d):
            return d - 1 - self.remainder(-x - 1, d)
        return of(Mod(x, d))

    def _turns(self, x: Dim, d: Dim) -> bool:
        """Whether to divide -x instead: -n // d is written as -((n + d - 1) // d)."""
        return x.terms[0][1] < 0 and bool(x.terms[0][0]) and self._positive(d)

    def _divided_otherwise(self, x: Dim, d: Dim) -> tuple[Dim, Dim] | None:
        """Split x == d*taken + rest by an equal product: m*n // n where m*n == a*b, and x mentions a*b."""
        for product, equal in self.given.products:
            if len(equal.terms) != 1 or equal.terms[0][1] != 1:
                continue
            for factors, weight in x.terms:
                if (left := polynomial.cancel(factors, equal.terms[0][0])) is not None:
                    other = x + Dim(((left, weight),)) * (Dim(((product, 1),)) - equal)
                    taken, rest = divide(other, d)
                    if taken.terms and len(rest.terms) < len(x.terms):
                        return taken, rest
        return None

    def _whole_quotient(self, x: Dim, d: Dim) -> int | None:
        """Find the constant value of x // d, if it is 0 or -1, or if intervals determine it."""
        prover = self.prover
        low, high = prover.interval(of(FloorDiv(x, d)))
        if low is not None and low == high:
            return low
        if (low is None or low <= 0) and prover.nonnegative(x):
            return 0 if prover.nonnegative(d - 1 - x) else None
        if (high is None or high >= -1) and prover.nonnegative(-x - 1) and prover.nonnegative(x + d):
            return -1
        return None

    def _factorings(self, x: Dim, d: Dim) -> Iterator[tuple[Dim, Dim, Dim, Dim]]:
        """List (g, t, r, e) with x == g*t + r, d == g*e, t not zero, and e positive or r zero.

        Then x // d == (t + r//g) // e: rounding down twice is rounding down once.
        """
        weight = polynomial.content(d.terms)
        common = polynomial.shared(factors for factors, _ in d.terms)
        seen: set[Dim] = {ONE}
        for factors, each in x.terms:
            if not factors:
                continue
            factor = Dim(((polynomial.shared((common, factors)), gcd(each, weight)),))
            if factor not in seen:
                seen.add(factor)
                yield from self._factoring(x, d, factor)
        if len(d.terms) > 1 and (common or weight > 1):
            primitive, _ = divide(d, Dim(((common, weight),)))
            yield from self._factoring(x, d, primitive)

    def _factoring(self, x: Dim, d: Dim, factor: Dim) -> Iterator[tuple[Dim, Dim, Dim, Dim]]:
        left, rest_of_divisor = divide(d, factor)
        assert not rest_of_divisor.terms, f"{factor} was taken out of {d}"
        taken, rest = divide(x, factor)
        if taken.terms and (not rest.terms or self._positive(left)):
            yield factor, taken, rest, left

    def _positive(self, divisor: Dim) -> bool:
        return self.prover.nonnegative(divisor)

    def _recombine(self, dim: Dim) -> Dim:
        """Use that d*(x//d) + x%d == x, that x - d*(x//d) == x%d, and that x - x%d == d*(x//d)."""
        weights = dict(dim.terms)
        for factors, weight in dim.terms:
            for atom in factors:
                if isinstance(atom, FloorDiv | Mod):
                    others = polynomial.cancel(factors, (atom,))
                    assert others is not None, "the factor was just found"
                    outer = Dim(((others, weight),))
                    for partner, together in self._partners(atom, outer):
                        variable, _ = split_constant(partner)
                        if variable.terms and weights.items() >= dict(variable.terms).items():
                            return self._recombine(dim - outer * of(atom) - partner + together)
        return dim

    def _partners(self, atom: FloorDiv | Mod, outer: Dim) -> Iterator[tuple[Dim, Dim]]:
        """List terms that combine with `outer*atom`, each with the sum of both."""
        x, d = atom.numerator, atom.denominator
        if isinstance(atom, Mod):
            whole = outer * d * self.quotient(x, d)
            yield whole, outer * x
            yield -outer * x, -whole
        elif d.terms[0][1] > 0:
            scale, rest = divide(-outer, d)
            if not rest.terms and scale.terms:
                yield scale * x, scale * self.remainder(x, d)


def _has_division(dim: Dim) -> bool:
    return any(isinstance(atom, FloorDiv | Mod) for atom in dim.atoms())
