"""Sizes around the compiler's decision thresholds, collected from constants in its code."""

from __future__ import annotations

import importlib
import pkgutil
import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from types import ModuleType

from shlo_disc import emit, fusion, host, kernels, lower_cpu, schedules
from shlo_disc.analysis.sizes import Point, free_symbols, point_of
from shlo_disc.device import headers
from shlo_disc.dynamic_ops import control, linear_algebra, order
from shlo_disc.dynamic_ops.contract import ConvAttrs, DotAttrs
from shlo_disc.dynamic_ops.program import Op, Program
from shlo_disc.expr.dim import Dim, Sym, const, of, product
from shlo_disc.expr.facts import Facts

_PLACES: tuple[ModuleType, ...] = (lower_cpu, kernels, fusion, emit, host, schedules)
_CONSTANT = re.compile(r"constexpr (?:int|int64_t) ([^;]*);")
_NUMBER = re.compile(r"\b[A-Z]\w* = (\d+)\b(?! *\*)")
_LARGEST = 1 << 12  # larger constants count bytes or work, which no tested size reaches
_SMALL = (0, 1, 2, 3, 5)
# Limits in turn over four calls; the first permits squares of 627 rows, more than `ENOUGH_STRIPS * STRIP` columns.
_MOST_ELEMENTS = (3 << 17, 1 << 14, 1 << 14, 1 << 13)
_MOST_WORK = 64  # multiplications of a product, in multiples of the limit of elements
_SLOW = 16  # how much slower convolutions and matrix ops are in the interpreter
_OF_MATRICES = frozenset(one.name for one in linear_algebra.OPS)
_LOOPS = (control.WHILE, control.OUTLINED_WHILE)
_MOST_TURNS = 96  # iterations of a loop over an axis, which the interpreter runs one by one
_MOST_SCATTERED = 512  # elements of a select_and_scatter, which it computes one by one
_TRIES = 64  # attempts to reduce sizes


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
    costs = [_costs(program, most) for most in _MOST_ELEMENTS]
    fixed = sorted({n for op in program.body.walk() for x in op.results for d in x.shape if (n := d.constant)})
    for _ in range(20 * count):
        if len(found) == max(1, count - 1):
            break
        point = _drawn(program, symbols, fixed, random)
        affordable = costs[(seed + len(found)) % len(costs)]
        if point is not None and (smaller := _affordable(program, symbols, affordable, point)) is not None:
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


@dataclass(frozen=True, slots=True)
class _Cost:
    """One cost of a call as a formula of sizes, and its limit."""

    dim: Dim
    most: int


def _costs(program: Program, most: int) -> list[_Cost]:
    """The costs of a call in which no value may have more than `most` elements."""
    found = {_Cost(product(parameter.raw_shape), most): None for parameter in program.parameters}
    for op in program.body.walk():
        for result in op.results:
            found[_Cost(product(result.shape), most)] = None
            if any(loop.defines(op) for loop in _LOOPS) and result.shape:
                found[_Cost(result.shape[0], _MOST_TURNS)] = None
        found[_work(op, most)] = None
    return [cost for cost in found if cost.dim.constant is None and not cost.dim.data()]


def _work(op: Op[object], most: int) -> _Cost:
    """The work of an op in the interpreter, and its limit."""
    result = product(op.results[0].shape) if op.results else const(0)
    match op.attrs:
        case DotAttrs():
            depth = product(op.operands[0].shape[k] for k in op.attrs.lhs_contract)
            return _Cost(result * depth, _MOST_WORK * most)
        case ConvAttrs():
            return _Cost(result * product(op.operands[1].shape), _MOST_WORK * most // _SLOW)
        case _ if order.SELECT_AND_SCATTER.defines(op):
            return _Cost(result, _MOST_SCATTERED)
        case _ if op.name in _OF_MATRICES and op.operands[0].shape:
            first = op.operands[0].shape
            return _Cost(product(first) * first[-1], _MOST_WORK * most // _SLOW)
        case _:
            return _Cost(result, most)


def _affordable(program: Program, symbols: Sequence[Sym], costs: Sequence[_Cost], point: Point) -> Point | None:
    """Reduce sizes of values that cost too much; None if the checks refuse the result, or after too many attempts."""
    for _ in range(_TRIES):
        dear = next((cost.dim for cost in costs if _evaluated(cost.dim, point) > cost.most), None)
        if dear is None:
            return point
        present = [s for s in symbols if s in dear.symbols()] or list(symbols)
        largest = max(present, key=lambda s: point[s])
        values = {s: point[s] for s in symbols} | {largest: _within(program.facts, largest, _below(point[largest]))}
        smaller = point_of(program, values)
        if smaller is None or smaller == point:
            return None
        point = smaller
    return None


def _below(size: int) -> int:
    """The largest threshold of at most three quarters of a size; 0 for sizes of 0 and 1."""
    return thresholds()[max(0, bisect(thresholds(), 3 * size // 4) - 1)] if size > 1 else 0


def _evaluated(dim: Dim, point: Point) -> int:
    return dim.evaluate(point) if dim.symbols() <= point.keys() else 0  # unbacked sizes
