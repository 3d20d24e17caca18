"""Ops that compute each result element from the operands' elements at the same index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.opdef import Arrays, ElementQuery, NoAttrs, OpDef, Template, Trait, plain
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.expr.dim import ZERO, Dim, const
from shlo_disc.expr.scalar import (
    Binary,
    Bitcast,
    Compare,
    Const,
    Convert,
    FromDim,
    Index,
    ReducePrecision,
    Scalar,
    Select,
    Unary,
)
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.record import Elementwise
from shlo_disc.functions.references import bits
from shlo_disc.functions.references.formats import rounded
from shlo_disc.functions.references.reference import maximum, minimum
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.records import record


@record
class CompareAttrs:
    """`total`: floats are compared in IEEE total order."""

    direction: Direction
    total: bool = False


@record
class ReducePrecisionAttrs:
    exponent_bits: int
    mantissa_bits: int


def names_of(*functions: UnaryFn | BinaryFn) -> frozenset[str]:
    """The names of the ops that compute these functions."""
    return frozenset(fn.value.name for fn in functions)


def converted(x: Scalar, dtype: DType) -> Scalar:
    """Convert a scalar unless it already has the type."""
    if x.dtype is dtype:
        return x
    if isinstance(x, FromDim) and x.dtype.is_integer and dtype.is_integer and dtype.holds(x.dtype):
        return FromDim(x.dim, dtype)
    return Convert(x, dtype)


def _same(ask: ElementQuery, tensor: Tensor, index: Index) -> Scalar:
    """The element at the same index; a rank-0 operand is broadcast."""
    return ask.at(tensor, index if tensor.shape else ())


def _unary(fn: UnaryFn) -> OpDef[NoAttrs]:
    def element(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
        x = ask.at(op.operands[0], index)
        counts = fn in (UnaryFn.POPCNT, UnaryFn.COUNT_LEADING_ZEROS)
        return _counted(fn, x) if counts and x.dtype.is_narrow_integer else Unary(fn, x, op.results[0].dtype)

    return define(fn.value, element)


def _binary(fn: BinaryFn) -> OpDef[NoAttrs]:
    def element(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
        a, b = (ask.at(x, index) for x in op.operands)
        dtype = op.results[0].dtype
        if not dtype.is_narrow_integer or _SHIFTED_SIGNED.get(fn, dtype.is_signed) is dtype.is_signed:
            return Binary(fn, a, b, dtype)
        other = DType(f"ui{dtype.bits}" if dtype.is_signed else f"i{dtype.bits}")
        return Bitcast(Binary(fn, Bitcast(a, other), Bitcast(b, other), other), dtype)

    return define(fn.value, element)


# Integers of fewer than 8 bits are extended to 8: logical right shifts need zero extension, arithmetic ones sign
# extension.
_SHIFTED_SIGNED = {BinaryFn.SHIFT_RIGHT_LOGICAL: False, BinaryFn.SHIFT_RIGHT_ARITHMETIC: True}


def _counted(fn: UnaryFn, x: Scalar) -> Scalar:
    """Population count, or count of leading zeros, of an integer of fewer than 8 bits."""
    count = Unary(fn, Convert(_bits_of(x), DType.UI8), DType.UI8)
    if fn is UnaryFn.COUNT_LEADING_ZEROS:
        return Convert(Binary(BinaryFn.SUBTRACT, count, Const(8 - x.dtype.bits, DType.UI8), DType.UI8), x.dtype)
    return Convert(count, x.dtype)


EXACT = frozenset({Trait.EXACT})


def define(function: Elementwise, element: Callable[[Op[NoAttrs], ElementQuery, int, Index], Scalar]) -> OpDef[NoAttrs]:
    """Declare the op of an elementwise function by its element rule."""
    return _plain(function.name, element, function.reference, exact=function.exact, cost=function.cost)


def _plain(
    name: str,
    element: Callable[[Op[NoAttrs], ElementQuery, int, Index], Scalar],
    function: Callable[..., NDArray[Any]],
    *,
    exact: bool,
    cost: float = 1.0,
) -> OpDef[NoAttrs]:
    """Declare an op without attributes by its element rule, and by a NumPy function of its operands, rounded."""

    def reference(op: Op[NoAttrs], inputs: Arrays) -> Arrays:
        return (rounded(function(*inputs), op.results[0].dtype),)

    return OpDef(
        name=name,
        attrs=NoAttrs,
        template=Template.ELEMENT,
        element=element,
        reference=plain(reference),
        traits=EXACT if exact else frozenset(),
        cost=cost,
    )


def _select(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    condition, then, other = op.operands
    return Select(_same(ask, condition, index), ask.at(then, index), ask.at(other, index))


def _clamp(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    low, x, high = (_same(ask, operand, index) for operand in op.operands)
    return Binary(BinaryFn.MINIMUM, Binary(BinaryFn.MAXIMUM, low, x, x.dtype), high, x.dtype)


def _clamp_reference(op: Op[NoAttrs], inputs: Arrays) -> Arrays:
    low, x, high = inputs
    return (rounded(minimum(maximum(low, x), high), op.results[0].dtype),)


def _compare(op: Op[CompareAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    a, b = (ask.at(x, index) for x in op.operands)
    return Compare(op.attrs.direction, a, b, op.attrs.total)


def _compare_reference(op: Op[CompareAttrs], inputs: Arrays) -> Arrays:
    return (bits.compare(op.attrs.direction, *inputs, total=op.attrs.total),)


def _convert(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    return converted(ask.at(op.operands[0], index), op.results[0].dtype)


def _convert_reference(op: Op[NoAttrs], inputs: Arrays) -> Arrays:
    return (bits.convert(inputs[0], op.results[0].dtype),)


# Exponent and mantissa widths of types whose subnormal numbers are normal numbers in f32.
_OWN_BITS: Mapping[DType, tuple[int, int]] = {DType.F16: (5, 10), DType.F8E5M2: (5, 2)}


def _reduce_precision(op: Op[ReducePrecisionAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    x, attrs = ask.at(op.operands[0], index), op.attrs
    exponent_bits, mantissa_bits = _OWN_BITS.get(x.dtype, (0, 0))
    if 0 < exponent_bits <= attrs.exponent_bits:
        return _without_bits(x, mantissa_bits - attrs.mantissa_bits, has_nan=attrs.mantissa_bits > 0)
    return ReducePrecision(x, attrs.exponent_bits, attrs.mantissa_bits)


def _without_bits(x: Scalar, dropped: int, *, has_nan: bool) -> Scalar:
    """Round off the `dropped` lowest bits of a number's own representation, to nearest even."""
    if dropped <= 0:
        return x
    kind = DType.UI16 if x.dtype.bits == 16 else DType.UI8

    def of(fn: BinaryFn, a: Scalar, b: Scalar | int) -> Scalar:
        return Binary(fn, a, Const(b, kind) if isinstance(b, int) else b, kind)

    bits = Bitcast(x, kind)
    is_odd = of(BinaryFn.AND, of(BinaryFn.SHIFT_RIGHT_LOGICAL, bits, dropped), 1)
    rounded = of(BinaryFn.ADD, of(BinaryFn.ADD, bits, (1 << (dropped - 1)) - 1), is_odd)
    kept = (1 << kind.bits) - (1 << dropped)
    nan = x if has_nan else Bitcast(of(BinaryFn.AND, bits, kept), x.dtype)  # NaN becomes infinity
    return Select(Compare(Direction.NE, x, x), nan, Bitcast(of(BinaryFn.AND, rounded, kept), x.dtype))


