"""StableHLO to DHLO: CHLO functions, spelled out in simpler ones."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.dynamic_ops.frame import Rule

RULES: Mapping[str, Rule] = {}
