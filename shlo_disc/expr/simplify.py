"""Smart constructors for scalars: each returns an equal, simpler formula.

Equal means equal in every bit but the payload of NaNs, for every value of the operands: floats are
never reassociated, and `x + 0.0` stays (it turns -0.0 into 0.0). Constants are folded where the
result is fixed by the type: integers wrap, floats round once; a function whose last bit depends on
the implementation is left to generated code. `facts` prove where arithmetic of dims equals that of integers.
"""

from __future__ import annotations

import math

from shlo_disc.expr import dim_values
from shlo_disc.expr.dim import Dim
from shlo_disc.expr.evaluate import evaluate
from shlo_disc.expr.facts import Facts, Truth
from shlo_disc.expr.scalar import (
    Binary,
    Bitcast,
    Compare,
    Const,
    Convert,
    FromDim,
    InRange,
    Scalar,
    Select,
    Unary,
    neutral,
)
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType

_EXACT_UNARY = frozenset(
    {
        UnaryFn.ABS,
        UnaryFn.CEIL,
        UnaryFn.COUNT_LEADING_ZEROS,
        UnaryFn.FLOOR,
        UnaryFn.IS_FINITE,
        UnaryFn.NEGATE,
        UnaryFn.NOT,
        UnaryFn.POPCNT,
        UnaryFn.ROUND_NEAREST_AFZ,
        UnaryFn.ROUND_NEAREST_EVEN,
        UnaryFn.SIGN,
        UnaryFn.SQRT,
    }
)
_INEXACT_BINARY = frozenset({BinaryFn.ATAN2, BinaryFn.POLYGAMMA, BinaryFn.POWER, BinaryFn.ZETA})
_INVOLUTIONS = frozenset({UnaryFn.NEGATE, UnaryFn.NOT})
_SHIFTS = frozenset({BinaryFn.SHIFT_LEFT, BinaryFn.SHIFT_RIGHT_ARITHMETIC, BinaryFn.SHIFT_RIGHT_LOGICAL})
_IDEMPOTENT = frozenset({BinaryFn.AND, BinaryFn.OR, BinaryFn.MAXIMUM, BinaryFn.MINIMUM})
_REFLEXIVE = frozenset({Direction.EQ, Direction.GE, Direction.LE})
_PRECISION = {DType.BF16: 8, DType.F16: 11, DType.F32: 24, DType.F64: 53}
_SMALLEST_NORMAL = {
    DType.F16: 2.0**-14,
    DType.BF16: 2.0**-126,
    DType.F32: 2.0**-126,
    DType.F64: 2.0**-1022,
}
NOTHING = Facts.empty()
TRUE = Const(True, DType.I1)
FALSE = Const(False, DType.I1)


def simplify(node: Scalar, facts: Facts = NOTHING) -> Scalar:
    """Simplify one node whose operands are already simplified.

    >>> from shlo_disc.expr.dim import const
    >>> x = FromDim(const(3), DType.F32)
    >>> simplify(Binary(BinaryFn.ADD, simplify(x), Const(0.5, DType.F32), DType.F32))
    Const(value=3.5, dtype=<DType.F32: 'f32'>)
    """
    match node:
        case Unary(fn, x):
            return unary(fn, x, facts)
        case Binary(fn, a, b):
            return binary(fn, a, b, facts)
        case Compare(direction, a, b, total):
            return compare(direction, a, b, total=total)
        case Select(condition, then, other):
            return select(condition, then, other)
        case Convert(x, dtype):
            return convert(x, dtype, facts)
        case Bitcast(x, dtype):
            return bitcast(x, dtype)
        case FromDim():
            return node if node.dim.constant is None else _folded(node)
        case InRange(dim, lower, upper):
            return in_range(dim, lower, upper, NOTHING)
        case _:
            return node


def constant(value: complex, dtype: DType) -> Const:
    """Make a literal, rounded or wrapped to its type."""
    return _folded(Const(value, dtype))


