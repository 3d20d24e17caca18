"""Integer elements that are dims, exactly or after wrapping around their type.

Integers wrap around and dims do not. So arithmetic of elements becomes arithmetic of dims only where the result is
proven to fit: if it fits into the type, it is a dim again; if it fits into 64 bits, it is a dim that is converted to
the type, as sums, differences and products are the same whether operands or results wrap around.
"""

from __future__ import annotations

from shlo_disc.expr.dim import Dim, const
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Const, Convert, FromDim, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType

RING = frozenset({BinaryFn.ADD, BinaryFn.SUBTRACT, BinaryFn.MULTIPLY})


def exact_dim(x: Scalar) -> Dim | None:
    """The dim that an integer element equals; None if there is none."""
    match x:
        case FromDim(dim, dtype) if dtype.is_integer:
            return dim
        case Const(int() as value, dtype) if dtype.is_integer:
            return const(value)
        case _:
            return None


def congruent_dim(x: Scalar) -> Dim | None:
    """A dim that an integer element equals after the dim wraps around its type; None if there is none."""
    if isinstance(x, Convert) and x.dtype.is_integer and isinstance(x.x, FromDim):
        return exact_dim(x.x)
    return exact_dim(x)


def wrapped(dim: Dim, dtype: DType, facts: Facts) -> Scalar | None:
    """A dim wrapped around an integer type; None if 64 bits may not hold it."""
    if (value := dim.constant) is not None:
        return Const(dtype.wrapped(value), dtype)
    if facts.fits(dim, dtype):
        return FromDim(dim, dtype)
    return Convert(FromDim(dim, DType.I64), dtype) if facts.fits(dim, DType.I64) else None


def ring(fn: BinaryFn, a: Scalar, b: Scalar, facts: Facts) -> Scalar | None:
    """A sum, difference or product, if one side is a dim and the other a dim or a literal."""
    if isinstance(a, Const) and isinstance(b, Const):
        return None
    first, second = congruent_dim(a), congruent_dim(b)
    if first is None or second is None:
        return None
    if fn is BinaryFn.ADD:
        return wrapped(first + second, a.dtype, facts)
    return wrapped(first - second if fn is BinaryFn.SUBTRACT else first * second, a.dtype, facts)


def negated(x: Scalar, facts: Facts) -> Scalar | None:
    """Minus an element, if it is a dim."""
    dim = None if isinstance(x, Const) else congruent_dim(x)
    return None if dim is None else wrapped(-dim, x.dtype, facts)


def converted_dim(dim: Dim, source: DType, dtype: DType, facts: Facts) -> Scalar | None:
    """A dim that is an integer element of type `source`, converted to `dtype`; None if that is no simpler."""
    if dtype.is_float:
        return FromDim(dim, dtype, source)
    if not dtype.is_integer:
        return None
    if dtype.holds(source) or facts.fits(dim, dtype):
        return FromDim(dim, dtype)
    return None if source is DType.I64 else Convert(FromDim(dim, DType.I64), dtype)
