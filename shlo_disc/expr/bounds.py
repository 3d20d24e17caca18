"""Bounds of integers that are read from tensors, from the formulas that compute them.

Integers wrap around: a bound of a sum holds only if the sum cannot overflow its type. A bound may mention sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from shlo_disc.expr.dim import ONE, ZERO, Dim, const, maximum, minimum
from shlo_disc.expr.scalar import (
    NO_BOUNDS,
    Arg,
    Binary,
    Bounds,
    Compare,
    Const,
    Convert,
    FoldResult,
    FromDim,
    InRange,
    Load,
    Scalar,
    Select,
    Unary,
)
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.records import record

Known: TypeAlias = tuple[Dim, Dim]


class DimKnowledge(Protocol):
    """Queries of what is known about dims."""

    def interval(self, dim: Dim) -> tuple[int | None, int | None]:
        """Constant bounds."""
        ...

    def nonnegative(self, dim: Dim) -> bool:
        """Whether `dim >= 0` is proven."""
        ...


def bounds(x: Scalar, judge: DimKnowledge) -> Bounds:
    """Inclusive bounds of an element, as dims; None for what is neither an integer nor a boolean."""
    if x.dtype.is_bool:
        return ZERO, ONE
    return _integer(x, judge) if x.dtype.is_integer else NO_BOUNDS


def bounds_where(x: Scalar, condition: Scalar, holds: bool, judge: DimKnowledge) -> Bounds:
    """Bounds of an integer where a condition holds (or does not); None for an end that only its type bounds."""
    low, high = _integer(x, _Assuming(judge, condition, holds))
    least, greatest = _of_type(x.dtype)
    return None if low == least else low, None if high == greatest else high


def joined(a: Bounds, b: Bounds, judge: DimKnowledge) -> Bounds:
    """Bounds of the union of two ranges."""
    low = None if a[0] is None or b[0] is None else _lesser(a[0], b[0], judge)
    return low, None if a[1] is None or b[1] is None else _greater(a[1], b[1], judge)


def decide(condition: Scalar, judge: DimKnowledge) -> bool | None:
    """Decide a comparison of integers, or whether an index is in range, by their bounds; None if undecided."""
    match condition:
        case Const(value):
            return bool(value)
        case Compare(direction, a, b) if a.dtype.is_integer:
            return _compared(direction, _integer(a, judge), _integer(b, judge), judge)
        case InRange(dim, lower, upper):
            if judge.nonnegative(dim - lower) and judge.nonnegative(upper - 1 - dim):
                return True
            return False if judge.nonnegative(lower - 1 - dim) or judge.nonnegative(dim - upper) else None
        case Unary(UnaryFn.NOT, inner):
            found = decide(inner, judge)
            return None if found is None else not found
        case Binary(BinaryFn.AND, a, b):
            return _both(decide(a, judge), decide(b, judge))
        case Binary(BinaryFn.OR, a, b):
            neither = _both(*(None if one is None else not one for one in (decide(a, judge), decide(b, judge))))
            return None if neither is None else not neither
        case _:
            return None


def _both(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return True if a and b else None


def _compared(direction: Direction, a: Known, b: Known, judge: DimKnowledge) -> bool | None:
    (a_low, a_high), (b_low, b_high) = a, b
    match direction:
        case Direction.LT:
            yes, no = b_low - 1 - a_high, a_low - b_high
        case Direction.LE:
            yes, no = b_low - a_high, a_low - 1 - b_high
        case Direction.GT | Direction.GE | Direction.EQ:
            opposite = _compared(_NEGATED[direction], a, b, judge)
            return None if opposite is None else not opposite
        case Direction.NE:
            if judge.nonnegative(b_low - 1 - a_high) or judge.nonnegative(a_low - 1 - b_high):
                return True
            return False if a_low == a_high == b_low == b_high else None
    if judge.nonnegative(yes):
        return True
    return False if judge.nonnegative(no) else None


def _integer(x: Scalar, judge: DimKnowledge) -> Known:
    """Bounds of an integer, within the range of its type."""
    if isinstance(judge, _Assuming) and (narrow := judge.narrowed(x)) is not None:
        return narrow
    if isinstance(x, FromDim):
        return x.dim, x.dim
    found = _bounded(x, judge)
    return found if found is not None and (not _may_wrap(x) or fits(found, x.dtype, judge)) else _of_type(x.dtype)


def _may_wrap(x: Scalar) -> bool:
    """Whether a formula may overflow its type; all others return an operand or something less."""
    match x:
        case Unary() | Binary(BinaryFn.ADD | BinaryFn.SUBTRACT | BinaryFn.MULTIPLY):
            return True
        case Convert(inner):
            return not (inner.dtype.is_integer and x.dtype.holds(inner.dtype))
        case _:
            return False


@record
class _Assuming:
    """Knowledge on one side of a selection, where the condition holds (or does not)."""

    outer: DimKnowledge
    condition: Scalar
    holds: bool

    def interval(self, dim: Dim) -> tuple[int | None, int | None]:
        return self.outer.interval(dim)

    def nonnegative(self, dim: Dim) -> bool:
        return self.outer.nonnegative(dim)

    def narrowed(self, x: Scalar) -> Known | None:
        """Bounds of an element that the condition compares; None for others."""
        found: Known | None = None
        for direction, a, (least, greatest) in _comparisons(self.condition, self.holds, self.outer):
            if a != x or direction is Direction.NE:
                continue
            low, high = found = found or _integer(x, self.outer)
            match direction:
                case Direction.LT | Direction.LE:
                    limit = greatest - (direction is Direction.LT)
                    found = low, _least(found, (low, limit), x.dtype, self.outer)[1]
                case Direction.GT | Direction.GE:
                    limit = least + (direction is Direction.GT)
                    found = _greatest(found, (limit, high), x.dtype, self.outer)[0], high
                case Direction.EQ:
                    found = least, greatest
        return found


_NEGATED = {
    Direction.EQ: Direction.NE,
    Direction.NE: Direction.EQ,
    Direction.LT: Direction.GE,
    Direction.GE: Direction.LT,
    Direction.GT: Direction.LE,
    Direction.LE: Direction.GT,
}


def _comparisons(condition: Scalar, holds: bool, judge: DimKnowledge) -> list[tuple[Direction, Scalar, Known]]:
    """Comparisons of integers with bounds of others, all implied by a condition that holds (or does not)."""
    match condition:
        case Compare(direction, a, b) if a.dtype.is_integer:
            return [(direction if holds else _NEGATED[direction], a, _integer(b, judge))]
        case Compare(Direction.NE | Direction.EQ as direction, a, b) if a.dtype.is_bool:
            known = decide(b, judge)
            return [] if known is None else _comparisons(a, (known == (direction is Direction.EQ)) == holds, judge)
        case Unary(UnaryFn.NOT, x):
            return _comparisons(x, not holds, judge)
        case Binary(BinaryFn.AND, a, b) if holds:
            return [*_comparisons(a, True, judge), *_comparisons(b, True, judge)]
        case Binary(BinaryFn.AND, a, b):  # x < 0 and x != 0 together are the same as x < 0
            first, second = _comparisons(a, True, judge), _comparisons(b, True, judge)
            if _implies(first, second):
                return _comparisons(a, False, judge)
            return _comparisons(b, False, judge) if _implies(second, first) else []
        case Binary(BinaryFn.OR, a, b) if not holds:
            return [*_comparisons(a, False, judge), *_comparisons(b, False, judge)]
        case _:
            return []


def _implies(stronger: list[tuple[Direction, Scalar, Known]], weaker: list[tuple[Direction, Scalar, Known]]) -> bool:
    """Whether one side is x < n (or x > n) and the other x != n."""
    strict = {(a, b) for direction, a, b in stronger if direction in {Direction.LT, Direction.GT} and b[0] == b[1]}
    return bool(weaker) and all(direction is Direction.NE and (a, b) in strict for direction, a, b in weaker)


def _of_type(dtype: DType) -> Known:
    if dtype.is_bool:
        return ZERO, ONE
    low, high = dtype.integer_bounds
    return const(low), const(high)


def fits(found: Known, dtype: DType, judge: DimKnowledge) -> bool:
    """Whether all numbers within these bounds fit into a type without wrapping."""
    least, greatest = dtype.integer_bounds
    return lies_between(found, least, greatest, judge)


def lies_between(found: Known, least: int, greatest: int, judge: DimKnowledge) -> bool:
    """Whether all numbers within bounds are proven to lie between two constants."""
    low, high = judge.interval(found[0])[0], judge.interval(found[1])[1]
    above = (low is not None and low >= least) or judge.nonnegative(found[0] - least)
    return above and ((high is not None and high <= greatest) or judge.nonnegative(greatest - found[1]))


def _bounded(x: Scalar, judge: DimKnowledge) -> Known | None:
    """Bounds of a formula's value before it wraps around."""
    match x:
        case Const(int() as value):
            return const(value), const(value)
        case Load(source):
            low, high = _of_type(x.dtype)
            return source.bounds[0] or low, source.bounds[1] or high
        case Convert(inner) if inner.dtype.is_integer or inner.dtype.is_bool:
            return (ZERO, ONE) if inner.dtype.is_bool else _integer(inner, judge)
        case Select(condition, then, other):
            chosen = decide(condition, judge)
            if chosen is not None:
                return _integer(then if chosen else other, judge)
            sides = ((then, True), (other, False))
            found = [_integer(side, _Assuming(judge, condition, holds)) for side, holds in sides]
            return _either(found[0], found[1], x.dtype, judge)
        case Unary(fn, inner):
            return _unary(fn, inner, judge)
        case Binary(BinaryFn.MINIMUM, a, b):
            return _least(_integer(a, judge), _integer(b, judge), x.dtype, judge)
        case Binary(BinaryFn.MAXIMUM, a, b):
            return _greatest(_integer(a, judge), _integer(b, judge), x.dtype, judge)
        case Binary(fn, a, b):
            function = _FUNCTIONS.get(fn)
            return None if function is None else function(_integer(a, judge), _integer(b, judge), judge)
        case FoldResult(fold, position):
            return _folded(fold.update[position], fold.carries[position].name, fold.init[position], judge)
        case _:
            return None