def unary(fn: UnaryFn, x: Scalar, facts: Facts = NOTHING) -> Scalar:
    """Apply a function of one element."""
    node = Unary(fn, x, _unary_dtype(fn, x.dtype))
    if isinstance(x, Const) and fn in _EXACT_UNARY and not x.dtype.is_complex:
        return _folded(node)
    match x:
        case Unary(inner, y) if inner is fn and fn in _INVOLUTIONS:
            return y
        case Unary(UnaryFn.ABS, _) | Unary(UnaryFn.NEGATE, _) if fn is UnaryFn.ABS:
            return x if x.fn is UnaryFn.ABS else unary(UnaryFn.ABS, x.x)
        case Binary(BinaryFn.COMPLEX, real, imaginary) if fn in {UnaryFn.REAL, UnaryFn.IMAG}:
            return real if fn is UnaryFn.REAL else imaginary
        case _ if fn is UnaryFn.NEGATE and x.dtype.is_integer:
            return dim_values.negated(x, facts) or node
        case _:
            return node


def binary(fn: BinaryFn, a: Scalar, b: Scalar, facts: Facts = NOTHING) -> Scalar:
    """Apply a function of two elements of one type."""
    dtype = a.dtype
    if fn is BinaryFn.COMPLEX:
        return Binary(fn, a, b, {DType.F32: DType.C64, DType.F64: DType.C128}[dtype])
    if dtype.is_complex:
        return Binary(fn, a, b, dtype)
    foldable = not (dtype.is_float and fn in _INEXACT_BINARY)
    if isinstance(a, Const) and isinstance(b, Const) and foldable:
        return _folded(Binary(fn, a, b, dtype))
    if fn in _IDEMPOTENT and a == b:
        return a
    found = _arithmetic(fn, a, b) if dtype.is_float else _integer(fn, a, b, facts)
    return found or _either(fn, a, b, facts) or Binary(fn, a, b, dtype)


def compare(direction: Direction, a: Scalar, b: Scalar, *, total: bool = False) -> Scalar:
    """Compare two elements of one type."""
    node = Compare(direction, a, b, total)
    if isinstance(a, Const) and isinstance(b, Const):
        return _folded(node)
    dtype = a.dtype
    if a == b and (total or dtype.is_integer or dtype.is_bool):
        return TRUE if direction in _REFLEXIVE else FALSE
    if direction in {Direction.EQ, Direction.NE}:
        return _equality(direction, a, b) or _compare_dims(node) or node
    return _compare_dims(node) or node


def select(condition: Scalar, then: Scalar, other: Scalar) -> Scalar:
    """Choose `then` if `condition`, else `other`."""
    match condition:
        case Const(value):
            return then if value else other
        case Unary(UnaryFn.NOT, inner):
            return select(inner, other, then)
        case _:
            pass
    if isinstance(then, Select) and then.condition == condition:
        then = then.then
    if isinstance(other, Select) and other.condition == condition:
        other = other.other
    if then == other:
        return then
    if then.dtype.is_bool and isinstance(then, Const) and isinstance(other, Const):
        return condition if then.value else unary(UnaryFn.NOT, condition)
    return Select(condition, then, other)


def convert(x: Scalar, dtype: DType, facts: Facts = NOTHING) -> Scalar:
    """Convert to another type."""
    source = x.dtype
    if source is dtype:
        return x
    match x:
        case Const():
            return _folded(Convert(x, dtype))
        case FromDim(dim, _) if source.is_integer:
            return dim_values.converted_dim(dim, source, dtype, facts) or Convert(x, dtype)
        case Convert(y, _) if (_is_lossless(y.dtype, source) and not _is_held(y.dtype, source, dtype)) or (
            # integers wrap, so the narrowest of the types decides
            y.dtype.is_integer and source.is_integer and dtype.is_integer and dtype.bits <= source.bits
        ):
            return convert(y, dtype, facts)
        case _:
            return Convert(x, dtype)


