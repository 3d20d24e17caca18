"""The best sizes to pad to: a dynamic program over the different sizes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from operator import mul

Line = tuple[int, int, int]  # slope, intercept, and the number of sizes that are in the buckets before the last


def best_buckets(work: Callable[[int], int], weights: Mapping[int, int], count: int) -> tuple[int, ...]:
    """The sizes to pad to with the least work.

    A size is padded to the next bucket, which is one of the sizes itself. With the sizes in order, the least work of
    the first `j` of them in `k` buckets is the minimum over `i` of the least work of the first `i` in `k - 1` buckets,
    plus the weights of the others times the work of size `j`. These are lines in the work of size `j`. Their slopes
    fall with `i`, and the work grows with `j`, so the minimum is found on the lower hull of the lines in O(1) on
    average: all takes O(count * sizes) after sorting.

    Args:
        work: of one element of a size; it does not fall when sizes grow.
        weights: how often each size occurs, times the work of everything else.
        count: of the buckets, at least 1.

    Returns:
        The buckets, ascending: `count` of them, or all sizes where there are fewer.
    """
    sizes = sorted(weights)
    works = list(map(work, sizes))
    before = list(accumulate((weights[size] for size in sizes), initial=0))  # the weights of all smaller sizes
    least = [0, *map(mul, before[1:], works)]
    begins = list[list[int]]()  # of the last bucket, for each number of buckets from 2 on
    for buckets in range(2, min(count, len(sizes)) + 1):
        least, begin = _one_more(least, before, works, buckets)
        begins.append(begin)
    end, chosen = len(sizes), [sizes[-1]]
    for begin in reversed(begins):
        end = begin[end]
        chosen.append(sizes[end - 1])
    return tuple(reversed(chosen))


def _one_more(
    least: Sequence[int], before: Sequence[int], works: Sequence[int], buckets: int
) -> tuple[list[int], list[int]]:
    """The least work of the first sizes in `buckets` buckets, and where the last of these begins.

    Fewer sizes than buckets have no solution of their own: entries for them are not read.
    """
    hull = deque[Line]()
    result, begins = [0] * len(least), [0] * len(least)
    for j in range(buckets, len(least)):
        line = (-before[j - 1], least[j - 1], j - 1)
        while len(hull) > 1 and _is_hidden(hull[-2], hull[-1], line):
            hull.pop()
        hull.append(line)
        at = works[j - 1]
        while len(hull) > 1 and hull[1][0] * at + hull[1][1] <= hull[0][0] * at + hull[0][1]:
            hull.popleft()
        slope, intercept, begins[j] = hull[0]
        result[j] = intercept + (slope + before[j]) * at
    return result, begins


def _is_hidden(first: Line, middle: Line, last: Line) -> bool:
    """Whether the middle one of three lines of falling slopes is nowhere below both others."""
    return (last[1] - first[1]) * (first[0] - middle[0]) <= (middle[1] - first[1]) * (first[0] - last[0])
