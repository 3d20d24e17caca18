"""Read modules: `parse_module`, `parse_modules`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from shlo_disc.diagnostics import CompileError, ParseError, Source, UnsupportedOpError
from shlo_disc.ir.attributes import Attribute, Location
from shlo_disc.ir.core import Declaration, Function, Module, Op
from shlo_disc.ir.depth import with_room
from shlo_disc.ir.spelling import spell_type
from shlo_disc.ir.verify import TERMINATORS, verify_module
from shlo_disc.parse.functions import NO_ATTRIBUTES, FunctionReader
from shlo_disc.parse.origins import naming_origins, read_origin
from shlo_disc.parse.printer import print_module
from shlo_disc.parse.syntax import FORMS
from shlo_disc.parse.tokens import RESOURCES
from shlo_disc.records import record

_MARKER = re.compile(r"^// -----", re.MULTILINE)  # MLIR's own mark between the modules of a file

_Content = Function | Declaration | Op


def parse_module(text: str, file: str = "<string>") -> Module:
    """Parse StableHLO text that holds one module.

    Args:
        text: StableHLO in its pretty or generic form, with or without `module { ... }`.
        file: the name that errors give the text.

    Returns:
        The module, whose ops and types are as they were written.

    Raises:
        ParseError: with line and column, what was found and what was expected.
        UnsupportedOpError: there are several modules.
    """
    module, *others = parse_modules(text, file)
    if others:
        raise UnsupportedOpError(
            f"expected one module, found {1 + len(others)}",
            others[0].span,
            hint="`parse_modules` reads them all",
        )
    return module


@with_room
def parse_modules(text: str, file: str = "<string>") -> tuple[Module, ...]:
    """Parse StableHLO text that holds modules, one behind another or with lines `// -----` between them."""
    source = Source(file, text)
    try:
        modules = _ModuleReader(source, FORMS).modules()
    except CompileError as error:
        error.origin = error.origin or read_origin(error.span)
        raise
    for module in modules:
        with naming_origins(module):
            verify_module(module, spell_type)
    return modules


@record
class _ModuleFrame:
    """A module without the aliases that follow it."""

    name: str | None
    contents: Sequence[_Content]
    attributes: Mapping[str, Attribute]
    location: Location | None
    start: int


class _ModuleReader(FunctionReader):
    _location_aliases: dict[str, Location]

    def modules(self) -> tuple[Module, ...]:
        """Read the whole text."""
        text, modules = self.source.text, list[Module]()
        marks = _MARKER.finditer(text) if "// -----" in text else ()
        ends = [*[self.token_at(mark.start()) for mark in marks], len(self.tokens) - 1]
        for end in ends:
            if self.at < end:
                modules.extend(self._chunk(end, ends))
        if not modules:
            raise self.unexpected("'module' or 'func.func'")
        return tuple(modules)

    def _chunk(self, end: int, ends: Sequence[int]) -> list[Module]:
        """Read what begins before token `end`: modules and aliases, or else the contents of one module.

        A mark inside of a module is a comment; so the chunk extends to the next of the `ends`.
        """
        self._forget_aliases()
        start = self.at
        frames: list[_ModuleFrame] = []
        contents: list[_Content] = []
        resources = ""
        while self.at < (end := max(end, ends[bisect_left(ends, self.at)])):
            token = self.tokens[self.at]
            if token == RESOURCES:
                resources = self.text_between(self.at, self.at)
                self.at += 1
            elif token[0] in "#!" and len(token) > 1:
                self._alias_definition()
            elif contents or token not in ("module", "builtin.module", '"builtin.module"'):
                contents.append(self._content())
            else:
                frames.append(self._generic_module() if token[0] == '"' else self._pretty_module())
        self._check_aliases()
        if contents and frames:
            raise ParseError("expected the end of the text after the module, found more", contents[0].span)
        if contents:
            frames.append(_ModuleFrame(None, contents, NO_ATTRIBUTES, None, start))
        return [self._module(frame, resources) for frame in frames]

    def _module(self, frame: _ModuleFrame, resources: str) -> Module:
        return Module(
            frame.name,
            tuple(frame.contents),
            frame.attributes,
            self.span(frame.start),
            frame.location,
            self._location_aliases,
            print_module,
            resources,
        )

    # --- aliases

    def _forget_aliases(self) -> None:
        """Start a new scope of aliases, which are valid between two marks."""
        self._location_aliases = {}
        self._locations.clear()
        self.location_uses.clear()
        self.aliases.clear()
        self.alias_sizes.clear()
        self._types.clear()

    def _alias_definition(self) -> None:
        at, token = self.at, self.tokens[self.at]
        if token in self._types or token[1:] in self.aliases or token[1:] in self._location_aliases:
            raise self.unexpected("an alias that is not defined yet", at)
        self.at += 1
        self.expect("=")
        if (location := self.location()) is not None:
            self._location_aliases[token[1:]] = location
            return
        if token[0] == "!":
            self._types[token] = self.type()
        else:
            self.aliases[token[1:]] = self.attribute()
        self.limit_alias(token, at + 2)

    def _check_aliases(self) -> None:
        for name, at in self.location_uses.items():
            if name not in self._location_aliases:
                raise ParseError(
                    f"expected a definition '#{name} = loc(…)', found none in the text",
                    self.span(at),
                )

    # --- modules

    def _pretty_module(self) -> _ModuleFrame:
        start = self.at
        self.at += 1
        name = self.symbol() if self.tokens[self.at][:1] == "@" else None
        attributes = self.dictionary() if self.accept("attributes") else NO_ATTRIBUTES
        contents = self._module_body()
        return _ModuleFrame(name, contents, attributes, self.location(), start)

    def _generic_module(self) -> _ModuleFrame:
        start = self.at
        properties, contents = self.generic_frame(self._module_body)
        name = self.take_string(properties, "sym_name", start)
        return _ModuleFrame(name, contents, properties, self.location(), start)

    def _module_body(self) -> list[_Content]:
        """Read `{ functions and other ops }`."""
        self.expect("{")
        if self.tokens[self.at][:1] == "^":
            self.at += 1
            self.expect(":")
        contents: list[_Content] = []
        while not self.accept("}"):
            contents.append(self._content())
        return contents

    def _content(self) -> _Content:
        token = self.tokens[self.at]
        if token in ("func.func", '"func.func"'):
            return self.function()
        if token[:1] != '"' and not token[:1].isalpha():
            raise self.unexpected("'func.func'")
        op = self.op()
        if op.results or op.name in TERMINATORS:
            raise UnsupportedOpError(f"op '{op.name}' is not supported outside a function", op.span)
        return op
