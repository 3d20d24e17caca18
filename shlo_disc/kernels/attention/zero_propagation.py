"""Which formulas are 0 where an exponential is 0, so that pairs of rows and keys hidden by a mask can be skipped."""

from __future__ import annotations

from shlo_disc.expr.scalar import Arg, Binary, Const, Load, Scalar, Select, Unary
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.kernels.softmax import GREATEST, unconverted
from shlo_disc.records import record

# The most numbers of at most 1e6 that may be multiplied: a product of up to 512 pairs is below 1e15, a sum over 10^6
# keys below 1e21, and two of them with a constant below 1e38.
MOST_FACTORS = 2
LARGEST = 1e6


def is_zero_at(node: Scalar, exponential: Arg, total: Arg) -> bool:
    """Whether a formula is 0 where `exponential` is 0, if other args have moderate size and `total` is at least 1."""
    return _ZeroReader(exponential, total).is_zero(node)


@record
class _ZeroReader:
    exponential: Arg
    total: Arg

    def is_zero(self, node: Scalar) -> bool:
        match unconverted(node):
            case Arg() as arg:
                return arg == self.exponential
            case Const(value, _):
                return value == 0
            case Unary(UnaryFn.NEGATE, x, _):
                return self.is_zero(x)
            case Binary(BinaryFn.ADD | BinaryFn.SUBTRACT, a, b, _):
                return self.is_zero(a) and self.is_zero(b)
            case Binary(BinaryFn.MULTIPLY, a, b, _):
                return (self.is_zero(a) and self._is_moderate(b)) or (self.is_zero(b) and self._is_moderate(a))
            case Binary(BinaryFn.DIVIDE, a, b, _):
                return self.is_zero(a) and self._at_least_one(b)
            case Select(_, then, other):
                return self.is_zero(then) and self.is_zero(other)
            case _:
                return False

    def _is_moderate(self, node: Scalar) -> bool:
        factors = self._factors(node)
        return factors is not None and factors <= MOST_FACTORS

    def _factors(self, node: Scalar) -> int | None:
        """The most numbers of moderate size that are multiplied; None if it cannot be bounded."""
        match unconverted(node):
            case Const(value, _):
                return 0 if isinstance(value, float) and abs(value) <= LARGEST else None
            case Arg() as arg if arg == self.exponential:
                return 0  # at most 1
            case Arg(name, _):
                return None if name in (self.total.name, GREATEST) else 1
            case Unary(UnaryFn.TANH | UnaryFn.LOGISTIC, _, _):
                return 0
            case Unary(UnaryFn.NEGATE, x, _):
                return self._factors(x)
            case Binary(BinaryFn.MULTIPLY, a, b, _):
                left, right = self._factors(a), self._factors(b)
                return None if left is None or right is None else left + right
            case Binary(BinaryFn.ADD | BinaryFn.SUBTRACT, a, b, _) | Select(_, a, b):
                left, right = self._factors(a), self._factors(b)
                return None if left is None or right is None else max(left, right)
            case Binary(BinaryFn.DIVIDE, a, b, _) if self._at_least_one(b):
                return self._factors(a)
            case Load(source, _) if source.dtype.is_bool:
                return 0
            case _:
                return None

    def _at_least_one(self, node: Scalar) -> bool:
        """Whether a formula is at least 1, or a constant of magnitude at least 0.01."""
        match unconverted(node):
            case Const(value, _):
                return isinstance(value, float) and abs(value) >= 0.01
            case Arg() as arg:
                return arg == self.total
            case Binary(BinaryFn.MULTIPLY, a, b, _):
                return self._at_least_one(a) and self._at_least_one(b)
            case _:
                return False
