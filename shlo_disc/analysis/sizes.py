"""Sizes that a program may be called with: likely ones to compare costs at, and random ones to try claims on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import TypeAlias

from shlo_disc.dynamic_ops.program import Check, Program, Relation
from shlo_disc.expr.dim import Sym, of

Point: TypeAlias = Mapping[Sym, int]  # a value for every symbol of a program, definitions included

_LIKELY = (128, 8, 32, 512, 1)  # where nobody says more: tried in this order for each size
_POINTS = 4
_TRIES = 2000


def satisfied(check: Check, point: Point) -> bool:
    """Whether a call with these sizes passes a check."""
    lhs, rhs = check.lhs.evaluate(point), check.rhs.evaluate(point)
    match check.relation:
        case Relation.EQ:
            return lhs == rhs
        case Relation.GE:
            return lhs >= rhs
        case Relation.NE:
            return lhs != rhs


def point_of(program: Program, free: Mapping[Sym, int]) -> Point | None:
    """All symbols from values of the free ones; None if such a call is refused."""
    raw = {dim.symbol: program.facts.canonical(of(dim.symbol)).evaluate(free) for dim in program.raw_dims}
    if any(value < 0 for value in raw.values()):
        return None
    point = dict(raw)
    for symbol, definition in program.definitions:
        point[symbol] = definition.evaluate(point)
    if any(point[symbol] != value for symbol, value in free.items() if symbol in point):
        return None
    return point if all(satisfied(check, point) for check in program.checks) else None


def free_symbols(program: Program) -> tuple[Sym, ...]:
    """The symbols that all sizes of the program follow from, in a fixed order."""
    dims = [program.facts.canonical(of(raw.symbol)) for raw in program.raw_dims]
    return tuple(sorted({s for dim in dims for s in dim.symbols()}, key=lambda s: s.order))


def likely_points(program: Program, likely: Mapping[str, Sequence[int]]) -> tuple[Point, ...]:
    """Points to compare costs at: the user's, or some usual ones; empty if none is found that the checks let pass."""
    symbols = free_symbols(program)
    hinted = [tuple(likely.get(s.name, ())) for s in symbols]
    if all(hinted):
        tried: Iterator[tuple[int, ...]] = itertools.product(*hinted)
    else:
        columns = [values or _LIKELY for values in hinted]
        longest = max(map(len, columns), default=0)
        # In step first: sizes of a kind. Then everything with everything.
        in_step = (tuple(column[k % len(column)] for column in columns) for k in range(longest))
        tried = itertools.chain(in_step, itertools.product(*columns))
    found = list[Point]()
    for values in itertools.islice(tried, _TRIES):
        point = point_of(program, dict(zip(symbols, values, strict=True)))
        if point is not None and point not in found:
            found.append(point)
        if len(found) == _POINTS:
            break
    return tuple(found) or tuple(itertools.islice(random_points(program, Random(0)), _POINTS))


def random_points(program: Program, random: Random, largest: int = 40) -> Iterator[Point]:
    """Random sizes that pass all checks, for as long as some are found; small and special sizes come often."""
    symbols = free_symbols(program)
    misses = 0
    while misses < _TRIES:
        values = [random.choice((0, 1, 2, 3, *(random.randint(0, largest) for _ in range(4)))) for _ in symbols]
        point = point_of(program, dict(zip(symbols, values, strict=True)))
        if point is None:
            misses += 1
            continue
        misses = 0
        yield point
