"""What a legal run of the interpreter costs, estimated from sizes before anything runs.

A legal run (`rounding.py`) perturbs every result that is rounded, in NumPy: tens of nanoseconds for each element. Where
Python runs a region once for each of many positions, each of these runs takes a good part of a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shlo_disc.analysis.sizes import Point
from shlo_disc.dynamic_ops import control, linear_algebra
from shlo_disc.dynamic_ops.contract import ConvAttrs, DotAttrs
from shlo_disc.dynamic_ops.grouped import GroupedDotAttrs
from shlo_disc.dynamic_ops.opdef import Trait
from shlo_disc.dynamic_ops.order import ScatterAttrs, SelectAndScatterAttrs, SortAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Program
from shlo_disc.dynamic_ops.reduce import ReduceAttrs, ReduceWindowAttrs
from shlo_disc.dynamic_ops.registry import ops_with
from shlo_disc.expr.dim import ONE, Dim, product
from shlo_disc.records import record

LOOPS = (control.WHILE, control.OUTLINED_WHILE)
OF_MATRICES = frozenset(one.name for one in linear_algebra.OPS)

# Nanoseconds, measured on 2026-11-29 on one core of a Xeon.
_ROUNDED = 60.0  # an element that is rounded, and perturbed
_MOVED = 4.0  # any other element
_MULTIPLIED = 2.0  # two elements, in a product of matrices
_CONVOLVED = 60.0  # the same in a convolution
_FACTORED = 30.0  # an element of a matrix, for each of its columns
_TURNS = 16.0  # updates of a scatter that run together, as they are of different elements
_SWAPPED = 100_000.0  # an element of an unstable sort
_RUN = 300_000.0  # an op that rounds, in a region that Python runs for one position
_RUN_EXACTLY = 30_000.0
# The same for an element of a function that SciPy or Python computes one by one.
_FUNCTIONS = {
    "bessel_i1e": 6_000.0, "digamma": 3_000.0, "erf": 3_000.0, "erf_inv": 3_000.0, "lgamma": 8_000.0,
    "polygamma": 50_000.0, "zeta": 12_000.0,
}  # fmt: skip
_EXACT = ops_with(Trait.EXACT)


@record
class Cost:
    """A part of the cost of a call: `nanoseconds` for each of as many units as `dim` says."""

    dim: Dim
    nanoseconds: float

    def at(self, point: Point) -> float:
        """Seconds at these sizes; none if sizes are unknown before the program runs."""
        return 1e-9 * self.nanoseconds * self.dim.evaluate(point) if self.dim.symbols() <= point.keys() else 0.0


def costs_of(program: Program) -> list[Cost]:
    """The costs of one legal run of a program, as formulas of its sizes."""
    found = dict[Dim, float]()
    for dim, nanoseconds in _of_body(program.body, ONE):
        if not dim.data():
            found[dim] = found.get(dim, 0.0) + nanoseconds
    return [Cost(dim, nanoseconds) for dim, nanoseconds in found.items()]


def seconds_of(costs: Iterable[Cost], point: Point) -> float:
    """The estimated seconds of one legal run at these sizes."""
    return sum(cost.at(point) for cost in costs)


def _of_body(body: Body, turns: Dim) -> Iterator[tuple[Dim, float]]:
    for op in body.ops:
        for dim, nanoseconds in _of(op):
            yield dim * turns, nanoseconds
        if any(loop.defines(op) for loop in LOOPS):
            again = turns * next((x.shape[0] for x in op.results if x.shape), ONE)
            for inner in op.bodies:
                yield from _of_body(inner, again)
                yield again, _run_of(inner)
        elif control.CASE.defines(op):
            for inner in op.bodies:
                yield from _of_body(inner, turns)


def _of(op: Op[object]) -> Iterator[tuple[Dim, float]]:
    """The costs of one op, as numbers of units and nanoseconds for each; regions are part of it."""
    for result in op.results:
        yield product(result.shape), _FUNCTIONS.get(op.name, _ROUNDED if _is_rounded(op) else _MOVED)
    inside = sum(_element_of(body) for body in op.bodies)
    runs = sum(_run_of(body) for body in op.bodies)
    shape = op.operands[0].shape if op.operands else ()
    result = product(op.results[0].shape) if op.results else ONE
    match op.attrs:
        case DotAttrs():
            yield result * product(shape[k] for k in op.attrs.lhs_contract), _MULTIPLIED
        case GroupedDotAttrs():
            yield product(shape) * op.operands[1].shape[-1], _MULTIPLIED
        case ConvAttrs():
            yield result * product(op.operands[1].shape), _CONVOLVED
        case SortAttrs():
            yield product(shape) * shape[op.attrs.dim], inside
            yield product(shape), 0.0 if op.attrs.stable else _SWAPPED
            yield product(n for k, n in enumerate(shape) if k != op.attrs.dim), runs
        case ScatterAttrs():
            indices = op.operands[len(op.operands) // 2].shape
            yield product(n for k, n in enumerate(indices) if k != op.attrs.index_vector_dim), runs / _TURNS
        case SelectAndScatterAttrs():
            source = product(op.operands[1].shape)
            yield source * product(op.attrs.window), inside
            yield source, runs / _TURNS
        case ReduceWindowAttrs():
            yield result * product(op.attrs.window), inside
            yield product(op.attrs.window), runs
        case ReduceAttrs() if len(op.operands) > 2 or len(op.bodies[0].ops) > 1:
            yield product(shape), inside
            yield product(shape[k] for k in op.attrs.dims), runs
        case _ if op.name in OF_MATRICES and shape:
            yield product(shape) * shape[-1], _FACTORED
        case _:
            pass


def _is_rounded(op: Op[object]) -> bool:
    return op.name not in _EXACT and any(x.dtype.is_float or x.dtype.is_complex for x in op.results)


def _element_of(body: Body) -> float:
    """Nanoseconds of a region for each of many positions that run together."""
    return sum(_ROUNDED if _is_rounded(op) else _MOVED for op in body.ops)


def _run_of(body: Body) -> float:
    """Nanoseconds of a region for one position."""
    return sum(_RUN if _is_rounded(op) else _RUN_EXACTLY for op in body.ops)


def affordable(program: Program, points: Sequence[Point], seconds: float) -> list[Point]:
    """The points at which a legal run takes at most so long; the cheapest one if there are none."""
    costs = costs_of(program)
    found = [point for point in points if seconds_of(costs, point) <= seconds]
    return found or sorted(points, key=lambda point: seconds_of(costs, point))[:1]


def dearest(costs: Sequence[Cost], point: Point) -> Dim | None:
    """The part of the cost that depends on sizes and is the largest; None if none does."""
    open_ones = [cost for cost in costs if cost.dim.constant is None and cost.dim.symbols() <= point.keys()]
    return max(open_ones, key=lambda cost: cost.at(point)).dim if open_ones else None
