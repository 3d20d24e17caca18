"""Reductions over whole dims and over windows, and map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.indexing import ONE, ZERO, in_range, select_all
from shlo_disc.dynamic_ops.opdef import LOOP, Arrays, ElementQuery, NoAttrs, OpDef, RunBody, Template, Trait
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.expr.dim import Dim, Sym, of
from shlo_disc.expr.scalar import Arg, Const, Fold, FoldResult, Index, InRange, Scalar, neutral
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.references.formats import rounded, widened
from shlo_disc.functions.references.reference import maximum, minimum, reduced
from shlo_disc.ir.dtypes import Array
from shlo_disc.records import record


@record
class ReduceAttrs:
    """The reduced dims. Operands: tensors, then their rank-0 initial values. Body arguments: carries, elements."""

    dims: tuple[int, ...]


@record
class ReduceWindowAttrs:
    """One entry per dim; operands as for reduce.

    Windows skip padding, as in XLA's CPU backend; the specification combines an initial value for each padding element,
    which is the same where these are neutral. The result's shape determines the padding at the high end. `inside`: dims
    along which no window reaches into padding, provably.
    """

    window: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    base_dilations: tuple[Dim, ...]
    window_dilations: tuple[Dim, ...]
    low: tuple[Dim, ...]
    inside: frozenset[int] = frozenset()


def split(op: Op[Any]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The tensors and the initial values of a reduction's operands."""
    half = len(op.operands) // 2
    return op.operands[:half], op.operands[half:]


def _fold(
    op: Op[Any],
    ask: ElementQuery,
    axes: tuple[tuple[Sym, Dim], ...],
    where: Index,
    conditions: Sequence[Scalar] = (),
) -> Fold:
    """Fold the op's body over the points of `axes` where all `conditions` hold, reading elements at index `where`.

    At other points, a neutral initial value is combined, so that loops have no branch; without one, the carry is kept.
    """
    tensors, inits = split(op)
    carries = tuple(Arg(ask.symbol("acc").name, x.dtype) for x in inits)
    starts = tuple(ask.at(x, ()) for x in inits)
    points = tuple(ask.at(x, where) for x in tensors)
    if _is_neutral(op.bodies[0], starts):
        points = tuple(select_all(conditions, x, start) for x, start in zip(points, starts, strict=True))
        return Fold(axes, carries, starts, ask.region(op.bodies[0], (*carries, *points)))
    combined = ask.region(op.bodies[0], (*carries, *points))
    kept = (select_all(conditions, new, old) for new, old in zip(combined, carries, strict=True))
    return Fold(axes, carries, starts, tuple(kept))


def _is_neutral(body: Body, starts: Sequence[Scalar]) -> bool:
    """Whether the body is a single op on its two arguments, and the initial value is its neutral element."""
    if len(starts) != 1 or len(body.ops) != 1:
        return False
    (start,), (op,) = starts, body.ops
    if op.name not in _SIMPLE or set(op.operands) != set(body.arguments) or body.results != op.results:
        return False
    return isinstance(start, Const) and start.value == neutral(_SIMPLE[op.name], start.dtype)


# Ops with a neutral element, for element rules; the reference has its own table (`_MONOIDS`).
_SIMPLE = {
    fn.value.name: fn
    for fn in (BinaryFn.ADD, BinaryFn.MULTIPLY, BinaryFn.AND, BinaryFn.OR, BinaryFn.MAXIMUM, BinaryFn.MINIMUM)
}


def _reduce(op: Op[ReduceAttrs], ask: ElementQuery, k: int, index: Index) -> Scalar:
    shape, rest = op.operands[0].shape, iter(index)
    axes = {dim: ask.symbol("r") for dim in sorted(op.attrs.dims)}
    where = tuple(of(axes[dim]) if dim in axes else next(rest) for dim in range(len(shape)))
    extents = tuple((symbol, shape[dim]) for dim, symbol in axes.items())
    return FoldResult(_fold(op, ask, extents, where), k)


@record
class _Monoid:
    """NumPy functions that combine two arrays, and that reduce one along dims."""

    combine: Callable[[Array, Array], Array]
    reduce: Callable[[Array, tuple[int, ...]], Array]


_MONOIDS: Mapping[str, _Monoid] = {
    "add": _Monoid(np.add, np.add.reduce),
    "multiply": _Monoid(np.multiply, np.multiply.reduce),
    "and": _Monoid(np.bitwise_and, np.bitwise_and.reduce),
    "or": _Monoid(np.bitwise_or, np.bitwise_or.reduce),
    "maximum": _Monoid(maximum, partial(reduced, maximum)),
    "minimum": _Monoid(minimum, partial(reduced, minimum)),
}


def _monoid(body: Body) -> _Monoid | None:
    """The monoid of a body that is a single op on its two arguments, else None."""
    if len(body.ops) != 1 or set(body.ops[0].operands) != set(body.arguments) or body.results != body.ops[0].results:
        return None
    return _MONOIDS.get(body.ops[0].name)


