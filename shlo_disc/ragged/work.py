"""The floating-point operations of each op: as a padded program computes it, and where its elements are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from shlo_disc.dynamic_ops import composed, contract, elementwise, reduce
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.expr.dim import Dim
from shlo_disc.ragged.demand import ALL, Demand, Demands, demands_of
from shlo_disc.ragged.forms import Length, LinearForm, Position, Region
from shlo_disc.ragged.program import ProgramAnalysis
from shlo_disc.records import record

_FUNCTIONS = frozenset(
    one.name
    for family in (elementwise, composed)
    for one in family.OPS
    if one not in (elementwise.SELECT, elementwise.CONVERT, elementwise.BITCAST_CONVERT)
)
_PRODUCTS = frozenset({contract.DOT.name, contract.CONVOLUTION.name})
_FOLDS = frozenset({reduce.REDUCE.name, reduce.REDUCE_WINDOW.name})


@record(eq=False)
class OpWork:
    """The work of one op: `flops` at each point of its `space`, of which the `needed` ones have to be computed."""

    op: Op[Any]
    flops: int
    space: tuple[Dim, ...]
    needed: Demand
    is_product: bool

    def padded(self, size: Callable[[Dim], int]) -> int:
        """The FLOPs of the padded op."""
        return self.flops * prod(map(size, self.space))

    def counted(self, size: Callable[[Dim], int], lengths: Mapping[int, Sequence[int]]) -> int:
        """The FLOPs at needed points. `lengths`: of the rows, by the number of the argument that says them."""
        demand = self.needed.without(each for each in self.needed.conditions if _bound_of(each) is None)
        return self.flops * sum(self._points(demand, region, size, lengths) for region in demand.regions)

    def _points(
        self, demand: Demand, region: Region, size: Callable[[Dim], int], lengths: Mapping[int, Sequence[int]]
    ) -> int:
        bounds = [(bound, each in region) for each in demand.conditions if (bound := _bound_of(each)) is not None]
        rows = sorted({bound.row for bound, _ in bounds})
        ragged = {bound.factor for bound, _ in bounds}
        plain = prod(size(factor) for k, factor in enumerate(self.space) if k not in ragged and k not in rows)
        found = 0
        for at in product(*(range(size(self.space[row])) for row in rows)):
            where = dict(zip(rows, at, strict=True))
            spans = {factor: (0, size(self.space[factor])) for factor in ragged}
            for bound, is_beyond in bounds:
                edge = lengths[bound.source][where[bound.row]] + size(bound.more)
                low, high = spans[bound.factor]
                spans[bound.factor] = (max(low, edge), high) if is_beyond else (low, min(high, edge))
            found += prod(max(0, high - low) for low, high in spans.values())
        return plain * found

    def formula(self, names: Mapping[int, str]) -> str:
        """The needed FLOPs as a formula of lengths, such as `2 * 512 * 512 * sum(lengths)`."""
        demand = self.needed.without(each for each in self.needed.conditions if _bound_of(each) is None)
        if not demand.regions:
            return "0"
        bounds = [bound for each in demand.conditions if (bound := _bound_of(each)) is not None]
        if not bounds or demand.regions != frozenset([frozenset[LinearForm]()]):
            return "padded" if not bounds else "padded in part"
        skipped = {bound.factor for bound in bounds} | {bound.row for bound in bounds}
        factors = [f"{size}" for k, size in enumerate(self.space) if k not in skipped]
        factors = [str(self.flops), *factors] if self.flops > 1 else factors
        for row in sorted({bound.row for bound in bounds}):
            terms = [_edge(bound, names) for bound in bounds if bound.row == row]
            factors.append(f"sum({' * '.join(terms)})")
        return " * ".join(factors)


@record
class _Bound:
    """A condition that holds from the position `length of the row + more` on, along a factor."""

    factor: int
    row: int
    source: int
    more: Dim


def _bound_of(condition: LinearForm) -> _Bound | None:
    terms = dict(condition.terms)
    at = [atom for atom, k in terms.items() if isinstance(atom, Position) and k == 1]
    lengths = [atom for atom, k in terms.items() if isinstance(atom, Length) and k == -1]
    if len(terms) != 2 or len(at) != 1 or len(lengths) != 1:
        return None
    return _Bound(at[0].factor, lengths[0].batch, lengths[0].source, -condition.rest)


def _edge(bound: _Bound, names: Mapping[int, str]) -> str:
    name = names[bound.source]
    return name if bound.more.constant == 0 else f"({name} + {bound.more})"


def work_of(analysis: ProgramAnalysis) -> list[OpWork]:
    """The work of the ops of a program that computes with floats."""
    demands = demands_of(analysis)
    return [*_outside(analysis, demands), *_inside(analysis, demands)]


def _outside(analysis: ProgramAnalysis, demands: Demands) -> Iterator[OpWork]:
    for op in analysis.program.body.ops:
        if (needed := demands.points.get(op)) is not None and (flops := _flops(op)):
            reading = analysis.context.steps[op].reading
            yield OpWork(op, flops, reading.space, needed, op.name in _PRODUCTS)


def _inside(analysis: ProgramAnalysis, demands: Demands) -> Iterator[OpWork]:
    """Ops of loops: in every iteration, padded; those of loops of which the number of iterations is unknown, once."""
    for op in demands.loops:
        if (step := analysis.context.steps.get(op)) is not None and (flops := _flops(op)):
            space = (*analysis.context.iterations.get(op, ()), *step.reading.space)
            yield OpWork(op, flops, space, ALL, op.name in _PRODUCTS)


def _flops(op: Op[Any]) -> int:
    """The FLOPs at a point of an op's space: 2 of a product's, 1 of a function's or a sum's."""
    if not op.results or not (op.results[0].dtype.is_float or op.results[0].dtype.is_complex):
        return 0
    if op.name in _PRODUCTS:
        return 2
    return 1 if op.name in _FUNCTIONS or op.name in _FOLDS else 0
