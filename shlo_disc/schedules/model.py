"""What a product costs under a candidate: DietCode's model, and what measurements show is missing in it.

DietCode (Zheng et al., MLSys 2022) learns the speed of each micro-kernel once and derives that of every shape:

    cost(shape, candidate) = f_kernel * padding * occupancy

`f_kernel` is the time of the multiplications of a micro-kernel, `padding` how many of them serve no result, and
`occupancy` how long the slowest core works compared to all of them on average. On a CPU three things are missing,
without which 1 row and 1000 would differ by their multiplications alone (numbers: docs/explanation/schedules.md):

    loads     a tile of few rows waits for its row of B, whatever the registers do; B beyond a second-level cache
              bounds even the whole product, and where it lies its rows are read slower each time than packed ones
    packing   what is packed is read and written once more: for every block of rows
    aliasing  lines that are a multiple of 4 KiB apart share the few places of one cache set: the rows of A that a tile
              reads side by side, and the rows of B that it reads one after the other

For `m x n x k`, blocks of `rows x columns`, tiles of `tile_rows` and `threads` cores:

    width    = n rounded up to whole vectors       blocks = ceil(m / rows)
    tiles    = ceil(m / tile_rows)                 tasks  = batch * blocks * ceil(n / columns)
    passes   = blocks where B is packed, else tiles
    f        = max(tiles * tile, m * product, read if B is not near)
    extra    = passes * (pack + (alias_b if rows of B alias) + (reread if B is not near))
               + (tiles * alias_a if rows of A alias)
    serial   = width * k * (f + extra) + m * width * store + tasks / batch * call
    cost     = batch * serial * ceil(tasks / threads) / tasks

Padding is in `width`, and in `tile`: what a tile costs that is not full. TSCompiler (Luo et al., 2024) counts waves of
blocks in the same way; the launch table of GPUs does too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.schedules.candidates import Candidate

UNIT = 2.0**-16  # nanoseconds that rates count: costs are integers, alike in every interpreter
LARGEST = 1 << 12  # sizes beyond are compared as this one, so that no cost overflows: choices have settled by then
MOST_PRODUCTS = 1 << 8  # of a batch, in the same way
VECTOR = 16  # columns that are computed together, at least
_ALIASED = 1024  # elements in 4 KiB

Maximum: TypeAlias = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Rates:
    """What a micro-kernel takes on one core, in `UNIT`s.

    `call`: for a block. For an element of B: `pack`, where it is packed; `tile`, in each tile; `alias_a` and `alias_b`,
    in each tile, and each time that it is read where it lies, if rows of A, or of B, share cache sets. Where there are
    more of them than `near`, which a second-level cache holds: `read` once, and `reread` each time that it is read
    where it lies. `product`: for a multiplication. `store`: for a result.
    """

    call: int
    pack: int
    tile: int
    product: int
    store: int
    alias_a: int
    alias_b: int
    read: int
    reread: int
    near: int


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a product: numbers, arrays of them, or dims. The batch is that of the launch."""

    m: Any
    n: Any
    k: Any
    batch: Any = 1


def cost(
    candidate: Candidate,
    rates: Rates,
    shape: Shape,
    threads: int,
    maximum: Maximum = max,
    name: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """The time of a launch in `UNIT`s, see the formula above.

    It is made of `+`, `*`, `%` and `//` alone, so that it is one formula for numbers, arrays (`maximum=np.maximum`) and
    dims, to whose larger parts `name` gives names.
    """
    packs, tile_rows = candidate.kernel.form != "stream", candidate.kernel.tile_rows
    tiles = name(_parts(shape.m, tile_rows))
    passes = name(_parts(shape.m, candidate.rows)) if packs else tiles
    width = name(_parts(shape.n, VECTOR) * VECTOR)
    is_far = name(_more(shape.k * shape.n, rates.near))
    f = maximum(maximum(tiles * rates.tile, shape.m * rates.product), is_far * rates.read)
    per_pass = _aliased(shape.n) * rates.alias_b + is_far * rates.reread + (rates.pack if packs else 0)
    extra = passes * per_pass + tiles * (_aliased(shape.k) * rates.alias_a)
    work = name(width * shape.k * name(f + extra) + shape.m * width * rates.store)
    each = name(maximum(_parts(shape.m, candidate.rows) * _parts(shape.n, candidate.columns), 1))
    serial = work + each * rates.call
    if threads == 1:
        return serial * shape.batch
    return serial // each * _parts(each * shape.batch, threads)


def waste(candidate: Candidate, shape: Shape) -> float:
    """The share of what full tiles could compute that is no result.

    >>> from shlo_disc.schedules.candidates import parse_candidate
    >>> waste(parse_candidate("tiles 6, 192x128"), Shape(9, 32, 100))
    0.25
    """
    rows = _parts(shape.m, candidate.kernel.tile_rows) * candidate.kernel.tile_rows
    columns = _parts(shape.n, VECTOR) * VECTOR
    return 1 - shape.m * shape.n / (rows * columns) if rows * columns else 0.0


def occupancy(candidate: Candidate, shape: Shape, threads: int) -> float:
    """The share of the cores that work, on average over the launch."""
    tasks = shape.batch * _parts(shape.m, candidate.rows) * _parts(shape.n, candidate.columns)
    return tasks / (_parts(tasks, threads) * threads) if tasks else 1.0


def seconds(units: float) -> float:
    """A cost as seconds."""
    return units * UNIT * 1e-9


def _more(count: Any, most: int) -> Any:
    """1 if there are more, else 0, by arithmetic alone."""
    reached = count // (most + 1)
    return (reached + count) // (count + 1)


def _aliased(size: Any) -> Any:
    """1 if rows of so many elements share cache sets (those of f32: then f64 do more so), else 0."""
    rest = size % _ALIASED
    return (_ALIASED - rest) // _ALIASED


def _parts(size: Any, most: int) -> Any:
    return (size + (most - 1)) // most if most > 1 else size


Costs: TypeAlias = NDArray[np.int64] | NDArray[np.float64]


def fewest_runs(costs: Costs, tolerance: float) -> tuple[tuple[int, int], ...]:
    """Which row of `costs` to take from which column on, so that the choice changes least often.

    Every column gets a row that costs at most `1 + tolerance` times its cheapest. From the first column on, the row
    that may stay longest is taken: no other order has fewer runs. Gives (first column, row) pairs; of rows that may
    stay as long, the one that costs less in all is taken.

    >>> fewest_runs(np.array([[10, 10, 30, 30], [11, 30, 10, 10]]), 0.05)
    ((0, 0), (2, 1))
    >>> fewest_runs(np.array([[10, 10, 11, 10], [30, 30, 10, 30]]), 0.1)
    ((0, 0),)
    """
    fine = costs <= costs.min(axis=0) * (1 + tolerance)
    count, found, start = costs.shape[1], list[tuple[int, int]](), 0
    while start < count:
        ends = [start + _first_false(row[start:]) for row in fine]
        longest = max(ends)
        row = min((k for k, end in enumerate(ends) if end == longest), key=lambda k: int(costs[k, start:longest].sum()))
        found.append((start, row))
        start = longest
    return tuple(found)


def _first_false(row: NDArray[np.bool_]) -> int:
    return int(np.argmin(row)) if not row.all() else len(row)
