"""Control flow, calls, tuples and tokens."""

from __future__ import annotations

from shlo_disc.verify.rules import Rules

RULES: tuple[Rules, ...] = ()
