"""Sizes that a program may be called with: likely ones to compare costs at, and random ones to test claims on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import TypeAlias

from shlo_disc.dynamic_ops.program import Program
from shlo_disc.expr.dim import Dim, Sym, of, product
from shlo_disc.expr.naming import sources

Point: TypeAlias = Mapping[Sym, int]  # a value for every symbol of a program, definitions included

_LIKELY = (128, 8, 32, 512, 1)  # defaults without size hints: tried in this order for each size
_POINTS = 4
_DRAWN, _LARGEST_DRAWN = 8, 3000
_ALIKE = (1, 7, 145, 385, 1000, 4099, 33000, 270001)  # sorts use workspaces from 2049 on, sums from 16384 on
_MOST_ELEMENTS = 1 << 44  # of a tensor: more do not fit into any memory
_LARGEST = 1 << 256
_TRIES = 400
_MISSES, _FEW_MISSES = 50, 2  # consecutive failed draws after which random points end
_ALL_TRIED, _SOME_TRIED = 100, 8  # values of a symbol that one repair step tries
_STEPS = 4  # repair steps per symbol
_SPECIAL = 0.6
_ALIKE_SHARE, _DISTINCT = 0.5, 3  # share of draws with at most so many distinct sizes: checks often demand equal sizes


def point_of(program: Program, free: Mapping[Sym, int]) -> Point | None:
    """The values of all symbols, from those of the free ones; None if such a call is refused."""
    raw = _raw(program, free)
    if any(raw[dim.symbol] < 0 for dim in program.raw_dims):
        return None
    point = accepted_point(program, raw)
    if point is None or any(point[symbol] != value for symbol, value in free.items() if symbol in point):
        return None
    return point


def accepted_point(program: Program, raw: Mapping[Sym, int]) -> Point | None:
    """The values of all symbols, from those that a call provides (`program.given`); None if the checks refuse it.

    Unlike `point_of` this does not use the facts, which must hold whatever a call provides.
    """
    point = dict(raw)
    for symbol, definition in program.definitions:
        point[symbol] = _evaluated(definition, point)
    return point if all(check.holds(point) for check in program.checks) else None


def _raw(program: Program, free: Mapping[Sym, int]) -> dict[Sym, int]:
    """The values that a call provides, from those of the free symbols."""
    values = dict(free)
    for symbol, dim in program.facts.names:
        if dim.symbols() <= values.keys():  # a partition lacks some sizes of its program
            values[symbol] = _evaluated(dim, values)
    return {symbol: _evaluated(program.facts.canonical(of(symbol)), values) for symbol in program.given}


def _evaluated(dim: Dim, values: Mapping[Sym, int]) -> int:
    """The value of a size, clamped to `_LARGEST` either way: nested powers would exhaust the memory."""
    return max(-_LARGEST, min(dim.evaluate(values), _LARGEST))


def free_symbols(program: Program) -> tuple[Sym, ...]:
    """The independent symbols that determine all sizes of the program, in a fixed order."""
    names = dict(program.facts.names)
    dims = [program.facts.canonical(of(symbol)) for symbol in program.given]
    found = sources([s for dim in dims for s in dim.symbols()], names.items())
    return tuple(sorted(found - names.keys(), key=lambda s: s.order))


def likely_points(program: Program, likely: Mapping[str, Sequence[int]]) -> tuple[Point, ...]:
    """Points to compare costs at: from size hints, or defaults; empty if none is found that passes the checks."""
    return _of_whole(program, f"likely {likely}", lambda whole: _likely_points(whole, likely))


def _likely_points(program: Program, likely: Mapping[str, Sequence[int]]) -> tuple[Point, ...]:
    symbols = free_symbols(program)
    hinted = [_hinted(program, s, likely) for s in symbols]
    if all(hinted):
        tried: Iterator[tuple[int, ...]] = itertools.product(*hinted)
    else:
        columns = [values or _LIKELY for values in hinted]
        longest = max(map(len, columns), default=0)
        # First the k-th value of every size together, then the Cartesian product.
        in_step = (tuple(column[k % len(column)] for column in columns) for k in range(longest))
        tried = itertools.chain(in_step, itertools.product(*columns))
    found = list[Point]()
    for values in itertools.islice(tried, _TRIES):
        point = point_of(program, dict(zip(symbols, values, strict=True)))
        if point is not None and point not in found and _has_room(program, point):
            found.append(point)
        if len(found) == _POINTS:
            break
    if not found:
        drawn = itertools.chain(random_points(program, Random(0)), random_points(program, Random(0), _LARGEST_DRAWN))
        found = [point for point in itertools.islice(drawn, _POINTS) if _has_room(program, point)]
    return tuple(found)


def points_alike(program: Program) -> tuple[Point, ...]:
    """Points at which all free sizes are equal, from small to large: those that pass the checks."""
    return _of_whole(program, "alike", _points_alike)


def _points_alike(program: Program) -> tuple[Point, ...]:
    symbols = free_symbols(program)
    found = [point_of(program, dict.fromkeys(symbols, value)) for value in _ALIKE]
    return tuple([point for point in found if point is not None and _has_room(program, point)])


def further_points(program: Program) -> tuple[Point, ...]:
    """A few points at which free sizes differ, the same in every run; fewer where the checks are hard to satisfy."""
    return _of_whole(program, "further", _further_points)


def _further_points(program: Program) -> tuple[Point, ...]:
    return tuple(itertools.islice(random_points(program, Random(0), _LARGEST_DRAWN, _FEW_MISSES), _DRAWN))


def _of_whole(program: Program, kind: str, find: Callable[[Program], tuple[Point, ...]]) -> tuple[Point, ...]:
    """Points of a program; for a partition, points of the whole program, whose earlier checks have then passed."""
    whole = program.within
    if whole is None:
        return find(program)
    if kind not in whole.points:
        whole.points[kind] = find(whole.program)
    return tuple([_in_partition(program, point) for point in whole.points[kind]])


def _in_partition(program: Program, point: Point) -> Point:
    """A point of the whole program, extended by the sizes of the partition's inputs."""
    values = dict(point)
    for symbol in program.given:
        if symbol not in values:
            values[symbol] = _evaluated(program.facts.canonical(of(symbol)), values)
    return values


