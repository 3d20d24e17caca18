"""The rules of all ops, by name."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.verify import move
from shlo_disc.verify.rules import Rules

RULES: Mapping[str, Rules] = {rules.name: rules for rules in (*move.RULES,)}