def _lesser(a: Dim, b: Dim, judge: DimKnowledge) -> Dim:
    return b if judge.nonnegative(a - b) else a if judge.nonnegative(b - a) else minimum(a, b)


def _greater(a: Dim, b: Dim, judge: DimKnowledge) -> Dim:
    return a if judge.nonnegative(a - b) else b if judge.nonnegative(b - a) else maximum(a, b)


def _least(a: Known, b: Known, dtype: DType, judge: DimKnowledge) -> Known:
    """Bounds of the lesser of two; no dim that the type can hold lies beyond the ends of its range."""
    low, high = _of_type(dtype)
    at_most = b[1] if a[1] == high else a[1] if b[1] == high else _lesser(a[1], b[1], judge)
    return (low if low in {a[0], b[0]} else _lesser(a[0], b[0], judge)), at_most


def _greatest(a: Known, b: Known, dtype: DType, judge: DimKnowledge) -> Known:
    """Bounds of the greater of two."""
    low, high = _of_type(dtype)
    at_least = b[0] if a[0] == low else a[0] if b[0] == low else _greater(a[0], b[0], judge)
    return at_least, (high if high in {a[1], b[1]} else _greater(a[1], b[1], judge))


def _either(a: Known, b: Known, dtype: DType, judge: DimKnowledge) -> Known:
    """Bounds of either of two."""
    return _least(a, b, dtype, judge)[0], _greatest(a, b, dtype, judge)[1]


