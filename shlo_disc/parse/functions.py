"""Read functions, with a body or without, in pretty and in generic form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from shlo_disc.diagnostics import Span
from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    FunctionType,
    Location,
    StringAttr,
    Type,
    TypeAttr,
)
from shlo_disc.ir.core import Block, Declaration, Function
from shlo_disc.parse.body import BodyReader
from shlo_disc.parse.draft import Named
from shlo_disc.records import record

_VISIBILITIES = ("public", "private", "nested")

NO_ATTRIBUTES: Mapping[str, Attribute] = {}

_Dictionaries = tuple[Mapping[str, Attribute], ...]
_T = TypeVar("_T")


@record
class _Header:
    """The header of a function, before its body."""

    name: str
    type: FunctionType
    visibility: str | None
    argument_attributes: _Dictionaries
    result_attributes: _Dictionaries
    attributes: Mapping[str, Attribute]
    span: Span


class FunctionReader(BodyReader):
    """Reads the functions of a module."""

    def function(self) -> Function | Declaration:
        """Read a `func.func` in either form."""
        if self.tokens[self.at] == '"func.func"':
            return self._generic_function()
        return self._pretty_function()

    # --- pretty form

    def _pretty_function(self) -> Function | Declaration:
        self.at += 1
        visibility = self.word("a visibility") if self.tokens[self.at] in _VISIBILITIES else None
        span = self.span()
        name = self.symbol()
        at = self.at
        arguments = self.enclosed("(", ")", self._function_argument)
        named = [argument for argument, _ in arguments if argument.name]
        if named and len(named) < len(arguments):
            raise self.unexpected("names for all arguments or for none", at)
        results = self._function_results()
        attributes = self.dictionary() if self.accept("attributes") else NO_ATTRIBUTES
        type_ = FunctionType(
            tuple([argument.type for argument, _ in arguments]),
            tuple([result for result, _ in results]),
        )
        header = _Header(
            name,
            type_,
            visibility,
            tuple([own for _, own in arguments]),
            tuple([own for _, own in results]),
            attributes,
            span,
        )
        if self.tokens[self.at] != "{":
            return _declaration(header, self.location())
        if len(named) < len(arguments):
            raise self.unexpected("names for the arguments of a function that has a body", at)
        body = self.region(named).block
        return _function(header, body, self.location())

    def _function_argument(self) -> tuple[Named, Mapping[str, Attribute]]:
        """Read `%arg0: T {…} loc(…)`; a declaration may leave the name out."""
        at = self.at
        name = ""
        if self.tokens[at][:1] == "%":
            name = self.value_name()
            self.expect(":")
        type_ = self.type()
        attributes = self.dictionary() if self.tokens[self.at] == "{" else NO_ATTRIBUTES
        return Named(name, at, type_, self.location()), attributes

    def _function_results(self) -> Sequence[tuple[Type, Mapping[str, Attribute]]]:
        if not self.accept("->"):
            return []
        if self.tokens[self.at] != "(":
            return [(self.type(), NO_ATTRIBUTES)]

        def result() -> tuple[Type, Mapping[str, Attribute]]:
            type_ = self.type()
            return type_, self.dictionary() if self.tokens[self.at] == "{" else NO_ATTRIBUTES

        return self.enclosed("(", ")", result)

    # --- generic form

    def _generic_function(self) -> Function | Declaration:
        at = self.at
        properties, body = self.generic_frame(self._function_region)
        location = self.location()
        type_ = properties.pop("function_type", None)
        if not isinstance(type_, TypeAttr) or not isinstance(type_.type, FunctionType):
            raise self.unexpected("a function type 'function_type' among the properties", at)
        name = self.take_string(properties, "sym_name", at)
        if name is None:
            raise self.unexpected("a string 'sym_name' among the properties", at)
        visibility = self.take_string(properties, "sym_visibility", at)
        if visibility not in (None, *_VISIBILITIES):
            raise self.unexpected(f"one of {', '.join(_VISIBILITIES)} as 'sym_visibility', not '{visibility}'", at)
        header = _Header(
            name,
            type_.type,
            visibility,
            self._take_dictionaries(properties, "arg_attrs", len(type_.type.inputs), at),
            self._take_dictionaries(properties, "res_attrs", len(type_.type.results), at),
            properties,
            self.span(at),
        )
        return _declaration(header, location) if body is None else _function(header, body, location)

    def _function_region(self) -> Block | None:
        """Read the body; that of a declaration is empty."""
        if self.tokens[self.at : self.at + 2] == ["{", "}"]:
            self.at += 2
            return None
        return self.region().block

    def generic_frame(self, region: Callable[[], _T]) -> tuple[dict[str, Attribute], _T]:
        """Read `"…"() <{…}> ({…}) {…} : () -> ()`, the generic form of functions and modules."""
        self.at += 1
        self.expect("(")
        self.expect(")")
        properties: dict[str, Attribute] = {}
        if self.accept("<"):
            properties.update(self.dictionary())
            self.expect(">")
        self.expect("(")
        found = region()
        self.expect(")")
        if self.tokens[self.at] == "{":
            properties.update(self.dictionary())
        self.expect(":")
        if self.function_type() != FunctionType((), ()):
            raise self.unexpected("the type '() -> ()'", self.at - 1)
        return properties, found

    def take_string(self, properties: dict[str, Attribute], name: str, at: int) -> str | None:
        """Take a string out of the properties, if it is there."""
        found = properties.pop(name, None)
        if found is None:
            return None
        if not isinstance(found, StringAttr):
            raise self.unexpected(f"a string for '{name}'", at)
        return found.value

    def _take_dictionaries(self, properties: dict[str, Attribute], name: str, count: int, at: int) -> _Dictionaries:
        found = properties.pop(name, None)
        if found is None:
            return (NO_ATTRIBUTES,) * count
        if not isinstance(found, ArrayAttr) or len(found.items) != count:
            raise self.unexpected(f"a list of {count} dictionaries for '{name}'", at)
        taken: list[Mapping[str, Attribute]] = []
        for item in found.items:
            if not isinstance(item, DictAttr):
                raise self.unexpected(f"a list of dictionaries for '{name}'", at)
            taken.append(item.items)
        return tuple(taken)


def _declaration(header: _Header, location: Location | None) -> Declaration:
    return Declaration(
        header.name,
        header.type,
        header.visibility,
        header.argument_attributes,
        header.result_attributes,
        header.attributes,
        header.span,
        location,
    )


def _function(header: _Header, body: Block, location: Location | None) -> Function:
    return Function(
        header.name,
        header.type,
        body,
        header.visibility,
        header.argument_attributes,
        header.result_attributes,
        header.attributes,
        header.span,
        location,
    )
