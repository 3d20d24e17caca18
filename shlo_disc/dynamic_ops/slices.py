"""Ops that read or write a window: slice, dynamic_slice, dynamic_update_slice."""

from __future__ import annotations

from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.indexing import as_dim, clamped, in_range, select_all
from shlo_disc.dynamic_ops.opdef import Arrays, ElementQuery, NoAttrs, OpDef, Template, Trait, plain
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.expr.dim import Dim
from shlo_disc.expr.scalar import Index, Scalar
from shlo_disc.records import record


@record
class SliceAttrs:
    """First index and step in each dim; the result's shape gives the count."""

    starts: tuple[Dim, ...]
    strides: tuple[Dim, ...]


def _slice(op: Op[SliceAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    where = (start + at * stride for at, start, stride in zip(index, op.attrs.starts, op.attrs.strides, strict=True))
    return ask.at(op.operands[0], tuple(where))


def _slice_reference(op: Op[SliceAttrs], inputs: Arrays) -> Arrays:
    starts, strides = concrete_shape(op.attrs.starts), concrete_shape(op.attrs.strides)
    sizes = concrete_shape(op.results[0].shape)
    kept = (slice(a, a + n * d, d) for a, n, d in zip(starts, sizes, strides, strict=True))
    return (inputs[0][tuple(kept)].copy(),)


def _starts(ask: ElementQuery, starts: tuple[Tensor, ...], shape: Shape, window: Shape) -> tuple[Dim, ...]:
    return tuple(
        clamped(as_dim(ask.at(start, ())), size, size_in)
        for start, size, size_in in zip(starts, shape, window, strict=True)
    )


def _dynamic_slice(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    x, *starts = op.operands
    first = _starts(ask, tuple(starts), x.shape, op.results[0].shape)
    return ask.at(x, tuple(start + at for start, at in zip(first, index, strict=True)))


def _window(starts: Arrays, shape: tuple[int, ...], window: tuple[int, ...]) -> tuple[slice, ...]:
    first = [max(0, min(int(a), n - w)) for a, n, w in zip(starts, shape, window, strict=True)]
    return tuple(slice(a, a + w) for a, w in zip(first, window, strict=True))


def _dynamic_slice_reference(op: Op[NoAttrs], inputs: Arrays) -> Arrays:
    x, *starts = inputs
    return (x[_window(tuple(starts), x.shape, concrete_shape(op.results[0].shape))].copy(),)


def _dynamic_update_slice(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    x, update, *starts = op.operands
    first = _starts(ask, tuple(starts), x.shape, update.shape)
    inner = tuple(at - start for at, start in zip(index, first, strict=True))
    inside = [in_range(at, size) for at, size, whole in zip(inner, update.shape, x.shape, strict=True) if size != whole]
    return select_all(inside, ask.at(update, inner), ask.at(x, index))


def _dynamic_update_slice_reference(_op: Op[NoAttrs], inputs: Arrays) -> Arrays:
    x, update, *starts = inputs
    found = x.copy()
    found[_window(tuple(starts), x.shape, update.shape)] = update
    return (found,)


SLICE = OpDef(
    name="d_slice",
    attrs=SliceAttrs,
    template=Template.ELEMENT,
    element=_slice,
    reference=plain(_slice_reference),
    traits=frozenset({Trait.VIEW, Trait.EXACT}),
)
DYNAMIC_SLICE = OpDef(
    name="d_dynamic_slice",
    attrs=NoAttrs,
    template=Template.ELEMENT,
    element=_dynamic_slice,
    reference=plain(_dynamic_slice_reference),
    traits=frozenset({Trait.EXACT}),
    cost=2,
)
DYNAMIC_UPDATE_SLICE = OpDef(
    name="d_dynamic_update_slice",
    attrs=NoAttrs,
    template=Template.ELEMENT,
    element=_dynamic_update_slice,
    reference=plain(_dynamic_update_slice_reference),
    traits=frozenset({Trait.EXACT}),
    cost=3,
)
OPS = (
    SLICE,
    DYNAMIC_SLICE,
    DYNAMIC_UPDATE_SLICE,
)
