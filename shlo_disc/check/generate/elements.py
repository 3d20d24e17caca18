"""Op families that work element by element."""

from __future__ import annotations

from shlo_disc.check.generate.builder import ProgramBuilder, ProgramValue, spell
from shlo_disc.check.generate.choices import chance, pick
from shlo_disc.ir.dtypes import DType

_FLOAT = (
    "negate", "abs", "tanh", "logistic", "exponential", "sine", "cosine", "floor", "ceil", "sign", "cbrt",
    "exponential_minus_one", "round_nearest_even", "round_nearest_afz", "tan",
)  # fmt: skip
_POSITIVE = ("sqrt", "rsqrt", "log", "log_plus_one")  # of absolute values: results that are all NaN test nothing
_SIGNED = ("negate", "abs", "sign", "not", "popcnt", "count_leading_zeros")
_UNSIGNED = ("not", "popcnt", "count_leading_zeros")
_FLOAT_PAIR = ("add", "subtract", "multiply", "maximum", "minimum", "divide", "atan2")
_INTEGER_PAIR = (
    "add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor", "divide", "remainder", "shift_left",
    "shift_right_arithmetic", "shift_right_logical",
)  # fmt: skip
_DTYPES = (
    DType.F32, DType.I32, DType.F64, DType.F16, DType.BF16, DType.I64, DType.I8, DType.UI8, DType.UI32, DType.I1,
    DType.I16, DType.UI16, DType.UI64, DType.C64, DType.C128,
)  # fmt: skip
_PREDICATE = DType.I1
_POWERS = DType.F8E8M0FNU  # powers of two, stored as exponents, which are only moved and converted


def is_float(v: ProgramValue) -> bool:
    """Whether a value holds floats that arithmetic takes."""
    return v.dtype.is_float and v.dtype is not _POWERS


def literal(b: ProgramBuilder, dtype: DType) -> str:
    """A simple literal of a type."""
    if dtype.is_bool:
        return pick(b.choices, ("true", "false"))
    if dtype.is_complex:
        return "(5.000000e-01, -1.000000e+00)"
    if dtype is _POWERS:
        return pick(b.choices, ("1.000000e+00", "5.000000e-01"))
    if dtype.is_integer and dtype.bits == 2:
        return pick(b.choices, ("1", "0"))
    if dtype.is_float:
        return pick(b.choices, ("1.000000e+00", "5.000000e-01", "0.000000e+00", "-2.000000e+00"))
    return pick(b.choices, ("1", "2", "0", "3"))


def unary(b: ProgramBuilder) -> bool:
    """A function of one value."""
    x = b.pick(lambda v: not v.dtype.is_complex and v.dtype is not _POWERS)
    if x is None:
        return False
    if x.dtype.is_float and chance(b.choices, 5):
        x = b.op(f"stablehlo.abs {x.name} : {x.type}", x.shape, x.dtype)
        name = pick(b.choices, _POSITIVE)
    elif x.dtype.is_float:
        name = pick(b.choices, _FLOAT)
    elif x.dtype.is_bool:
        name = "not"
    else:
        name = pick(b.choices, _SIGNED if x.dtype.is_signed else _UNSIGNED)
    b.op(f"stablehlo.{name} {x.name} : {x.type}", x.shape, x.dtype)
    return True


