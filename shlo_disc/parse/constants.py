"""Read constants: numbers, arrays and literals."""

from __future__ import annotations

import re
from abc import ABC
from dataclasses import replace

from shlo_disc.diagnostics import ParseError, Source
from shlo_disc.ir.attributes import (
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DenseAttr,
    FloatAttr,
    IntegerAttr,
    OpaqueAttr,
    OpaqueType,
    TensorType,
    Type,
)
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.floats import float_of_bits, read_integer, spell_float
from shlo_disc.parse.literals import decode_dense, decode_digits
from shlo_disc.parse.tokens import LONG_LITERAL, RESOURCES
from shlo_disc.parse.types import DTYPES, TypeReader

_ELIDED = "__elided__"  # what MLIR prints for large literals if it elides them
_RESOURCE = r'(?<![\w$.-]){}\s*:\s*"0x'
_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)")
_MOST_DIGITS = 100


class ConstantReader(TypeReader, ABC):
    """Reads constants; equal ones are read once."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._dense: dict[tuple[str, Type], DenseAttr] = {}
        self._arrays: dict[str, DenseArrayAttr] = {}

    def typed_number(self, token: str) -> Attribute:
        """Read a number, and the type that may follow it."""
        at = self.at
        self.at += 1
        dtype: DType | None = None
        if self.accept(":"):
            dtype = self.element_type()
            if dtype is None:
                return self._foreign_number(token)
        is_hexadecimal = "x" in token
        if dtype is not None and dtype.is_float and is_hexadecimal:
            return self._bits(token, dtype, at)
        if is_hexadecimal or token.lstrip("-").isdigit():
            return self._integer(token, dtype, at)
        if dtype is not None and not dtype.is_float:
            raise self.unexpected(f"a number of type {dtype.value}", at)
        value = float(token)
        if "." in token:
            return FloatAttr(value, dtype, token)
        return FloatAttr(value, dtype or DType.F64, spell_float(value, dtype or DType.F64))

    def _bits(self, token: str, dtype: DType, at: int) -> FloatAttr:
        try:
            return FloatAttr(float_of_bits(token, dtype), dtype, token)
        except ValueError:
            raise self.unexpected(f"the bits of a number of type {dtype.value}", at) from None

    def _integer(self, token: str, dtype: DType | None, at: int) -> Attribute:
        if dtype is not None and not dtype.is_integer and not dtype.is_bool:
            raise self.unexpected(f"a number of type {dtype.value}", at)
        if len(token) > _MOST_DIGITS:
            raise self.unexpected("a number of reasonable length", at)
        value = int(token, 0) if "x" in token else int(token)
        if dtype is DType.I1 and value in (0, 1):
            return BoolAttr(value == 1)
        try:
            return IntegerAttr(_wrapped(value, dtype or DType.I64), dtype)
        except ValueError:
            raise self.unexpected(f"a number that fits {(dtype or DType.I64).value}", at) from None

    def _foreign_number(self, token: str) -> OpaqueAttr:
        """Keep a number of a type that StableHLO does not use: `5 : si32`."""
        at = self.at
        type_ = self.type()
        if not isinstance(type_, OpaqueType):
            raise self.unexpected("the type of a number, such as 'i64'", at)
        return OpaqueAttr(f"{token} : {type_.text}")

    def dense_array(self, token: str) -> DenseArrayAttr:
        """Read `array<i64: 1, 2>`."""
        known = self._arrays.get(token)
        if known is None:
            name, _, listed = token[6:-1].partition(":")
            dtype = DTYPES.get(name.strip())
            if dtype is None:
                raise self.unexpected("an array with an element type, such as 'array<i64: 1, 2>'")
            items = [item.strip() for item in listed.split(",")] if listed.strip() else []
            try:
                known = DenseArrayAttr(dtype, tuple([_array_element(item, dtype) for item in items]))
            except ValueError as error:
                raise self.unexpected(f"a list of {dtype.value} values, not '{error}'") from None
            self._arrays[token] = known
        self.at += 1
        return known

    def dense(self) -> DenseAttr:
        """Read `dense<…> : tensor<…>`."""
        at = self.at
        found = self.dense_attribute()
        if not isinstance(found, DenseAttr):
            raise self.unexpected("a literal of a tensor type", at)
        return found

    def dense_attribute(self) -> DenseAttr | OpaqueAttr:
        """Read `dense<…> : T`; a literal of a type that StableHLO does not use is kept as text."""
        at = self.at
        token = self.tokens[at]
        if not token.startswith(("dense<", "dense_resource<")):
            raise self.unexpected("a literal 'dense<…>'")
        self.at += 1
        self.expect(":")
        type_ = self.type()
        if not isinstance(type_, TensorType):
            return OpaqueAttr(self.text_between(at, self.at - 1))  # strings, vectors
        if token == LONG_LITERAL:
            long = self.places.long[at]
            return decode_digits(self.source.text, (long.start + 9, long.end - 2), type_, self.span(at))
        if token.startswith("dense_resource<"):
            return self._resource(at, type_)
        known = self._dense.get((token, type_))
        if known is None:
            known = self._dense[token, type_] = decode_dense(token[6:-1], type_, self.span(at))
        return known

    def _resource(self, at: int, type_: TensorType) -> DenseAttr:
        """Find the data of `dense_resource<name>` in a section `{-# … #-}`."""
        text, name = self.source.text, self.tokens[at][15:-1]
        pattern = re.compile(_RESOURCE.format(re.escape(name)))
        for number, section in self.places.long.items():
            if number < at or section.token != RESOURCES:
                continue
            if (match := pattern.search(text, section.start, section.end)) is not None:
                end = text.find('"', match.end())
                start = match.end() + 8  # the first four bytes hold the alignment
                return replace(decode_digits(text, (start, end), type_, self.span(at)), resource=name)
        if name == _ELIDED:
            raise ParseError(
                "expected the elements of the literal, found that the text was printed without them",
                self.span(at),
                hint="print the program again with all large elements, such as `exported.mlir_module()` gives it",
            )
        raise self.unexpected(f"a resource section '{{-# … #-}}' that defines '{name}'", at)


def _array_element(text: str, dtype: DType) -> int | float:
    if dtype.is_bool:
        if text not in ("true", "false"):
            raise ValueError(text)
        return int(text == "true")
    if not _NUMBER.fullmatch(text) or len(text) > _MOST_DIGITS or dtype.is_complex:
        raise ValueError(text)
    if dtype.is_float:
        return float_of_bits(text, dtype) if "x" in text else float(text)
    return _wrapped(read_integer(text), dtype)


def _wrapped(value: int, dtype: DType) -> int:
    """Return the value of an integer type, which may be spelled as unsigned: 255 is -1 as an i8."""
    low, high = dtype.integer_bounds
    most = (1 << dtype.bits) - 1 if dtype is not DType.INDEX else high
    if not low <= value <= most:
        raise ValueError(str(value))
    return value if value <= high else value - most - 1