def bitcast(x: Scalar, dtype: DType) -> Scalar:
    """Reinterpret bits."""
    if x.dtype is dtype:
        return x
    if isinstance(x, Bitcast):
        return bitcast(x.x, dtype)
    if isinstance(x, Const) and math.isfinite(abs(x.value)):  # a NaN's payload is not in its value
        return _folded(Bitcast(x, dtype))
    return Bitcast(x, dtype)


def in_range(dim: Dim, lower: Dim, upper: Dim, facts: Facts) -> Scalar:
    """Decide `lower <= dim < upper`, or leave it to generated code."""
    dim, lower, upper = facts.canonical(dim), facts.canonical(lower), facts.canonical(upper)
    above, below = facts.at_least(dim, lower), facts.greater(upper, dim)
    if above is Truth.TRUE and below is Truth.TRUE:
        return TRUE
    if above is Truth.FALSE or below is Truth.FALSE:
        return FALSE
    return InRange(dim, lower, upper)


def _folded(node: Scalar) -> Const:
    """Compute a node without symbols and loads."""
    value = evaluate(node, {}, {})
    dtype = node.dtype
    if dtype.is_bool:
        return TRUE if bool(value) else FALSE
    if dtype.is_integer:
        return Const(int(value), dtype)
    return Const(complex(value) if dtype.is_complex else float(value), dtype)


def _unary_dtype(fn: UnaryFn, dtype: DType) -> DType:
    if fn is UnaryFn.IS_FINITE:
        return DType.I1
    return dtype.part if fn in {UnaryFn.REAL, UnaryFn.IMAG, UnaryFn.ABS} else dtype


def _is(x: Scalar, value: float) -> bool:
    """Whether `x` is this literal; 0.0 is not -0.0."""
    if not isinstance(x, Const) or x.value != value:
        return False
    same_sign = math.copysign(1, value) == math.copysign(1, x.value.real)
    return bool(value) or not x.dtype.is_float or same_sign


def _either(fn: BinaryFn, a: Scalar, b: Scalar, facts: Facts) -> Scalar | None:
    """Apply the rules that hold for integers and floats alike."""
    match fn:
        case BinaryFn.MULTIPLY if _is(a, 1):  # 1*x -> x
            return b
        case BinaryFn.MULTIPLY | BinaryFn.DIVIDE | BinaryFn.POWER if _is(b, 1):
            return a
        case BinaryFn.POWER if _is(b, 2):  # x**2 -> x*x
            return Binary(BinaryFn.MULTIPLY, a, a, a.dtype)
        case BinaryFn.ADD if isinstance(b, Unary) and b.fn is UnaryFn.NEGATE:  # x + -y -> x - y
            return binary(BinaryFn.SUBTRACT, a, b.x, facts)
        case BinaryFn.SUBTRACT if isinstance(b, Unary) and b.fn is UnaryFn.NEGATE:
            return binary(BinaryFn.ADD, a, b.x, facts)
        case _:
            return None


def _arithmetic(fn: BinaryFn, a: Scalar, b: Scalar) -> Scalar | None:
    """Apply the rules for floats."""
    match fn:
        case BinaryFn.ADD if _is(b, -0.0):
            return a
        case BinaryFn.ADD if _is(a, -0.0):
            return b
        case BinaryFn.SUBTRACT if _is(b, 0.0):
            return a
        case BinaryFn.MINIMUM if _is(b, math.inf):  # NaN stays NaN
            return a
        case BinaryFn.MINIMUM if _is(a, math.inf):
            return b
        case BinaryFn.MAXIMUM if _is(b, -math.inf):
            return a
        case BinaryFn.MAXIMUM if _is(a, -math.inf):
            return b
        case BinaryFn.DIVIDE if isinstance(b, Const):
            reciprocal = _exact_reciprocal(b)
            return reciprocal and binary(BinaryFn.MULTIPLY, a, reciprocal)
        case _:
            return None


def _exact_reciprocal(x: Const) -> Const | None:
    """1/x for powers of two whose reciprocal is a normal number of the type."""
    value, smallest = x.value, _SMALLEST_NORMAL.get(x.dtype)
    if not isinstance(value, float) or smallest is None or not smallest <= abs(value) <= 1 / smallest:
        return None
    return Const(1 / value, x.dtype) if abs(math.frexp(value)[0]) == 0.5 else None


