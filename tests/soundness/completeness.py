"""Refusals that rest on equalities which nobody proved, though they hold."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from shlo_disc.analysis.sizes import Point, free_symbols, random_points
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.kernels.groups import Decision

POINTS = 50
_DRAWN = 400  # points, among which those with distinct sizes are looked for


def telling_points(program: Program, seed: int) -> list[Point]:
    """Sizes at which an equality is no coincidence: no 0, no 1, no two alike, where the checks let such sizes pass."""
    symbols = free_symbols(program)

    def coincidences(point: Point) -> int:
        sizes = [point[symbol] for symbol in symbols]
        return sum(size < 2 for size in sizes) + len(sizes) - len(set(sizes))

    drawn = list(itertools.islice(random_points(program, Random(seed)), _DRAWN))
    return sorted(drawn, key=coincidences)[:POINTS]


def missed(decisions: Iterable[Decision], points: Sequence[Point]) -> Iterator[Decision]:
    """The refusals whose claims all hold at all points."""
    for decision in decisions:
        if not decision.merged and decision.claims and points:
            sides = [(claim.lhs, claim.rhs) for claim in decision.claims]
            if any(dim.data() for pair in sides for dim in pair):
                continue
            if all(a.evaluate(point) == b.evaluate(point) for a, b in sides for point in points):
                yield decision
