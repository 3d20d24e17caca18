"""Quantized types, and ops between them and plain ones."""

from __future__ import annotations

from shlo_disc.verify.rules import Rules

RULES: tuple[Rules, ...] = ()
