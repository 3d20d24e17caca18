"""Directions of comparisons."""

from __future__ import annotations

from enum import Enum


class Direction(Enum):
    """`comparison_direction` of StableHLO."""

    EQ = "EQ"
    NE = "NE"
    GE = "GE"
    GT = "GT"
    LE = "LE"
    LT = "LT"