def _unary(fn: UnaryFn, x: Scalar, judge: DimKnowledge) -> Known | None:
    low, high = _integer(x, judge)
    match fn:
        case UnaryFn.NEGATE:
            return -high, -low
        case UnaryFn.ABS:
            return (low, high) if judge.nonnegative(low) else (ZERO, _greater(high, -low, judge))
        case UnaryFn.SIGN:
            return (ZERO if judge.nonnegative(low) else const(-1)), ONE
        case UnaryFn.POPCNT | UnaryFn.COUNT_LEADING_ZEROS:
            return ZERO, const(x.dtype.bits)
        case UnaryFn.NOT if x.dtype.is_signed:
            return -1 - high, -1 - low
        case _:
            return None


def _product(a: Known, b: Known, judge: DimKnowledge) -> Known | None:
    if judge.nonnegative(a[0]) and judge.nonnegative(b[0]):
        return a[0] * b[0], a[1] * b[1]
    if a[0] == a[1]:
        a, b = b, a
    weight = b[0].constant
    if b[0] != b[1] or weight is None:
        return None
    return (a[0] * weight, a[1] * weight) if weight >= 0 else (a[1] * weight, a[0] * weight)


def _quotient(a: Known, b: Known, judge: DimKnowledge) -> Known | None:
    if judge.nonnegative(a[0]) and judge.nonnegative(b[0] - 1):
        return ZERO, a[1]
    return None


