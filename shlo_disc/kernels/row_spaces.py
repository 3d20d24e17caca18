"""Row spaces: which leading dims of a shape are the rows of a group, identified by row numbers.

`[b, 4, s]`, `[1, b, 4, s]` and `[b*4*s]` are the same rows: a row is identified by its number, the row-major offset of
the leading indices, and `canonical` proves numbers equal through reshapes and dims of size 1.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from operator import mul

from shlo_disc.dynamic_ops.indexing import linear
from shlo_disc.dynamic_ops.program import Shape
from shlo_disc.expr.dim import Dim, const, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Index
from shlo_disc.kernels.groups import Claim


def leading(shape: Shape, count: Dim, facts: Facts) -> int | None:
    """The least number of leading dims of `shape` that have `count` elements; None if none provably does."""
    if shape and shape[0] == count:  # the common case
        return 1
    for number, size in enumerate(_prefixes(shape)):
        if size == count or facts.canonical(size) == count:
            return number
    return None


def row_number(index: Index, shape: Shape, number: int, facts: Facts) -> Dim:
    """The row of element `index` if the first `number` dims of `shape` are the rows."""
    return facts.canonical(linear(index[:number], shape[:number]))


def rows_of(shape: Shape, facts: Facts) -> Dim:
    """How many rows a row space has."""
    return facts.canonical(product(shape))


def same_rows(a: Shape, b: Shape, facts: Facts) -> bool:
    """Whether two row spaces have equally many rows."""
    return a == b or rows_of(a, facts) == rows_of(b, facts)


def without_ones(shape: Shape) -> Shape:
    """The dims of a row space of a size other than 1."""
    return tuple(size for size in shape if size.constant != 1)


def claims_of(shape: Shape, rows: Shape, facts: Facts) -> tuple[Claim, ...]:
    """The equality that would give `shape` these rows: of as many of its dims as the row space has."""
    wanted, left = rows_of(rows, facts), len(without_ones(rows))
    sizes = [facts.canonical(size) for size in _prefixes(shape)]
    for number, extent in enumerate(shape):
        left -= extent.constant != 1
        if left == 0:
            return (Claim(sizes[number + 1], wanted),)
    return (Claim(sizes[-1], wanted),)


def show_rows(rows: Shape, facts: Facts) -> str:
    """A row space for messages."""
    return f"[{', '.join([str(facts.readable(size)) for size in rows])}]"


@lru_cache(maxsize=4096)
def _prefixes(shape: Shape) -> tuple[Dim, ...]:
    return tuple(accumulate(shape, mul, initial=const(1)))
