"""Ops that compute each result element from the operands' elements at the same index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from numpy.typing import NDArray

from shlo_disc.dynamic_ops.opdef import Arrays, ElementQuery, NoAttrs, OpDef, Template, plain
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.expr import numpy_math as np_math
from shlo_disc.expr.dim import const
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.scalar import (
    Binary,
    BinaryFn,
    Bitcast,
    Compare,
    Convert,
    Direction,
    FromDim,
    Index,
    ReducePrecision,
    Scalar,
    Select,
    Unary,
    UnaryFn,
)


@dataclass(frozen=True, slots=True)
class CompareAttrs:
    """`total`: floats are compared in IEEE total order."""

    direction: Direction
    total: bool = False


@dataclass(frozen=True, slots=True)
class ReducePrecisionAttrs:
    exponent_bits: int
    mantissa_bits: int


def converted(x: Scalar, dtype: DType) -> Scalar:
    """Convert a scalar; nothing to do where it has the type already."""
    if x.dtype is dtype:
        return x
    if isinstance(x, FromDim) and dtype.is_integer and dtype.bits >= x.dtype.bits:
        return FromDim(x.dim, dtype)
    return Convert(x, dtype)


def _same(ask: ElementQuery, tensor: Tensor, index: Index) -> Scalar:
    """The element at the same index; a rank-0 operand serves every index."""
    return ask.at(tensor, index if tensor.shape else ())


def _unary(fn: UnaryFn) -> OpDef[NoAttrs]:
    def element(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
        return Unary(fn, ask.at(op.operands[0], index), op.results[0].dtype)

    return _define(fn.value, element, np_math.UNARY[fn])


def _binary(fn: BinaryFn) -> OpDef[NoAttrs]:
    def element(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
        a, b = (ask.at(x, index) for x in op.operands)
        return Binary(fn, a, b, op.results[0].dtype)

    return _define(fn.value, element, np_math.BINARY[fn])


def _define(
    name: str,
    element: Callable[[Op[NoAttrs], ElementQuery, int, Index], Scalar],
    function: Callable[..., NDArray[Any]],
) -> OpDef[NoAttrs]:
    def reference(op: Op[NoAttrs], inputs: Arrays) -> Arrays:
        return (np_math.cast(function(*inputs), op.results[0].dtype),)

    return OpDef(name=name, attrs=NoAttrs, template=Template.ELEMENT, element=element, reference=plain(reference))


def _select(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    condition, then, other = op.operands
    return Select(_same(ask, condition, index), ask.at(then, index), ask.at(other, index))


def _clamp(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    low, x, high = (_same(ask, operand, index) for operand in op.operands)
    return Binary(BinaryFn.MINIMUM, Binary(BinaryFn.MAXIMUM, low, x, x.dtype), high, x.dtype)


def _clamp_reference(op: Op[NoAttrs], inputs: Arrays) -> Arrays:
    low, x, high = inputs
    return (np_math.cast(np_math.minimum(np_math.maximum(low, x), high), op.results[0].dtype),)


def _compare(op: Op[CompareAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    a, b = (ask.at(x, index) for x in op.operands)
    return Compare(op.attrs.direction, a, b, op.attrs.total)


def _compare_reference(op: Op[CompareAttrs], inputs: Arrays) -> Arrays:
    return (np_math.compare(op.attrs.direction, *inputs, total=op.attrs.total),)


def _convert(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    return converted(ask.at(op.operands[0], index), op.results[0].dtype)


def _convert_reference(op: Op[NoAttrs], inputs: Arrays) -> Arrays:
    return (np_math.convert(inputs[0], op.results[0].dtype),)


def _reduce_precision(op: Op[ReducePrecisionAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    x = ask.at(op.operands[0], index)
    return ReducePrecision(x, op.attrs.exponent_bits, op.attrs.mantissa_bits)


def _reduce_precision_reference(op: Op[ReducePrecisionAttrs], inputs: Arrays) -> Arrays:
    found = np_math.reduce_precision(inputs[0], op.attrs.exponent_bits, op.attrs.mantissa_bits)
    return (np_math.cast(found, op.results[0].dtype),)


def _bitcast(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    """Reinterpret; between widths the smaller type has one more, innermost dim: the pieces, low bits first."""
    operand, wanted = op.operands[0], op.results[0].dtype
    if operand.dtype is wanted:
        return ask.at(operand, index)
    if operand.dtype.bits == wanted.bits:
        return Bitcast(ask.at(operand, index), wanted)
    if operand.dtype.bits > wanted.bits:
        whole = _bits_of(ask.at(operand, index[:-1]))
        shift = FromDim(index[-1] * wanted.bits, whole.dtype)
        piece = Binary(BinaryFn.SHIFT_RIGHT_LOGICAL, whole, shift, whole.dtype)
        return _reinterpreted(Convert(piece, _unsigned(wanted.bits)), wanted)
    count = wanted.bits // operand.dtype.bits
    pieces = (ask.at(operand, (*index, const(k))) for k in range(count))
    whole = reduce(_or, (_shifted(x, k * operand.dtype.bits, wanted.bits) for k, x in enumerate(pieces)))
    return _reinterpreted(whole, wanted)


def _unsigned(bits: int) -> DType:
    return DType(f"ui{bits}")


def _reinterpreted(x: Scalar, dtype: DType) -> Scalar:
    return x if x.dtype is dtype else Bitcast(x, dtype)


def _bits_of(x: Scalar) -> Scalar:
    return _reinterpreted(x, _unsigned(x.dtype.bits))


def _or(a: Scalar, b: Scalar) -> Scalar:
    return Binary(BinaryFn.OR, a, b, a.dtype)


def _shifted(x: Scalar, left: int, bits: int) -> Scalar:
    wide = _unsigned(bits)
    return Binary(BinaryFn.SHIFT_LEFT, Convert(_bits_of(x), wide), FromDim(const(left), wide), wide)


def _bitcast_reference(op: Op[NoAttrs], inputs: Arrays) -> Arrays:
    (x,) = inputs
    wanted = np_math.numpy_dtype(op.results[0].dtype)
    if x.dtype.itemsize < wanted.itemsize:
        return (x.copy().view(wanted).reshape(x.shape[:-1]),)
    if x.dtype.itemsize > wanted.itemsize:
        return (x.reshape(*x.shape, 1).copy().view(wanted),)
    return (x.copy().view(wanted),)


OPS = (
    *map(_unary, UnaryFn),
    *map(_binary, BinaryFn),
    _define("select", _select, np_math.select),
    OpDef(
        name="clamp",
        attrs=NoAttrs,
        template=Template.ELEMENT,
        element=_clamp,
        reference=plain(_clamp_reference),
    ),
    OpDef(
        name="compare",
        attrs=CompareAttrs,
        template=Template.ELEMENT,
        element=_compare,
        reference=plain(_compare_reference),
    ),
    OpDef(
        name="convert",
        attrs=NoAttrs,
        template=Template.ELEMENT,
        element=_convert,
        reference=plain(_convert_reference),
    ),
    OpDef(
        name="bitcast_convert",
        attrs=NoAttrs,
        template=Template.ELEMENT,
        element=_bitcast,
        reference=plain(_bitcast_reference),
    ),
    OpDef(
        name="reduce_precision",
        attrs=ReducePrecisionAttrs,
        template=Template.ELEMENT,
        element=_reduce_precision,
        reference=plain(_reduce_precision_reference),
    ),
)
