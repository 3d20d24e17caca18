"""Read a module: `parse_module`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shlo_disc.diagnostics import Note, ParseError, Source, UnsupportedOpError, VerifyError
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
from shlo_disc.ir.core import Block, Function, Module
from shlo_disc.ir.verify import verify_module
from shlo_disc.parse.body import BodyReader
from shlo_disc.parse.draft import Named
from shlo_disc.parse.printer import print_module
from shlo_disc.parse.spelling import spell_types
from shlo_disc.parse.syntax import FORMS

_RESOURCE = re.compile(r'([\w.-]+)\s*:\s*"0x([0-9A-Fa-f]{8,})"')

_NO_ATTRIBUTES: Mapping[str, Attribute] = {}


def parse_module(text: str, file: str = "<string>") -> Module:
    """Parse StableHLO text; `file` is the name that errors give it."""
    try:
        module = _ModuleReader(Source(file, text)).module()
    except RecursionError:
        source = Source(file, text)
        span = BodyReader(source, FORMS).span(0)
        raise ParseError("expected a program of moderate depth, found too many nested brackets", span) from None
    verify_module(module)
    return module


class _ModuleReader(BodyReader):
    def __init__(self, source: Source) -> None:
        super().__init__(source, FORMS)
        self._functions: dict[str, Function] = {}
        self._location_aliases: dict[str, Location] = {}

    def module(self) -> Module:
        """Read the whole text."""
        if "dense_resource<" in self.source.text:
            section = self.source.text.rfind("{-#")
            self.resources = {m[1]: "0x" + m[2] for m in _RESOURCE.finditer(self.source.text, max(section, 0))}
        self._alias_definitions()
        start = self.at
        if self.tokens[start] == "module":
            name, attributes, location = self._pretty_module()
        elif self.tokens[start] == '"builtin.module"':
            name, attributes, location = self._generic_module()
        else:
            name, attributes, location = None, _NO_ATTRIBUTES, None
            while self.tokens[self.at] in ("func.func", '"func.func"'):
                self._function()
            if not self._functions:
                raise self.unexpected("'module' or 'func.func'")
        self._alias_definitions()
        if self.tokens[self.at] != "{-#":
            self._expect_end()
        self._check_aliases()
        return Module(
            name,
            tuple(self._functions.values()),
            attributes,
            self.span(start),
            location,
            self._location_aliases,
            print_module,
        )

    def _expect_end(self) -> None:
        if self.tokens[self.at] == "module":
            raise UnsupportedOpError("several modules in one text are not supported", self.span())
        if self.tokens[self.at]:
            raise self.unexpected("the end of the text after the module")

    def _alias_definitions(self) -> None:
        while self.tokens[self.at][:1] in ("#", "!") and len(self.tokens[self.at]) > 1:
            at, token = self.at, self.tokens[self.at]
            if token[0] == "!":
                raise UnsupportedOpError("type aliases are not supported", self.span())
            self.at += 1
            self.expect("=")
            location = self.location()
            if location is not None:
                if token[1:] in self._location_aliases:
                    raise self.unexpected("an alias that is not defined yet", at)
                self._location_aliases[token[1:]] = location
            else:
                self.aliases[token[1:]] = self.attribute()

    def _check_aliases(self) -> None:
        for name, at in self.location_uses.items():
            if name not in self._location_aliases:
                raise ParseError(
                    f"expected a definition '#{name} = loc(…)', found none in the text",
                    self.span(at),
                )

    def _pretty_module(self) -> tuple[str | None, Mapping[str, Attribute], Location | None]:
        self.at += 1
        name = self.symbol() if self.tokens[self.at][:1] == "@" else None
        attributes = self.dictionary() if self.accept("attributes") else _NO_ATTRIBUTES
        self.expect("{")
        self._function_list()
        self.expect("}")
        return name, attributes, self.location()

    def _generic_module(self) -> tuple[str | None, Mapping[str, Attribute], Location | None]:
        at = self.at
        self.at += 1
        self.expect("(")
        self.expect(")")
        properties = self._properties()
        self.expect("(")
        self.expect("{")
        if self.tokens[self.at][:1] == "^":
            self.at += 1
            self.expect(":")
        self._function_list()
        self.expect("}")
        self.expect(")")
        properties.update(self._discardable())
        self._empty_type()
        name = self._take_string(properties, "sym_name", at)
        return name, properties, self.location()

    def _function_list(self) -> None:
        while self.tokens[self.at] != "}":
            self._function()

    # --- functions

    def _function(self) -> None:
        at = self.at
        token = self.tokens[at]
        if token == "func.func":
            function = self._pretty_function()
        elif token == '"func.func"':
            function = self._generic_function()
        elif token[:1] == '"' or token[:1].isalpha():
            raise UnsupportedOpError(f"op '{token.strip(chr(34))}' is not supported in a module", self.span())
        else:
            raise self.unexpected("'func.func'")
        if function.name in self._functions:
            note = Note("it is defined here", self._functions[function.name].span)
            raise ParseError(f"expected a new name, found '@{function.name}' again", function.span, notes=(note,))
        self._functions[function.name] = function

    def _pretty_function(self) -> Function:
        self.at += 1
        visibility = self.word("a visibility") if self.tokens[self.at] in ("public", "private", "nested") else None
        span = self.span()
        name = self.symbol()
        attribute_list: list[Mapping[str, Attribute]] = []
        arguments: list[Named] = self.enclosed("(", ")", lambda: self._function_argument(attribute_list))
        results, result_attributes = self._function_results() if self.accept("->") else ((), ())
        attributes = self.dictionary() if self.accept("attributes") else _NO_ATTRIBUTES
        if self.tokens[self.at] != "{":
            raise UnsupportedOpError(f"function '@{name}' without a body is not supported", span)
        body = self.region(arguments).block
        type_ = FunctionType(tuple([argument.type for argument in arguments]), results)
        location = self.location()
        return self._made_function(
            Function(
                name,
                type_,
                body,
                visibility,
                tuple(attribute_list),
                result_attributes,
                attributes,
                span,
                location,
            )
        )

    def _function_argument(self, attributes: list[Mapping[str, Attribute]]) -> Named:
        if self.tokens[self.at][:1] != "%" and not self.tokens[self.at].startswith(")"):
            if self.tokens[self.at].startswith(("tensor", "!", "tuple")):
                raise UnsupportedOpError("a function without a body is not supported", self.span())
            raise self.unexpected("a function argument such as '%arg0: tensor<4xf32>'")
        at = self.at
        name = self.value_name()
        self.expect(":")
        type_ = self.type()
        attributes.append(self.dictionary() if self.tokens[self.at] == "{" else _NO_ATTRIBUTES)
        return Named(name, at, type_, self.location())

    def _function_results(self) -> tuple[tuple[Type, ...], tuple[Mapping[str, Attribute], ...]]:
        if self.tokens[self.at] != "(":
            return (self.type(),), (_NO_ATTRIBUTES,)

        def result() -> tuple[Type, Mapping[str, Attribute]]:
            type_ = self.type()
            return type_, self.dictionary() if self.tokens[self.at] == "{" else _NO_ATTRIBUTES

        found = self.enclosed("(", ")", result)
        return tuple([type_ for type_, _ in found]), tuple([attributes for _, attributes in found])

    def _generic_function(self) -> Function:
        at = self.at
        self.at += 1
        self.expect("(")
        self.expect(")")
        properties = self._properties()
        self.expect("(")
        body: Block = self.region().block
        self.expect(")")
        properties.update(self._discardable())
        self._empty_type()
        location = self.location()
        type_ = properties.pop("function_type", None)
        if not isinstance(type_, TypeAttr) or not isinstance(type_.type, FunctionType):
            raise self.unexpected("a function type 'function_type' among the properties", at)
        name = self._take_string(properties, "sym_name", at)
        if name is None:
            raise self.unexpected("a string 'sym_name' among the properties", at)
        argument_attributes = self._take_dictionaries(properties, "arg_attrs", len(type_.type.inputs), at)
        result_attributes = self._take_dictionaries(properties, "res_attrs", len(type_.type.results), at)
        visibility = self._take_string(properties, "sym_visibility", at)
        return self._made_function(
            Function(
                name,
                type_.type,
                body,
                visibility,
                argument_attributes,
                result_attributes,
                properties,
                self.span(at),
                location,
            )
        )

    def _made_function(self, function: Function) -> Function:
        """Hold the function's type against its block arguments and what it returns."""
        arguments = tuple([argument.type for argument in function.body.arguments])
        if arguments != function.type.inputs:
            raise VerifyError(
                f"expected the arguments of '@{function.name}' to be "
                f"{spell_types(function.type.inputs)}, found {spell_types(arguments)}",
                function.span,
            )
        last = function.body.ops[-1]
        if last.name != "func.return":
            raise VerifyError(f"expected 'return' at the end of a function, found '{last.name}'", last.span)
        returned = tuple([operand.type for operand in last.operands])
        if returned != function.type.results:
            raise VerifyError(
                f"expected '@{function.name}' to return {spell_types(function.type.results)}, "
                f"found {spell_types(returned)}",
                last.span,
                notes=(Note("the result types are stated here", function.span),),
            )
        return function

    # --- generic form of modules and functions

    def _properties(self) -> dict[str, Attribute]:
        if not self.accept("<"):
            return {}
        found = self.dictionary()
        self.expect(">")
        return found

    def _discardable(self) -> dict[str, Attribute]:
        return self.dictionary() if self.tokens[self.at] == "{" else {}

    def _empty_type(self) -> None:
        self.expect(":")
        if self.function_type() != FunctionType((), ()):
            raise self.unexpected("the type '() -> ()'", self.at - 1)

    def _take_string(self, properties: dict[str, Attribute], name: str, at: int) -> str | None:
        found = properties.pop(name, None)
        if found is None:
            return None
        if not isinstance(found, StringAttr):
            raise self.unexpected(f"a string for '{name}'", at)
        return found.value

    def _take_dictionaries(
        self, properties: dict[str, Attribute], name: str, count: int, at: int
    ) -> tuple[Mapping[str, Attribute], ...]:
        found = properties.pop(name, None)
        if found is None:
            return (_NO_ATTRIBUTES,) * count
        if not isinstance(found, ArrayAttr) or len(found.items) != count:
            raise self.unexpected(f"a list of {count} dictionaries for '{name}'", at)
        taken: list[Mapping[str, Attribute]] = []
        for item in found.items:
            if not isinstance(item, DictAttr):
                raise self.unexpected(f"a list of dictionaries for '{name}'", at)
            taken.append(item.items)
        return tuple(taken)
