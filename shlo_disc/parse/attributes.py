"""Read attributes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shlo_disc.diagnostics import Source, UnsupportedOpError
from shlo_disc.expr.dtypes import DType
from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    ConvDimensionsAttr,
    DenseArrayAttr,
    DenseAttr,
    DictAttr,
    EnumAttr,
    FloatAttr,
    IntegerAttr,
    OpaqueAttr,
    RecordAttr,
    StringAttr,
    SymbolAttr,
    Type,
    TypeAttr,
    UnitAttr,
)
from shlo_disc.parse.literals import decode_dense, encode_elements, numpy_type
from shlo_disc.parse.types import DTYPES, TypeReader

_MOST_DIGITS = 100
_OURS = frozenset({"stablehlo", "chlo", "mhlo"})  # dialects whose attributes are taken apart
_CLOSING: Mapping[str, str] = {"<": ">", "(": ")", "[": "]", "{": "}"}

ENUMS: Mapping[str, tuple[str, ...]] = {
    "comparison_direction": ("EQ", "NE", "GE", "GT", "LE", "LT"),
    "comparison_type": ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"),
    "fft_type": ("FFT", "IFFT", "RFFT", "IRFFT"),
    "precision": ("DEFAULT", "HIGH", "HIGHEST"),
    "rng_algorithm": ("DEFAULT", "THREE_FRY", "PHILOX"),
    "rng_distribution": ("UNIFORM", "NORMAL"),
    "transpose": ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"),
}


class AttributeReader(TypeReader):
    """Reads attributes; equal literals are read once."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._dense: dict[tuple[str, Type], DenseAttr] = {}
        self._arrays: dict[str, DenseArrayAttr] = {}
        self.aliases: dict[str, Attribute] = {}
        self.resources: dict[str, str] = {}

    # --- attributes

    def attribute(self) -> Attribute:
        """Read one attribute value."""
        token = self.tokens[self.at]
        first = token[:1]
        if first == '"':
            return StringAttr(self.string())
        if first == "#":
            return self._dialect_attribute(token)
        if first == "@":
            return SymbolAttr(self.symbol())
        if first.isdigit() or (first == "-" and len(token) > 1 and token != "->"):
            return self._number(token)
        return self._nested_attribute(token)

    def _nested_attribute(self, token: str) -> Attribute:
        if token == "[":
            return ArrayAttr(tuple(self.enclosed("[", "]", self.attribute)))
        if token == "{":
            return DictAttr(self.dictionary())
        if token.startswith(("dense<", "dense_resource<")):
            return self.dense()
        if token.startswith("array<"):
            return self._array(token)
        if token in ("tensor", "tuple", "(") or token.startswith(("tensor<", "!")):
            return TypeAttr(self.type())
        return self._word(token)

    def _word(self, token: str) -> Attribute:
        if token in ("dense", "array", "sparse", "affine_map", "loc", "opaque", "strided"):
            raise UnsupportedOpError(f"attribute '{token}' is not supported", self.span())
        if token not in ("true", "false", "unit") and token not in DTYPES:
            raise self.unexpected("an attribute")
        self.at += 1
        if token == "unit":
            return UnitAttr()
        return OpaqueAttr(token) if token in DTYPES else BoolAttr(token == "true")

    def _number(self, token: str) -> IntegerAttr | FloatAttr:
        at = self.at
        self.at += 1
        dtype: DType | None = None
        if self.tokens[self.at] == ":":
            self.at += 1
            dtype = self.element_type()
            if dtype is None:
                raise self.unexpected("the type of a number, such as 'i64'")
        is_hexadecimal = "x" in token
        if dtype is not None and dtype.is_float and is_hexadecimal:
            return FloatAttr(self._float_of_bits(token, dtype, at), dtype, token)
        if is_hexadecimal or token.lstrip("-").isdigit():
            if dtype is not None and not dtype.is_integer and dtype is not DType.INDEX and not dtype.is_bool:
                raise self.unexpected(f"a number of type {dtype.value}", at)
            if len(token) > _MOST_DIGITS:
                raise self.unexpected("a number of reasonable length", at)
            return IntegerAttr(int(token, 0) if is_hexadecimal else int(token), dtype)
        if dtype is not None and not dtype.is_float:
            raise self.unexpected(f"a number of type {dtype.value}", at)
        return FloatAttr(float(token), dtype, token)

    def _float_of_bits(self, token: str, dtype: DType, at: int) -> float:
        data = encode_elements([token], dtype, self.span(at))
        return float(np.frombuffer(data, numpy_type(dtype))[0])

    def _array(self, token: str) -> DenseArrayAttr:
        known = self._arrays.get(token)
        if known is None:
            name, _, listed = token[6:-1].partition(":")
            dtype = DTYPES.get(name.strip())
            if dtype is None:
                raise self.unexpected("an array with an element type, such as 'array<i64: 1, 2>'")
            try:
                known = DenseArrayAttr(
                    dtype,
                    tuple([_array_element(item, dtype) for item in listed.split(",") if listed]),
                )
            except ValueError:
                raise self.unexpected(f"a list of {dtype.value} values") from None
            self._arrays[token] = known
        self.at += 1
        return known

    def dense(self) -> DenseAttr:
        """Read `dense<…> : tensor<…>`."""
        at = self.at
        token = self.tokens[at]
        if not token.startswith(("dense<", "dense_resource<")):
            raise self.unexpected("a literal 'dense<…>'")
        self.at += 1
        self.expect(":")
        type_ = self.tensor_type("a tensor type")
        known = self._dense.get((token, type_))
        if known is None:
            spelling = token[6:-1] if token.startswith("dense<") else self._resource(token[15:-1], at)
            known = decode_dense(spelling, type_, self.span(at))
            self._dense[token, type_] = known
        return known

    def _resource(self, key: str, at: int) -> str:
        blob = self.resources.get(key)
        if blob is None:
            raise self.unexpected(f"a resource section '{{-# … #-}}' that defines '{key}'", at)
        return f'"0x{blob[10:]}"'  # the first four bytes say the alignment

    def dictionary(self) -> dict[str, Attribute]:
        """Read `{name = value, flag, …}`."""
        found: dict[str, Attribute] = {}
        self.expect("{")
        while not self.accept("}"):
            if found:
                self.expect(",")
            at = self.at
            name = self.string() if self.tokens[at][:1] == '"' else self.word("an attribute name or '}'")
            if name in found:
                raise self.unexpected(f"a name other than '{name}', which occurs already", at)
            found[name] = self.attribute() if self.accept("=") else UnitAttr()
        return found

    # --- attributes of dialects

    def _dialect_attribute(self, token: str) -> Attribute:
        dialect, _, name = token[1:].partition(".")
        at = self.at
        if dialect not in _OURS or name == "bounds":
            if not name and self.tokens[at + 1] != "<":
                return self._alias(token)
            return self._opaque()
        self.at += 1
        if name == "conv":
            self.expect("<")
            dimensions = self.conv_dimensions()
            self.expect(">")
            return dimensions
        if name:
            return RecordAttr(dialect, name, self.record_fields(dialect))
        self.expect("<")
        family = self.word("the name of an enumeration")
        value = self.word(f"a value of '{family}'")
        if family in ENUMS and value not in ENUMS[family]:
            raise self.unexpected(f"one of {', '.join(ENUMS[family])}", self.at - 1)
        self.expect(">")
        return EnumAttr(dialect, family, value)

    def _alias(self, token: str) -> Attribute:
        found = self.aliases.get(token[1:])
        if found is None:
            raise self.unexpected("an attribute alias that is defined above")
        self.at += 1
        return found

    def _opaque(self) -> OpaqueAttr:
        """Skip an attribute of another dialect, keeping its text."""
        first = self.at
        self.at += 1
        if self.tokens[self.at] == "<":
            waiting: list[str] = []
            while True:
                token = self.tokens[self.at]
                if token in _CLOSING:
                    waiting.append(_CLOSING[token])
                elif token == waiting[-1]:
                    waiting.pop()
                elif token in (")", "]", "}", ">", ""):
                    raise self.unexpected(f"'{waiting[-1]}'")
                self.at += 1
                if not waiting:
                    break
        return OpaqueAttr(self.text_between(first, self.at - 1))

    def record_fields(self, dialect: str) -> dict[str, Attribute]:
        """Read `<name = value, flag, …>`."""
        fields: dict[str, Attribute] = {}
        self.expect("<")
        while not self.accept(">"):
            if fields:
                self.expect(",")
            name = self.word("the name of a field or '>'")
            fields[name] = self._field(dialect, name) if self.accept("=") else UnitAttr()
        return fields

    def _field(self, dialect: str, name: str) -> Attribute:
        token = self.tokens[self.at]
        if token[:1].isalpha() and token not in ("true", "false") and "<" not in token:
            self.at += 1  # `lhs_precision_type = tf32`
            return EnumAttr(dialect, name, token)
        return self.attribute()

    def conv_dimensions(self) -> ConvDimensionsAttr:
        """Read `[b, 0, f]x[0, i, o]->[b, 0, f]`."""
        side = self._conv_dimension
        lhs = self.enclosed("[", "]", side)
        self.expect("x")
        rhs = self.enclosed("[", "]", side)
        self.expect("->")
        return ConvDimensionsAttr(tuple(lhs), tuple(rhs), tuple(self.enclosed("[", "]", side)))

    def _conv_dimension(self) -> str | int:
        token = self.tokens[self.at]
        if token in ("b", "f", "i", "o", "?"):
            self.at += 1
            return token
        if not token.isdigit():
            raise self.unexpected("'b', 'f', 'i', 'o' or the number of a spatial dimension")
        return self.integer()


def _array_element(text: str, dtype: DType) -> int | float:
    text = text.strip()
    if dtype.is_bool:
        if text not in ("true", "false", "0", "1"):
            raise ValueError(text)
        return int(text in ("true", "1"))
    return float(text) if dtype.is_float else int(text)
