"""Cost of a product under a candidate: DietCode's model, with terms that measurements show to be missing.

DietCode (Zheng et al., MLSys 2022) learns the speed of each micro-kernel once and derives that of every shape:

    cost(shape, candidate) = f_kernel * padding * occupancy

`f_kernel` is the time of the multiplications of a micro-kernel, `padding` accounts for those that serve no result, and
`occupancy` the time of the slowest core relative to the mean of all. On a CPU three effects are missing, without which
1 row and 1000 would differ by their multiplications alone (numbers: benchmarks/notes/schedules.md):

    loads     a tile of few rows is bound by loads of its row of B; if B exceeds the L2 cache, reading it bounds even
              the whole product, and each time rows of B are read in place they are slower than packed ones
    packing   packed columns are read and written once more, for every block of rows
    aliasing  lines at a distance of a multiple of 4 KiB share the few ways of one cache set: the rows of A that a tile
              reads in parallel, and the rows of B that it reads one after the other

For `m x n x k`, blocks of `rows x columns`, tiles of `tile_rows` and `threads` cores:

    width    = n rounded up to whole vectors       blocks = ceil(m / rows)
    tiles    = ceil(m / tile_rows)                 tasks  = batch * blocks * ceil(n / columns)
    passes   = blocks where B is packed, else tiles
    f        = max(tiles * tile, m * product, read if B is not near)
    extra    = passes * (pack + (alias_b if rows of B alias) + (reread if B is not near))
               + (tiles * alias_a if rows of A alias)
    serial   = width * k * (f + extra) + m * width * store + tasks / batch * call
    cost     = batch * serial * ceil(tasks / threads) / tasks

Padding is in `width`, and in `tile`: the cost of a tile that is not full. TSCompiler (Luo et al., 2024) counts waves of
blocks in the same way, and so does the launch table of GPUs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.records import record
from shlo_disc.schedules.candidates import Candidate

UNIT = 2.0**-16  # unit of rates in nanoseconds: costs are integers, the same in every interpreter
LARGEST = 1 << 12  # larger sizes are compared as this one, so that no cost overflows: choices no longer change there
MOST_PRODUCTS = 1 << 8  # the same for the size of a batch
VECTOR = 16  # least columns that are computed together
_ALIASED = 1024  # elements in 4 KiB

Maximum: TypeAlias = Callable[[Any, Any], Any]


@record
class Rates:
    """Times of a micro-kernel on one core, in `UNIT`s.

    `call`: per block. Per element of B: `pack`, where it is packed; `tile`, in each tile; `alias_a`, in each tile if
    rows of A share cache sets; `alias_b`, each time it is read in place if rows of B do. If B has more elements than
    `near`, the capacity of the L2 cache: `read` once, and `reread` each time it is read in place. `product`: per
    multiplication. `store`: per result.
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


@record
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

    It uses only `+`, `*`, `%`, `//` and `maximum`, so that it is one formula for numbers, arrays (`maximum=np.maximum`)
    and dims, whose larger subexpressions `name` may name.
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
    """The share of the computation of full tiles that serves no result.

    >>> from shlo_disc.schedules.candidates import parse_candidate
    >>> waste(parse_candidate("tiles 6, 192x128"), Shape(9, 32, 100))
    0.25
    """
    rows = _parts(shape.m, candidate.kernel.tile_rows) * candidate.kernel.tile_rows
    columns = _parts(shape.n, VECTOR) * VECTOR
    return 1 - shape.m * shape.n / (rows * columns) if rows * columns else 0.0


def occupancy(candidate: Candidate, shape: Shape, threads: int) -> float:
    """The share of busy cores, on average over the launch."""
    tasks = shape.batch * _parts(shape.m, candidate.rows) * _parts(shape.n, candidate.columns)
    return tasks / (_parts(tasks, threads) * threads) if tasks else 1.0


def seconds(units: float) -> float:
    """A cost as seconds."""
    return units * UNIT * 1e-9


def _more(count: Any, most: int) -> Any:
    """1 if `count` exceeds `most`, else 0, by arithmetic alone."""
    reached = count // (most + 1)
    return (reached + count) // (count + 1)


def _aliased(size: Any) -> Any:
    """1 if rows of `size` elements of f32 share cache sets (then those of f64 do all the more), else 0."""
    rest = size % _ALIASED
    return (_ALIASED - rest) // _ALIASED


def _parts(size: Any, most: int) -> Any:
    return (size + (most - 1)) // most if most > 1 else size


Costs: TypeAlias = NDArray[np.int64] | NDArray[np.float64]


def fewest_runs(costs: Costs, tolerance: float) -> tuple[tuple[int, int], ...]:
    """Choose a row of `costs` for each column, with as few changes as possible: (first column, row) pairs.

    The cost of a choice is at most `1 + tolerance` times the least of its column. From the first column on, the row
    that stays within it longest is taken, which gives the fewest runs; of equally long ones, that of the least sum.

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
