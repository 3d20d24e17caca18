"""What targets know about simple reductions: their operation on two values, and the value that it leaves alone."""

from __future__ import annotations

from shlo_disc.codegen.kernel import Reduction
from shlo_disc.codegen.spelling import Spelling
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.scalar import BinaryFn


def combine(spell: Spelling, reduction: Reduction, a: str, b: str) -> str:
    """Apply a simple reduction's operation to two values."""
    assert reduction.fn is not None, "only simple reductions have one operation"
    dtype = reduction.carries[0].dtype
    if (sign := spell.infix(reduction.fn, dtype)) is not None:
        return f"{a} {sign} {b}"
    return spell.binary(reduction.fn, a, b, dtype)


def identity(spell: Spelling, reduction: Reduction) -> str:
    """What a reduction's operation leaves alone."""
    dtype = reduction.carries[0].dtype
    assert reduction.fn is not None, "only simple reductions have an identity"
    return spell.const(_identity(reduction.fn, dtype), dtype)


def _identity(fn: BinaryFn, dtype: DType) -> float | int | bool:
    match fn:
        case BinaryFn.ADD | BinaryFn.OR | BinaryFn.XOR:
            return False if dtype.is_bool else 0.0 if dtype.is_float else 0
        case BinaryFn.MULTIPLY:
            return True if dtype.is_bool else 1.0 if dtype.is_float else 1
        case BinaryFn.MAXIMUM:
            if dtype.is_float:
                return float("-inf")
            return False if dtype.is_bool else -(2 ** (dtype.bits - 1)) if dtype.is_signed else 0
        case BinaryFn.MINIMUM:
            if dtype.is_float:
                return float("inf")
            return True if dtype.is_bool else 2 ** (dtype.bits - dtype.is_signed) - 1
        case _:
            return True if dtype.is_bool else -1 if dtype.is_signed else 2**dtype.bits - 1
