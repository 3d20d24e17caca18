"""Sizes in the user's terms: `b` instead of the internal `8*b_by_8`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from shlo_disc.expr.dim import ONE, ZERO, Atom, Dim, Sym, of, rebuild

Quotients: TypeAlias = Mapping[Sym, tuple[int, Dim]]  # q: (k, multiple) where k*q == multiple


def quotients(definitions: tuple[tuple[Sym, Dim], ...], substitution: Mapping[Atom, Dim]) -> Quotients:
    """The fresh symbols that stand for a quotient of a size of the program."""
    found = dict[Sym, tuple[int, Dim]]()
    fresh = {sym for sym, _ in definitions}
    for sym, value in substitution.items():
        if not isinstance(sym, Sym) or sym in fresh:
            continue
        for each in sorted(value.symbols() & fresh, key=lambda one: one.order):
            split = value.linear(each)
            if split is not None and (k := split[0].constant) is not None and k > 1:
                found.setdefault(each, (k, of(sym) - split[1]))
    return found


def readable(dim: Dim, known: Quotients) -> Dim:
    """Write `k*q` as the size that it equals, and any other `q` as a division.

    >>> from shlo_disc.expr.dim import symbol
    >>> readable(16 * symbol("q") * symbol("s") + symbol("q"), {Sym("q"): (8, symbol("b"))})
    2*b*s + b // 8
    """
    if dim.symbols().isdisjoint(known):
        return dim
    found = ZERO
    for factors, weight in dim.terms:
        term = ONE
        for atom in factors:
            if not isinstance(atom, Sym):
                term *= rebuild(atom, lambda child: readable(child, known))
            elif atom not in known:
                term *= of(atom)
            else:
                k, multiple = known[atom]
                exact = weight % k == 0
                weight = weight // k if exact else weight  # noqa: PLW2901
                term *= multiple if exact else multiple // k
        found += weight * term
    return found