def _remainder(a: Known, b: Known, judge: DimKnowledge) -> Known | None:
    """The remainder has the sign of the dividend."""
    if not judge.nonnegative(b[0] - 1):
        return None
    if judge.nonnegative(a[0]):
        return ZERO, _lesser(a[1], b[1] - 1, judge)
    return 1 - b[1], b[1] - 1


def _and(a: Known, b: Known, judge: DimKnowledge) -> Known | None:
    highs = [high for low, high in (a, b) if judge.nonnegative(low)]
    return (ZERO, minimum(*highs)) if highs else None


def _shifted_right(a: Known, b: Known, judge: DimKnowledge) -> Known | None:
    del b
    return (ZERO, a[1]) if judge.nonnegative(a[0]) else None


_FUNCTIONS: dict[BinaryFn, Callable[[Known, Known, DimKnowledge], Known | None]] = {
    BinaryFn.ADD: lambda a, b, _: (a[0] + b[0], a[1] + b[1]),
    BinaryFn.SUBTRACT: lambda a, b, _: (a[0] - b[1], a[1] - b[0]),
    BinaryFn.MULTIPLY: _product,
    BinaryFn.DIVIDE: _quotient,
    BinaryFn.REMAINDER: _remainder,
    BinaryFn.AND: _and,
    BinaryFn.SHIFT_RIGHT_LOGICAL: _shifted_right,
    BinaryFn.SHIFT_RIGHT_ARITHMETIC: _shifted_right,
}


def _folded(update: Scalar, carry: str, init: Scalar, judge: DimKnowledge) -> Known | None:
    """Bounds of a fold that picks one of its elements: its value is the initial one or an element."""
    picked = _picked(update, carry)
    if picked is None:
        return None
    found = _integer(init, judge)
    for one in picked:
        found = _either(found, _integer(one, judge), init.dtype, judge)
    return found


def _picked(update: Scalar, carry: str) -> tuple[Load, ...] | None:
    """The elements that a fold picks from; None if it computes new values."""
    match update:
        case Arg(name) if name == carry:
            return ()
        case Load():
            return (update,)
        case Select(_, a, b) | Binary(BinaryFn.MINIMUM | BinaryFn.MAXIMUM, a, b):
            first, second = _picked(a, carry), _picked(b, carry)
            return None if first is None or second is None else (*first, *second)
        case _:
            return None
