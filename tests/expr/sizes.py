"""Sizes that tests are about."""

from __future__ import annotations

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.expr.dim import Dim, symbol
from shlo_disc.expr.facts import Facts

SIZES = A, B, S, T, H = (
    symbol("a"),
    symbol("b"),
    symbol("s"),
    symbol("t"),
    symbol("h"),
)


def sizes(*minimum_one: Dim) -> Facts:
    """All sizes are at least 0, some at least 1."""
    facts = Facts.empty()
    for dim in SIZES:
        facts = facts.assume_at_least(dim, int(dim in minimum_one), "a size", NOWHERE)
    return facts