def _reduce_reference(op: Op[ReduceAttrs], inputs: Arrays, run: RunBody) -> Arrays:
    half = len(inputs) // 2
    dims, (body,) = op.attrs.dims, op.bodies
    if half == 1 and inputs[0].size and (monoid := _monoid(body)) is not None:
        x, init = map(widened, inputs)
        total = monoid.combine(monoid.reduce(x, dims), init)
        return (rounded(total, op.results[0].dtype),)
    points = [np.moveaxis(x, dims, range(len(dims))) for x in inputs[:half]]
    kept = points[0].shape[len(dims) :]
    carries = tuple(np.broadcast_to(x, kept) for x in inputs[half:])
    if 0 in kept:
        return tuple(x.copy() for x in carries)
    for at in np.ndindex(points[0].shape[: len(dims)]):
        carries = run(body, (*carries, *(x[at] for x in points)))
    return tuple(np.broadcast_to(x, kept).copy() for x in carries)


def _reduce_window(op: Op[ReduceWindowAttrs], ask: ElementQuery, k: int, index: Index) -> Scalar:
    shape, attrs = op.operands[0].shape, op.attrs
    axes, conditions, where = dict[Sym, Dim](), list[Scalar](), list[Dim]()
    for dim, (size, window) in enumerate(zip(shape, attrs.window, strict=True)):
        offset = index[dim] * attrs.strides[dim] - attrs.low[dim]
        if window != ONE:
            axis = ask.symbol("w")
            axes[axis] = window
            offset += of(axis) * attrs.window_dilations[dim]
        step = attrs.base_dilations[dim]
        if dim not in attrs.inside:
            conditions.append(in_range(offset, (size - 1) * step + 1))
        if step != ONE:
            conditions.append(InRange(offset % step, ZERO, ONE))
        where.append(offset // step)
    return FoldResult(_fold(op, ask, tuple(axes.items()), tuple(where), conditions), k)


def _reduce_window_reference(op: Op[ReduceWindowAttrs], inputs: Arrays, run: RunBody) -> Arrays:
    """Combine one shifted, strided view of the padded operands per window position, where it has elements."""
    half = len(inputs) // 2
    window, strides, base, dilations, low = (
        concrete_shape(group)
        for group in (
            op.attrs.window,
            op.attrs.strides,
            op.attrs.base_dilations,
            op.attrs.window_dilations,
            op.attrs.low,
        )
    )
    shape = concrete_shape(op.results[0].shape)
    need = [(n - 1) * s + (w - 1) * d + 1 for n, s, w, d in zip(shape, strides, window, dilations, strict=True)]
    padded = [_padded(x, init, base, low, need) for x, init in zip(inputs[:half], inputs[half:], strict=True)]
    elements = _padded(np.ones(inputs[0].shape, np.bool_), np.asarray(False), base, low, need)
    carries = tuple(np.broadcast_to(x, shape) for x in inputs[half:])
    if 0 in shape:
        return tuple(x.copy() for x in carries)
    for at in np.ndindex(window):
        view = tuple(
            slice(k * d, k * d + (n - 1) * s + 1, s) for k, d, n, s in zip(at, dilations, shape, strides, strict=True)
        )
        combined = run(op.bodies[0], (*carries, *(x[view] for x in padded)))
        carries = tuple(np.where(elements[view], new, old) for new, old in zip(combined, carries, strict=True))
    return tuple(np.broadcast_to(x, shape).copy() for x in carries)


def _padded(
    x: NDArray[Any],
    other: NDArray[Any],
    base: tuple[int, ...],
    low: tuple[int, ...],
    need: list[int],
) -> NDArray[Any]:
    """The dilated and padded operand: `need` positions from -low on, `other` where there is no element."""
    found = np.full([max(0, n) for n in need], other, x.dtype)
    read, written = list[Array](), list[Array]()
    for extent, dilation, before, length in zip(x.shape, base, low, need, strict=True):
        place = np.arange(extent, dtype=np.int64) * dilation + before
        inside = (place >= 0) & (place < length)
        read.append(inside)
        written.append(place[inside])
    found[np.ix_(*written)] = x[np.ix_(*read)]
    return found


def _map(op: Op[NoAttrs], ask: ElementQuery, k: int, index: Index) -> Scalar:
    return ask.region(op.bodies[0], tuple(ask.at(x, index) for x in op.operands))[k]


def _map_reference(op: Op[NoAttrs], inputs: Arrays, run: RunBody) -> Arrays:
    shape = concrete_shape(op.results[0].shape)
    return tuple(np.broadcast_to(x, shape).copy() for x in run(op.bodies[0], inputs))


REDUCE = OpDef(
    name="d_reduce",
    attrs=ReduceAttrs,
    template=Template.REDUCE,
    element=_reduce,
    reference=_reduce_reference,
    traits=frozenset({Trait.SUM}),
)
REDUCE_WINDOW = OpDef(
    name="d_reduce_window",
    attrs=ReduceWindowAttrs,
    template=Template.ELEMENT,
    element=_reduce_window,
    reference=_reduce_window_reference,
    traits=frozenset({Trait.SUM}),
    cost=LOOP,
)
MAP = OpDef(
    name="d_map",
    attrs=NoAttrs,
    template=Template.ELEMENT,
    element=_map,
    reference=_map_reference,
    traits=frozenset({Trait.EXACT}),
)
OPS = (
    REDUCE,
    REDUCE_WINDOW,
    MAP,
)
