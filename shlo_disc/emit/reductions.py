"""Reductions for all targets: simple ones have one operation and an identity, others may pick a position."""

from __future__ import annotations

from shlo_disc.emit.spelling import Spelling
from shlo_disc.expr.dim import of
from shlo_disc.expr.scalar import Binary, Compare, FromDim, Scalar, Select, neutral
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Reduction, Stage


def combine(spell: Spelling, reduction: Reduction, a: str, b: str) -> str:
    """Apply a simple reduction's operation to two values, whose texts bind as tightly as `levels` say."""
    assert reduction.fn is not None, "only simple reductions have one operation"
    dtype = reduction.carries[0].dtype
    if (sign := spell.infix(reduction.fn, dtype)) is not None:
        return f"{a} {sign} {b}"
    return spell.binary(reduction.fn, a, b, dtype)


def levels(spell: Spelling, reduction: Reduction) -> tuple[int, int]:
    """The precedences that the two operands of `combine` need."""
    assert reduction.fn is not None, "only simple reductions have one operation"
    return spell.operand_levels(reduction.fn, reduction.carries[0].dtype)


def identity(spell: Spelling, reduction: Reduction) -> str:
    """The identity element of a reduction's operation."""
    dtype = reduction.carries[0].dtype
    assert reduction.fn is not None, "only simple reductions have an identity"
    return spell.const(neutral(reduction.fn, dtype), dtype)


def picks_position(stage: Stage, reduction: Reduction) -> bool:
    """Whether this is JAX's argmax or argmin: the first extreme value, or the first NaN, and its position.

    The positions then decide between two partial results, so elements may be combined in any order as long as the
    partial result of the lower position is on the left. Combining a result with itself leaves it unchanged.
    """
    reduced = [a for a, flag in zip(stage.axes, stage.reduced, strict=True) if flag]
    if len(reduction.carries) != 2 or len(reduced) != 1:
        return False
    match reduction.elements[1]:
        case FromDim(dim, _) if dim == of(reduced[0].symbol):
            return any(reduction.update == _first_extreme(reduction, d) for d in (Direction.GT, Direction.LT))
        case _:
            return False


def _first_extreme(reduction: Reduction, direction: Direction) -> tuple[Scalar, ...]:
    """The update of argmax (GT) or argmin (LT)."""
    (best, place), (value, position) = reduction.carries, reduction.inputs
    better: Scalar = Compare(direction, best, value)
    if best.dtype.is_float:
        better = _either(better, Compare(Direction.NE, best, best))
    earlier = Binary(BinaryFn.AND, Compare(Direction.EQ, best, value), Compare(Direction.LT, place, position), DType.I1)
    return Select(better, best, value), Select(_either(better, earlier), place, position)


def _either(a: Scalar, b: Scalar) -> Scalar:
    return Binary(BinaryFn.OR, a, b, DType.I1)
