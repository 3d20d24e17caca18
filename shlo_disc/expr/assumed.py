"""Assumptions about dims, in the form that proofs use, indexed by the symbols that they mention."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from typing import TypeAlias

from shlo_disc.expr.dim import Atom, Dim, Product, Sym, of
from shlo_disc.expr.intervals import Interval
from shlo_disc.expr.layered import Layered
from shlo_disc.records import record

Use: TypeAlias = tuple[str, Atom | int]  # which field of the assumptions, and the key there
Uses: TypeAlias = "tuple[Use, Uses] | None"  # the latest first
MOST_ENDS = 8  # dims known to be nonnegative that a proof considers: so many of the first ones, and of the last ones


@record
class Assumptions:
    """Assumptions; every `with_...` returns new ones, at a cost that hardly grows with their number.

    `substitution`: solved equations, no key occurs in a value. `limits`: constant bounds of atoms.
    `ranges`: inclusive bounds of index variables, none empty; later ones may mention earlier ones.
    `known`: dims that are never negative, by number. `multiples`: dims and integers that divide them. `products`:
    equations that no symbol can be solved for, as rules: a product, and the equal dim of products that come before it
    (`solve.rank`). `names`: symbols that stand for large dims (`naming.is_large`), which may mention earlier names;
    `named` is the inverse. `uses`: by symbol and data, the entries that mention it, some of which may be gone. `late`:
    per symbol that becomes known during a call or stands for a formula of such symbols, the set of these.
    """

    substitution: Layered[Atom, Dim] = field(default_factory=Layered[Atom, Dim])
    limits: Layered[Atom, Interval] = field(default_factory=Layered[Atom, Interval])
    ranges: Mapping[Atom, tuple[Dim, Dim]] = field(default_factory=dict[Atom, tuple[Dim, Dim]])
    known: Layered[int, Dim] = field(default_factory=Layered[int, Dim])
    multiples: tuple[tuple[Dim, int], ...] = ()
    products: tuple[tuple[Product, Dim], ...] = ()
    names: Layered[Sym, Dim] = field(default_factory=Layered[Sym, Dim])
    named: Layered[Dim, Sym] = field(default_factory=Layered[Dim, Sym])
    uses: Layered[Atom, Uses] = field(default_factory=Layered[Atom, Uses])
    late: Layered[Sym, frozenset[Sym]] = field(default_factory=Layered[Sym, frozenset[Sym]])
    count: int = 0  # of all entries ever added to `known`

    def with_substitution(self, atom: Atom, value: Dim) -> Assumptions:
        """Add an equation that was solved for an atom."""
        uses = self._used(value, ("substitution", atom))
        return replace(self, substitution=self.substitution.with_entry(atom, value), uses=uses)

    def with_limit(self, atom: Atom, limit: Interval) -> Assumptions:
        """Add constant bounds of an atom."""
        uses = self.uses if atom in self.limits else self._used(of(atom), ("limits", atom))
        return replace(self, limits=self.limits.with_entry(atom, limit), uses=uses)

    def with_known(self, dim: Dim) -> Assumptions:
        """Add a dim that is never negative."""
        number = self.count
        uses = self._used(dim, ("known", number))
        return replace(self, known=self.known.with_entry(number, dim), uses=uses, count=number + 1)

    def with_name(self, sym: Sym, dim: Dim) -> Assumptions:
        """Add a name that stands for a dim."""
        named = self.named if self.name_of(dim) else self.named.with_entry(dim, sym)
        uses = self._used(dim, ("names", sym))
        return replace(self.with_formula(sym, dim), names=self.names.with_entry(sym, dim), named=named, uses=uses)

    def with_late(self, sym: Sym) -> Assumptions:
        """Add a symbol that becomes known during a call."""
        return replace(self, late=self.late.with_entry(sym, frozenset((sym,))))

    def with_formula(self, sym: Sym, dim: Dim) -> Assumptions:
        """Add a symbol that stands for a formula: it becomes known when all symbols of the formula are."""
        late = self.late_of(dim) if sym not in self.late else None
        return replace(self, late=self.late.with_entry(sym, late)) if late else self

    def late_of(self, dim: Dim) -> frozenset[Sym]:
        """The symbols of a dim that become known during a call."""
        if not self.late:
            return frozenset()
        return frozenset[Sym]().union(*(self.late.get(sym, ()) for sym in dim.symbols()))

    def reached(self, symbols: Collection[Sym]) -> frozenset[Sym]:
        """These symbols, and all others that canonical forms of formulas of them may mention.

        >>> from shlo_disc.diagnostics import NOWHERE
        >>> from shlo_disc.expr.dim import symbol
        >>> from shlo_disc.expr.facts import Facts
        >>> a, b, c, d = map(symbol, "abcd")
        >>> facts = Facts.empty().assume_equal(c * d, a * b, "a reshape", NOWHERE)
        >>> facts.canonical(2 * c * d)
        2*a*b
        >>> sorted(sym.name for sym in facts.reached([Sym("c"), Sym("d")]))
        ['a', 'b', 'c', 'd']
        >>> sorted(sym.name for sym in facts.reached([Sym("c")]))
        ['c']
        """
        found, new = set[Sym](), set(symbols)
        while new:
            found |= new
            solved = [self.substitution[sym] for sym in new if sym in self.substitution]
            equal = [dim for product, dim in self.products if all(of(atom).symbols() <= found for atom in product)]
            new = {sym for dim in (*solved, *equal) for sym in dim.symbols()} - found
        return frozenset(found)

    def name_of(self, dim: Dim) -> Sym | None:
        """The name that stands for a dim, if there is one."""
        sym = self.named.get(dim)
        return sym if sym is not None and self.names.get(sym) == dim else None

    def keys_of(self, atom: Atom, kind: str) -> list[Atom | int]:
        """The keys of the entries of a kind that mention an atom, in the order in which they were assumed."""
        return _keys(self.uses.get(atom), kind)

    def known_about(self, atoms: Iterable[Atom]) -> list[Dim]:
        """The dims that are never negative and mention one of these atoms, the earliest first.

        If there are very many, only the first and the last ones, which bounds the cost of a proof.
        """
        numbers = sorted(
            {n for atom in atoms for n in _keys(self.uses.get(atom), "known") if isinstance(n, int) and n in self.known}
        )
        if len(numbers) > 2 * MOST_ENDS:
            numbers = numbers[:MOST_ENDS] + numbers[-MOST_ENDS:]
        return [self.known[number] for number in numbers]

    def _used(self, dim: Dim, use: Use) -> Layered[Atom, Uses]:
        uses = self.uses
        for atom in (*sorted(dim.symbols(), key=lambda sym: sym.order), *dim.data()):
            uses = uses.with_entry(atom, (use, uses.get(atom)))
        return uses


def _keys(uses: Uses, kind: str) -> list[Atom | int]:
    found = dict[Atom | int, None]()
    while uses is not None:
        (each, key), uses = uses
        if each == kind:
            found[key] = None
    return list(found)[::-1]
