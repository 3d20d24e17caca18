"""Spell types, attributes and locations as StableHLO text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import assert_never

from shlo_disc.ir.attributes import (
    AliasLocation,
    ArrayAttr,
    Attribute,
    BoolAttr,
    BoundsAttr,
    BufferType,
    CallLocation,
    ConvDimensionsAttr,
    DenseArrayAttr,
    DenseAttr,
    DictAttr,
    EnumAttr,
    FileLocation,
    FloatAttr,
    FunctionType,
    FusedLocation,
    FutureType,
    IntegerAttr,
    Location,
    LocationAttr,
    NameLocation,
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
    UnknownLocation,
    UnrankedTensorType,
)
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.floats import spell_float
from shlo_disc.ir.strings import escape

_BARE = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)


def spell_type(type_: Type) -> str:
    """Spell a type.

    >>> spell_type(TensorType((4, None), DType.F32))
    'tensor<4x?xf32>'
    """
    match type_:
        case TensorType(shape, dtype, encoding):
            return f"tensor<{_spell_sizes(shape)}{dtype.value}{_spell_encoding(encoding)}>"
        case QuantizedTensorType(shape, element, encoding):
            return f"tensor<{_spell_sizes(shape)}{spell_quantized(element)}{_spell_encoding(encoding)}>"
        case UnrankedTensorType(element):
            return f"tensor<*x{element.value if isinstance(element, DType) else spell_quantized(element)}>"
        case BufferType(shape, dtype):
            return f"memref<{_spell_sizes(shape)}{dtype.value}>"
        case TokenType():
            return "!stablehlo.token"
        case FutureType(members):
            return f"!stablehlo.future<{', '.join(map(spell_type, members))}>"
        case ScalarType(dtype):
            return dtype.value
        case OpaqueType(text):
            return text
        case TupleType(members):
            return f"tuple<{', '.join(map(spell_type, members))}>"
        case FunctionType(inputs, results):
            return f"{spell_types(inputs)} -> {spell_results(results)}"
        case _:
            assert_never(type_)


def _spell_sizes(shape: tuple[int | None, ...]) -> str:
    return "".join(["?x" if size is None else f"{size}x" for size in shape])


def _spell_encoding(encoding: Attribute | None) -> str:
    return "" if encoding is None else f", {spell_attribute(encoding)}"


def spell_quantized(element: QuantizedElement) -> str:
    """Spell a quantized element type; bounds that are those of the storage type are left out, as MLIR does."""
    if element.spelling:
        return f"!quant.uniform<{element.spelling}>"
    bounds = (element.least, element.most)
    spelled = "" if bounds == element.storage.integer_bounds else f"<{element.least}:{element.most}>"
    pairs = [
        f"{_spell_scale(scale)}:{zero}" if zero else _spell_scale(scale)
        for scale, zero in zip(element.scales, element.zero_points, strict=True)
    ]
    storage = f"{_spell_storage(element.storage)}{spelled}:{element.expressed.value}"
    if element.axis is None:
        return f"!quant.uniform<{storage}, {pairs[0]}>"
    return f"!quant.uniform<{storage}:{element.axis}, {{{','.join(pairs)}}}>"


def _spell_storage(dtype: DType) -> str:
    """Spell a storage type: MLIR calls the unsigned ones `u8`."""
    return f"u{dtype.bits}" if dtype.value.startswith("ui") else dtype.value


def _spell_scale(scale: float) -> str:
    text = repr(scale)
    mantissa, exponent, power = text.partition("e")
    return text if "." in mantissa or not math.isfinite(scale) else f"{mantissa}.0{exponent}{power}"


def spell_types(types: tuple[Type, ...]) -> str:
    """Spell a list of types, `(T, T)`."""
    return f"({', '.join(map(spell_type, types))})"


def spell_results(types: tuple[Type, ...]) -> str:
    """Spell the results after an arrow: one type, or several in parentheses."""
    if len(types) == 1 and not isinstance(types[0], FunctionType):
        return spell_type(types[0])
    return spell_types(types)


def spell_attribute(attribute: Attribute) -> str:  # noqa: C901, PLR0911, PLR0912  # one case per kind
    """Spell an attribute value.

    >>> spell_attribute(DenseArrayAttr(DType.I64, (1, 2)))
    'array<i64: 1, 2>'
    """
    match attribute:
        case UnitAttr():
            return "unit"
        case BoolAttr(value):
            return "true" if value else "false"
        case IntegerAttr(value, dtype):
            return f"{value}{_type_suffix(dtype)}"
        case FloatAttr(_, dtype, text):
            return f"{text}{_type_suffix(dtype)}"
        case StringAttr(value):
            return f'"{escape(value)}"'
        case SymbolAttr(name, inner):
            return "::".join([spell_symbol(part) for part in (name, *inner)])
        case TypeAttr(type_):
            return spell_type(type_)
        case ArrayAttr(items):
            return f"[{', '.join(map(spell_attribute, items))}]"
        case DictAttr(items):
            return spell_dictionary(items)
        case DenseArrayAttr(dtype, values):
            listed = [_spell_element(value, dtype) for value in values]
            return f"array<{dtype.value}: {', '.join(listed)}>" if listed else f"array<{dtype.value}>"
        case DenseAttr(type_):
            return f"{_spell_literal(attribute)} : {spell_type(type_)}"
        case EnumAttr(dialect, family, value):
            return f"#{dialect}<{family} {value}>"
        case RecordAttr(dialect, name, fields):
            return f"#{dialect}.{name}{spell_fields(fields)}"
        case ConvDimensionsAttr():
            return f"#stablehlo.conv<{spell_conv_dimensions(attribute)}>"
        case BoundsAttr(sizes):
            listed = ["?" if size is None else str(size) for size in sizes]
            return f"#stablehlo.bounds<{', '.join(listed)}>"
        case LocationAttr(location):
            return f"loc({spell_location(location)})"
        case OpaqueAttr(text):
            return text
        case _:
            assert_never(attribute)


def _spell_literal(literal: DenseAttr) -> str:
    if literal.resource:
        return f"dense_resource<{literal.resource}>"
    if literal.spelling or not literal.data:
        return f"dense<{literal.spelling}>"
    return f'dense<"0x{literal.data.hex().upper()}">'


def _type_suffix(dtype: DType | None) -> str:
    return "" if dtype is None else f" : {dtype.value}"


def _spell_element(value: float, dtype: DType) -> str:
    if dtype.is_bool:
        return "true" if value else "false"
    return spell_float(value, dtype) if dtype.is_float else str(value)


def spell_symbol(name: str) -> str:
    """Spell `@name`, with quotes where needed."""
    return f"@{name}" if _BARE.fullmatch(name) else f'@"{escape(name)}"'


def spell_dictionary(items: Mapping[str, Attribute]) -> str:
    """Spell `{name = value, flag}` in alphabetical order, as MLIR does."""
    parts: list[str] = []
    for name in sorted(items):
        value = items[name]
        key = name if _BARE.fullmatch(name) else f'"{escape(name)}"'
        parts.append(key if isinstance(value, UnitAttr) else f"{key} = {spell_attribute(value)}")
    return f"{{{', '.join(parts)}}}"


def spell_fields(fields: Mapping[str, Attribute]) -> str:
    """Spell the fields of a record, `<name = value, flag>`."""
    parts: list[str] = []
    for name, value in fields.items():
        if isinstance(value, UnitAttr):
            parts.append(name)
        elif isinstance(value, EnumAttr) and value.family == name:
            parts.append(f"{name} = {value.value}")
        else:
            parts.append(f"{name} = {spell_attribute(value)}")
    return f"<{', '.join(parts)}>"


def spell_conv_dimensions(dimensions: ConvDimensionsAttr) -> str:
    """Spell `[b, 0, f]x[0, i, o]->[b, 0, f]`."""
    lhs, rhs, out = (
        f"[{', '.join(map(str, side))}]" for side in (dimensions.input, dimensions.kernel, dimensions.output)
    )
    return f"{lhs}x{rhs}->{out}"


def spell_location(location: Location) -> str:
    """Spell the contents of `loc(…)`."""
    match location:
        case UnknownLocation():
            return "unknown"
        case FileLocation(file, line, column, range_text):
            return f'"{escape(file)}":{line}:{column}{" " + range_text if range_text else ""}'
        case NameLocation(name, child):
            return f'"{escape(name)}"' + ("" if child is None else f"({spell_location(child)})")
        case CallLocation(callee, caller):
            return f"callsite({spell_location(callee)} at {spell_location(caller)})"
        case FusedLocation(members, metadata):
            suffix = f"<{metadata}>" if metadata else ""
            return f"fused{suffix}[{', '.join(map(spell_location, members))}]"
        case AliasLocation(name):
            return f"#{name}"
        case _:
            assert_never(location)
