"""Elementwise ops of CHLO that are short formulas of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from shlo_disc.dynamic_ops.elementwise import define
from shlo_disc.dynamic_ops.opdef import ElementQuery, NoAttrs, OpDef
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.expr.scalar import Binary, Bitcast, Compare, Const, Convert, Index, Scalar, Select, Unary
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.composed import ComposedFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType


def _define(fn: ComposedFn) -> OpDef[NoAttrs]:
    """Declare the op of a function by its formula of the operands' elements."""
    formula = _FORMULAS[fn]

    def element(op: Op[NoAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
        return formula(*[ask.at(x, index) for x in op.operands])

    return define(fn.value, element)


def _apply(fn: BinaryFn, a: Scalar, b: Scalar) -> Scalar:
    return Binary(fn, a, b, a.dtype)


def _number(value: float, like: Scalar) -> Const:
    return Const(value, like.dtype)


def _both(a: Scalar, b: Scalar) -> Scalar:
    return Binary(BinaryFn.AND, a, b, DType.I1)


# --- complex numbers


def _conj(x: Scalar) -> Scalar:
    if not x.dtype.is_complex:
        return x
    real, imaginary = (Unary(fn, x, x.dtype.part) for fn in (UnaryFn.REAL, UnaryFn.IMAG))
    return Binary(BinaryFn.COMPLEX, real, Unary(UnaryFn.NEGATE, imaginary, x.dtype.part), x.dtype)


def _square(x: Scalar) -> Scalar:
    """The square; of a complex number (a - b) (a + b) + 2 a b i, which keeps the digits that a^2 - b^2 loses."""
    if not x.dtype.is_complex:
        return _apply(BinaryFn.MULTIPLY, x, x)
    a, b = (Unary(fn, x, x.dtype.part) for fn in (UnaryFn.REAL, UnaryFn.IMAG))
    difference, total = _apply(BinaryFn.SUBTRACT, a, b), _apply(BinaryFn.ADD, a, b)
    size_a, size_b = (Unary(UnaryFn.ABS, part, part.dtype) for part in (a, b))
    same = _both(Unary(UnaryFn.IS_FINITE, a, DType.I1), Compare(Direction.EQ, size_a, size_b))
    real = Select(same, _number(0.0, a), _apply(BinaryFn.MULTIPLY, difference, total))
    product = _apply(BinaryFn.MULTIPLY, a, b)
    return Binary(BinaryFn.COMPLEX, real, _apply(BinaryFn.ADD, product, product), x.dtype)


# --- infinities


def _is_infinity(sign: int) -> Callable[[Scalar], Scalar]:
    def formula(x: Scalar) -> Scalar:
        if sign:
            return Compare(Direction.EQ, x, _number(sign * np.inf, x))
        return Compare(Direction.EQ, Unary(UnaryFn.ABS, x, x.dtype), _number(np.inf, x))

    return formula


# --- neighbours


def _next_after(x: Scalar, y: Scalar) -> Scalar:
    """The float next to x in the direction of y: its bits as an integer, one up or down."""
    whole = DType(f"ui{x.dtype.bits}")
    sign, one = Const(1 << (x.dtype.bits - 1), whole), Const(1, whole)
    bits, goal = Bitcast(x, whole), Bitcast(y, whole)
    size, goal_size = (_apply(BinaryFn.AND, b, Const((1 << (x.dtype.bits - 1)) - 1, whole)) for b in (bits, goal))
    smallest = _apply(BinaryFn.OR, _apply(BinaryFn.AND, goal, sign), one)
    other_side = Compare(Direction.NE, _apply(BinaryFn.AND, bits, sign), _apply(BinaryFn.AND, goal, sign))
    inwards = Binary(BinaryFn.OR, Compare(Direction.GT, size, goal_size), other_side, DType.I1)
    moved = Select(inwards, _apply(BinaryFn.SUBTRACT, bits, one), _apply(BinaryFn.ADD, bits, one))
    found = Bitcast(Select(Compare(Direction.EQ, x, _number(0.0, x)), smallest, moved), x.dtype)
    nan = Binary(BinaryFn.OR, Compare(Direction.NE, x, x), Compare(Direction.NE, y, y), DType.I1)
    return Select(nan, _number(np.nan, x), Select(Compare(Direction.EQ, x, y), y, found))


# --- products


def _mulhi(a: Scalar, b: Scalar) -> Scalar:
    """The upper half of the product of two integers."""
    if a.dtype.bits == 64:
        return _upper64(a, b)
    wide = DType(f"{'i' if a.dtype.is_signed else 'ui'}{2 * a.dtype.bits}")
    product = _apply(BinaryFn.MULTIPLY, Convert(a, wide), Convert(b, wide))
    shift = BinaryFn.SHIFT_RIGHT_ARITHMETIC if a.dtype.is_signed else BinaryFn.SHIFT_RIGHT_LOGICAL
    return Convert(_apply(shift, product, Const(a.dtype.bits, wide)), a.dtype)


def _upper64(a: Scalar, b: Scalar) -> Scalar:
    """Multiply 32-bit halves (Warren, Hacker's Delight, 8-2); a negative factor is 2^64 too large as unsigned."""
    wide = DType.UI64
    x, y = (Bitcast(v, wide) if v.dtype is not wide else v for v in (a, b))
    mask, half = Const(0xFFFFFFFF, wide), Const(32, wide)
    (x0, y0), (x1, y1) = (
        [_apply(BinaryFn.AND, v, mask) for v in (x, y)],
        [_apply(BinaryFn.SHIFT_RIGHT_LOGICAL, v, half) for v in (x, y)],
    )

    def upper(v: Scalar) -> Scalar:
        return _apply(BinaryFn.SHIFT_RIGHT_LOGICAL, v, half)

    def product(v: Scalar, w: Scalar) -> Scalar:
        return _apply(BinaryFn.MULTIPLY, v, w)

    middle = _apply(BinaryFn.ADD, product(x1, y0), upper(product(x0, y0)))
    other = _apply(BinaryFn.ADD, product(x0, y1), _apply(BinaryFn.AND, middle, mask))
    found = _apply(BinaryFn.ADD, _apply(BinaryFn.ADD, product(x1, y1), upper(middle)), upper(other))
    if not a.dtype.is_signed:
        return found
    zero, nothing = Const(0, a.dtype), Const(0, wide)
    for negative, factor in ((a, y), (b, x)):
        excess = Select(Compare(Direction.LT, negative, zero), factor, nothing)
        found = _apply(BinaryFn.SUBTRACT, found, excess)
    return Bitcast(found, a.dtype)


_FORMULAS: Mapping[ComposedFn, Callable[..., Scalar]] = {
    ComposedFn.CONJ: _conj,
    ComposedFn.IS_INF: _is_infinity(0),
    ComposedFn.IS_NEG_INF: _is_infinity(-1),
    ComposedFn.IS_POS_INF: _is_infinity(1),
    ComposedFn.MULHI: _mulhi,
    ComposedFn.NEXT_AFTER: _next_after,
    ComposedFn.SQUARE: _square,
}
OPS = tuple(map(_define, ComposedFn))
