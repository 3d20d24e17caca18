"""Linear algebra and Fourier transforms."""

from __future__ import annotations

from shlo_disc.verify.rules import Rules

RULES: tuple[Rules, ...] = ()
