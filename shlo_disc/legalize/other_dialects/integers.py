"""`arith` and `index` as StableHLO. Integers without a sign are taken as signed, and converted for unsigned ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from shlo_disc.dialects.other.integers import BINARY, INDEX_BINARY, PREDICATES
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import BoolAttr, DenseAttr, FloatAttr, IntegerAttr, TensorType
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import integer
from shlo_disc.legalize.other_dialects.builder import Rule, StableHloBuilder, stablehlo_type

Binary = Callable[[StableHloBuilder, ir.Value, ir.Value], ir.Value]

_UNSIGNED: Mapping[DType, DType] = {
    DType.I8: DType.UI8, DType.I16: DType.UI16, DType.I32: DType.UI32, DType.I64: DType.UI64,
}  # fmt: skip
_OF_BITS: Mapping[str, str] = {  # modulo 2, sums are differences and products are conjunctions
    **dict.fromkeys(("addi", "subi"), "xor"), "muli": "and", "andi": "and", "ori": "or", "xori": "xor",
}  # fmt: skip


def _by(name: str) -> Binary:
    return lambda emit, a, b: emit.like(name, a, b)


def _unsigned(made: Binary) -> Binary:
    """The op on the numbers that the same bits mean without a sign."""

    def binary(emit: StableHloBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
        dtype = emit.type(a).dtype
        if dtype not in _UNSIGNED:
            raise emit.unsupported(f"of {dtype.value}")
        a, b = (emit.convert(x, _UNSIGNED[dtype]) for x in (a, b))
        return emit.convert(made(emit, a, b), dtype)

    return binary


def floor_divide(emit: StableHloBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Round down, as JAX writes it, which the folding of shape arithmetic recognizes."""
    quotient, is_inexact = _quotient(emit, a, b)
    mixed = emit.compare("NE", emit.like("sign", a), emit.like("sign", b))
    lower = emit.like("subtract", quotient, emit.constant(1, emit.type(a)))
    return emit.like("select", emit.like("and", mixed, is_inexact), lower, quotient)


