"""What is known about sizes and indices, and what follows from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import field, replace
from enum import Enum
from typing import cast

from shlo_disc.diagnostics import Span
from shlo_disc.expr import solve
from shlo_disc.expr.assumed import Assumptions
from shlo_disc.expr.bounds import lies_between
from shlo_disc.expr.canonical import Canonical
from shlo_disc.expr.dim import Dim, DimLike, Sym, as_dim, of, split_constant
from shlo_disc.expr.intervals import Interval
from shlo_disc.expr.layered import Layered
from shlo_disc.expr.naming import sources
from shlo_disc.expr.prover import Prover
from shlo_disc.expr.readable import quotients, readable
from shlo_disc.expr.solve import System
from shlo_disc.ir.dtypes import DType
from shlo_disc.records import record

LARGEST_DIM = (1 << 63) - 1


class Truth(Enum):
    """Whether facts prove or refute a claim."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"

    @property
    def known(self) -> bool:
        return self is not Truth.UNKNOWN

    @property
    def is_true(self) -> bool:
        return self is Truth.TRUE

    @property
    def is_false(self) -> bool:
        return self is Truth.FALSE

    def __invert__(self) -> Truth:
        match self:
            case Truth.TRUE:
                return Truth.FALSE
            case Truth.FALSE:
                return Truth.TRUE
            case Truth.UNKNOWN:
                return Truth.UNKNOWN


