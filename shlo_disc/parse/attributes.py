"""Read attributes."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property

from shlo_disc.diagnostics import Source
from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    BoundsAttr,
    ConvDimensionsAttr,
    DictAttr,
    EnumAttr,
    Location,
    LocationAttr,
    OpaqueAttr,
    RecordAttr,
    StringAttr,
    SymbolAttr,
    TypeAttr,
    UnitAttr,
)
from shlo_disc.limits import MOST_NESTED
from shlo_disc.parse.constants import ConstantReader
from shlo_disc.parse.raw_dimensions import LISTS, NUMBERS, place_letters
from shlo_disc.parse.records import FIELDS
from shlo_disc.parse.tokens import DEPTH
from shlo_disc.parse.types import is_element

_WORD = re.compile(r"[A-Za-z]\w*", re.ASCII)
_MOST_ADDED = 10_000  # by how many tokens the aliases in a definition may enlarge an alias
_OURS = frozenset({"stablehlo", "chlo", "mhlo"})  # dialects whose attributes are parsed
_TYPES = frozenset({"tensor", "tuple", "memref", "vector", "complex"})
_TEXTS = frozenset({"affine_map", "affine_set", "strided", "sparse", "opaque", "distinct"})

ENUMS: Mapping[str, tuple[str, ...]] = {
    "comparison_direction": ("EQ", "NE", "GE", "GT", "LE", "LT"),
    "comparison_type": ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", "NOTYPE"),
    "fft_type": ("FFT", "IFFT", "RFFT", "IRFFT"),
    "precision": ("DEFAULT", "HIGH", "HIGHEST"),
    "rng_algorithm": ("DEFAULT", "THREE_FRY", "PHILOX"),
    "rng_distribution": ("UNIFORM", "NORMAL"),
    "transpose": ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"),
}


class AttributeReader(ConstantReader, ABC):
    """Reads attributes; equal numbers and strings are read once."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._short: dict[tuple[str, str], Attribute] = {}  # by the token, and the type that follows it
        self.aliases: dict[str, Attribute] = {}
        self.alias_sizes: dict[str, tuple[int, int]] = {}  # how many tokens one stands for, how deeply nested

    @abstractmethod
    def location(self) -> Location | None:
        """Read a `loc(…)`, if there is one."""

    @abstractmethod
    def alias_use(self, name: str) -> Location:
        """Return the location that an alias stands for, which must be defined somewhere."""

    # --- attributes

    def attribute(self) -> Attribute:
        """Read one attribute value."""
        token = self.tokens[self.at]
        first = token[:1]
        if first == "#":
            return self._dialect_attribute(token)
        if first in "[{(!" or first.isalpha():
            return self._nested_attribute(token)
        is_typed = self.tokens[self.at + 1] == ":"
        key = (token, self.tokens[self.at + 2] if is_typed else "")
        known = self._short.get(key)
        if known is None:
            return self._short_attribute(token, key)
        self.at += 3 if is_typed else 1
        return known

    def _short_attribute(self, token: str, key: tuple[str, str]) -> Attribute:
        """Read an attribute of one token, and the type that may follow it."""
        at = self.at
        if token[0] == '"':
            found: Attribute = StringAttr(self.string())
        elif token[0] == "@":
            found = self.symbol_attribute()
        elif token[0].isdigit() or (token[0] == "-" and token[1:2].isdigit()):
            found = self.typed_number(token)
        else:
            raise self.unexpected("an attribute")
        if self.at == at + (3 if key[1] else 1):
            self._short[key] = found
        return found

    def _nested_attribute(self, token: str) -> Attribute:
        match token:
            case "[":
                return ArrayAttr(tuple(self.enclosed("[", "]", self.attribute)))
            case "{":
                return DictAttr(self.dictionary())
            case "true" | "false":
                self.at += 1
                return BoolAttr(token == "true")
            case "unit":
                self.at += 1
                return UnitAttr()
            case _ if token.startswith(("dense<", "dense_resource<")):
                return self.dense_attribute()
            case _ if token.startswith("array<"):
                return self.dense_array(token)
            case _ if token in _TEXTS:
                return self._text_attribute()
            case _ if (place := self.location()) is not None:
                return LocationAttr(place)
            case _ if token[:1] in ("(", "!") or token.startswith("tensor<") or token in _TYPES or is_element(token):
                return TypeAttr(self.type())
            case _:
                raise self.unexpected("an attribute")

    def _text_attribute(self) -> OpaqueAttr:
        """Keep the text of an MLIR attribute that StableHLO does not use: `affine_map<…>`, `distinct[0]<…>`."""
        first = self.at
        self.at += 1
        if self.tokens[first] == "distinct":
            self.skip_brackets("[")
        self.skip_brackets("<")
        if self.tokens[first] == "sparse":
            self.expect(":")
            self.type()
        return OpaqueAttr(self.text_between(first, self.at - 1))

    def symbol_attribute(self) -> SymbolAttr:
        """Read `@name`, or `@name::@inner`."""
        name = self.symbol()
        inner: list[str] = []
        while self.accept("::"):
            inner.append(self.symbol())
        return SymbolAttr(name, tuple(inner))

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
        has_body = self.tokens[self.at + 1] == "<"
        if not name and not has_body:
            return self._alias(token)
        if dialect not in _OURS or not has_body:
            return OpaqueAttr(self.balanced())
        self.at += 1
        match name:
            case "":
                return self._enum(dialect)
            case "conv":
                self.expect("<")
                dimensions = self.conv_dimensions()
                self.expect(">")
                return dimensions
            case "bounds":
                return BoundsAttr(tuple(self.enclosed("<", ">", self._bound)))
            case "type_extensions":
                return self._type_extensions()
            case _:
                return RecordAttr(dialect, name, self.record_fields(dialect, name))

    def _enum(self, dialect: str) -> EnumAttr:
        self.expect("<")
        family = self.word("the name of an enumeration")
        value = self.word(f"a value of '{family}'")
        if family in ENUMS and value not in ENUMS[family]:
            raise self.unexpected(f"one of {', '.join(ENUMS[family])}", self.at - 1)
        self.expect(">")
        return EnumAttr(dialect, family, value)

    def _bound(self) -> int | None:
        return None if self.accept("?") else self.integer()

    def _type_extensions(self) -> BoundsAttr:
        """Read `<bounds = [4, ?]>`, the older spelling of bounds."""
        self.expect("<")
        self.expect("bounds")
        self.expect("=")
        sizes = tuple(self.enclosed("[", "]", self._bound))
        self.expect(">")
        return BoundsAttr(sizes)

    def _alias(self, token: str) -> Attribute:
        found = self.aliases.get(token[1:])
        if found is None:
            if token not in self._location_names:
                raise self.unexpected("an attribute alias that is defined above")
            found = LocationAttr(self.alias_use(token[1:]))
        self.at += 1
        return found

    @cached_property
    def _location_names(self) -> frozenset[str]:
        """The aliases of locations: they may be used before they are defined."""
        tokens = self.tokens
        starts = [at for at, token in enumerate(tokens) if token == "=" and tokens[at + 1].startswith("loc")]
        return frozenset([tokens[at - 1] for at in starts])

    def limit_alias(self, name: str, first: int) -> None:
        """Refuse an alias that other aliases make too large or too deep; it is defined from token `first` on."""
        size = height = depth = 0
        for token in self.tokens[first : self.at]:
            depth += DEPTH.get(token, 0)
            inner, levels = self.alias_sizes.get(token, (1, 0))
            size += inner
            height = max(height, depth + levels)
        if height > MOST_NESTED or size > self.at - first + _MOST_ADDED:
            raise self.unexpected(
                f"an alias that stands for at most {MOST_NESTED} nested brackets and {_MOST_ADDED} tokens more",
                first - 2,
            )
        self.alias_sizes[name] = (size, height)

    def record_fields(self, dialect: str, record: str) -> dict[str, Attribute]:
        """Read `<name = value, flag, …>`, which follows the name of a record."""
        known = FIELDS.get(record)
        fields: dict[str, Attribute] = {}
        self.expect("<")
        while not self.accept(">"):
            if fields:
                self.expect(",")
                if self.accept(">"):  # as older texts end
                    break
            at = self.at
            name = self.word("the name of a field or '>'")
            if name in fields:
                raise self.unexpected(f"a field other than '{name}', which occurs already", at)
            if known is not None and name not in known:
                raise self.unexpected(f"one of {', '.join(known)}", at)
            fields[name] = self._field(dialect, name) if self.accept("=") else UnitAttr()
        return fields

    def _field(self, dialect: str, name: str) -> Attribute:
        token = self.tokens[self.at]
        is_word = _WORD.fullmatch(token) and token not in ("true", "false")
        if is_word and self.tokens[self.at + 1] in (",", ">"):
            self.at += 1  # `lhs_precision_type = tf32`
            return EnumAttr(dialect, name, token)
        if token == "(":  # `sub_axis_info = (1)2`
            first = self.at
            self.skip_brackets("(")
            self.integer()
            return OpaqueAttr(self.text_between(first, self.at - 1))
        return self.attribute()

    def conv_dimensions(self) -> ConvDimensionsAttr:
        """Read `[b, 0, f]x[0, i, o]->[b, 0, f]`, or the long spelling."""
        if self.accept("raw"):
            return self._raw_conv_dimensions()
        side = self._conv_dimension
        lhs = self.enclosed("[", "]", side)
        self.expect("x")
        rhs = self.enclosed("[", "]", side)
        self.expect("->")
        return ConvDimensionsAttr(tuple(lhs), tuple(rhs), tuple(self.enclosed("[", "]", side)))

    def _raw_conv_dimensions(self) -> ConvDimensionsAttr:
        start = self.at - 1
        fields: dict[str, tuple[int, ...]] = {}
        while self.tokens[self.at] != ">":
            if fields:
                self.expect(",")
            at = self.at
            name = self.word("the name of a field or '>'")
            if name in fields or name not in NUMBERS | LISTS:
                raise self.unexpected(f"one of {', '.join(sorted(NUMBERS | LISTS))}, each at most once", at)
            self.expect("=")
            fields[name] = self.integers() if name in LISTS else (self.integer(),)
        found = place_letters(fields)
        if found is None:
            raise self.unexpected("each dimension of a tensor once, from 0 on", start)
        return found

    def _conv_dimension(self) -> str | int:
        token = self.tokens[self.at]
        if token in ("b", "f", "i", "o", "?"):
            self.at += 1
            return token
        if not token.isdigit():
            raise self.unexpected("'b', 'f', 'i', 'o' or the number of a spatial dimension")
        return self.integer()
