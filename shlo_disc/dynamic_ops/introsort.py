"""The order that an unstable sort gives to equal elements.

StableHLO leaves this order unspecified. XLA's CPU backend calls `std::sort` of GNU's libstdc++, so this module follows
that algorithm step by step: introsort (Musser 1997) with a final insertion sort.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

_Less: TypeAlias = Callable[[int, int], bool]
_SMALL = 16


def introsorted(count: int, less: _Less) -> list[int]:
    """Sort the positions 0 … count-1; `less` compares two positions."""
    order = list(range(count))
    if count > 1:
        _loop(order, 0, count, 2 * (count.bit_length() - 1), less)
        _insert_all(order, less)
    return order


def _loop(a: list[int], first: int, last: int, depth: int, less: _Less) -> None:
    while last - first > _SMALL:
        if depth == 0:
            a[first:last] = _heap_sorted(a[first:last], less)
            return
        depth -= 1
        middle = first + (last - first) // 2
        _median_to_first(a, first, (first + 1, middle, last - 1), less)
        cut = _partition(a, first, last, less)
        _loop(a, cut, last, depth, less)
        last = cut


def _median_to_first(a: list[int], first: int, places: tuple[int, int, int], less: _Less) -> None:
    x, y, z = places
    if less(a[x], a[y]):
        found = y if less(a[y], a[z]) else z if less(a[x], a[z]) else x
    else:
        found = x if less(a[x], a[z]) else z if less(a[y], a[z]) else y
    a[first], a[found] = a[found], a[first]


def _partition(a: list[int], pivot: int, last: int, less: _Less) -> int:
    left, right = pivot + 1, last
    while True:
        while less(a[left], a[pivot]):
            left += 1
        right -= 1
        while less(a[pivot], a[right]):
            right -= 1
        if left >= right:
            return left
        a[left], a[right] = a[right], a[left]
        left += 1


def _insert_all(a: list[int], less: _Less) -> None:
    for at in range(1, len(a)):
        value, hole = a[at], at
        if at < _SMALL and less(value, a[0]):
            a[: at + 1] = [value, *a[:at]]
            continue
        while less(value, a[hole - 1]):
            a[hole] = a[hole - 1]
            hole -= 1
        a[hole] = value


def _heap_sorted(values: Sequence[int], less: _Less) -> list[int]:
    a = list(values)
    for parent in range((len(a) - 2) // 2, -1, -1):
        _adjust(a, parent, len(a), a[parent], less)
    for last in range(len(a) - 1, 0, -1):
        value, a[last] = a[last], a[0]
        _adjust(a, 0, last, value, less)
    return a


def _adjust(a: list[int], top: int, count: int, value: int, less: _Less) -> None:
    """Move the hole at `top` down to a leaf along the larger children, then `value` up from there."""
    hole = child = top
    while child < (count - 1) // 2:
        child = 2 * (child + 1)
        if less(a[child], a[child - 1]):
            child -= 1
        a[hole] = a[child]
        hole = child
    if count % 2 == 0 and child == (count - 2) // 2:
        child = 2 * (child + 1)
        a[hole] = a[child - 1]
        hole = child - 1
    while hole > top and less(a[(hole - 1) // 2], value):
        a[hole] = a[(hole - 1) // 2]
        hole = (hole - 1) // 2
    a[hole] = value
