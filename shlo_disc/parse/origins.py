"""Find the line of the user's program that an op came from."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager

from shlo_disc.diagnostics import CompileError, Source, Span
from shlo_disc.ir.attributes import ArrayAttr, Location, SymbolAttr
from shlo_disc.ir.core import Function, Module, Op
from shlo_disc.parse.locations import LocationReader, UserLines, user_location

_Calls = dict[str, list[tuple[str, Op]]]  # by the name of a function: the ops that name it, and where they are


@contextmanager
def naming_origins(module: Module) -> Generator[None]:
    """Add the user's line to errors that pass through."""
    try:
        yield
    except CompileError as error:
        if not error.origin:
            error.origin = find_origins(module, [error.span]).get(error.span, "")
        raise


def find_origins(module: Module, spans: Collection[Span]) -> Mapping[Span, str]:
    """Return the user's line for every span of an op or a value that has one: `model.py:17`.

    An op without a line of its own, as in the functions that JAX makes for `cholesky` and the like, has that of the
    call: `model.py:17 (calls @cholesky)`.
    """
    wanted, found, unplaced = set(spans), dict[Span, str](), list[tuple[Span, str]]()
    lines = UserLines(module.location_aliases)
    for function in module.functions.values():
        for span, location in _places(function):
            if span not in wanted:
                continue
            if line := lines.of(location):
                found[span] = line
            else:
                unplaced.append((span, function.name))
    calls = _calls(module) if unplaced else _Calls()
    for span, name in unplaced:
        if span not in found and (line := _line_of_call(module, calls, name)):
            found[span] = line
    return found


def read_origin(span: Span) -> str:
    """Return the user's line for a place in a text that does not parse, from the `loc(…)` at the end of its line."""
    text = span.source.text
    end = text.find("\n", span.start)
    line = text[span.start : end if end >= 0 else len(text)]
    if (at := line.rfind(" loc(")) < 0:
        return ""
    texts = {match[1]: match[2] for match in _ALIAS.finditer(text)}
    aliases, waiting = dict[str, Location](), _USE.findall(line[at:])
    while waiting:
        name = waiting.pop()
        definition = texts.pop(name, "")
        if (location := _read_location(definition)) is not None:
            aliases[name] = location
            waiting += _USE.findall(definition)
    return user_location(_read_location(line[at:]), aliases) or ""


_ALIAS = re.compile(r"^#(\w+) = (loc\(.*\))$", re.MULTILINE)
_USE = re.compile(r"#(\w+)")


def _read_location(text: str) -> Location | None:
    try:
        return LocationReader(Source("<location>", text)).location()
    except CompileError:
        return None


def _places(function: Function) -> Iterator[tuple[Span, Location | None]]:
    yield function.span, function.location
    for value in function.body.arguments:
        yield value.span, value.location
    for op in function.walk():
        yield op.span, op.location
        for result in op.results:
            yield result.span, op.location


def _calls(module: Module) -> _Calls:
    found = _Calls()
    for function in module.functions.values():
        for op in function.walk():
            for attribute in op.attributes.values():
                for symbol in attribute.items if isinstance(attribute, ArrayAttr) else (attribute,):
                    if isinstance(symbol, SymbolAttr):
                        found.setdefault(symbol.name, []).append((function.name, op))
    return found


def _line_of_call(module: Module, calls: _Calls, name: str) -> str:
    waiting, seen = [name], {name}
    while waiting:
        called = waiting.pop()
        for caller, op in calls.get(called, ()):
            if line := user_location(op.location, module.location_aliases):
                return f"{line} (calls @{called})"
            if caller not in seen:
                seen.add(caller)
                waiting.append(caller)
    return ""
