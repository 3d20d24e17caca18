"""Finds the work and the compilations of ways to serve calls."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from shlo_disc.advisor.buckets import best_buckets
from shlo_disc.advisor.costs import ShapeCost
from shlo_disc.advisor.sizes import CallSizes
from shlo_disc.advisor.ways import WayToServe

_ROUNDS = 10  # over the columns, until their buckets stay as they are

Row = tuple[int, ...]
Padding = list[Mapping[int, int]]  # for each column, what each size is padded to


class Planner:
    """Finds the ways to serve calls.

    `calls` says how many calls have these sizes; with batches, the first of them is the number of samples. `needed` is
    the work without padding.
    """

    def __init__(self, sizes: CallSizes, cost: ShapeCost, batch: int | None, seconds: float | None) -> None:
        """`seconds`: that XLA takes to compile one shape."""
        self.calls: Mapping[Row, int] = Counter(sizes.rows if batch is None else _batches(sizes.rows, batch))
        self.needed = sum(count * cost.of(row) for row, count in Counter(sizes.rows).items())
        self._cost, self._batch, self._seconds = cost, batch, seconds
        self._sizes = [set(column) for column in zip(*self.calls, strict=True)]
        self._columns = range(0 if batch is None else 1, len(self._sizes))  # without the number of samples

    def ways(self, counts: Iterable[int]) -> Iterator[WayToServe]:
        """All ways; padding to the best sizes for each number of them."""
        exact: Padding = [{size: size for size in sizes} for sizes in self._sizes]
        yield self._way("jax.jit, each shape", exact)
        yield self._way("jax.jit, padded to the longest", self._padded(lambda sizes: {max(sizes)}))
        yield self._way("jax.jit, padded to powers of two", self._padded(lambda sizes: set(map(power_of_two, sizes))))
        each = " each" if len(self._columns) > 1 else ""
        for count in counts:
            padding = self._padded_to_best(count)
            chosen = tuple([tuple(sorted(set(padding[column].values()))) for column in self._columns])
            yield self._way(f"jax.jit, padded to {count} best size{'s' * (count > 1)}{each}", padding, chosen)
        ours = self._way("shlo_disc.jit, each shape", exact)
        yield WayToServe(ours.name, ours.work, ours.ratio, ours.padding, compilations=1, seconds=None)
        if self._batch is not None:
            yield WayToServe("no padding (ragged)", self.needed, 1.0, 0.0, compilations=1, seconds=None)

    def most_sizes(self) -> int:
        """How many different sizes the column has that has most of them."""
        return max(len(self._sizes[column]) for column in self._columns)

    def _way(self, name: str, padding: Padding, buckets: tuple[tuple[int, ...], ...] = ()) -> WayToServe:
        work, shapes = 0, set[Row]()
        for row, count in self.calls.items():
            padded = _padded_row(row, padding)
            work += count * self._cost.of(padded)
            shapes.add(padded)
        seconds = None if self._seconds is None else self._seconds * len(shapes)
        return WayToServe(name, work, work / self.needed, 1 - self.needed / work, len(shapes), seconds, buckets)

    def _padded(self, targets: Callable[[set[int]], set[int]]) -> Padding:
        """Every size padded to the next one of the targets for its column, and the last batch to a whole one."""
        return [
            _to_next(sizes, targets(sizes) if column in self._columns else {self._batch or 0})
            for column, sizes in enumerate(self._sizes)
        ]

    def _padded_to_best(self, count: int) -> Padding:
        """The buckets with the least work; of several columns, those of each are the best for those of the others."""
        padding = self._padded(set)
        for _ in range(_ROUNDS if len(self._columns) > 1 else 1):
            before = list(padding)
            for column in self._columns:
                factor = self._factor(column)
                best = best_buckets(factor, self._weights(column, padding), count)
                padding[column] = _to_next(self._sizes[column], set(best))
            if padding == before:
                break
        return padding

    def _weights(self, column: int, padding: Padding) -> Mapping[int, int]:
        """For each size of a column how many calls have it, times the work of their other sizes."""
        found = defaultdict[int, int](int)
        others = [(one, self._factor(one)) for one in range(len(self._sizes)) if one != column]
        for row, count in self.calls.items():
            weight = count
            for one, factor in others:
                weight *= factor(padding[one][row[one]])
            found[row[column]] += weight
        return found

    def _factor(self, column: int) -> Callable[[int], int]:
        return self._cost.factor(is_last=column == len(self._sizes) - 1)


def power_of_two(size: int) -> int:
    """The least power of two that is not less than a size.

    >>> [power_of_two(size) for size in (0, 1, 2, 3, 64, 65)]
    [1, 1, 2, 4, 64, 128]
    """
    return 1 << max(0, size - 1).bit_length()


def _batches(rows: Sequence[Row], batch: int) -> Iterator[Row]:
    """For each batch the number of its samples, and the longest of them."""
    for first in range(0, len(rows), batch):
        samples = rows[first : first + batch]
        yield len(samples), *map(max, zip(*samples, strict=True))


def _padded_row(row: Row, padding: Padding) -> Row:
    return tuple([sizes[size] for size, sizes in zip(row, padding, strict=True)])


def _to_next(sizes: Iterable[int], targets: Iterable[int]) -> Mapping[int, int]:
    """Each size with the least target that is not less."""
    ordered, found, at = sorted(targets), dict[int, int](), 0
    for size in sorted(sizes):
        while ordered[at] < size:
            at += 1
        found[size] = ordered[at]
    return found
