"""One record per op: how it is written, its slots, and its constraints.

Ops are those of StableHLO and CHLO, and those of other dialects that compute sizes.

A slot is an operand, a result or an attribute. Labels are those of the specification: `I1` for the first input, `C3`
for the third constraint. Where the specification has none (deprecated ops, CHLO), labels are ours, in its manner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TypeAlias

from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import (
    SHAPE,
    SIZE,
    WITNESS,
    ArrayAttr,
    Attribute,
    BoolAttr,
    BoundsAttr,
    BufferType,
    ConvDimensionsAttr,
    DenseArrayAttr,
    DenseAttr,
    DictAttr,
    EnumAttr,
    FloatAttr,
    FutureType,
    IntegerAttr,
    LocationAttr,
    OpaqueAttr,
    OpaqueType,
    QuantizedElement,
    QuantizedTensorType,
    RecordAttr,
    ScalarType,
    StringAttr,
    SymbolAttr,
    TensorType,
    TokenType,
    TupleType,
    Type,
    TypeAttr,
    UnitAttr,
    UnrankedTensorType,
)
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.type_kind import TypeKind
from shlo_disc.records import record

Check: TypeAlias = Callable[[OpView], Refusal | None]


_NAMES: Mapping[TypeKind, str] = {  # those of several kinds first
    TypeKind.TENSOR: "tensors",
    TypeKind.UNIFORM: "tensors that are not quantized per axis",
    TypeKind.PLAIN: "tensors that are not quantized",
    TypeKind.QUANTIZED: "quantized elements",
    TypeKind.INTEGER: "integers",
    TypeKind.BOOL: "booleans",
    TypeKind.SIGNED: "signed integers",
    TypeKind.UNSIGNED: "unsigned integers",
    TypeKind.FLOAT: "floats",
    TypeKind.COMPLEX: "complex numbers",
    TypeKind.PER_TENSOR: "elements quantized per tensor",
    TypeKind.PER_AXIS: "elements quantized per axis",
    TypeKind.INDEX: "indices",
    TypeKind.TOKEN: "tokens",
    TypeKind.TUPLE: "tuples",
    TypeKind.BUFFER: "buffers",
    TypeKind.FUTURE: "futures",
    TypeKind.SCALAR: "single integers",
    TypeKind.SCALAR_UNSIGNED: "single unsigned integers",
    TypeKind.SCALAR_FLOAT: "single floats",
    TypeKind.SHAPE: "shapes",
    TypeKind.SIZE: "sizes",
    TypeKind.WITNESS: "witnesses",
    TypeKind.OTHER: "values of other dialects",
}


def describe(kind: TypeKind) -> str:
    """Describe the types that a slot takes.

    >>> describe(TypeKind.FLOAT | TypeKind.COMPLEX), describe(TypeKind.TENSOR | TypeKind.TOKEN)
    ('floats or complex numbers', 'tensors or tokens')
    """
    names: list[str] = []
    for kinds, name in _NAMES.items():
        if kinds in kind:
            names.append(name)
            kind &= ~kinds
    return " or ".join(names)


_ATTRIBUTES: Mapping[type[Attribute], str] = {
    UnitAttr: "a unit",
    BoolAttr: "true or false",
    IntegerAttr: "an integer",
    FloatAttr: "a float",
    StringAttr: "a string",
    SymbolAttr: "a symbol",
    TypeAttr: "a type",
    ArrayAttr: "a list '[…]'",
    DictAttr: "a dictionary",
    DenseArrayAttr: "a list 'array<…>'",
    DenseAttr: "a literal 'dense<…>'",
    EnumAttr: "a value of an enumeration",
    RecordAttr: "a record '#stablehlo.…<…>'",
    ConvDimensionsAttr: "dimension numbers '[…]x[…]->[…]'",
    BoundsAttr: "bounds of a tensor type",
    LocationAttr: "a location",
    OpaqueAttr: "an attribute of another dialect",
}


def describe_attributes(kinds: tuple[type[Attribute], ...]) -> str:
    """Describe the attributes that a slot takes.

    >>> describe_attributes((UnitAttr, BoolAttr))
    'a unit or true or false'
    """
    return " or ".join([_ATTRIBUTES[kind] for kind in kinds])


def kind_of(type_: Type) -> TypeKind:
    """Return the kind of a type."""
    match type_:
        case TensorType(_, dtype):
            return _kind_of_element(dtype)
        case QuantizedTensorType(_, element):
            return _kind_of_element(element)
        case UnrankedTensorType(element):
            return TypeKind.UNRANKED | _kind_of_element(element)
        case TokenType():
            return TypeKind.TOKEN
        case TupleType(members):
            return TypeKind.TUPLE if all(kind_of(member) & TypeKind.MEMBER for member in members) else TypeKind.OTHER
        case BufferType():
            return TypeKind.BUFFER
        case FutureType():
            return TypeKind.FUTURE
        case ScalarType(dtype):
            return _kind_of_scalar(dtype)
        case OpaqueType():
            return _OF_SHAPE.get(type_, TypeKind.OTHER)
        case _:
            return TypeKind.OTHER


_OF_SHAPE: Mapping[OpaqueType, TypeKind] = {
    SHAPE: TypeKind.SHAPE,
    SIZE: TypeKind.SIZE,
    WITNESS: TypeKind.WITNESS,
}


def _kind_of_scalar(dtype: DType) -> TypeKind:
    if not (dtype.is_integer or dtype.is_bool):
        return TypeKind.SCALAR_FLOAT
    is_unsigned = dtype is not DType.INDEX and dtype.is_integer and not dtype.is_signed
    return TypeKind.SCALAR_UNSIGNED if is_unsigned else TypeKind.SCALAR


def _kind_of_element(element: DType | QuantizedElement) -> TypeKind:
    if isinstance(element, QuantizedElement):
        return TypeKind.PER_TENSOR if element.axis is None else TypeKind.PER_AXIS
    if element is DType.INDEX:
        return TypeKind.INDEX
    if element.is_bool:
        return TypeKind.BOOL
    if element.is_integer:
        return TypeKind.SIGNED if element.is_signed else TypeKind.UNSIGNED
    return TypeKind.COMPLEX if element.is_complex else TypeKind.FLOAT


@record
class Slot:
    """An operand or a result: the kinds it takes, and its rank and element type where those are fixed.

    Several variadic slots of one op have equally many values.
    """

    name: str
    kind: TypeKind
    rank: int | None = None
    variadic: bool = False
    least: int = 0  # the fewest values of a variadic slot
    dtype: DType | None = None
    sized: bool = False  # whether all sizes must be known, or one of them bounded
    label: str = ""  # for an operand `I1`, `I2` … by its place unless given; results have none by default


@record
class AttributeSlot:
    """An attribute: its class (any of several), and its default.

    `values` are those that an enumeration (or each of a list of them) has, or the names of records; `dtype` is that of
    a number, a list or a literal, `rank` that of a literal. `required`: without a `default`, it must be there.
    """

    name: str
    label: str
    kinds: tuple[type[Attribute], ...]
    required: bool = True
    default: Attribute | None = None
    values: tuple[str, ...] = ()
    dtype: DType | None = None
    rank: int | None = None
    enum: str = ""  # the name of its enumeration, if that is not the attribute's


@record
class OpRecord:
    """One op: what it takes and gives, the constraints it must satisfy, and its pretty form.

    Constraints are checked in order; the first that fails is reported. `form` is a template (`parse/form.py`); without
    one the op is written in generic form only.
    """

    name: str  # with the dialect
    operands: tuple[Slot, ...]
    results: tuple[Slot, ...]
    attributes: tuple[AttributeSlot, ...] = ()
    constraints: Mapping[str, Check] = field(default_factory=dict[str, Check])
    regions: tuple[str, ...] = ()  # names; a variadic one ends in `…`
    count: str = ""  # the label of the constraint on the number of operands
    form: str | None = None
    effects: bool = False  # it may do more than return results: it stays in a program that does not use these
    defaults: Mapping[str, Attribute] = field(init=False)  # of the attributes that may be left out

    def __post_init__(self) -> None:
        defaults = {slot.name: slot.default for slot in self.attributes if slot.default is not None}
        object.__setattr__(self, "defaults", defaults)
