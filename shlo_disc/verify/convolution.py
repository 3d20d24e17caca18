"""Convolutions, static and dynamic."""

from __future__ import annotations

from shlo_disc.verify.rules import Rules

RULES: tuple[Rules, ...] = ()
