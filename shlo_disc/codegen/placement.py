"""Where temporaries lie in one arena: a layout found at likely sizes, made legal for all sizes.

A layout is an order in which tenants are stacked: each lies above all earlier ones that are alive when it is, so its
offset is the largest of their ends. This holds for any sizes; the order is what decides how much is wasted. Orders
are tried at likely sizes: greedy by size, the best heuristic of Pisarchyk and Lee (arXiv 2001.03288, section 5), and
variants of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shlo_disc.codegen.dominance import Dominance, Front
from shlo_disc.expr.dim import Dim, Sym, const, maximum, of
from shlo_disc.expr.facts import Facts

ALIGNMENT = 64  # bytes: a cache line, and the widest vector

_STEPS = 20_000  # of greedy placements, all in all: a few milliseconds
_MOST_TRIES = 24
_LONGEST_FRONT = 8  # sums that are compared in one formula; more get a name
_Sizes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tenant:
    """Something that needs memory at some moments (a bit each); its size in bytes."""

    moments: int
    size: Dim


@dataclass(frozen=True, slots=True)
class Placement:
    """Offsets (bytes) of all tenants, and the size of the arena, in terms of symbols and `definitions`, in order."""

    definitions: tuple[tuple[Sym, Dim], ...]
    offsets: tuple[Dim, ...]
    arena: Dim


def place(
    tenants: Sequence[Tenant], facts: Facts, points: Sequence[Mapping[Sym, int]], names: Collection[str] = ()
) -> Placement:
    """Give tenants that are alive at the same moment bytes of their own; `names` are taken by other symbols."""
    sizes = [aligned(facts.canonical(tenant.size)) for tenant in tenants]
    clashes = _clashes([tenant.moments for tenant in tenants])
    order = _best_order(tenants, clashes, _at_points(sizes, points))
    return _Stack(sizes, facts, points, names).place(order, clashes)


def aligned(size: Dim) -> Dim:
    """The next multiple of the alignment."""
    known = size.constant
    if known is not None:
        return const((known + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT)
    return (size + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


def _clashes(moments: Sequence[int]) -> list[list[int]]:
    """For each tenant those that are alive at a moment at which it is."""
    length = max((m.bit_length() + 7) // 8 for m in moments) if moments else 0
    raw = b"".join(m.to_bytes(length, "little") for m in moments)
    bits = np.unpackbits(np.frombuffer(raw, np.uint8).reshape(len(moments), length), axis=1) if length else None
    if bits is None:
        return [[] for _ in moments]
    alive = bits.astype(np.float32)
    meet = (alive @ alive.T) > 0
    np.fill_diagonal(meet, val=False)
    return [np.flatnonzero(row).tolist() for row in meet]


def _at_points(sizes: Sequence[Dim], points: Sequence[Mapping[Sym, int]]) -> _Sizes:
    """Sizes by tenant and point; where no point is known, all symbols are alike."""
    known = dict[Dim, list[int]]()
    for size in sizes:
        if size not in known:
            tried = points or (dict.fromkeys(size.symbols(), 32),)
            known[size] = [max(0, size.evaluate(point)) for point in tried]
    return np.array([known[size] for size in sizes], np.int64).reshape(len(sizes), max(1, len(points)))


# -- orders


def _best_order(tenants: Sequence[Tenant], clashes: Sequence[Sequence[int]], sizes: _Sizes) -> list[int]:
    """The order whose arena is smallest, relative to what is alive at once, over all points."""
    if not tenants:
        return []
    least = _least(tenants, sizes)
    heights = np.zeros_like(sizes)
    lengths: _Sizes = np.array([tenant.moments.bit_count() for tenant in tenants], np.int64)
    starts: _Sizes = np.array([(tenant.moments & -tenant.moments).bit_length() for tenant in tenants], np.int64)
    steps = sum(map(len, clashes)) + 16 * len(tenants)
    columns = int(sizes.shape[1])
    tries = max(3, min(_MOST_TRIES, _STEPS * 8 // steps))
    best, best_waste = list[int](), float("inf")
    for attempt in range(tries):
        kind, point = attempt // columns % 3, attempt % columns
        here = sizes[:, point]
        keys: tuple[_Sizes, ...] = (here, here * lengths, -starts)
        key = keys[kind]
        if attempt >= 3 * columns:  # what stood highest in the best layout so far comes first
            high: _Sizes = heights[:, point]
            key = here + int(here.max()) * np.array(high >= high.max(), np.int64)
        order = _greedy(np.lexsort((starts, -lengths, -key)).tolist(), clashes, here.tolist())
        tried = _heights(order, clashes, sizes) + sizes
        waste = float((tried.max(axis=0) / least).sum())
        if waste < best_waste:
            best, best_waste, heights = order, waste, tried
        if best_waste <= columns:
            break
    return best


def _least(tenants: Sequence[Tenant], sizes: _Sizes) -> NDArray[np.float64]:
    """What is alive at once at most, by point: no layout is smaller."""
    length = max(tenant.moments.bit_length() for tenant in tenants)
    alive = np.array([[tenant.moments >> k & 1 for k in range(length)] for tenant in tenants], np.int64)
    return np.maximum((alive.T @ sizes).max(axis=0, initial=0), 1).astype(np.float64)


def _greedy(order: Sequence[int], clashes: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[int]:
    """Place one tenant after the other in the smallest gap that holds it; the order of the offsets found."""
    offsets = dict[int, int]()
    for k in order:
        busy = sorted((offsets[j], offsets[j] + sizes[j]) for j in clashes[k] if j in offsets)
        end, size = 0, sizes[k]
        found, room = -1, 0
        for start, stop in busy:
            gap = start - end
            if gap >= size and (found < 0 or gap < room):
                found, room = end, gap
            end = max(end, stop)
        offsets[k] = end if found < 0 else found
    return sorted(offsets, key=lambda k: (offsets[k], offsets[k] + sizes[k], k))


def _heights(order: Sequence[int], clashes: Sequence[Sequence[int]], sizes: _Sizes) -> _Sizes:
    """Offsets by tenant and point, if the tenants are stacked in an order."""
    columns = sizes.shape[1]
    rows = sizes.tolist()
    offsets = [[0] * columns for _ in rows]
    ends: list[list[int] | None] = [None] * len(rows)
    for k in order:
        below = [end for j in clashes[k] if (end := ends[j]) is not None]
        if below:
            offsets[k] = [max(column) for column in zip(*below, strict=True)]
        ends[k] = [offset + size for offset, size in zip(offsets[k], rows[k], strict=True)]
    return np.array(offsets, np.int64)


# -- formulas


class _Stack:
    """Stacks tenants symbolically: an offset is the largest of a few sums, none of which is always below another."""

    def __init__(
        self, sizes: Sequence[Dim], facts: Facts, points: Sequence[Mapping[Sym, int]], names: Collection[str]
    ) -> None:
        self.sizes = sizes
        self.order = Dominance(facts, points)
        self.names = set(names)
        self.definitions = dict[Dim, Sym]()

    def place(self, order: Sequence[int], clashes: Sequence[Sequence[int]]) -> Placement:
        """Offsets and the arena for an order."""
        beneath = [0] * len(self.sizes)  # a bit for every tenant that lies below, directly or not
        ends: list[Front | None] = [None] * len(self.sizes)
        offsets = [const(0)] * len(self.sizes)
        for k in order:
            below = [j for j in clashes[k] if ends[j] is not None]
            hidden = 0
            for j in below:
                hidden |= beneath[j]
            beneath[k] = hidden | sum(1 << j for j in below)
            front = self.order.highest([ends[j] or () for j in below if not hidden >> j & 1])
            if len(front) > _LONGEST_FRONT:
                front = self.order.front(of(self._name(_largest(front))))
            offsets[k] = self._offset(front)
            ends[k] = self.order.raised(front, self.sizes[k])
        arena = _largest(self.order.highest([end for end in ends if end is not None]))
        return Placement(tuple((symbol, dim) for dim, symbol in self.definitions.items()), tuple(offsets), arena)

    def _offset(self, front: Front) -> Dim:
        """A sum as it is; the largest of several by a name, as many tenants may lie there."""
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
