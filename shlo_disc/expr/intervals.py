"""Arithmetic of intervals of integers whose ends may be unknown."""

from __future__ import annotations

from typing import TypeAlias

Interval: TypeAlias = tuple[int | None, int | None]
UNBOUNDED: Interval = (None, None)
FARTHEST = 1 << 1024  # ends beyond it are dropped: the digits of nested powers would exhaust memory


def times(a: Interval, b: Interval) -> Interval:
    """Multiply intervals; 0 times unbounded is 0. Ends beyond `FARTHEST` are dropped or moved to it."""
    if a == (1, 1):
        return b
    if a == (0, 0) or b == (0, 0):
        return (0, 0)
    if a[0] is not None and a[0] >= 0 and b[0] is not None and b[0] >= 0:  # the usual case
        return _near(a[0] * b[0], None if a[1] is None or b[1] is None else a[1] * b[1])
    sides = (True, False)
    ends = [
        _end(x, low_x, y, low_y) for x, low_x in zip(a, sides, strict=True) for y, low_y in zip(b, sides, strict=True)
    ]
    low, high = min(ends), max(ends)
    return _near(None if low == -_INFINITY else int(low), None if high == _INFINITY else int(high))


def _near(low: int | None, high: int | None) -> Interval:
    if low is not None and not -FARTHEST <= low <= FARTHEST:
        low = FARTHEST if low > 0 else None
    if high is not None and not -FARTHEST <= high <= FARTHEST:
        high = None if high > 0 else -FARTHEST
    return low, high


_INFINITY = float("inf")


def _end(x: int | None, low_x: bool, y: int | None, low_y: bool) -> int | float:
    """Multiply two ends of intervals, where None is the infinity on that side."""
    if x == 0 or y == 0:
        return 0
    if x is not None and y is not None:
        return x * y
    negative_x = low_x if x is None else x < 0
    negative_y = low_y if y is None else y < 0
    return -_INFINITY if negative_x != negative_y else _INFINITY


def meet(a: Interval, b: Interval) -> Interval:
    """Intersect two intervals."""
    if b == UNBOUNDED:
        return a
    low = b[0] if a[0] is None else a[0] if b[0] is None else max(a[0], b[0])
    high = b[1] if a[1] is None else a[1] if b[1] is None else min(a[1], b[1])
    return low, high


def quotient(numerator: Interval, denominator: Interval) -> Interval:
    """Divide, rounded down; a divisor that is not negative counts as positive."""
    (low, high), (least, greatest) = numerator, denominator
    if least is None or least < 0:
        return UNBOUNDED
    least = max(least, 1)
    if low is not None:
        low = low // least if low < 0 else low // max(greatest, 1) if greatest is not None else 0
    if high is not None:
        high = high // least if high >= 0 else high // max(greatest, 1) if greatest is not None else -1
    return low, high


def remainder(numerator: Interval, denominator: Interval) -> Interval:
    """Take the remainder of a division that is rounded down."""
    (low, high), (least, greatest) = numerator, denominator
    if least is None or least < 0:
        return UNBOUNDED
    bound = None if greatest is None else max(greatest, 1) - 1
    if low is not None and low >= 0 and high is not None:
        bound = high if bound is None else min(bound, high)
    return 0, bound


def least(ends: tuple[int | None, ...], *, every: bool) -> int | None:
    """Take the least end; with `every`, one missing end leaves the result unbounded."""
    present = [end for end in ends if end is not None]
    return min(present) if present and (not every or len(present) == len(ends)) else None


def greatest(ends: tuple[int | None, ...], *, every: bool) -> int | None:
    """Take the greatest end; with `every`, one missing end leaves the result unbounded."""
    present = [end for end in ends if end is not None]
    return max(present) if present and (not every or len(present) == len(ends)) else None
