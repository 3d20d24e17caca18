"""Placement of temporaries in one arena: a layout found at likely sizes, made legal for all sizes.

A layout is an order in which allocations are stacked: each lies above all earlier ones that are alive when it is, so
its offset is the largest of their ends. This holds for any sizes; the order is what decides how much is wasted. Orders
are tried at likely sizes: greedy by size, the best heuristic of Pisarchyk and Lee (arXiv 2001.03288, section 5), and
variants of it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.expr.dim import Dim, Sym, const, maximum, of
from shlo_disc.expr.facts import Facts
from shlo_disc.host.redundant_sums import Front, SumOrder
from shlo_disc.host.scheduling import AtPoints
from shlo_disc.records import record

ALIGNMENT = 64  # bytes: a cache line, and the widest vector

_STEPS = 1000  # allocations placed greedily, all in all: some 20 ms
_MOST_TRIES = 12
_MOST_BYTES = 1 << 44  # cap on sizes at points: no machine has more, and sums stay far from overflow
_LONGEST_FRONT = 8  # sums that are compared in one formula; more get a name
_Life: TypeAlias = tuple[tuple[int, int], ...]  # when it is needed: half-open ranges of moments


@record
class Allocation:
    """Something that needs memory at some moments (a bit each); its size in bytes."""

    moments: int
    size: Dim


@record
class Placement:
    """Offsets (bytes) of allocations, and the size of the arena, in terms of symbols and `definitions`, in order."""

    definitions: tuple[tuple[Sym, Dim], ...]
    offsets: tuple[Dim, ...]
    arena: Dim


@record
class Stacking:
    """An order to stack allocations in, with their sizes, their lives, and the arena (bytes) at each point."""

    sizes: tuple[Dim, ...]
    lives: tuple[_Life, ...]
    order: tuple[int, ...]
    arena: AtPoints


def stack(allocations: Sequence[Allocation], facts: Facts, points: Sequence[Mapping[Sym, int]]) -> Stacking:
    """Find an order that wastes little at the points."""
    known = {
        size: aligned(facts.canonical(size)) for size in dict.fromkeys(allocation.size for allocation in allocations)
    }
    sizes = tuple(known[allocation.size] for allocation in allocations)
    lives = tuple(_life(allocation.moments) for allocation in allocations)
    order, arena = _best_order(lives, sizes_at(sizes, points))
    return Stacking(sizes, lives, tuple(order), arena)


def place(
    stacking: Stacking, facts: Facts, points: Sequence[Mapping[Sym, int]], names: Collection[str] = ()
) -> Placement:
    """Give allocations that are alive at the same moment bytes of their own; `names` are taken by other symbols."""
    return _Stack(stacking.sizes, facts, points, names).place(stacking.order, stacking.lives)


def aligned(size: Dim) -> Dim:
    """Round a size up to a multiple of the alignment."""
    known = size.constant
    if known is not None:
        return const((known + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT)
    return (size + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


def _life(moments: int) -> _Life:
    """The moments as half-open ranges."""
    found, start = list[tuple[int, int]](), 0
    while moments:
        skip = (moments & -moments).bit_length() - 1
        moments >>= skip
        length = (~moments & moments + 1).bit_length() - 1
        found.append((start + skip, start + skip + length))
        moments >>= length
        start += skip + length
    return tuple(found)


class _Skyline:
    """The topmost allocation at every moment, while allocations are stacked.

    Only these determine the offset of the next one: whatever lies below them ends lower.
    """

    def __init__(self) -> None:
        self._starts, self._tops = [0], [-1]  # an allocation from each start to the next; -1: none

    def stack(self, allocation: int, life: _Life) -> set[int]:
        """Put an allocation on top for its life; return those directly below it."""
        starts, tops, below = self._starts, self._tops, set[int]()
        for start, stop in life:
            first = bisect_right(starts, start) - 1
            last = bisect_left(starts, stop, first)
            below.update(tops[first:last])
            left = [] if starts[first] == start else [(starts[first], tops[first])]
            right = [] if last < len(starts) and starts[last] == stop else [(stop, tops[last - 1])]
            new = [*left, (start, allocation), *right]
            starts[first:last] = [moment for moment, _ in new]
            tops[first:last] = [top for _, top in new]
        below.discard(-1)
        return below


def sizes_at(sizes: Sequence[Dim], points: Sequence[Mapping[Sym, int]]) -> AtPoints:
    """Bytes by size and point, at most 16 TiB each; without points, at 32 for every symbol."""
    known = dict[Dim, list[int]]()
    for size in sizes:
        if size not in known:
            tried = points or (dict.fromkeys(size.symbols(), 32),)
            known[size] = [min(max(0, size.evaluate(point)), _MOST_BYTES) for point in tried]
    return np.array([known[size] for size in sizes], np.int64).reshape(len(sizes), max(1, len(points)))


# -- orders


def _best_order(lives: Sequence[_Life], sizes: AtPoints) -> tuple[list[int], AtPoints]:
    """The order whose arena is smallest relative to the peak of live bytes, over all points; and that arena."""
    arena: AtPoints = np.zeros(int(sizes.shape[1]), np.int64)
    if not lives:
        return [], arena
    least = _least(lives, sizes)
    heights = np.zeros_like(sizes)
    lengths: AtPoints = np.array([sum(stop - start for start, stop in life) for life in lives], np.int64)
    spans: AtPoints = np.array([(life[0][0], life[-1][1]) if life else (0, 0) for life in lives], np.int64)
    starts = spans[:, 0]
    columns = int(sizes.shape[1])
    tries = max(3, min(_MOST_TRIES, _STEPS // len(lives)))
    best, best_waste = list[int](), float("inf")
    for attempt in range(tries):
        kind, point = attempt // columns % 3, attempt % columns
        here = sizes[:, point]
        keys: tuple[AtPoints, ...] = (here, here * lengths, -starts)
        key = keys[kind]
        if attempt >= 3 * columns:  # what stood highest in the best layout so far comes first
            high: AtPoints = heights[:, point]
            key = here + int(here.max()) * np.array(high >= high.max(), np.int64)
        order = _greedy(np.lexsort((starts, -lengths, -key)).tolist(), spans, here)
        tried = _heights(order, lives, sizes) + sizes
        ends = tried.max(axis=0)
        waste = float((ends / least).sum())
        if waste < best_waste:
            best, best_waste, heights, arena = order, waste, tried, ends
        if best_waste <= columns:
            break
    return best, arena


def _least(lives: Sequence[_Life], sizes: AtPoints) -> NDArray[np.float64]:
    """Peak of live bytes by point: a lower bound of every layout."""
    changes = np.zeros((1 + max((life[-1][1] for life in lives if life), default=0), sizes.shape[1]), np.int64)
    for life, size in zip(lives, sizes, strict=True):
        for start, stop in life:
            changes[start] += size
            changes[stop] -= size
    return np.maximum(changes.cumsum(axis=0).max(axis=0), 1).astype(np.float64)


def _greedy(order: Sequence[int], spans: AtPoints, sizes: AtPoints) -> list[int]:
    """Place each allocation in the smallest gap that holds it; return them in the order of their offsets.

    Here a life is one range, from the first moment to the last; the stacking then reuses the gaps in lives.
    """
    placed: AtPoints = np.empty((4, len(order)), np.int64)  # by offset: the offset, the end, the first moment, the last
    offsets = [0] * len(order)
    for count, k in enumerate(order):
        (start, stop), size = spans[k], sizes[k]
        lows, ends, firsts, lasts = placed[:, :count]
        met = np.flatnonzero((firsts < stop) & (lasts > start))
        tops = np.concatenate(([0], np.maximum.accumulate(ends[met])))
        gaps = lows[met] - tops[:-1]
        wide = np.flatnonzero(gaps >= size)
        found = int(tops[wide[gaps[wide].argmin()]] if len(wide) else tops[-1])
        at = int(np.searchsorted(lows, found))
        placed[:, at + 1 : count + 1] = placed[:, at:count]
        placed[:, at] = found, found + size, start, stop
        offsets[k] = found
    ends = [offset + size for offset, size in zip(offsets, sizes.tolist(), strict=True)]
    return sorted(range(len(order)), key=lambda k: (offsets[k], ends[k], k))


def _heights(order: Sequence[int], lives: Sequence[_Life], sizes: AtPoints) -> AtPoints:
    """Offsets by allocation and point, if the allocations are stacked in an order."""
    skyline, rows = _Skyline(), sizes.tolist()
    offsets = [[0] * sizes.shape[1] for _ in rows]
    ends = [[0] * sizes.shape[1] for _ in rows]
    for k in order:
        if below := [ends[j] for j in skyline.stack(k, lives[k])]:
            offsets[k] = below[0] if len(below) == 1 else [max(column) for column in zip(*below, strict=True)]
        ends[k] = [offset + size for offset, size in zip(offsets[k], rows[k], strict=True)]
    return np.array(offsets, np.int64)


# -- formulas


class _Stack:
    """Stacks allocations symbolically: an offset is the maximum of a few sums, without those proven redundant."""

    def __init__(
        self, sizes: Sequence[Dim], facts: Facts, points: Sequence[Mapping[Sym, int]], names: Collection[str]
    ) -> None:
        self.sizes = sizes
        self.order = SumOrder(facts, points)
        self.names = set(names)
        self.definitions = dict[Dim, Sym]()

    def place(self, order: Sequence[int], lives: Sequence[_Life]) -> Placement:
        """Offsets and the arena for an order."""
        skyline = _Skyline()
        beneath = [0] * len(self.sizes)  # a bit for every allocation that lies below, directly or not
        ends: list[Front] = [()] * len(self.sizes)
        offsets = [const(0)] * len(self.sizes)
        for k in order:
            below = sorted(skyline.stack(k, lives[k]))
            hidden = reduce(int.__or__, (beneath[j] for j in below), 0)
            beneath[k] = hidden | sum(1 << j for j in below)
            front = self.order.highest([ends[j] for j in below if not hidden >> j & 1])
            if len(front) > _LONGEST_FRONT:
                front = self.order.named(self._name(_largest(front)), front)
            offsets[k] = self._offset(front)
            ends[k] = self.order.raised(front, self.sizes[k])
        covered = reduce(int.__or__, beneath, 0)
        arena = _largest(self.order.highest([end for k, end in enumerate(ends) if not covered >> k & 1]))
        return Placement(tuple((symbol, dim) for dim, symbol in self.definitions.items()), tuple(offsets), arena)

    def _offset(self, front: Front) -> Dim:
        """A single sum, or a name for the maximum of several, as many allocations may have that offset."""
        return _largest(front) if len(front) < 2 else of(self._name(_largest(front)))

    def _name(self, dim: Dim) -> Sym:
        if (known := self.definitions.get(dim)) is None:
            number = len(self.definitions)
            name = f"offset{number}"
            while name in self.names:
                name += "_"
            known = self.definitions[dim] = Sym(name)
        return known


def _largest(front: Front) -> Dim:
    return maximum(*(sum_.dim for sum_ in front)) if front else const(0)
