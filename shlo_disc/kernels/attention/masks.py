"""Which blocks of scores a mask hides, as proven from the formula of one score.

A score `select(condition, x, fill)` is `fill` in a whole block if the condition is false in all of it. Conditions that
compare indices, linear in the row and in the key, with each other or with what is loaded for the whole block (lengths
of sequences) are decided at the corners of the block.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from shlo_disc.expr.dim import Dim, Sym, of
from shlo_disc.expr.scalar import Binary, Compare, Const, FromDim, InRange, Load, Scalar, Select, Unary
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.softmax import unconverted
from shlo_disc.records import record

FIRST_ROW, END_ROW, FIRST_KEY, END_KEY = Sym("%i0"), Sym("%i1"), Sym("%j0"), Sym("%j1")

_OPPOSITE: Mapping[Direction, Direction] = {
    Direction.LT: Direction.GE,
    Direction.GE: Direction.LT,
    Direction.LE: Direction.GT,
    Direction.GT: Direction.LE,
}


@record
class Hidden:
    """`proof`: true only for blocks `[FIRST_ROW, END_ROW) x [FIRST_KEY, END_KEY)` of scores that are at most `fill`."""

    proof: Scalar
    fill: float


def hidden_blocks(score: Scalar, row: Sym, key: Sym) -> Hidden | None:
    """The condition under which a mask hides a block; None if the score has no mask, or none that is understood."""
    return _Masks(row, key).of(score)


@record
class _Range:
    """The smallest and the largest value of an integer in a block."""

    low: Scalar
    high: Scalar


@record
class _Masks:
    row: Sym
    key: Sym

    def of(self, score: Scalar) -> Hidden | None:
        match unconverted(score):
            case Select(condition, then, Const(float(fill), _)) if not isinstance(then, Const):
                proof, inner = self.never(condition), then
            case Select(condition, Const(float(fill), _), other):
                proof, inner = self.always(condition), other
            case _:
                return None
        below = self.of(inner)
        found = [Hidden(proof, fill)] if proof is not None else []
        found += [below] if below is not None else []
        if not found or any(one.fill != one.fill for one in found):
            return None
        return Hidden(_any([one.proof for one in found]), max(one.fill for one in found))

    def never(self, condition: Scalar) -> Scalar | None:
        """A formula that implies that a condition is false in the whole block; None if none is found."""
        match condition:
            case Binary(BinaryFn.AND, a, b, DType.I1):
                return _either(self.never(a), self.never(b))
            case Binary(BinaryFn.OR, a, b, DType.I1):
                return _both(self.never(a), self.never(b))
            case Unary(UnaryFn.NOT, x, DType.I1):
                return self.always(x)
            case Compare(direction, a, b, _) if direction in _OPPOSITE:
                return self.always(Compare(_OPPOSITE[direction], a, b)) if a.dtype.is_integer else None
            case InRange(dim, lower, upper):
                at, low, high = (self.range(FromDim(d, DType.I64)) for d in (dim, lower, upper))
                if at is None or low is None or high is None:
                    return None
                return _any([Compare(Direction.LT, at.high, low.low), Compare(Direction.GE, at.low, high.high)])
            case _:
                return None

    def always(self, condition: Scalar) -> Scalar | None:
        """A formula that implies that a condition is true in the whole block; None if none is found."""
        match condition:
            case Binary(BinaryFn.AND, a, b, DType.I1):
                return _both(self.always(a), self.always(b))
            case Binary(BinaryFn.OR, a, b, DType.I1):
                return _either(self.always(a), self.always(b))
            case Unary(UnaryFn.NOT, x, DType.I1):
                return self.never(x)
            case Compare(direction, a, b, _) if direction in _OPPOSITE and a.dtype.is_integer:
                left, right = self.range(a), self.range(b)
                if left is None or right is None:
                    return None
                if direction in (Direction.LT, Direction.LE):
                    return Compare(direction, left.high, right.low)
                return Compare(direction, left.low, right.high)
            case _:
                return None

    def range(self, value: Scalar) -> _Range | None:
        """The extreme values of an integer in the block, which it has at the corners."""
        match value:
            case FromDim(dim, dtype):
                ends = self._ends(dim)
                return None if ends is None else _Range(FromDim(ends[0], dtype), FromDim(ends[1], dtype))
            case Const():
                return _Range(value, value)
            case Load() if Dependence().of(value).isdisjoint((self.row.name, self.key.name)):
                return _Range(value, value)
            case _:
                return None

    def _ends(self, dim: Dim) -> tuple[Dim, Dim] | None:
        low = high = dim
        for symbol, first, end in ((self.row, FIRST_ROW, END_ROW), (self.key, FIRST_KEY, END_KEY)):
            split = dim.linear(symbol)
            if split is None or split[0].constant is None or dim.data():
                return None
            corners = of(first), of(end) - 1
            near, far = corners if split[0].constant >= 0 else corners[::-1]
            low, high = low.substitute({symbol: near}), high.substitute({symbol: far})
        return low, high


def _any(proofs: list[Scalar]) -> Scalar:
    return reduce(lambda a, b: Binary(BinaryFn.OR, a, b, DType.I1), proofs)


def _either(a: Scalar | None, b: Scalar | None) -> Scalar | None:
    proofs = [one for one in (a, b) if one is not None]
    return _any(proofs) if proofs else None


def _both(a: Scalar | None, b: Scalar | None) -> Scalar | None:
    return None if a is None or b is None else Binary(BinaryFn.AND, a, b, DType.I1)