def _reduce_precision_reference(op: Op[ReducePrecisionAttrs], inputs: Arrays) -> Arrays:
    return (bits.reduce_precision(inputs[0], op.attrs.exponent_bits, op.attrs.mantissa_bits),)


def _bitcast(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    """Reinterpret; between widths, the narrower type has one more dim, the innermost: the pieces, low bits first."""
    operand, wanted = op.operands[0], op.results[0].dtype
    if operand.dtype is wanted:
        return ask.at(operand, index)
    if operand.dtype.bits == wanted.bits and not (operand.dtype.is_complex or wanted.is_complex):
        return Bitcast(ask.at(operand, index), wanted)
    if operand.dtype.bits >= wanted.bits:
        narrower = operand.dtype.bits > wanted.bits
        words = _words(ask.at(operand, index[:-1] if narrower else index))
        return _from_bits(words, operand.dtype.part.bits, index[-1] * wanted.bits if narrower else ZERO, wanted)
    count = wanted.bits // operand.dtype.bits
    pieces = (ask.at(operand, (*index, const(k))) for k in range(count))
    return _from_bits([word for x in pieces for word in _words(x)], operand.dtype.part.bits, ZERO, wanted)


def _words(x: Scalar) -> list[Scalar]:
    """The bits of an element as unsigned numbers: two for a complex number, else one."""
    if not x.dtype.is_complex:
        return [_bits_of(x)]
    return [_bits_of(Unary(fn, x, x.dtype.part)) for fn in (UnaryFn.REAL, UnaryFn.IMAG)]


def _from_bits(words: Sequence[Scalar], width: int, start: Dim, dtype: DType) -> Scalar:
    """The element whose bits begin at bit `start` of `words`, which have `width` bits each."""
    if not dtype.is_complex:
        return _meant(_field(words, width, start, dtype.bits), dtype)
    part = dtype.part
    real, imag = (_meant(_field(words, width, start + k * part.bits, part.bits), part) for k in range(2))
    return Binary(BinaryFn.COMPLEX, real, imag, dtype)


def _field(words: Sequence[Scalar], width: int, start: Dim, bits: int) -> Scalar:
    """The `bits`-bit number from bit `start` on: a part of one word, or several whole words."""
    if bits > width:
        first = (start.constant or 0) // width
        return reduce(_or, (_shifted(x, k * width, bits) for k, x in enumerate(words[first : first + bits // width])))
    if (known := start.constant) is not None:
        word, shift = words[known // width], const(known % width)
    elif len(words) == 1:
        word, shift = words[0], start
    else:
        low, high = words
        is_low = Compare(Direction.LT, FromDim(start, DType.I64), Const(width, DType.I64))
        word, shift = Select(is_low, low, high), start % width
    return Convert(Binary(BinaryFn.SHIFT_RIGHT_LOGICAL, word, FromDim(shift, word.dtype), word.dtype), _unsigned(bits))


def _unsigned(bits: int) -> DType:
    """The unsigned type that holds so many bits; 1 and 6 bits have no such type and are the low bits of a ui8."""
    return DType.UI8 if bits in (1, 6) else DType(f"ui{bits}")


def _meant(bits: Scalar, dtype: DType) -> Scalar:
    """Interpret the low bits of an unsigned number as a value of `dtype`."""
    if dtype.is_bool:
        return Convert(Binary(BinaryFn.AND, bits, Const(1, bits.dtype), bits.dtype), dtype)
    return bits if bits.dtype is dtype else Bitcast(bits, dtype)


def _bits_of(x: Scalar) -> Scalar:
    wanted = _unsigned(x.dtype.bits)
    if x.dtype.is_bool:
        return Convert(x, wanted)
    return x if x.dtype is wanted else Bitcast(x, wanted)


def _or(a: Scalar, b: Scalar) -> Scalar:
    return Binary(BinaryFn.OR, a, b, a.dtype)


def _shifted(word: Scalar, left: int, bits: int) -> Scalar:
    wide = _unsigned(bits)
    return Binary(BinaryFn.SHIFT_LEFT, Convert(word, wide), FromDim(const(left), wide), wide)


def _bitcast_reference(op: Op[NoAttrs], inputs: Arrays) -> Arrays:
    return (bits.bitcast(inputs[0], op.operands[0].dtype, op.results[0].dtype),)


SELECT = _plain("select", _select, np.where, exact=True)
CLAMP = OpDef(
    name="clamp",
    attrs=NoAttrs,
    template=Template.ELEMENT,
    element=_clamp,
    reference=plain(_clamp_reference),
    traits=EXACT,
)
CONVERT = OpDef(
    name="convert",
    attrs=NoAttrs,
    template=Template.ELEMENT,
    element=_convert,
    reference=plain(_convert_reference),
    traits=EXACT,
)
BITCAST_CONVERT = OpDef(
    name="bitcast_convert",
    attrs=NoAttrs,
    template=Template.ELEMENT,
    element=_bitcast,
    reference=plain(_bitcast_reference),
    traits=EXACT,
)
COMPARE = OpDef(
    name="compare",
    attrs=CompareAttrs,
    template=Template.ELEMENT,
    element=_compare,
    reference=plain(_compare_reference),
    traits=EXACT,
)
OPS = (
    *map(_unary, UnaryFn),
    *map(_binary, BinaryFn),
    SELECT,
    CLAMP,
    COMPARE,
    CONVERT,
    BITCAST_CONVERT,
    OpDef(
        name="reduce_precision",
        attrs=ReducePrecisionAttrs,
        template=Template.ELEMENT,
        element=_reduce_precision,
        reference=plain(_reduce_precision_reference),
        traits=EXACT,
    ),
)
