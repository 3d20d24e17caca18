"""Op families of rare functions: special functions, complex numbers, bits; narrow types."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.check.generate.builder import ProgramBuilder, ProgramValue, is_fixed, spell
from shlo_disc.check.generate.choices import pick
from shlo_disc.check.generate.elements import partner
from shlo_disc.expr.dim import const
from shlo_disc.functions.record import Prefix
from shlo_disc.functions.table import BY_OP
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.type_kind import TypeKind

_WITHIN_ONE = ("acos", "asin", "atanh", "erf_inv")  # applied to sines
_POSITIVE = ("acosh", "lgamma", "digamma")  # applied to abs(x) + 1.25
_ANYWHERE = tuple(
    [
        function.name
        for function, op in BY_OP.values()
        if op.prefix is Prefix.CHLO and op.gives is None and op.takes & TypeKind.FLOAT
        if function.arity == 1 and not function.exact and function.name not in (*_WITHIN_ONE, *_POSITIVE)
    ]
)
_CLASSES = ("is_inf", "is_neg_inf", "is_pos_inf")
_OF_COMPLEX = (
    "exponential", "log", "tanh", "sine", "cosine", "sqrt", "rsqrt", "logistic", "negate", "sign",
    "exponential_minus_one", "log_plus_one",
)  # fmt: skip
_NARROW = (
    DType.I4, DType.UI4, DType.I2, DType.UI2, DType.F8E4M3FN, DType.F8E5M2, DType.F8E4M3, DType.F8E3M4,
    DType.F8E4M3B11FNUZ, DType.F8E4M3FNUZ, DType.F8E5M2FNUZ, DType.F4E2M1FN, DType.F8E8M0FNU,
)  # fmt: skip
_NARROWEST = (DType.F6E2M3FN, DType.F6E3M2FN)  # XLA lacks them
_WIDE_FLOATS = (DType.F32, DType.F64)


def _applied(b: ProgramBuilder, name: str, x: ProgramValue, dtype: DType | None = None) -> ProgramValue:
    result = spell(x.shape, dtype or x.dtype)
    return b.op(f"chlo.{name} {x.name} : {x.type} -> {result}", x.shape, dtype or x.dtype)


def special(b: ProgramBuilder) -> bool:
    """A unary CHLO function, within its domain."""
    x = b.pick(lambda v: v.dtype in _WIDE_FLOATS)
    if x is None:
        return False
    names = pick(b.choices, (_ANYWHERE, _ANYWHERE, _WITHIN_ONE, _POSITIVE))
    if names is _WITHIN_ONE:
        x = b.quiet(f"stablehlo.sine {x.name} : {x.type}", x.shape, x.dtype)
    elif names is _POSITIVE:
        x = _above_one(b, x)
    _applied(b, pick(b.choices, names), x)
    return True


def _above_one(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    size = b.quiet(f"stablehlo.abs {x.name} : {x.type}", x.shape, x.dtype)
    one = b.splat("1.250000e+00", x.dtype, x.shape)
    return b.quiet(f"stablehlo.add {size.name}, {one.name} : {x.type}", x.shape, x.dtype)


def of_two(b: ProgramBuilder) -> bool:
    """A power, the neighbour of a float, a zeta or polygamma function, or the upper half of a product."""
    x = b.pick(lambda v: v.dtype in (*_WIDE_FLOATS, DType.I32, DType.UI32))
    if x is None:
        return False
    y = partner(b, x)
    if x.dtype.is_integer:
        b.op(f"chlo.mulhi {x.name}, {y.name} : {x.type}, {y.type} -> {x.type}", x.shape, x.dtype)
        return True
    name = pick(b.choices, ("power", "next_after", "power", "zeta", "polygamma"))
    if name == "power":
        base = b.quiet(f"stablehlo.abs {x.name} : {x.type}", x.shape, x.dtype)
        b.op(f"stablehlo.power {base.name}, {y.name} : {x.type}", x.shape, x.dtype)
        return True
    if name != "next_after":
        y = _above_one(b, y)
        x = _above_one(b, x) if name == "zeta" else b.splat("2.000000e+00", x.dtype, x.shape)
    b.op(f"chlo.{name} {x.name}, {y.name} : {x.type}, {y.type} -> {x.type}", x.shape, x.dtype)
    return True


def classes(b: ProgramBuilder) -> bool:
    """A test for finite numbers, or for infinities."""
    x = b.pick(lambda v: v.dtype.is_float and v.dtype.bits >= 16)
    if x is None:
        return False
    if pick(b.choices, (True, False)):
        text = f"stablehlo.is_finite {x.name} : ({x.type}) -> {spell(x.shape, DType.I1)}"
        b.op(text, x.shape, DType.I1)
    else:
        _applied(b, pick(b.choices, _CLASSES), x, DType.I1)
    return True


def of_complex(b: ProgramBuilder) -> bool:
    """A function of a complex number, or its conjugate."""
    x = b.pick(lambda v: v.dtype.is_complex)
    if x is None:
        return False
    name = pick(b.choices, ("conj", *_OF_COMPLEX))
    if name == "conj":
        _applied(b, name, x)
    else:
        b.op(f"stablehlo.{name} {x.name} : {x.type}", x.shape, x.dtype)
    return True


def narrow(b: ProgramBuilder) -> bool:
    """A conversion to a type of 2, 4 or 8 bits; later steps move, compare and convert the result."""
    return _narrowed(b, _NARROW)


def narrowest(b: ProgramBuilder) -> bool:
    """A conversion to a type of 6 bits."""
    return _narrowed(b, _NARROWEST)


def _narrowed(b: ProgramBuilder, dtypes: Sequence[DType]) -> bool:
    x = b.pick(lambda v: v.dtype in (*_WIDE_FLOATS, DType.I32, DType.I8))
    if x is None:
        return False
    dtype = pick(b.choices, dtypes)
    b.op(f"stablehlo.convert {x.name} : ({x.type}) -> {spell(x.shape, dtype)}", x.shape, dtype)
    return True


def shared_bits(b: ProgramBuilder) -> bool:
    """A bitcast to several narrower numbers, and one back to a wide number."""

    def fits(v: ProgramValue) -> bool:  # XLA does not infer dynamic shapes here
        return (
            v.dtype in (DType.I32, DType.F32, DType.UI32) and len(v.shape) < 4 and (b.beyond_xla or is_fixed(v.shape))
        )

    x = b.pick(fits)
    if x is None:
        return False
    dtype = pick(b.choices, (DType.I8, DType.UI8, DType.I16))
    parts = (*x.shape, const(x.dtype.bits // dtype.bits))
    narrow_ = b.op(f"stablehlo.bitcast_convert {x.name} : ({x.type}) -> {spell(parts, dtype)}", parts, dtype)
    wide = pick(b.choices, (DType.I32, DType.UI32))
    b.op(f"stablehlo.bitcast_convert {narrow_.name} : ({narrow_.type}) -> {spell(x.shape, wide)}", x.shape, wide)
    return True


FAMILIES = (special, special, of_two, classes, of_complex, narrow, shared_bits)
BEYOND_XLA = (narrowest,)
