"""Assumptions in the form that proofs use: equations are solved, inequalities become bounds."""

from __future__ import annotations

from dataclasses import field, replace
from math import gcd
from typing import TypeAlias

from shlo_disc.expr import polynomial
from shlo_disc.expr.assumed import Assumptions
from shlo_disc.expr.canonical import Canonical
from shlo_disc.expr.dim import (
    Atom,
    Data,
    Dim,
    FloorDiv,
    Max,
    Min,
    Mod,
    Product,
    Sym,
    const,
    divide,
    of,
    scale_down,
    split_constant,
)
from shlo_disc.expr.layered import Layered
from shlo_disc.expr.naming import closure, is_large
from shlo_disc.expr.prover import Prover
from shlo_disc.records import record

MOST_PRODUCTS = 12  # rules about products; further equations are used for comparisons only
MOST_DEFINITIONS = 24  # beyond which equations of products introduce no more quotients, which might never end


Solved: TypeAlias = "tuple[Sym, Solved] | None"


@record
class System:
    """Assumptions, and the fresh symbols that were introduced to solve them.

    `defined`: what these are in raw symbols and in names; a later one mentions no earlier one but names. `solved`: the
    symbols that equations were solved for, the latest first.
    """

    given: Assumptions = field(default_factory=Assumptions)
    defined: Layered[Sym, Dim] = field(default_factory=Layered[Sym, Dim])
    solved: Solved = None
    rules: Canonical = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", Canonical(self.given))


def solved_since(system: System, before: System) -> list[Sym]:
    """The symbols that equations were solved for after those of an earlier system, in order."""
    solved, new = system.solved, list[Sym]()
    while solved is not before.solved:
        assert solved is not None, "a system knows what the one before it had solved"
        sym, solved = solved
        new.append(sym)
    return new[::-1]


