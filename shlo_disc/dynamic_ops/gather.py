"""Gather: every form of reading slices at computed places."""

from __future__ import annotations

import numpy as np

from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.indexing import ZERO, as_dim, clamped
from shlo_disc.dynamic_ops.opdef import Arrays, ElementQuery, OpDef, Template, Trait, plain
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.expr.dim import Dim, const
from shlo_disc.expr.scalar import Index, Scalar
from shlo_disc.records import record


@record
class GatherAttrs:
    """The dimension numbers of StableHLO's gather. Operands: the tensor, the start indices."""

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...]
    start_indices_batching_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    index_vector_dim: int
    slice_sizes: tuple[Dim, ...]


def _gather(op: Op[GatherAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    x, indices = op.operands
    attrs = op.attrs
    batch = tuple(at for k, at in enumerate(index) if k not in attrs.offset_dims)

    def start(component: int) -> Dim:
        place = list(batch)
        if attrs.index_vector_dim < len(indices.shape):
            place.insert(attrs.index_vector_dim, const(component))
        dim = attrs.start_index_map[component]
        return clamped(as_dim(ask.at(indices, tuple(place))), x.shape[dim], attrs.slice_sizes[dim])

    where = [ZERO] * len(x.shape)
    for component, dim in enumerate(attrs.start_index_map):
        where[dim] = start(component)
    for dim, indices_dim in zip(attrs.operand_batching_dims, attrs.start_indices_batching_dims, strict=True):
        where[dim] = batch[indices_dim - (indices_dim > attrs.index_vector_dim)]
    for at, dim in zip(attrs.offset_dims, _kept_dims(attrs, len(x.shape)), strict=True):
        where[dim] = where[dim] + index[at]
    return ask.at(x, tuple(where))


def _kept_dims(attrs: GatherAttrs, rank: int) -> list[int]:
    """The operand dims that the offset dims of the result run over."""
    dropped = {*attrs.collapsed_slice_dims, *attrs.operand_batching_dims}
    return [dim for dim in range(rank) if dim not in dropped]


def _gather_reference(op: Op[GatherAttrs], inputs: Arrays) -> Arrays:
    x, indices = inputs
    attrs, sizes = op.attrs, concrete_shape(op.attrs.slice_sizes)
    shape = concrete_shape(op.results[0].shape)
    found = np.empty(shape, x.dtype)
    if attrs.index_vector_dim == indices.ndim:
        indices = indices[..., None]
    rows = np.moveaxis(indices, attrs.index_vector_dim, -1)
    batch_dims = [k for k in range(len(shape)) if k not in attrs.offset_dims]
    dropped = (*attrs.collapsed_slice_dims, *attrs.operand_batching_dims)
    for batch in np.ndindex(rows.shape[:-1]):
        first = [0] * x.ndim
        for dim, value in zip(attrs.start_index_map, rows[batch], strict=True):
            first[dim] = max(0, min(int(value), x.shape[dim] - sizes[dim]))
        for dim, k in zip(attrs.operand_batching_dims, attrs.start_indices_batching_dims, strict=True):
            first[dim] = batch[k - (k > attrs.index_vector_dim)]
        piece = x[tuple(slice(a, a + n) for a, n in zip(first, sizes, strict=True))]
        target: list[int | slice] = [slice(None)] * len(shape)
        for dim, at in zip(batch_dims, batch, strict=True):
            target[dim] = at
        found[tuple(target)] = piece.squeeze(dropped)
    return (found,)


GATHER = OpDef(
    name="d_gather",
    attrs=GatherAttrs,
    template=Template.ELEMENT,
    element=_gather,
    reference=plain(_gather_reference),
    traits=frozenset({Trait.EXACT}),
    cost=2,
)
OPS = (GATHER,)