def _has_room(program: Program, point: Point) -> bool:
    """Whether tensors of these sizes can exist, which also keeps the numbers in cost comparisons moderate."""
    shapes = {tensor.shape for op in program.body.walk() for tensor in op.results}
    return all(product(shape).evaluate(point) <= _MOST_ELEMENTS for shape in shapes)


def _hinted(program: Program, symbol: Sym, likely: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    """The likely values of a free symbol: its own hints, or solved from those of a size that is linear in it alone."""
    if symbol.name in likely:
        return tuple(likely[symbol.name])
    for name, values in likely.items():
        size = program.sizes.get(name)
        split = None if size is None else program.facts.canonical(size).linear(symbol)
        if split is not None and (scale := split[0].constant) and (offset := split[1].constant) is not None:
            return tuple([(value - offset) // scale for value in values])
    return ()


def random_points(program: Program, random: Random, largest: int = 40, most_misses: int = _MISSES) -> Iterator[Point]:
    """Random sizes that pass all checks, until `most_misses` draws in a row fail; favors small, special and equal ones.

    A draw that violates checks is repaired by the min-conflicts heuristic (Minton et al. 1992): one symbol after the
    other gets the value that violates the checks least.
    """
    symbols = free_symbols(program)
    ranges = [_range_of(program, symbol, largest) for symbol in symbols]
    misses = 0
    while misses < most_misses:
        drawn = [_special(values, random) for values in ranges]
        if random.random() < _ALIKE_SHARE:
            few = drawn[: random.randint(1, _DISTINCT)]
            drawn = [
                random.choice([x for x in few if x in values] or [x]) for x, values in zip(drawn, ranges, strict=True)
            ]
        point = _mended(program, symbols, ranges, drawn, random)
        if point is None:
            misses += 1
            continue
        misses = 0
        yield point


def _range_of(program: Program, symbol: Sym, largest: int) -> range:
    """The values to try for a symbol: from its lower bound on, up to its upper one."""
    low, high = program.facts.interval(of(symbol))
    low = max(0, low or 0)
    return range(low, low + largest + 1 if high is None else min(high, low + largest) + 1)


def _special(values: range, random: Random) -> int:
    """A random value, often at an end of the range or next to a power of two."""
    ends = [v for v in (*values[:4], *values[-1:], 7, 8, 9, 15, 16, 17, 31, 32, 33) if v in values]
    return random.choice(ends if random.random() < _SPECIAL else values)


def _mended(
    program: Program, symbols: Sequence[Sym], ranges: Sequence[range], drawn: list[int], random: Random
) -> Point | None:
    """The draw, repaired where it violates checks; None if that fails."""

    def breaks(values: Sequence[int]) -> int:
        return _conflict(program, dict(zip(symbols, values, strict=True)))

    worst = breaks(drawn)
    for _ in range(_STEPS * len(symbols)):
        if not worst:
            break
        number = random.randrange(len(symbols))
        values = _values_for(ranges[number], drawn, random)
        tried = [[*drawn[:number], value, *drawn[number + 1 :]] for value in values]
        random.shuffle(tried)
        drawn = min(tried, key=breaks)
        worst = breaks(drawn)
    return None if worst else point_of(program, dict(zip(symbols, drawn, strict=True)))


def _values_for(values: range, drawn: Sequence[int], random: Random) -> Sequence[int]:
    """The values to try for one symbol: all, or of many a sample, and those of the others, as sizes are often equal."""
    if len(values) <= _ALL_TRIED:
        return values
    some = (*values[:3], *drawn, *(random.choice(values) for _ in range(_SOME_TRIED)))
    return list(dict.fromkeys(value for value in some if value in values))


def _conflict(program: Program, free: Mapping[Sym, int]) -> int:
    """How far these sizes are from passing the checks; 0 if a call with them is accepted."""
    raw = _raw(program, free)
    point, missed = dict(raw), sum(max(0, -raw[dim.symbol]) for dim in program.raw_dims)
    if missed:
        return missed
    for symbol, definition in program.definitions:
        point[symbol] = _evaluated(definition, point)
    missed += sum(abs(point[symbol] - value) for symbol, value in free.items() if symbol in point)
    for check in program.checks:
        if not check.holds(point):
            missed += max(1, abs(check.lhs.evaluate(point) - check.rhs.evaluate(point)))
    return missed