def _ceil_divide(emit: StableHloBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Round up, in the form of `floor_divide`."""
    quotient, is_inexact = _quotient(emit, a, b)
    same = emit.compare("EQ", emit.like("sign", a), emit.like("sign", b))
    upper = emit.like("add", quotient, emit.constant(1, emit.type(a)))
    return emit.like("select", emit.like("and", same, is_inexact), upper, quotient)


def _quotient(emit: StableHloBuilder, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The quotient, rounded towards zero, and whether something remains."""
    rest = emit.compare("NE", emit.like("remainder", a, b), emit.constant(0, emit.type(a)))
    return emit.like("divide", a, b), rest


def _ceil_divide_unsigned(emit: StableHloBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Round up without overflow: `a == 0 ? 0 : (a - 1) / b + 1`."""
    zero, one = emit.constant(0, emit.type(a)), emit.constant(1, emit.type(a))
    above = emit.like("add", emit.like("divide", emit.like("subtract", a, one), b), one)
    return emit.like("select", emit.compare("EQ", a, zero), zero, above)


def refuse_zero(emit: StableHloBuilder, divisor: ir.Value) -> None:
    """Refuse the constant 0 as a divisor: MLIR leaves open what it gives."""
    if emit.constants.get(divisor) == 0:
        raise emit.unsupported("with the divisor 0")


_DIVISIONS = frozenset({"divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui"})
_MADE: Mapping[str, Binary] = {
    "addi": _by("add"), "subi": _by("subtract"), "muli": _by("multiply"),
    "divsi": _by("divide"), "divui": _unsigned(_by("divide")),
    "remsi": _by("remainder"), "remui": _unsigned(_by("remainder")),
    "floordivsi": floor_divide, "ceildivsi": _ceil_divide, "ceildivui": _unsigned(_ceil_divide_unsigned),
    "minsi": _by("minimum"), "minui": _unsigned(_by("minimum")),
    "maxsi": _by("maximum"), "maxui": _unsigned(_by("maximum")),
    "andi": _by("and"), "ori": _by("or"), "xori": _by("xor"),
}  # fmt: skip


def _binary(name: str, emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    a, b = operands
    if emit.type(a).dtype.is_bool:
        if name not in _OF_BITS:
            raise emit.unsupported("of i1")
        return (emit.like(_OF_BITS[name], a, b),)
    if name in _DIVISIONS:
        refuse_zero(emit, b)
    return (_MADE[name](emit, a, b),)


def _constant(emit: StableHloBuilder, _operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    value = emit.op.attributes["value"]
    type_ = stablehlo_type(emit.op.results[0].type)
    assert isinstance(type_, TensorType), "the verifier checked the result"
    match value:
        case BoolAttr(number):
            return (emit.constant(int(number), type_),)
        case IntegerAttr(number):
            return (emit.constant(number, type_),)
        case DenseAttr(literal):
            typed = stablehlo_type(literal)
            assert isinstance(typed, TensorType), "a literal is a tensor"
            return (emit.make("constant", (), typed, value=DenseAttr(typed, value.data, value.splat, value.spelling)),)
        case _:
            assert isinstance(value, FloatAttr), "the verifier checked the attribute"
            return (emit.float_constant(value.value, type_),)


def _compare(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    name = PREDICATES[integer(emit.op, "predicate")]
    a, b = operands
    if name[0] == "u" and emit.type(a).dtype in _UNSIGNED:
        a, b = (emit.convert(x, _UNSIGNED[emit.type(x).dtype]) for x in operands)
    elif name[0] == "s" and emit.type(a).dtype.is_bool:  # true is -1
        a, b = b, a
    return (emit.compare(name.upper()[-2:], a, b),)


def _select(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return (emit.like("select", *operands),)


def _result_dtype(emit: StableHloBuilder) -> DType:
    type_ = stablehlo_type(emit.op.results[0].type)
    assert isinstance(type_, TensorType), "the verifier checked the result"
    return type_.dtype


def _extended(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    """Extend the sign, or cut off high bits; that of i1 is its only bit."""
    (x,), dtype = operands, _result_dtype(emit)
    if dtype.is_bool:
        return _low_bit(emit, x)
    found = emit.convert(x, dtype)
    return (emit.like("negate", found) if emit.type(x).dtype.is_bool else found,)


def _extended_unsigned(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    """Extend by zeros, or cut off high bits."""
    (x,), dtype = operands, _result_dtype(emit)
    if dtype.is_bool:
        return _low_bit(emit, x)
    x = emit.convert(x, _UNSIGNED.get(emit.type(x).dtype, emit.type(x).dtype))
    return (emit.convert(x, dtype),)


def _low_bit(emit: StableHloBuilder, x: ir.Value) -> tuple[ir.Value, ...]:
    type_ = emit.type(x)
    bit = emit.like("and", x, emit.constant(1, type_))
    return (emit.compare("NE", bit, emit.constant(0, type_)),)


_WITH_I = {name: f"{name}i" for name in ("add", "sub", "mul", "and", "or", "xor")}
_ARITH_NAMES: Mapping[str, str] = {name: _WITH_I.get(name, f"{name}i") for name in INDEX_BINARY}

RULES: Mapping[str, Rule] = {
    **{f"arith.{name}": partial(_binary, name) for name in BINARY},
    **{f"index.{name}": partial(_binary, _ARITH_NAMES[name]) for name in INDEX_BINARY},
    **dict.fromkeys(("arith.constant", "index.constant"), _constant),
    "arith.cmpi": _compare,
    "arith.select": _select,
    **dict.fromkeys(("arith.extsi", "arith.trunci", "arith.index_cast", "index.casts"), _extended),
    **dict.fromkeys(("arith.extui", "arith.index_castui", "index.castu"), _extended_unsigned),
}
