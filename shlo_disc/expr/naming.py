"""Decides which formulas are too large to be written out at every use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from shlo_disc.expr.dim import Dim, FloorDiv, Max, Min, Mod, Sym, children

MOST_EXTREMES = 2  # minima, quotients …: proofs try each side of each
MOST_LEAVES = 24  # occurrences of symbols
# Higher limits where sizes are computed from each other: formulas may yet simplify, as JAX's floor divisions do
DEEPEST, MOST_EXTREMES_COMPUTED, MOST_LEAVES_COMPUTED = 10, 96, 192


def is_large(dim: Dim) -> bool:
    """Whether a size gets a name, in which dependent formulas are written, so that they do not grow with depth.

    >>> from shlo_disc.expr.dim import maximum, symbol
    >>> a, b, c = symbol("a"), symbol("b"), symbol("c")
    >>> is_large(maximum(a, b) * c // 2), is_large(maximum(maximum(a, b) * c, a // 2))
    (False, True)
    """
    return extremes(dim) > MOST_EXTREMES or _folded(dim, _leaves) > MOST_LEAVES


def is_huge(dim: Dim) -> bool:
    """Whether an intermediate integer in the computation of sizes gets a name too."""
    return (
        extremes(dim) > MOST_EXTREMES_COMPUTED
        or _folded(dim, _leaves) > MOST_LEAVES_COMPUTED
        or _folded(dim, _depth) > DEEPEST
    )


def sources(symbols: Iterable[Sym], definitions: Iterable[tuple[Sym, Dim]]) -> frozenset[Sym]:
    """The symbols and those of their definitions, of which none mentions a later one.

    >>> from shlo_disc.expr.dim import symbol
    >>> sorted(map(str, sources([Sym("e")], [(Sym("d"), symbol("a") + 1), (Sym("e"), symbol("d") * symbol("b"))])))
    ['a', 'b', 'd', 'e']
    """
    found = set(symbols)
    for symbol, dim in reversed(tuple(definitions)):
        if symbol in found:
            found |= dim.symbols()
    return frozenset(found)


def closure(symbols: Iterable[Sym], definitions: Mapping[Sym, Dim]) -> set[Sym]:
    """The symbols and those of their definitions, which may be in any order."""
    found, waiting = set[Sym](), list(symbols)
    while waiting:
        symbol = waiting.pop()
        if symbol not in found:
            found.add(symbol)
            if (dim := definitions.get(symbol)) is not None:
                waiting += dim.symbols()
    return found


def extremes(dim: Dim) -> int:
    """The number of parts that are not polynomial: proofs try each side of them. Shared ones count once per path."""
    return _folded(dim, _extremes)


def _folded(dim: Dim, combine: Callable[[Dim, Callable[[Dim], int]], int]) -> int:
    """Fold a number over a dim bottom-up, once for each distinct dim inside it."""
    known = dict[Dim, int]()

    def inside(child: Dim) -> int:
        if (found := known.get(child)) is None:
            found = known[child] = combine(child, inside)
        return found

    return inside(dim)


def _extremes(dim: Dim, inside: Callable[[Dim], int]) -> int:
    count = 0
    for factors, _ in dim.terms:
        for atom in factors:
            match atom:
                case FloorDiv() | Mod():
                    count += 1 + sum(map(inside, children(atom)))
                case Min(members) | Max(members):
                    count += len(members) - 1 + sum(map(inside, members))
                case _:
                    pass
    return count


def _depth(dim: Dim, inside: Callable[[Dim], int]) -> int:
    """The nesting depth of quotients and extremes."""
    found = [inside(child) for factors, _ in dim.terms for atom in factors for child in children(atom)]
    return 1 + max(found) if found else 0


def _leaves(dim: Dim, inside: Callable[[Dim], int]) -> int:
    return sum(sum(map(inside, children(atom))) or 1 for factors, _ in dim.terms for atom in factors)
