"""Assumptions in the form that proofs use: equations are solved, inequalities become bounds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import gcd

from shlo_disc.expr import polynomial
from shlo_disc.expr.canonical import Canonical
from shlo_disc.expr.dim import (
    Atom,
    Data,
    Dim,
    FloorDiv,
    Mod,
    Sym,
    const,
    divide,
    of,
    scale_down,
    split_constant,
)
from shlo_disc.expr.prover import Assumptions, Prover


@dataclass(frozen=True, slots=True)
class System:
    """Assumptions, and the fresh symbols that were introduced to solve them.

    `definitions` are written in raw symbols; a later one does not mention an earlier one.
    """

    given: Assumptions = field(default_factory=Assumptions)
    definitions: tuple[tuple[Sym, Dim], ...] = ()


def add_nonnegative(system: System, dim: Dim) -> System:
    """Assume `dim >= 0`; `dim` is canonical."""
    variable, offset = split_constant(dim)
    given = system.given
    if Prover(given).nonnegative(dim):
        return system
    if len(variable.terms) == 1:
        factors, weight = variable.terms[0]
        if len(factors) == 1:
            bound = (-(offset // weight), None) if weight > 0 else (None, offset // -weight)
            return _limit(system, factors[0], *bound)
        prover = Prover(given)
        if weight > 0 and offset < 0 and all(_never_negative(prover, atom) for atom in factors):
            for atom in factors:  # a product of sizes that is at least 1 has no factor that is 0
                system = _limit(system, atom, 1, None)
            if -offset <= weight:
                return system
    return replace(system, given=replace(system.given, known=(*system.given.known, dim)))


def _never_negative(prover: Prover, atom: Atom) -> bool:
    low = prover.interval(of(atom))[0]
    return low is not None and low >= 0


def _limit(system: System, atom: Atom, low: int | None, high: int | None) -> System:
    """Bound one atom; an atom with one possible value is replaced by it."""
    given = system.given
    before = Prover(given).interval(of(atom))
    low = before[0] if low is None else low if before[0] is None else max(low, before[0])
    high = before[1] if high is None else high if before[1] is None else min(high, before[1])
    if low is not None and low == high and isinstance(atom, Sym | Data):
        return _replace(system, atom, const(low))
    system = replace(system, given=replace(given, limits={**given.limits, atom: (low, high)}))
    if isinstance(atom, FloorDiv) and (k := atom.denominator.constant) is not None:
        system = system if low is None else add_nonnegative(system, atom.numerator - low * k)
        system = system if high is None else add_nonnegative(system, high * k + k - 1 - atom.numerator)
    return system


def add_zero(system: System, dim: Dim) -> System:
    """Assume `dim == 0`; `dim` is canonical."""
    dim = _without_common_factor(system, dim)
    if not dim.terms:
        return system
    solved = _solve_remainder(system, dim)
    if solved is not None:
        return solved
    if (atom := _pick(system, dim)) is not None:
        split = dim.linear(atom)
        assert split is not None, f"{dim} was found to be linear in {atom}"
        coefficient, rest = split
        return _replace(system, atom, -rest if coefficient.constant == 1 else rest)
    for factors, weight in dim.terms:
        # 2*a + rest == 0 says that 2 divides the rest
        if len(factors) == 1 and dim.linear(factors[0]) is not None and isinstance(factors[0], Sym):
            rest = dim - weight * of(factors[0])
            smaller = add_multiple(system, abs(weight), rest)
            again = Canonical(smaller.given).dim(dim)
            if again != dim:
                return add_zero(smaller, again)
    given = replace(system.given, known=(*system.given.known, dim, -dim))
    return replace(system, given=given)


def add_definition(system: System, sym: Sym, dim: Dim) -> System:
    """Introduce `sym` for a canonical dim, if an equation can be solved so that it stands for a symbol."""
    definitions = system.definitions
    if (atom := dim.atom) in dict(definitions):
        assert isinstance(atom, Sym), "symbols are defined"
        renamed = tuple([(sym if each == atom else each, value) for each, value in definitions])
        return _replace(replace(system, definitions=renamed), atom, of(sym))
    fresh = replace(system, definitions=(*definitions, (sym, dim.substitute(dict(definitions)))))
    equation = of(sym) - dim
    solved = _pick(fresh, equation)
    return system if solved is None or solved == sym else add_zero(fresh, equation)


def _without_common_factor(system: System, dim: Dim) -> Dim:
    """b*s - b*t == 0 says s == t if b cannot be 0."""
    weight = polynomial.content(dim.terms)
    if weight > 1:
        dim = scale_down(dim, weight)
    prover = Prover(system.given)
    for atom in polynomial.shared(factors for factors, _ in dim.terms):
        low, high = prover.interval(of(atom))
        if (low is not None and low > 0) or (high is not None and high < 0):
            dim, rest = divide(dim, of(atom))
            assert not rest.terms, "the factor is in all terms"
    return dim


def _solve_remainder(system: System, dim: Dim) -> System | None:
    """Use that `x % k == c` says that k divides x - c."""
    variable, offset = split_constant(dim)
    if len(variable.terms) != 1 or abs(variable.terms[0][1]) != 1:
        return None
    factors, weight = variable.terms[0]
    if len(factors) != 1 or not isinstance(factors[0], Mod):
        return None
    k = factors[0].denominator.constant
    value = -offset * weight
    if k is None or not 0 <= value < k:
        return None
    return add_multiple(system, k, factors[0].numerator - value)


def _pick(system: System, dim: Dim) -> Atom | None:
    """Pick the atom to solve for.

    Data goes before symbols of the program, those before fresh symbols, late ones before early.
    """
    fresh = {sym for sym, _ in system.definitions}
    best: tuple[tuple[bool, bool, str], Atom] | None = None
    for factors, weight in dim.terms:
        if len(factors) != 1 or abs(weight) != 1:
            continue
        atom = factors[0]
        if not isinstance(atom, Sym | Data) or not _is_solvable(system, dim, atom):
            continue
        rank = (isinstance(atom, Data), atom not in fresh, atom.order)
        if best is None or rank > best[0]:
            best = rank, atom
    return best[1] if best else None


def _is_solvable(system: System, dim: Dim, atom: Atom) -> bool:
    """Whether `dim` is linear in `atom` with a constant weight, and `atom` is not an index."""
    split = None if atom in system.given.ranges else dim.linear(atom)
    return split is not None and split[0].constant is not None


def _replace(system: System, atom: Atom, value: Dim) -> System:
    """Use an equation: put `value` for `atom` in everything that is known."""
    given = system.given
    step = Canonical(Assumptions({atom: value}))
    substitution = {key: step.dim(old) for key, old in given.substitution.items()}
    substitution[atom] = value
    ranges = {key: (step.dim(low), step.dim(high)) for key, (low, high) in given.ranges.items()}
    system = replace(system, given=Assumptions(substitution, ranges=ranges))
    bounds = list(given.known)
    for key, (low, high) in given.limits.items():
        key_dim = step.dim(of(key))
        bounds += [] if low is None else [key_dim - low]
        bounds += [] if high is None else [high - key_dim]
    for bound in bounds:
        system = add_nonnegative(system, Canonical(system.given).dim(bound))
    for multiple, k in given.multiples:
        system = add_multiple(system, k, Canonical(system.given).dim(multiple))
    return system


def add_multiple(system: System, k: int, dim: Dim) -> System:
    """Assume that `k` divides `dim`, which is canonical.

    A symbol of it is written as k*q + rest, with a fresh symbol q.
    """
    common = gcd(k, polynomial.content(dim.terms))
    dim, k = scale_down(dim, common), k // common
    if k == 1:
        return system
    fresh = {sym for sym, _ in system.definitions}
    solvable = [
        (atom not in fresh, atom.order, atom, weight)
        for factors, weight in dim.terms
        if len(factors) == 1
        and isinstance(atom := factors[0], Sym)
        and gcd(weight, k) == 1
        and _is_solvable(system, dim, atom)
    ]
    if not solvable:
        given = replace(system.given, multiples=(*system.given.multiples, (dim, k)))
        return replace(system, given=given)
    _, _, sym, weight = max(solvable, key=lambda each: each[:2])
    # weight*sym + others == 0 modulo k, so sym == rest modulo k
    others = dim - weight * of(sym)
    inverse = pow(weight, -1, k)
    reduced = [(factors, -each * inverse % k) for factors, each in others.terms]
    rest = Dim(tuple([term for term in reduced if term[1]]))
    quotient = Sym(f"{sym.name}_by_{k}")
    in_raw = (of(sym) - rest) // k
    definition = in_raw.substitute(dict(system.definitions))
    system = replace(system, definitions=(*system.definitions, (quotient, definition)))
    return _replace(system, sym, k * of(quotient) + rest)
