"""What the templates know of a program besides the group that they print."""

from __future__ import annotations

from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.expr.dim import Dim, Sym, of
from shlo_disc.expr.facts import Facts
from shlo_disc.host.loop_invariant import LoopInvariant
from shlo_disc.records import record
from shlo_disc.schedules.tables import Scheduling


class ScheduleSymbols:
    """Symbols of formulas that select schedules: the host program computes them once, before the launch."""

    def __init__(self, program: Program) -> None:
        self._taken = {symbol.name for symbol in (*program.given, *(s for s, _ in program.definitions))}
        self._symbols = dict[Dim, Sym]()

    def named(self, formula: Dim, stem: str = "schedule") -> tuple[Dim, tuple[tuple[Sym, Dim], ...]]:
        """A size as a symbol that the host program computes, and its definition if it needs one."""
        if formula.constant is not None or isinstance(formula.atom, Sym):
            return formula, ()
        symbol = self.symbol(formula, stem)
        return of(symbol), ((symbol, formula),)

    def symbol(self, formula: Dim, stem: str = "schedule") -> Sym:
        """The symbol of a formula; equal formulas share one."""
        if (known := self._symbols.get(formula)) is None:
            name = f"{stem}{len(self._symbols)}"
            while name in self._taken:
                name += "_"
            known = self._symbols[formula] = Sym(name)
        return known


@record
class LoweringContext:
    """The same for all groups of a program."""

    facts: Facts
    producers: Producers
    scheduling: Scheduling
    loop_invariant: LoopInvariant
    symbols: ScheduleSymbols
