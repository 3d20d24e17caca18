"""Ops that move elements, to shapes that an operand gives."""

from __future__ import annotations

from shlo_disc.verify.rules import Rules

RULES: tuple[Rules, ...] = ()