def _integer(fn: BinaryFn, a: Scalar, b: Scalar, facts: Facts) -> Scalar | None:
    """Apply the rules for integers and booleans."""
    if fn in dim_values.RING and a.dtype.is_integer and (found := dim_values.ring(fn, a, b, facts)) is not None:
        return found
    if isinstance(a, Const) and (found := _absorbed(fn, b, a)) is not None:
        return found
    if isinstance(b, Const) and (found := _absorbed(fn, a, b)) is not None:
        return found
    zero = FALSE if a.dtype.is_bool else Const(0, a.dtype)
    if fn in _SHIFTS or fn is BinaryFn.SUBTRACT:
        if _is(b, 0):
            return a
        return zero if fn is BinaryFn.SUBTRACT and a == b else None
    if (fn is BinaryFn.REMAINDER and _is(b, 1)) or (fn is BinaryFn.XOR and a == b):
        return zero
    return None


def _absorbed(fn: BinaryFn, x: Scalar, known: Const) -> Scalar | None:
    """Use that a literal is the neutral or the absorbing element of a commutative function."""
    ones = True if x.dtype.is_bool else -1 if x.dtype.is_signed else (1 << x.dtype.bits) - 1
    lowest, highest = neutral(BinaryFn.MAXIMUM, x.dtype), neutral(BinaryFn.MINIMUM, x.dtype)
    match fn:
        case BinaryFn.ADD | BinaryFn.OR | BinaryFn.XOR if known.value == 0 and not (
            fn is BinaryFn.ADD and x.dtype.is_bool
        ):
            return x
        case BinaryFn.MULTIPLY | BinaryFn.AND if known.value == 0:
            return known
        case BinaryFn.MAXIMUM if known.value in {lowest, highest}:
            return x if known.value == lowest else known
        case BinaryFn.MINIMUM if known.value in {lowest, highest}:
            return x if known.value == highest else known
        case BinaryFn.AND if known.value == ones:
            return x
        case BinaryFn.OR if known.value == ones:
            return known
        case _:
            return None


def _equality(direction: Direction, a: Scalar, b: Scalar) -> Scalar | None:
    """Simplify a comparison of a boolean, or one that was converted to a number, with a literal."""
    if isinstance(a, Const):
        a, b = b, a
    inner = a.x if isinstance(a, Convert) else a
    if not isinstance(b, Const) or not inner.dtype.is_bool or b.value not in {0, 1}:
        return None
    wants_true = bool(b.value) == (direction is Direction.EQ)
    return inner if wants_true else unary(UnaryFn.NOT, inner)


def _compare_dims(node: Compare) -> Scalar | None:
    """Decide a comparison of dims whose difference is a constant."""
    a, b = dim_values.exact_dim(node.a), dim_values.exact_dim(node.b)
    difference = None if a is None or b is None else (a - b).constant
    if difference is None:
        return None
    sign = (difference > 0) - (difference < 0)
    return _folded(Compare(node.direction, Const(sign, DType.I64), Const(0, DType.I64)))


def _is_held(first: DType, second: DType, third: DType) -> bool:
    """Whether an integer converted by way of a float saturates at the limits of an integer type instead of wrapping."""
    return first.is_integer and not second.is_integer and third.is_integer and not third.holds(first)


def _is_lossless(source: DType, target: DType) -> bool:
    """Whether `target` can hold every value of `source`."""
    if source.is_bool:
        return not target.is_bool
    if target.is_complex:
        return _is_lossless(source.part, target.part) or source.part is target.part
    if source.is_integer and target.is_integer:
        wider = target.bits > source.bits and (target.is_signed or not source.is_signed)
        return wider or (target.bits == source.bits and target.is_signed == source.is_signed)
    if source.is_integer and target.is_float:
        return source.bits - source.is_signed <= _PRECISION.get(target, 0)
    if source.is_float and target.is_float:
        return source.bits < target.bits and target in {DType.F32, DType.F64}
    return False
