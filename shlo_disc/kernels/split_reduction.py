"""Split reductions: first partial results of parts of the points, then these combined in order.

The number of parts depends on the sizes alone, so that equal shapes give equal bits, whichever thread computes a part.
A part of a known operation starts from its identity. For other operations StableHLO allows any bracketing, but no other
order, and no initial value in between: there a part starts from its first element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shlo_disc.dynamic_ops.indexing import delinearize
from shlo_disc.expr.dim import Dim, Sym, const, maximum, minimum, of, product
from shlo_disc.expr.scalar import Arg, Binary, Const, Convert, Load, Scalar, Select, neutral
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Axis, Param, Reduction, RowKernel, Stage, Store
from shlo_disc.kernels.rewrite import ArgRewriter, DimRewriter
from shlo_disc.kernels.simplify_kernel import merge_loops, rewrite_stage
from shlo_disc.records import record

_LINES, _SPAN, _BAND, _PART = Sym("%lines"), Sym("%span"), Sym("%band"), Sym("%part")
# types of partial results, which are not rounded to narrow floats
_WIDE = {dtype: DType.F32 for dtype in DType if dtype.is_narrow_float}


@record
class Grain:
    """The approximate number of points in a part, and the most neighbouring results that it covers."""

    points: int
    results: int


@record
class SplitReduction:
    """The two kernels of a reduction, and the workspaces between them with their element counts."""

    first: RowKernel
    join: RowKernel
    workspaces: tuple[tuple[Param, Dim], ...]


def split_reduction(stage: Stage, grain: Grain, workspaces: int) -> SplitReduction | None:
    """Cut a reduction into parts; None if each result has just one. `workspaces`: the number that exist already.

    The kernels' params are still empty: they will be the program's buffers, then all workspaces.
    """
    if not stage.axes:  # of one element
        return None
    cut = _ReductionCut(stage, grain)
    if cut.count == const(1):
        return None
    made, firsts, joins = list[tuple[Param, Dim]](), list[Reduction](), list[Reduction]()
    for reduction in stage.reductions:
        wide = _WIDE if reduction.fn is not None else {}
        spaces = [
            Param(f"w{workspaces + len(made) + k}", wide.get(c.dtype, c.dtype)) for k, c in enumerate(reduction.carries)
        ]
        made += [(space, cut.count * cut.results) for space in spaces]
        firsts.append(_first(reduction, spaces, cut.place))
        joins.append(_join(reduction, spaces, of(_PART) * cut.results + cut.result))
    moved = rewrite_stage(replace(stage, reductions=tuple(firsts)), DimRewriter(lambda d: d.substitute(cut.where)))
    first = RowKernel((), cut.rows, (replace(moved, axes=cut.axes, reduced=cut.reduced),), ())
    kept = cut.kept
    together = Stage((Axis(_PART, cut.count), *kept), (True, *(False for _ in kept)), (), tuple(joins))
    return SplitReduction(first, merge_loops(RowKernel((), (), (together,), ())), tuple(made))


class _ReductionCut:
    """Cuts the points of a stage along its outer reduced loops, flattened into one, and along its innermost loop."""

    def __init__(self, stage: Stage, grain: Grain) -> None:
        *outer, (lane, across) = zip(stage.axes, stage.reduced, strict=True)
        self.kept = tuple(a for a, flag in zip(stage.axes, stage.reduced, strict=True) if not flag)
        self.results = product(a.extent for a in self.kept)
        self.result = const(0)
        for axis in self.kept:
            self.result = self.result * axis.extent + of(axis.symbol)
        swept = [a for a, flag in outer if flag]
        rows = [a for a, flag in outer if not flag]
        axes, reduced = list[Axis](), list[bool]()
        where, number, count = dict[Sym, Dim](), const(0), const(1)
        if swept:
            beside = lane.extent if across else minimum(lane.extent, grain.results)
            lines, least = product(a.extent for a in swept), maximum(1, const(grain.points) // maximum(1, beside))
            count, start, axis = _pieces(lines, least, _LINES, rows)
            place = start + of(axis.symbol)
            where.update(zip((a.symbol for a in swept), delinearize(place, _extents(swept)), strict=True))
            axes.append(axis)
            reduced.append(True)
            number = _number(count, _LINES)
        least = const(grain.points if across else grain.results)
        pieces, start, axis = _pieces(lane.extent, least, _SPAN if across else _BAND, rows, lane.symbol)
        where[lane.symbol] = start + of(lane.symbol)
        if across:
            number, count = number * pieces + _number(pieces, _SPAN), count * pieces
        self.axes, self.reduced, self.rows = (*axes, axis), (*reduced, across), tuple(rows)
        self.where, self.count = where, count
        self.place = number * self.results + self.result  # offset of a part in its workspace


def _pieces(extent: Dim, least: Dim, number: Sym, rows: list[Axis], inner: Sym | None = None) -> tuple[Dim, Dim, Axis]:
    """Cut a loop; return the number of pieces, the start of one, and its loop. Several pieces add a row `number`."""
    symbol = inner or Sym(f"{number.name}_at")
    count = (extent + (least - 1)) // least
    if extent.constant is not None and least.constant is not None and extent.constant <= least.constant:
        return const(1), const(0), Axis(symbol, extent)
    rows.append(Axis(number, count))
    start = of(number) * least
    return count, start, Axis(symbol, minimum(least, extent - start))


def _number(count: Dim, symbol: Sym) -> Dim:
    return const(0) if count == const(1) else of(symbol)


def _extents(axes: Sequence[Axis]) -> tuple[Dim, ...]:
    return tuple(axis.extent for axis in axes)


def _first(reduction: Reduction, spaces: Sequence[Param], place: Dim) -> Reduction:
    """Reduce the points of one part into the workspaces."""
    if reduction.fn is not None:
        (element,), (space,) = reduction.elements, spaces
        changed = _retyped(reduction, space.dtype)
        carry = changed.carries[0]
        start = Const(neutral(reduction.fn, carry.dtype), carry.dtype)
        whole = element if element.dtype is carry.dtype else Convert(element, carry.dtype)
        return replace(changed, init=(start,), elements=(whole,), stores=(Store(space, place, carry),))
    carries, inputs = reduction.carries, reduction.inputs
    begun, one = Arg(f"{carries[0].name}_begun", DType.I1), Arg(f"{inputs[0].name}_one", DType.I1)
    update = [Select(begun, new, value) for new, value in zip(reduction.update, inputs, strict=True)]
    zeros = [Const(False if c.dtype.is_bool else 0.0 if c.dtype.is_float else 0, c.dtype) for c in carries]
    return replace(
        reduction,
        carries=(*carries, begun),
        init=(*zeros, Const(False, DType.I1)),
        inputs=(*inputs, one),
        elements=(*reduction.elements, Const(True, DType.I1)),
        update=(*update, one),
        stores=tuple(Store(space, place, carry) for space, carry in zip(spaces, carries, strict=True)),
    )


def _join(reduction: Reduction, spaces: Sequence[Param], place: Dim) -> Reduction:
    """Reduce the parts of each result, beginning with the initial value."""
    loads = tuple(Load(space, (place,)) for space in spaces)
    if reduction.fn is None:
        return replace(reduction, elements=loads)
    (space,), (carry,), (init,) = spaces, reduction.carries, reduction.init
    changed = _retyped(reduction, space.dtype)
    if space.dtype is carry.dtype:
        return replace(changed, elements=loads)
    results = ArgRewriter({carry.name: Convert(changed.carries[0], carry.dtype)})
    stores = tuple(Store(s.target, s.offset, results.scalar(s.value)) for s in reduction.stores)
    return replace(changed, init=(Convert(init, space.dtype),), elements=loads, stores=stores)


def _retyped(reduction: Reduction, dtype: DType) -> Reduction:
    """A simple reduction of values of another type."""
    assert reduction.fn is not None, "only simple reductions have one operation"
    carry, value = (Arg(one.name, dtype) for one in (reduction.carries[0], reduction.inputs[0]))
    update: Scalar = Binary(reduction.fn, carry, value, dtype)
    return replace(reduction, carries=(carry,), inputs=(value,), update=(update,))
