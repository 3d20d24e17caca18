"""Ops that rearrange whole tensors: broadcast, reshape, transpose, reverse, concatenate, pad."""

from __future__ import annotations

import numpy as np

from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.indexing import ONE, ZERO, in_range, reshaped, select_all
from shlo_disc.dynamic_ops.opdef import Arrays, ElementQuery, NoAttrs, OpDef, Template, Trait, plain
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.expr.dim import Dim, minimum
from shlo_disc.expr.scalar import Index, InRange, Scalar, Select
from shlo_disc.records import record


@record
class BroadcastAttrs:
    """For each operand dim: the result dim it goes to, and whether its size 1 is expanded there.

    `expand` is None where it is decided at run time (a size that may be 1).
    """

    dims: tuple[int, ...]
    expand: tuple[bool | None, ...]


@record
class TransposeAttrs:
    """Result dim k is operand dim `permutation[k]`."""

    permutation: tuple[int, ...]


@record
class ReverseAttrs:
    dims: tuple[int, ...]


@record
class ConcatenateAttrs:
    dim: int


@record
class PadAttrs:
    """Padding before the first element (may be negative), and between elements; the result's shape gives the rest."""

    low: tuple[Dim, ...]
    interior: tuple[Dim, ...]


def _broadcast(op: Op[BroadcastAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    (x,) = op.operands

    def position(k: int) -> Dim:
        at = index[op.attrs.dims[k]]
        match op.attrs.expand[k]:
            case True:
                return ZERO
            case False:
                return at
            case None:
                return minimum(at, x.shape[k] - 1)

    return ask.at(x, tuple(map(position, range(len(x.shape)))))


def _broadcast_reference(op: Op[BroadcastAttrs], inputs: Arrays) -> Arrays:
    shape = concrete_shape(op.results[0].shape)
    aligned = [1] * len(shape)
    for size, dim in zip(inputs[0].shape, op.attrs.dims, strict=True):
        aligned[dim] = size
    order = np.argsort(np.array(op.attrs.dims, np.int64))
    return (np.broadcast_to(inputs[0].transpose(order).reshape(aligned), shape).copy(),)


def _reshape(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    (x,) = op.operands
    return ask.at(x, reshaped(index, op.results[0].shape, x.shape))


def _reshape_reference(op: Op[NoAttrs], inputs: Arrays) -> Arrays:
    return (inputs[0].reshape(concrete_shape(op.results[0].shape)),)


def _transpose(op: Op[TransposeAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    where = {dim: index[k] for k, dim in enumerate(op.attrs.permutation)}
    return ask.at(op.operands[0], tuple(where[k] for k in range(len(index))))


def _transpose_reference(op: Op[TransposeAttrs], inputs: Arrays) -> Arrays:
    return (inputs[0].transpose(op.attrs.permutation).copy(),)


def _reverse(op: Op[ReverseAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    (x,) = op.operands
    turned = (x.shape[k] - 1 - at if k in op.attrs.dims else at for k, at in enumerate(index))
    return ask.at(x, tuple(turned))


def _reverse_reference(op: Op[ReverseAttrs], inputs: Arrays) -> Arrays:
    return (np.flip(inputs[0], op.attrs.dims).copy(),)


def _concatenate(op: Op[ConcatenateAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    dim, starts, end = op.attrs.dim, list[Dim](), ZERO
    for x in op.operands:
        starts.append(end)
        end = end + x.shape[dim]
    pieces = [
        ask.at(x, (*index[:dim], index[dim] - start, *index[dim + 1 :]))
        for x, start in zip(op.operands, starts, strict=True)
    ]
    found = pieces[-1]
    for k in range(len(pieces) - 2, -1, -1):
        found = Select(InRange(index[dim], starts[k], starts[k + 1]), pieces[k], found)
    return found


def _concatenate_reference(op: Op[ConcatenateAttrs], inputs: Arrays) -> Arrays:
    return (np.concatenate(inputs, op.attrs.dim),)


def _pad(op: Op[PadAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    x, value = op.operands
    conditions, inner = list[Scalar](), list[Dim]()
    for at, low, interior, size, result in zip(
        index, op.attrs.low, op.attrs.interior, x.shape, op.results[0].shape, strict=True
    ):
        offset, step = at - low, interior + 1
        if low != ZERO or interior != ZERO or size != result:
            conditions.append(in_range(offset, (size - 1) * step + 1))
        if step != ONE:
            conditions.append(InRange(offset % step, ZERO, ONE))
        inner.append(offset // step)
    return select_all(conditions, ask.at(x, tuple(inner)), ask.at(value, ()))


def _pad_reference(op: Op[PadAttrs], inputs: Arrays) -> Arrays:
    x, value = inputs
    low, interior = concrete_shape(op.attrs.low), concrete_shape(op.attrs.interior)
    found = np.full(concrete_shape(op.results[0].shape), value, x.dtype)
    for dim in range(x.ndim):
        spread = [max(0, (n - 1) * (interior[dim] + 1) + 1) if k == dim else n for k, n in enumerate(x.shape)]
        spaced = np.full(spread, value, x.dtype)
        spaced[tuple(slice(None, None, interior[dim] + 1 if k == dim else 1) for k in range(x.ndim))] = x
        x = spaced
    kept = tuple(slice(max(0, -a), max(0, n - a)) for a, n in zip(low, found.shape, strict=True))
    x = x[kept]
    found[tuple(slice(max(0, a), max(0, a) + n) for a, n in zip(low, x.shape, strict=True))] = x
    return (found,)


BROADCAST = OpDef(
    name="d_broadcast",
    attrs=BroadcastAttrs,
    template=Template.ELEMENT,
    element=_broadcast,
    reference=plain(_broadcast_reference),
    traits=frozenset({Trait.VIEW, Trait.EXACT}),
)
RESHAPE = OpDef(
    name="d_reshape",
    attrs=NoAttrs,
    template=Template.ELEMENT,
    element=_reshape,
    reference=plain(_reshape_reference),
    traits=frozenset({Trait.VIEW, Trait.EXACT}),
)
TRANSPOSE = OpDef(
    name="d_transpose",
    attrs=TransposeAttrs,
    template=Template.ELEMENT,
    element=_transpose,
    reference=plain(_transpose_reference),
    traits=frozenset({Trait.VIEW, Trait.EXACT}),
)
REVERSE = OpDef(
    name="d_reverse",
    attrs=ReverseAttrs,
    template=Template.ELEMENT,
    element=_reverse,
    reference=plain(_reverse_reference),
    traits=frozenset({Trait.VIEW, Trait.EXACT}),
)
CONCATENATE = OpDef(
    name="d_concatenate",
    attrs=ConcatenateAttrs,
    template=Template.ELEMENT,
    element=_concatenate,
    reference=plain(_concatenate_reference),
    traits=frozenset({Trait.EXACT}),
    cost=2,
)
PAD = OpDef(
    name="d_pad",
    attrs=PadAttrs,
    template=Template.ELEMENT,
    element=_pad,
    reference=plain(_pad_reference),
    traits=frozenset({Trait.EXACT}),
    cost=2,
)
OPS = (
    BROADCAST,
    RESHAPE,
    TRANSPOSE,
    REVERSE,
    CONCATENATE,
    PAD,
)
