"""One arena: temporaries whose lifetimes do not meet share memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shlo_disc.expr.dim import Dim, const

ALIGNMENT = 64  # bytes: a cache line, and the widest vector


@dataclass(frozen=True, slots=True)
class Interval:
    """When a buffer is needed (steps, inclusive), and its size in bytes."""

    start: int
    end: int
    size: Dim

    def until(self, clock: int) -> Interval:
        return Interval(self.start, max(self.end, clock), self.size)


@dataclass(slots=True, eq=False)
class _Region:
    """A part of the arena; `busy_until` is the last step of its present tenant."""

    size: Dim
    offset: Dim
    busy_until: int


def place(intervals: Sequence[Interval]) -> tuple[tuple[Dim, ...], Dim]:
    """Offsets (bytes) for all intervals, and the size of the arena.

    First fit by start: a region is used again by a buffer of the same symbolic size, or by one of a constant size that
    fits. Sizes that cannot be compared for all inputs do not share.
    """
    regions, end = list[_Region](), const(0)
    offsets = dict[int, Dim]()
    order = sorted(range(len(intervals)), key=lambda k: (intervals[k].start, k))
    for k in order:
        interval = intervals[k]
        region = next(
            (r for r in regions if r.busy_until < interval.start and _fits(interval.size, r.size)),
            None,
        )
        if region is None:
            region = _Region(interval.size, end, interval.end)
            regions.append(region)
            end = end + aligned(interval.size)
        region.busy_until = interval.end
        offsets[k] = region.offset
    return tuple(offsets[k] for k in range(len(intervals))), end


def aligned(size: Dim) -> Dim:
    """The next multiple of the alignment."""
    known = size.constant
    if known is not None:
        return const((known + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT)
    return (size + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


def _fits(size: Dim, room: Dim) -> bool:
    if size == room:
        return True
    return size.constant is not None and room.constant is not None and size.constant <= room.constant
