"""Ops that make a tensor from nothing but their attributes."""

from __future__ import annotations

import numpy as np

from shlo_disc.dynamic_ops.opdef import Arrays, ElementQuery, OpDef, Template, Trait, plain
from shlo_disc.dynamic_ops.program import Op, Shape
from shlo_disc.expr.dim import Dim, const
from shlo_disc.expr.scalar import Const, Convert, FromDim, Index, InRange, Scalar, Select
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.records import record


@record
class ConstantAttrs:
    """The literal that every element is. Literals with several values are `Program.constants`."""

    value: Const


@record
class FromDimsAttrs:
    """The dims to store, which fit into the type: one for a rank-0 result, else one per element of a rank-1 result."""

    dims: tuple[Dim, ...]


@record
class IotaAttrs:
    """The dim along which elements count up. `wraps`: the indices may overflow the type; then they wrap around."""

    dim: int
    wraps: bool = False


def concrete_shape(shape: Shape) -> tuple[int, ...]:
    """Read the sizes of a shape whose dims are all constant."""
    found = tuple(size.constant for size in shape)
    sizes = tuple(size for size in found if size is not None)
    assert len(sizes) == len(found), "reference functions get constant dims"
    return sizes


def _constant(op: Op[ConstantAttrs], _ask: ElementQuery, _k: int, _index: Index) -> Scalar:
    return op.attrs.value


def _constant_reference(op: Op[ConstantAttrs], _inputs: Arrays) -> Arrays:
    result = op.results[0]
    return (np.full(concrete_shape(result.shape), op.attrs.value.value, numpy_dtype(result.dtype)),)


def _from_dims(op: Op[FromDimsAttrs], _ask: ElementQuery, _k: int, index: Index) -> Scalar:
    dtype = op.results[0].dtype
    members = [FromDim(dim, dtype) for dim in op.attrs.dims]
    if not index:
        return members[0]
    if not members:
        return Const(0, dtype)
    if (known := index[0].constant) is not None and 0 <= known < len(members):
        return members[known]
    found: Scalar = members[-1]
    for k in range(len(members) - 2, -1, -1):
        found = Select(InRange(index[0], const(k), const(k + 1)), members[k], found)
    return found


def _from_dims_reference(op: Op[FromDimsAttrs], _inputs: Arrays) -> Arrays:
    result = op.results[0]
    values = np.array(concrete_shape(op.attrs.dims), np.int64).astype(numpy_dtype(result.dtype))
    return (values.reshape(concrete_shape(result.shape)),)


def _iota(op: Op[IotaAttrs], _ask: ElementQuery, _k: int, index: Index) -> Scalar:
    dim, dtype = index[op.attrs.dim], op.results[0].dtype
    return Convert(FromDim(dim, DType.I64), dtype) if op.attrs.wraps else FromDim(dim, dtype)


def _iota_reference(op: Op[IotaAttrs], _inputs: Arrays) -> Arrays:
    shape = concrete_shape(op.results[0].shape)
    along = np.arange(shape[op.attrs.dim]).astype(numpy_dtype(op.results[0].dtype))
    column = along.reshape([-1 if k == op.attrs.dim else 1 for k in range(len(shape))])
    return (np.broadcast_to(column, shape).copy(),)


CONSTANT = OpDef(
    name="d_constant",
    attrs=ConstantAttrs,
    template=Template.ELEMENT,
    element=_constant,
    reference=plain(_constant_reference),
    traits=frozenset({Trait.LEAF, Trait.EXACT}),
)
FROM_DIMS = OpDef(
    name="d_from_dims",
    attrs=FromDimsAttrs,
    template=Template.ELEMENT,
    element=_from_dims,
    reference=plain(_from_dims_reference),
    traits=frozenset({Trait.LEAF, Trait.EXACT}),
)
IOTA = OpDef(
    name="d_iota",
    attrs=IotaAttrs,
    template=Template.ELEMENT,
    element=_iota,
    reference=plain(_iota_reference),
    traits=frozenset({Trait.LEAF, Trait.EXACT}),
)
OPS = (
    CONSTANT,
    FROM_DIMS,
    IOTA,
)