@record
class Fact:
    """One assumption as text for users, with its reason and source location.

    `symbols` are those that it mentions. `because`: numbers of the facts that equate some of these with others, to
    which this fact therefore applies.
    """

    text: str
    reason: str
    span: Span
    symbols: frozenset[Sym] = frozenset()
    because: tuple[int, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return f"{self.text} ({self.reason}, {self.span.where()})"


@record(eq=False)
class _Told:
    """A linked list of `count` facts, the last one first; extended facts share its tail without copying."""

    fact: Fact
    before: _Told | None
    count: int

    def in_order(self) -> list[Fact]:
        found, last = list[Fact](), cast("_Told | None", self)
        while last is not None:
            found.append(last.fact)
            last = last.before
        return found[::-1]


@record(eq=False)
class Facts:
    """Assumptions about dims; every `assume_...` and `with_...` returns new facts.

    Conclusions are proven or UNKNOWN. The sign of a symbol is unknown until assumed. Divisors count as
    not zero (see `dim`). Facts that contradict each other imply anything.

    >>> from shlo_disc.diagnostics import NOWHERE
    >>> from shlo_disc.expr.dim import symbol
    >>> b, s, i, j = symbol("b"), symbol("s"), symbol("i"), symbol("j")
    >>> sizes = Facts.empty().assume_at_least(s, 1, "a size", NOWHERE)
    >>> inside = sizes.with_index(Sym("i"), b).with_index(Sym("j"), s)
    >>> inside.canonical((i * s + j) // s), inside.canonical((i * s + j) % s)
    (i, j)
    >>> inside.greater(b * s, i * s + j)
    <Truth.TRUE: 'true'>
    """

    _system: System = field(default_factory=System)
    _told: _Told | None = None
    _rules: Canonical = field(default_factory=lambda: System().rules, repr=False)
    _scopes: dict[tuple[Sym, Dim, Dim, Dim], Facts] = field(
        default_factory=dict[tuple[Sym, Dim, Dim, Dim], "Facts"], init=False, repr=False
    )
    _solved_by: Layered[Sym, int] = field(default_factory=Layered[Sym, int], repr=False)
    _known: Layered[Fact, int] = field(default_factory=Layered[Fact, int], repr=False)
    _listed: list[tuple[Fact, ...]] = field(default_factory=list[tuple[Fact, ...]], init=False, repr=False)

    @staticmethod
    def empty() -> Facts:
        """Facts without assumptions."""
        return _EMPTY

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The assumptions in the order in which they were made."""
        if not self._listed and self._told is not None:
            self._listed.append(tuple(self._told.in_order()))
        return self._listed[0] if self._listed else ()

    @property
    def definitions(self) -> tuple[tuple[Sym, Dim], ...]:
        """Fresh symbols that express divisibility, and names, with their values in symbols of the program and names."""
        return tuple(self._system.defined.items())

    def assume_equal(self, a: Dim, b: DimLike, reason: str, span: Span) -> Facts:
        """Assume `a == b`: solve it for a symbol where possible.

        >>> from shlo_disc.diagnostics import NOWHERE
        >>> from shlo_disc.expr.dim import symbol
        >>> s = symbol("s0")
        >>> odd = Facts.empty().assume_equal(s, 2 * (s // 2) + 1, "an assertion", NOWHERE)
        >>> odd.canonical(s), odd.definitions
        (2*s0_by_2 + 1, ((s0_by_2, (s0 + 1) // 2 - 1),))
        """
        system = solve.add_zero(self._system, self.canonical(a - b))
        return self._with(system, self._fact(f"{a} == {b}", a - b, reason, span))

    def assume_at_least(self, a: Dim, bound: DimLike, reason: str, span: Span) -> Facts:
        """Assume `a >= bound`."""
        system = solve.add_nonnegative(self._system, self.canonical(a - bound))
        return self._with(system, self._fact(_at_least_text(a - bound), a - bound, reason, span))

    def limited(self, sym: Sym, most: int) -> Facts:
        """Bound a size by 0 and `most`, without a fact that messages would list."""
        return self._known_by(solve.add_limits(self._system, sym, 0, most))

    def assume_divides(self, k: int, a: Dim, reason: str, span: Span) -> Facts:
        """Assume that the positive integer `k` divides `a`."""
        assert k > 0, f"{k} cannot be a divisor"
        text = f"{a} % {k} == 0" if a.atom else f"({a}) % {k} == 0"
        return self._with(solve.add_multiple(self._system, k, self.canonical(a)), self._fact(text, a, reason, span))

    def define(self, sym: Sym, dim: Dim) -> Facts:
        """Let the new symbol `sym` stand for a dim, where that eliminates another symbol.

        >>> from shlo_disc.expr.dim import symbol
        >>> facts = Facts.empty().define(Sym("b"), symbol("s0") - 1)
        >>> facts.canonical(symbol("s0")), facts.definitions
        (b + 1, ((b, s0 - 1),))
        """
        system = solve.add_definition(self._system, sym, self.canonical(dim))
        return self if system is self._system else self._known_by(system)

    @property
    def names(self) -> tuple[tuple[Sym, Dim], ...]:
        """Symbols that stand for large dims, in canonical symbols and in earlier names."""
        return tuple(self._system.given.names.items())

    def name(self, sym: Sym, dim: Dim) -> Facts:
        """Let the new symbol `sym` stand for a large dim, which `named` then writes as `sym`."""
        return self._known_by(solve.add_name(self._system, sym, self.canonical(dim)))

    def settled(self) -> Facts:
        """Simplify the dims of names by what became known after they were named."""
        return self._known_by(solve.settle_names(self._system)) if self._system.given.names else self

    def named(self, dim: Dim) -> Dim:
        """Write a dim in its simplest form, or by its name if it has one."""
        dim = self.canonical(dim)
        name = self._system.given.name_of(dim)
        return dim if name is None else of(name)

    def in_raw(self, dim: Dim) -> Dim:
        """Write a canonical dim in symbols of the program and in names."""
        return solve.in_raw(self._system, dim)

    def sources(self, dim: Dim) -> frozenset[Sym]:
        """The symbols of a dim and of their definitions."""
        return sources(dim.symbols(), self.definitions)

    def unfolded(self, dim: Dim) -> Dim:
        """Write a dim without names."""
        for sym, formula in reversed(self.names):
            dim = dim.substitute({sym: formula})
        return dim

    def _known_by(self, system: System) -> Facts:
        return replace(self, _system=system, _rules=system.rules)

    def with_late(self, late: Iterable[Sym]) -> Facts:
        """Mark symbols that become known during a call: proofs about other sizes use no facts about them."""
        given = self._system.given
        for sym in late:
            given = given.with_late(sym)
        return self if given is self._system.given else self._known_by(replace(self._system, given=given))

    def late_of(self, dim: Dim) -> frozenset[Sym]:
        """The symbols of a dim, and of formulas that its symbols stand for, that become known during a call."""
        return self._system.given.late_of(dim)

    @property
    def given(self) -> Assumptions:
        """What is known, in the form that proofs use."""
        return self._system.given

    @property
    def solved(self) -> tuple[Sym, ...]:
        """The symbols that equations were solved for."""
        return tuple(self._solved_by)

    def reached(self, symbols: Collection[Sym]) -> frozenset[Sym]:
        """These symbols, and all others that canonical forms of formulas of them may mention."""
        return self._system.given.reached(symbols)

    def solved_since(self, before: Facts) -> tuple[Sym, ...]:
        """The symbols that equations were solved for since `before`, facts that these extend."""
        return tuple(solve.solved_since(self._system, before._system))

    def solved_by(self, dim: Dim) -> tuple[int, ...]:
        """The numbers of the assumptions that express symbols of `dim` by others."""
        return tuple(sorted({self._solved_by[sym] for sym in dim.symbols() if sym in self._solved_by}))

    def _fact(self, text: str, dim: Dim, reason: str, span: Span) -> Fact:
        return Fact(text, reason, span, dim.symbols(), self.solved_by(dim))

    def _with(self, system: System, fact: Fact) -> Facts:
        if system is self._system:
            return self if fact in self._known else self._telling(fact)
        by, number = self._solved_by, self._count
        for sym in solve.solved_since(system, self._system):
            by = by.with_entry(sym, number)
        return replace(self._telling(fact), _system=system, _rules=system.rules, _solved_by=by)

    @property
    def _count(self) -> int:
        return 0 if self._told is None else self._told.count

    def _telling(self, fact: Fact) -> Facts:
        number = self._count
        return replace(self, _told=_Told(fact, self._told, number + 1), _known=self._known.with_entry(fact, number))

    def about(self, dim: Dim) -> tuple[Fact, ...]:
        """List the assumptions that mention a symbol of `dim`, raw or canonical."""
        symbols = dim.symbols() | self.canonical(dim).symbols()
        return tuple([fact for fact in self.facts if fact.symbols & symbols])

    def with_index(self, sym: Sym, extent: Dim) -> Facts:
        """Enter the body of a loop over `0 <= sym < extent`; there, the extent is at least 1.

        By these facts, the index of a loop of at most one iteration may be 0 or 1. As a constant 0 it would vanish from
        formulas, which could then be hoisted out of the loop to where there may be no element.

        >>> i, s = Sym("i"), of(Sym("s"))
        >>> turns = Facts.empty().with_index(i, s % 2)
        >>> str(turns.canonical(of(i))), turns.at_least(s % 2, 1)
        ('i', <Truth.TRUE: 'true'>)
        """
        inside = self._inside(sym, as_dim(0), extent - 1, extent - 1)
        if inside.interval(of(sym))[1] != 0 or self.at_least(extent, 1).is_true:
            return inside
        return self._inside(sym, as_dim(0), as_dim(1), extent - 1)

    def with_range(self, sym: Sym, lower: Dim, upper: Dim) -> Facts:
        """Enter a scope in which `lower <= sym <= upper`; there, the range is not empty.

        Entering a scope again gives the same facts, with what was proven there.
        """
        return self._inside(sym, lower, upper, upper - lower)

    def _inside(self, sym: Sym, lower: Dim, upper: Dim, last: Dim) -> Facts:
        key = sym, lower, upper, last
        if (known := self._scopes.get(key)) is None:
            known = self._scopes[key] = self._scope(*key)
        return known

    def _scope(self, sym: Sym, lower: Dim, upper: Dim, last: Dim) -> Facts:
        """The facts in a scope with this range, where `last` is not negative."""
        lower, upper, last = self.canonical(lower), self.canonical(upper), self.canonical(last)
        system = self._system
        if not self._rules.prover.nonnegative(last):
            system = solve.add_nonnegative(system, last)
        given = system.given
        if lower == upper:
            given = given.with_substitution(sym, lower)
        else:
            given = replace(given, ranges={**given.ranges, sym: (lower, upper)})
        return replace(
            self, _system=replace(system, given=given), _rules=Canonical(given, outer=self._rules, index=sym)
        )

    def canonical(self, dim: Dim) -> Dim:
        """Write a dim in its simplest form under these facts; equal results mean equal dims."""
        return self._rules.dim(dim)

    def readable(self, dim: Dim) -> Dim:
        """Write a canonical dim for people: in sizes of the program rather than in quotients of them."""
        system = self._system
        if not any(sym in system.defined for sym in dim.symbols()):
            return dim
        return readable(dim, quotients(self.definitions, system.given.substitution))

    def equal(self, a: Dim, b: DimLike) -> Truth:
        """Decide `a == b`."""
        difference = self.canonical(a - b)
        if (value := difference.constant) is not None:
            return Truth.FALSE if value else Truth.TRUE
        variable, offset = split_constant(difference)
        prover = self._rules.prover
        if offset % prover.divisor(variable):
            return Truth.FALSE
        if prover.nonnegative(difference):
            if prover.nonnegative(difference - 1):
                return Truth.FALSE
            return Truth.TRUE if prover.nonnegative(-difference) else Truth.UNKNOWN
        return Truth.FALSE if prover.nonnegative(-difference - 1) else Truth.UNKNOWN

    def at_least(self, a: Dim, b: DimLike) -> Truth:
        """Decide `a >= b`."""
        difference = self.canonical(a - b)
        if self._rules.prover.nonnegative(difference):
            return Truth.TRUE
        return Truth.FALSE if self._rules.prover.nonnegative(-difference - 1) else Truth.UNKNOWN

    def greater(self, a: Dim, b: DimLike) -> Truth:
        """Decide `a > b`."""
        return self.at_least(a, b + 1)

    def interval(self, dim: Dim) -> Interval:
        """Bound a dim by constants, inclusive; None: no bound is known."""
        dim = self.canonical(dim)
        return self._rules.prover.interval(dim)

    def divisor(self, dim: Dim) -> int:
        """Find the largest known integer that divides `dim`; 0 for the dim 0."""
        return self._rules.prover.divisor(self.canonical(dim))

    @property
    def judge(self) -> Prover:
        """The prover of claims about canonical dims, by intervals and proofs."""
        return self._rules.prover

    def fits(self, dim: Dim, dtype: DType) -> bool:
        """Whether a dim is proven to fit into an integer type, and into the 64 bits of dims in generated code."""
        dim, (least, greatest) = self.canonical(dim), dtype.integer_bounds
        return lies_between((dim, dim), least, min(greatest, LARGEST_DIM), self._rules.prover)

    def explain(self, dim: Dim) -> str:
        """Summarize in one line what is known about the symbols of `dim`."""
        parts: list[str] = []
        for sym in sorted(dim.symbols(), key=lambda each: each.order):
            simple = self.canonical(of(sym))
            if simple != of(sym):
                parts.append(f"{sym} == {simple}")
            low, high = self._rules.prover.interval(simple)
            if simple.constant is None:
                parts.append(_bounds_text(sym.name, low, high))
        return ", ".join(parts) if parts else "nothing"


def _at_least_text(difference: Dim) -> str:
    """Write `difference >= 0` without negative terms: `-s + 128 >= 0` reads `s <= 128`."""
    above = Dim(tuple([term for term in difference.terms if term[1] > 0]))
    below = above - difference
    return f"{below} <= {above}" if above.constant is not None else f"{above} >= {below}"


def _bounds_text(name: str, low: int | None, high: int | None) -> str:
    if low is None and high is None:
        return f"{name} is any integer"
    if high is None:
        return f"{name} >= {low}"
    return f"{name} <= {high}" if low is None else f"{low} <= {name} <= {high}"


_EMPTY = Facts()
