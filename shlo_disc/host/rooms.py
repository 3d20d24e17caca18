"""Memory in which a temporary always has room, whatever the sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.expr.facts import Facts
from shlo_disc.limits import MOST_ROOMS

_EXACT = 1 - 1e-9  # tolerance of sizes as floats


class Rooms:
    """Finds rooms (bytes) that are at least as large as a size: filtered at the points, then proven."""

    def __init__(self, rooms: Sequence[Dim], facts: Facts, points: Sequence[Mapping[Sym, int]]) -> None:
        self._rooms, self._facts, self._points = rooms, facts, points
        self._values = np.array([self._at_points(room) for room in rooms], np.float64).reshape(len(rooms), len(points))
        self._known = dict[Dim, list[Dim]]()

    def for_size(self, size: Dim) -> list[Dim]:
        """The rooms for a size, in order: one of that size, and those of the first few others proven to be as large."""
        if (known := self._known.get(size)) is None:
            known = self._known[size] = list(self._found(size))
        return known

    def _at_points(self, size: Dim) -> list[float]:
        return [float(size.evaluate(point)) for point in self._points]

    def _found(self, size: Dim) -> Iterator[Dim]:
        least = np.array(self._at_points(size), np.float64) * _EXACT
        tried = 0
        for number in np.flatnonzero((self._values >= least).all(axis=1)).tolist():
            room = self._rooms[number]
            tried += room != size
            if room == size or (tried <= MOST_ROOMS and self._holds(room, size)):
                yield room

    def _holds(self, room: Dim, size: Dim) -> bool:
        at_points = all(size.evaluate(point) <= room.evaluate(point) for point in self._points)
        return at_points and self._facts.at_least(room, size).is_true