def add_nonnegative(system: System, dim: Dim) -> System:
    """Assume `dim >= 0`; `dim` is canonical."""
    variable, offset = split_constant(dim)
    prover = system.rules.prover
    if prover.nonnegative(dim):
        return system
    for part in _parts(dim, prover):
        system = add_nonnegative(system, system.rules.dim(part))
    if len(variable.terms) == 1:
        factors, weight = variable.terms[0]
        if len(factors) == 1:
            bound = (-(offset // weight), None) if weight > 0 else (None, offset // -weight)
            return _limit(system, factors[0], *bound)
        prover = system.rules.prover
        if weight > 0 and offset < 0 and all(_never_negative(prover, atom) for atom in factors):
            for atom in factors:  # a product of sizes that is at least 1 has no factor that is 0
                system = _limit(system, atom, 1, None)
            if -offset <= weight:
                return system
    return replace(system, given=system.given.with_known(dim))


def _parts(dim: Dim, prover: Prover) -> list[Dim]:
    """List dims without an extreme or a quotient that are nonnegative if `dim >= 0`.

    min(a, b) >= c bounds both, max(a, b) >= c the one that is left if the other is known to be less than c, and
    a // k >= c bounds a.
    """
    for factors, weight in dim.terms:
        if len(factors) != 1 or (split := dim.linear(factors[0])) is None or split[0].constant != weight:
            continue  # also where another term is a product with it
        rest = split[1]
        match factors[0]:
            case Min(members) if weight > 0:
                return [rest + weight * member for member in members]
            case Max(members) if weight < 0:
                return [rest + weight * member for member in members]
            case Min(members) | Max(members):
                chosen = [rest + weight * member for member in members]
                possible = [each for each in chosen if not prover.nonnegative(-each - 1)]
                if len(possible) == 1:
                    return possible
            case FloorDiv(x, d) if abs(weight) == 1 and (prover.interval(d)[0] or 0) > 0:
                return [x + rest * d] if weight > 0 else [rest * d + d - 1 - x]
            case _:
                pass
    return []


def _never_negative(prover: Prover, atom: Atom) -> bool:
    low = prover.interval(of(atom))[0]
    return low is not None and low >= 0


def _limit(system: System, atom: Atom, low: int | None, high: int | None) -> System:
    """Bound one atom; an atom with one possible value is replaced by it."""
    before = system.rules.prover.interval(of(atom))
    low = before[0] if low is None else low if before[0] is None else max(low, before[0])
    high = before[1] if high is None else high if before[1] is None else min(high, before[1])
    if low is not None and low == high and isinstance(atom, Sym | Data):
        return _replace(system, atom, const(low))
    system = replace(system, given=system.given.with_limit(atom, (low, high)))
    if isinstance(atom, FloorDiv) and (k := atom.denominator.constant) is not None:
        system = system if low is None else add_nonnegative(system, atom.numerator - low * k)
        system = system if high is None else add_nonnegative(system, high * k + k - 1 - atom.numerator)
    return system


def add_limits(system: System, sym: Sym, low: int, high: int) -> System:
    """Assume `low <= sym <= high`."""
    return _limit(system, sym, low, high)


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
    for factors, weight in dim.terms if len(system.defined) < MOST_DEFINITIONS else ():
        # 2*a + rest == 0 implies that 2 divides the rest
        if len(factors) == 1 and dim.linear(factors[0]) is not None and isinstance(factors[0], Sym):
            rest = dim - weight * of(factors[0])
            smaller = add_multiple(system, abs(weight), rest)
            again = smaller.rules.dim(dim)
            if again != dim:
                return add_zero(smaller, again)
    return _add_product(system, dim)


def rank(product: Product) -> tuple[int, list[str]]:
    """Order products so that a*c comes before b*c wherever a comes before b: by degree, then by the latest factors."""
    return len(product), sorted((atom.order for atom in product), reverse=True)


def _add_product(system: System, dim: Dim) -> System:
    """Use an equation without a symbol to solve for as a rule: its last product is replaced by the rest from here on.

    As in Buchberger's algorithm, two such rules that apply to the same product give a new equation.
    """
    given = system.given
    last, weight = max(dim.terms, key=lambda term: rank(term[0]))
    if abs(weight) != 1 or len(last) < 2 or len(given.products) >= MOST_PRODUCTS or is_large(dim):
        system = add_nonnegative(system, dim)
        return add_nonnegative(system, system.rules.dim(-dim))
    equal = Dim(((last, 1),)) - weight * dim
    stale = [rule for rule in given.products if _mentions(rule, last)]
    kept = tuple([rule for rule in given.products if rule not in stale])
    system = replace(system, given=replace(given, products=(*kept, (last, equal))))
    new = [Dim(((product, 1),)) - value for product, value in stale]
    for product, value in kept:
        common = polynomial.shared((product, last))
        if common:
            ours, theirs = polynomial.cancel(last, common), polynomial.cancel(product, common)
            assert ours is not None, "the factors are shared"
            assert theirs is not None, "the factors are shared"
            new.append(Dim(((ours, 1),)) * value - Dim(((theirs, 1),)) * equal)
    for each in new:
        system = add_zero(system, system.rules.dim(each))
    return system


def _mentions(rule: tuple[Product, Dim], product: Product) -> bool:
    """Whether a rule contains a multiple of a product."""
    return any(polynomial.cancel(factors, product) is not None for factors in (rule[0], *(f for f, _ in rule[1].terms)))


def add_definition(system: System, sym: Sym, dim: Dim) -> System:
    """Introduce `sym` for a canonical dim, if the equation of both can be solved for another symbol."""
    defined = system.defined
    if isinstance(atom := dim.atom, Sym) and atom in defined and atom not in system.given.names:
        renamed = {sym if each == atom else each: value for each, value in defined.items()}
        return _replace(replace(system, defined=Layered(renamed)), atom, of(sym))
    fresh = replace(
        system, given=system.given.with_formula(sym, dim), defined=defined.with_entry(sym, in_raw(system, dim))
    )
    equation = of(sym) - dim
    solved = _pick(fresh, equation)
    return system if solved is None or solved == sym else add_zero(fresh, equation)


def add_name(system: System, sym: Sym, dim: Dim) -> System:
    """Let the new symbol `sym` stand for a large canonical dim from here on."""
    low, high = system.rules.prover.interval(dim)
    given = system.given.with_name(sym, dim).with_limit(sym, (low, high))
    return replace(system, given=given, defined=system.defined.with_entry(sym, in_raw(system, dim)))


def settle_names(system: System) -> System:
    """Use what became known after dims were named: equal dims get one name, and small ones none."""
    known = dict[Dim, Sym]()
    for sym in tuple(system.given.names):
        if sym not in system.given.names:  # it was removed when another one was replaced
            continue
        dim = system.rules.dim(system.given.names[sym])
        if sym in closure(dim.symbols(), system.given.names):  # a rule about products gave the name itself
            continue
        if not is_large(dim):
            system = _replace(system, sym, dim)
        elif dim in known:
            system = _replace(system, sym, of(known[dim]))
        else:
            known[dim] = sym
            system = replace(system, given=system.given.with_name(sym, dim))
    return system


def in_raw(system: System, dim: Dim) -> Dim:
    """Write a dim in raw symbols and in names."""
    defined, names = system.defined, system.given.names
    return dim.substitute({sym: defined[sym] for sym in dim.symbols() if sym in defined and sym not in names})


def _without_common_factor(system: System, dim: Dim) -> Dim:
    """Divide by common factors: b*s - b*t == 0 implies s == t if b cannot be 0."""
    weight = polynomial.content(dim.terms)
    if weight > 1:
        dim = scale_down(dim, weight)
    prover = system.rules.prover
    for atom in polynomial.shared(factors for factors, _ in dim.terms):
        low, high = prover.interval(of(atom))
        if (low is not None and low > 0) or (high is not None and high < 0):
            dim, rest = divide(dim, of(atom))
            assert not rest.terms, "the factor is in all terms"
    return dim


def _solve_remainder(system: System, dim: Dim) -> System | None:
    """Use that `x % k == c` implies that k divides x - c, and `x % k == y % k` that it divides x - y."""
    variable, offset = split_constant(dim)
    atoms = [(factors[0], weight) for factors, weight in variable.terms if len(factors) == 1 and abs(weight) == 1]
    remainders = [(atom, weight) for atom, weight in atoms if isinstance(atom, Mod)]
    if not remainders or len(remainders) != len(variable.terms):
        return None
    (first, sign), *others = remainders
    k = first.denominator.constant
    if k is None:
        return None
    match others:
        case [] if 0 <= -offset * sign < k:
            return add_multiple(system, k, first.numerator + offset * sign)
        case [(second, opposite)] if not offset and opposite == -sign and second.denominator == first.denominator:
            return add_multiple(system, k, first.numerator - second.numerator)
        case _:
            return None


def _pick(system: System, dim: Dim) -> Atom | None:
    """Pick the atom to solve for.

    Data is preferred to symbols of the program, those to fresh symbols, and of each kind the last one in order.
    """
    best: tuple[tuple[bool, bool, str], Atom] | None = None
    for factors, weight in dim.terms:
        if len(factors) != 1 or abs(weight) != 1:
            continue
        atom = factors[0]
        if not isinstance(atom, Sym | Data) or not _is_solvable(system, dim, atom):
            continue
        rank = (isinstance(atom, Data), atom not in system.defined, atom.order)
        if best is None or rank > best[0]:
            best = rank, atom
    return best[1] if best else None


def _is_solvable(system: System, dim: Dim, atom: Atom) -> bool:
    """Whether `dim` is linear in `atom` with a constant weight, and `atom` is not an index."""
    given = system.given
    split = None if atom in given.ranges else dim.linear(atom)
    if split is None or split[0].constant is None:
        return False
    if is_large(split[1]):  # it would be written out at every use of the atom
        return False
    return not isinstance(atom, Sym) or atom not in closure(split[1].symbols(), given.names)


def _replace(system: System, atom: Atom, value: Dim) -> System:
    """Use an equation: substitute `value` for `atom` in all assumptions about it."""
    given = system.given
    step = Canonical(Assumptions(Layered({atom: value})))
    left, bounds = _without(given, atom, step)
    left = left.with_substitution(atom, value)
    kept = [each for each in given.multiples if not _speaks_of(each[0], atom)]
    ranges = {key: (step.dim(low), step.dim(high)) for key, (low, high) in given.ranges.items()}
    left = replace(left, ranges=ranges, products=(), multiples=tuple(kept))
    solved = (atom, system.solved) if isinstance(atom, Sym) else system.solved
    system = replace(system, given=left, solved=solved)
    for product, equal in given.products:
        system = add_zero(system, system.rules.dim(Dim(((product, 1),)) - equal))
    for bound in bounds:
        system = add_nonnegative(system, system.rules.dim(bound))
    for multiple, k in given.multiples:
        if _speaks_of(multiple, atom):
            system = add_multiple(system, k, system.rules.dim(multiple))
    if isinstance(atom, Sym) and (formula := given.names.get(atom)) is not None:
        same = system.rules.dim(formula - _unnamed(system, value))  # proofs would have to try each side of a large one
        system = system if is_large(same) else add_zero(system, same)
    return system


def _unnamed(system: System, dim: Dim) -> Dim:
    """Write out a dim that is a name: else an equation solved for the name would write its formula at every use."""
    formula = system.given.names.get(atom) if isinstance(atom := dim.atom, Sym) else None
    return dim if formula is None else formula


def _speaks_of(dim: Dim, atom: Atom) -> bool:
    return atom in dim.symbols() or atom in dim.data()


def _without(given: Assumptions, atom: Atom, step: Canonical) -> tuple[Assumptions, list[Dim]]:
    """The assumptions left after `step` replaces an atom, and those to make again: dims that are never negative."""
    bounds = list[Dim]()
    known, limits, names = given.known, given.limits, given.names
    for key in given.keys_of(atom, "known"):
        if isinstance(key, int) and (dim := known.get(key)) is not None:
            bounds.append(dim)
            known = known.without(key)
    for key in given.keys_of(atom, "limits"):
        if not isinstance(key, int) and (limit := limits.get(key)) is not None:
            key_dim, (low, high) = step.dim(of(key)), limit
            bounds += [] if low is None else [key_dim - low]
            bounds += [] if high is None else [high - key_dim]
            limits = limits.without(key)
    left = replace(given, known=known, limits=limits)
    for key in given.keys_of(atom, "substitution"):
        if not isinstance(key, int) and (dim := left.substitution.get(key)) is not None:
            left = left.with_substitution(key, step.dim(dim))
    for key in given.keys_of(atom, "names"):
        if isinstance(key, Sym) and (dim := names.get(key)) is not None:
            left = left.with_name(key, step.dim(dim))
    return (replace(left, names=left.names.without(atom)) if isinstance(atom, Sym) else left), bounds


def add_multiple(system: System, k: int, dim: Dim) -> System:
    """Assume that `k` divides `dim`, which is canonical.

    A symbol of it is written as k*q + rest, with a fresh symbol q.
    """
    common = gcd(k, polynomial.content(dim.terms))
    dim, k = scale_down(dim, common), k // common
    if k == 1:
        return system
    solvable = [
        (atom not in system.defined, atom.order, atom, weight)
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
    definition = in_raw(system, (of(sym) - rest) // k)
    given = system.given.with_formula(quotient, definition)
    system = replace(system, given=given, defined=system.defined.with_entry(quotient, definition))
    return _replace(system, sym, k * of(quotient) + rest)
