"""Sizes around the compiler's decision thresholds, collected from constants in its code."""

from __future__ import annotations

import importlib
import pkgutil
import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random
from types import ModuleType

from shlo_disc import emit, fusion, host, kernels, lower_cpu, schedules
from shlo_disc.analysis.sizes import Point, free_symbols, point_of
from shlo_disc.check.costs import LOOPS, OF_MATRICES, Cost, costs_of, dearest, seconds_of
from shlo_disc.device import headers
from shlo_disc.dynamic_ops.contract import ConvAttrs, DotAttrs
from shlo_disc.dynamic_ops.grouped import GroupedDotAttrs
from shlo_disc.dynamic_ops.program import Op, Program
from shlo_disc.expr.dim import Dim, Sym, const, of, product
from shlo_disc.expr.facts import Facts
from shlo_disc.records import record

_PLACES: tuple[ModuleType, ...] = (lower_cpu, kernels, fusion, emit, host, schedules)
_CONSTANT = re.compile(r"constexpr (?:int|int64_t) ([^;]*);")
_NUMBER = re.compile(r"\b[A-Z]\w* = (\d+)\b(?! *\*)")
_LARGEST = 1 << 12  # larger constants count bytes or work, which no tested size reaches
_SMALL = (0, 1, 2, 3, 5)
# Limits in turn over four calls; the first permits squares of 627 rows, more than `ENOUGH_STRIPS * STRIP` columns.
_MOST_ELEMENTS = (3 << 17, 1 << 14, 1 << 14, 1 << 13)
_MOST_WORK = 64  # multiplications of a product, in multiples of the limit of elements
_SLOW = 16  # how much slower convolutions and matrix ops are in the interpreter
# Estimated seconds of one legal run of the interpreter, for the same calls; eight are made at the least difference.
_MOST_SECONDS = (1.5, 0.75, 0.75, 0.75)
_MOST_TURNS = 96  # iterations of a loop over an axis, which the interpreter runs one by one
_TRIES = 128  # attempts to reduce sizes


@lru_cache(1)
def thresholds() -> tuple[int, ...]:
    """The size constants of the compiler and of the CPU's headers, each with both neighbours, in order.

    Constants of a module are its upper-case attributes, so `STRIP = 4 * LANES` counts with its value.
    """
    found = set[int]()
    for place in _PLACES:
        for info in pkgutil.walk_packages(place.__path__, f"{place.__name__}."):
            constants: Mapping[str, object] = vars(importlib.import_module(info.name))
            found.update(v for name, v in constants.items() if name.strip("_").isupper() and type(v) is int)
    for header in headers.names(".h"):
        for declared in _CONSTANT.findall(headers.text(header)):
            found.update(map(int, _NUMBER.findall(declared)))
    sizes = {size for size in found if 2 <= size <= _LARGEST}
    return tuple(sorted({size + off for size in sizes for off in (-1, 0, 1)}))


def threshold_points(program: Program, count: int, seed: int) -> list[Point]:
    """`count` points for successive calls of a program; the first is repeated at the end.

    Sizes are drawn from small ones, thresholds, sizes of other axes (in the text or drawn), and uniformly below 70. If
    a call would compute too much, its largest sizes are reduced.
    """
    symbols = free_symbols(program)
    if not symbols:
        return [{}] * min(count, 2)  # only inputs differ
    random, found = Random(seed), list[Point]()
    limits, costs = [_limits(program, most) for most in _MOST_ELEMENTS], costs_of(program)
    fixed = sorted({n for op in program.body.walk() for x in op.results for d in x.shape if (n := d.constant)})
    for _ in range(20 * count):
        if len(found) == max(1, count - 1):
            break
        point = _drawn(program, symbols, fixed, random)
        turn = (seed + len(found)) % len(limits)
        affordable = _Affordable(program, symbols, limits[turn], costs, _MOST_SECONDS[turn])
        if point is not None and (smaller := affordable.at_most(point)) is not None:
            found.append(smaller)
    return [*found, *found[:1]] if count > 1 else found


