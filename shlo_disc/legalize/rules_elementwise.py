"""StableHLO to DHLO: elementwise ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shlo_disc.diagnostics import UnsupportedOpError, VerifyError
from shlo_disc.dynamic_ops.elementwise import CompareAttrs, ReducePrecisionAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Relation, Shape, Tensor
from shlo_disc.dynamic_ops.size_values import Computed, KnownElements
from shlo_disc.expr.dim import ONE, Dim, const
from shlo_disc.functions.composed import ComposedFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.record import Prefix
from shlo_disc.functions.table import BY_NAME, BY_OP
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import DenseAttr, FloatAttr, IntegerAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import integer, literal, string
from shlo_disc.legalize.builder import Bound, tensor_type
from shlo_disc.legalize.frame import Frame, Rule


def result_dtype(op: ir.Op, k: int = 0) -> DType:
    """The element type of a result, as the text states it."""
    return tensor_type(op.results[k].type, op.span).dtype


def short_name(op: ir.Op) -> str:
    """The name without the dialect."""
    return op.name.split(".", 1)[1]


def _shape(frame: Frame, op: ir.Op, tensors: Sequence[Tensor]) -> Shape:
    """The shape of a result that has the shape of the operands."""
    what = f"the operands of {op.name} need equal shapes"
    shape = frame.build.same_shape([x.shape for x in tensors], what, op.span)
    return frame.build.declared(shape, op.results[0].type, f"the result of {op.name}", op.span)


def demand_meaning(op: ir.Op, name: str, x: Tensor) -> None:
    """Refuse an elementwise function on a type that its op accepts but that no specification defines."""
    dtype, reference = x.dtype, BY_NAME[name].reference
    if not reference.takes(dtype):
        raise UnsupportedOpError(
            f"op '{op.name}' is supported for {reference.kinds} only, found {dtype.value}", op.span
        )
    if dtype.bits == 6 and name == ComposedFn.NEXT_AFTER.value.name:  # it computes with the bits as an integer
        raise UnsupportedOpError(f"op '{op.name}' is not supported for floats of 6 bits, found {dtype.value}", op.span)


def _function(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    tensors = frame.tensors(op.operands)
    demand_meaning(op, short_name(op), tensors[0])
    shape = _shape(frame, op, tensors)
    return [frame.build.one(short_name(op), tensors, NoAttrs(), shape, result_dtype(op), op.span)]


def _convert(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    (x,), dtype = frame.tensors(op.operands), result_dtype(op)
    if x.dtype is dtype:
        return [x]
    return [frame.build.one("convert", (x,), NoAttrs(), _shape(frame, op, (x,)), dtype, op.span)]


def _select(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    condition, then, other = frame.tensors(op.operands)
    shape = _shape(frame, op, (condition, then, other) if condition.shape else (then, other))
    return [frame.build.one("select", (condition, then, other), NoAttrs(), shape, then.dtype, op.span)]


def _clamp(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    low, x, high = frame.tensors(op.operands)
    shape = _shape(frame, op, [x, *(limit for limit in (low, high) if limit.shape)])
    return [frame.build.one("clamp", (low, x, high), NoAttrs(), shape, x.dtype, op.span)]


def _compare(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    tensors = frame.tensors(op.operands)
    attrs = CompareAttrs(Direction(string(op, "comparison_direction")), string(op, "compare_type") == "TOTALORDER")
    return [frame.build.one("compare", tensors, attrs, _shape(frame, op, tensors), DType.I1, op.span)]


def _reduce_precision(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    (x,) = frame.tensors(op.operands)
    attrs = ReducePrecisionAttrs(integer(op, "exponent_bits"), integer(op, "mantissa_bits"))
    return [frame.build.one("reduce_precision", (x,), attrs, x.shape, x.dtype, op.span)]


def _bitcast(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    (x,), dtype = frame.tensors(op.operands), result_dtype(op)
    shape = x.shape
    if x.dtype.bits > dtype.bits:
        shape = (*shape, const(x.dtype.bits // dtype.bits))
    elif x.dtype.bits < dtype.bits:
        frame.build.demand_equal(
            shape[-1], const(dtype.bits // x.dtype.bits), "the last size of a widening bitcast", op.span
        )
        shape = shape[:-1]
    return [frame.build.one("bitcast_convert", (x,), NoAttrs(), shape, dtype, op.span)]


COUNTED = 8  # from this length on, literals 0, 1, 2 … become iotas, such as indices in masks of windows


def _constant(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    value = op.attributes["value"]
    assert isinstance(value, DenseAttr), "the verifier checked the attribute"
    values, dtype = literal(value, op.span), value.type.dtype
    if values.size and (value.splat or values.size == 1):
        shape = tuple(map(const, values.shape))
        return [frame.build.constant(values.reshape(-1)[0].item(), shape, dtype, op.span)]
    if dtype.is_integer and values.ndim == 1 and values.size >= COUNTED and (values == np.arange(values.size)).all():
        return [frame.build.iota(0, tuple(map(const, values.shape)), dtype, op.span)]
    return [frame.build.literal(values, dtype, op.span)]


def _constant_like(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    (x,), value = frame.tensors(op.operands), op.attributes["value"]
    if not isinstance(value, FloatAttr | IntegerAttr):
        raise UnsupportedOpError(f"op '{op.name}' is supported for numbers only", op.span)
    return [frame.build.constant(value.value, x.shape, result_dtype(op), op.span)]


def _dimension_size(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    x, dim = frame.bound(op.operands[0]), integer(op, "dimension")
    if isinstance(x, KnownElements):
        return [KnownElements((const(x.shape[dim]),), (), result_dtype(op))]
    size = frame.build.raw_shapes.get(x, x.shape)[dim]
    return [KnownElements((size,), (), result_dtype(op), Computed(op, read=(x.name, dim)))]


def _same(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    return [frame.bound(x) for x in op.operands]


def _as_read(lhs: Dim, relation: Relation, rhs: Dim) -> tuple[Dim, Relation, Dim]:
    """Move negative terms of a comparison with a number to the other side: `-s + 512 >= 0` reads `s <= 512`."""
    if rhs.constant is None:
        return lhs, relation, rhs
    difference = lhs - rhs
    above = Dim(tuple([term for term in difference.terms if term[1] > 0]))
    below = above - difference
    return (above, relation, below) if above.constant is None else (below, relation.mirrored, above)


def assertion(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """`custom_call @shape_assertion`: a check at run time, and a fact from there on."""
    numbers = [frame.dims(x, op) for x in op.operands]
    for value, found in zip(op.operands, numbers, strict=True):
        if len(found) != 1:
            raise VerifyError(f"expected one element in %{value.name}, found {len(found)}", op.span)
    if not numbers:
        raise VerifyError("expected a condition to assert, found none", op.span)
    condition, *values = [found for (found,) in numbers]
    if condition.constant == 1:
        return []
    message = string(op, "error_message")
    relation, lhs, rhs = frame.legalizer.arithmetic.relation(condition)
    build = frame.build
    if condition.constant == 0:
        build.impossible(message, op.span)
    build.check(*_as_read(lhs, relation, rhs), message, values, op.span)
    if relation is not Relation.EQ or rhs != ONE or lhs != condition:
        build.assume(relation, lhs, rhs, "shape_assertion", op.span)
    return []


RULES: Mapping[str, Rule] = {
    **{name: _function for name, (_, op) in BY_OP.items() if op.prefix is not Prefix.BROADCASTING},
    "stablehlo.convert": _convert,
    "stablehlo.select": _select,
    "stablehlo.clamp": _clamp,
    "stablehlo.compare": _compare,
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.bitcast_convert": _bitcast,
    **dict.fromkeys(("stablehlo.constant", "chlo.constant", "sdy.constant"), _constant),
    "chlo.constant_like": _constant_like,
    "stablehlo.get_dimension_size": _dimension_size,
    "stablehlo.optimization_barrier": _same,
}