def partner(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    """A second operand of the same type: an existing value, a smaller one broadcast, or a constant."""
    if not chance(b.choices, 4):
        same = b.pick(lambda v: v.type == x.type and v.shape == x.shape)
        if same is not None and (same is not x or chance(b.choices, 3)):
            return same
    for value in reversed(b.values):  # broadcasts of reductions, and of biases
        dims = _placed(value, x) if value.dtype is x.dtype and len(value.shape) < len(x.shape) else None
        if dims is not None and not chance(b.choices, 4):
            return b.broadcast(value, dims, x.shape)
    return b.splat(literal(b, x.dtype), x.dtype, x.shape)


def _placed(small: ProgramValue, large: ProgramValue) -> list[int] | None:
    """The axes of a larger value that have the sizes of a smaller one, in order; None if there are none."""
    dims, axis = list[int](), 0
    for size in small.shape:
        while axis < len(large.shape) and large.shape[axis] != size:
            axis += 1
        if axis == len(large.shape):
            return None
        dims.append(axis)
        axis += 1
    return dims


def binary(b: ProgramBuilder) -> bool:
    """A function of two values of one type."""
    x = b.pick(lambda v: v.dtype is not _POWERS)
    if x is None:
        return False
    y = partner(b, x)
    if x.dtype.is_bool:
        names: tuple[str, ...] = ("and", "or", "xor")
    elif x.dtype.is_complex:
        names = ("add", "subtract", "multiply", "divide")
    else:
        names = _FLOAT_PAIR if x.dtype.is_float else _INTEGER_PAIR
    b.op(f"stablehlo.{pick(b.choices, names)} {x.name}, {y.name} : {x.type}", x.shape, x.dtype)
    return True


def compared(b: ProgramBuilder, x: ProgramValue, y: ProgramValue, direction: str) -> ProgramValue:
    """Compare two values of one type."""
    text = f"stablehlo.compare {direction}, {x.name}, {y.name} : ({x.type}, {y.type}) -> {spell(x.shape, _PREDICATE)}"
    return b.op(text, x.shape, _PREDICATE)


def select(b: ProgramBuilder) -> bool:
    """A select between two values, by a comparison."""
    x = b.pick(lambda v: v.dtype is not _POWERS)
    if x is None:
        return False
    y = partner(b, x)
    direction = pick(b.choices, ("NE", "EQ") if x.dtype.is_complex else ("LT", "GE", "EQ", "NE", "GT", "LE"))
    predicate = x if x.dtype.is_bool else compared(b, x, y, direction)
    other = partner(b, x)
    text = f"stablehlo.select {predicate.name}, {x.name}, {other.name} : {predicate.type}, {x.type}"
    b.op(text, x.shape, x.dtype)
    return True


def clamp(b: ProgramBuilder) -> bool:
    """A value between two scalars."""
    x = b.pick(lambda v: is_float(v) or (v.dtype.is_integer and v.dtype.bits > 2))
    if x is None:
        return False
    low, high = ("-1.000000e+00", "1.500000e+00") if x.dtype.is_float else ("1", "5")
    least, most = b.splat(low, x.dtype), b.splat(high, x.dtype)
    types = f"({least.type}, {x.type}, {most.type}) -> {x.type}"
    b.op(f"stablehlo.clamp {least.name}, {x.name}, {most.name} : {types}", x.shape, x.dtype)
    return True


def convert(b: ProgramBuilder) -> bool:
    """A value in another type."""
    x = b.pick(lambda _: True)
    if x is None:
        return False
    dtypes = (DType.C64, DType.C128) if x.dtype.is_complex else _DTYPES
    dtype = pick(b.choices, [dtype for dtype in dtypes if dtype is not x.dtype])
    b.op(f"stablehlo.convert {x.name} : ({x.type}) -> {spell(x.shape, dtype)}", x.shape, dtype)
    return True


def bits(b: ProgramBuilder) -> bool:
    """A bitcast to an integer, or a rounding to less precision."""
    x = b.pick(lambda v: v.dtype is DType.F32)
    if x is None:
        return False
    if chance(b.choices, 2):
        b.op(f"stablehlo.reduce_precision {x.name}, format = e5m10 : {x.type}", x.shape, x.dtype)
    else:
        b.op(f"stablehlo.bitcast_convert {x.name} : ({x.type}) -> {spell(x.shape, DType.I32)}", x.shape, DType.I32)
    return True


def complex_number(b: ProgramBuilder) -> bool:
    """Complex numbers from two floats, or a part of one."""
    x = b.pick(lambda v: v.dtype.is_complex)
    if x is not None and not chance(b.choices, 3):
        name, dtype = pick(b.choices, ("real", "imag", "abs")), x.dtype.part
        b.op(f"stablehlo.{name} {x.name} : ({x.type}) -> {spell(x.shape, dtype)}", x.shape, dtype)
        return True
    x = b.pick(lambda v: v.dtype in (DType.F32, DType.F64))
    if x is None:
        return False
    dtype = DType.C64 if x.dtype is DType.F32 else DType.C128
    y = partner(b, x)
    types = f"({x.type}, {y.type}) -> {spell(x.shape, dtype)}"
    b.op(f"stablehlo.complex {x.name}, {y.name} : {types}", x.shape, dtype)
    return True


FAMILIES = (unary, binary, binary, select, convert, clamp, complex_number, bits)