def _drawn(program: Program, symbols: Sequence[Sym], fixed: Sequence[int], random: Random) -> Point | None:
    values = dict[Sym, int]()
    for symbol in symbols:
        kind = random.random()
        if kind < 0.15:
            drawn = random.choice(_SMALL)
        elif kind < 0.3 and values:
            drawn = random.choice(list(values.values())[-2:])  # probably of the same program
        elif kind < 0.4 and fixed:
            drawn = random.choice(fixed)
        elif kind < 0.92:
            drawn = random.choice(thresholds())
        else:
            drawn = random.randrange(70)
        values[symbol] = _within(program.facts, symbol, drawn)
    return point_of(program, values)


def _within(facts: Facts, symbol: Sym, value: int) -> int:
    low, high = facts.interval(of(symbol))
    return max(low or 0, value if high is None else min(value, high))


@record
class _Limit:
    """A size or a cost of a call as a formula of sizes, and its limit."""

    dim: Dim
    most: int


def _limits(program: Program, most: int) -> list[_Limit]:
    """The limits of a call in which no value may have more than `most` elements."""
    found = {_Limit(product(parameter.raw_shape), most): None for parameter in program.parameters}
    for op in program.body.walk():
        for result in op.results:
            found[_Limit(product(result.shape), most)] = None
            if any(loop.defines(op) for loop in LOOPS) and result.shape:
                found[_Limit(result.shape[0], _MOST_TURNS)] = None
        found[_work(op, most)] = None
    return [limit for limit in found if limit.dim.constant is None and not limit.dim.data()]


def _work(op: Op[object], most: int) -> _Limit:
    """The work of an op in the interpreter, and its limit."""
    result = product(op.results[0].shape) if op.results else const(0)
    match op.attrs:
        case DotAttrs():
            depth = product(op.operands[0].shape[k] for k in op.attrs.lhs_contract)
            return _Limit(result * depth, _MOST_WORK * most)
        case GroupedDotAttrs():
            return _Limit(product(op.operands[0].shape) * op.operands[1].shape[-1], _MOST_WORK * most)
        case ConvAttrs():
            return _Limit(result * product(op.operands[1].shape), _MOST_WORK * most // _SLOW)
        case _ if op.name in OF_MATRICES and op.operands[0].shape:
            first = op.operands[0].shape
            return _Limit(product(first) * first[-1], _MOST_WORK * most // _SLOW)
        case _:
            return _Limit(result, most)


@record
class _Affordable:
    """What one call may cost: `limits` of single values, and `seconds` for the sum of the `costs`."""

    program: Program
    symbols: Sequence[Sym]
    limits: Sequence[_Limit]
    costs: Sequence[Cost]
    seconds: float

    def at_most(self, point: Point) -> Point | None:
        """Reduce sizes of what costs too much; None if the checks refuse the result, or after too many attempts."""
        for _ in range(_TRIES):
            dear = self._too_dear(point)
            if dear is None:
                return point
            present = [s for s in self.symbols if s in dear.symbols()] or list(self.symbols)
            largest = max(present, key=lambda s: point[s])
            smaller = _within(self.program.facts, largest, _below(point[largest]))
            found = point_of(self.program, {s: point[s] for s in self.symbols} | {largest: smaller})
            if found is None or found == point:
                return None
            point = found
        return None

    def _too_dear(self, point: Point) -> Dim | None:
        for limit in self.limits:
            if _evaluated(limit.dim, point) > limit.most:
                return limit.dim
        return dearest(self.costs, point) if seconds_of(self.costs, point) > self.seconds else None


def _below(size: int) -> int:
    """The largest threshold of at most three quarters of a size; 0 for sizes of 0 and 1."""
    return thresholds()[max(0, bisect(thresholds(), 3 * size // 4) - 1)] if size > 1 else 0


def _evaluated(dim: Dim, point: Point) -> int:
    return dim.evaluate(point) if dim.symbols() <= point.keys() else 0  # unbacked sizes
