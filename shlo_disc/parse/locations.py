"""Read locations, and find the user's line in one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import assert_never

from shlo_disc.diagnostics import Source, one_line
from shlo_disc.ir.attributes import (
    AliasLocation,
    CallLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    UnknownLocation,
)
from shlo_disc.ir.spelling import spell_attribute
from shlo_disc.ir.strings import is_unicode, unescape
from shlo_disc.parse.attributes import AttributeReader

_PACKAGES = frozenset({"site-packages", "dist-packages"})


class LocationReader(AttributeReader):
    """Reads `loc(…)`; records each alias that is used, because it may be defined later."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._locations: dict[str, Location] = {}
        self.location_uses: dict[str, int] = {}

    def location(self) -> Location | None:
        """Read a trailing `loc(…)`, if there is one."""
        token = self.tokens[self.at]
        if not token.startswith("loc"):
            return None
        known = self._locations.get(token)
        if known is not None:
            self.at += 1
            return known
        if token.startswith("loc("):
            known = self._simple(token[4:-1])
            self._locations[token] = known
            self.at += 1
            return known
        if token != "loc":
            return None
        self.at += 1
        self.expect("(")
        found = self._nested()
        self.expect(")")
        return found

    def _simple(self, inside: str) -> Location:
        """Parse a location that is one token: `#x`, `unknown`, `"x"`, `"x"(#y)`."""
        if inside == "unknown":
            return UnknownLocation()
        if inside[0] == "#":
            return self.alias_use(inside[1:])
        name, _, rest = inside[1:].rpartition('"')
        if not is_unicode(name):
            raise self.unexpected("a name of Unicode characters")
        child = self.alias_use(rest[2:-1]) if rest else None
        return NameLocation(unescape(name), child)

    def alias_use(self, name: str) -> AliasLocation:
        """Record the use of an alias, which must be defined somewhere."""
        self.location_uses.setdefault(name, self.at)
        return AliasLocation(name)

    def _nested(self) -> Location:
        token = self.tokens[self.at]
        if token[:1] == "#":
            found = self.alias_use(token[1:])
            self.at += 1
            return found
        if token[:1] == '"':
            return self._named()
        self.at += 1
        match token:
            case "unknown":
                return UnknownLocation()
            case "callsite":
                return self._call()
            case "fused":
                return self._fused()
            case _:
                raise self.unexpected("a location", self.at - 1)

    def _named(self) -> Location:
        name = self.string()
        if self.accept("("):
            child = self._nested()
            self.expect(")")
            return NameLocation(name, child)
        if not self.accept(":"):
            return NameLocation(name, None)
        line = self.integer()
        self.expect(":")
        column = self.integer()
        range_text = ""
        if self.accept("to"):
            parts = [str(self.integer())] if self.tokens[self.at] != ":" else [""]
            if self.accept(":"):
                parts.append(str(self.integer()))
            range_text = f"to {':'.join(parts)}"
        return FileLocation(name, line, column, range_text)

    def _call(self) -> Location:
        self.expect("(")
        callee = self._nested()
        self.expect("at")
        caller = self._nested()
        self.expect(")")
        return CallLocation(callee, caller)

    def _fused(self) -> Location:
        metadata = ""
        if self.accept("<"):
            metadata = spell_attribute(self.attribute())  # not its text: an alias in it is not printed
            self.expect(">")
        return FusedLocation(tuple(self.enclosed("[", "]", self._nested)), metadata)


def user_location(location: Location | None, aliases: Mapping[str, Location]) -> str | None:
    """Return the user's `file:line` of a location, or None if it names no file: see `UserLines`."""
    return UserLines(aliases).of(location)


class UserLines:
    """Finds the user's lines of a module's locations.

    That is the innermost frame outside of installed packages: JAX leaves its own frames out already, but an op of a
    layer of Flax points into Flax, whereas the line that calls the layer is wanted. Where all frames are inside of
    packages, it is the innermost one.
    """

    def __init__(self, aliases: Mapping[str, Location]) -> None:
        self._aliases = aliases
        self._known = dict[str, str]()  # the user's line of aliases that lead to one: callers are shared by many ops

    def of(self, location: Location | None) -> str | None:
        """Return `file:line`, or None if the location names no file."""
        waiting = [] if location is None else [location]
        innermost, seen, callers = None, set[str](), list[str]()
        while waiting:
            place = waiting.pop()
            match place:
                case UnknownLocation():
                    pass
                case FileLocation(file, line):
                    found = f"{one_line(file)}:{line}"
                    if not _in_package(file):
                        self._known.update(dict.fromkeys(callers, found))
                        return found
                    innermost = innermost or found
                case NameLocation(_, child):
                    waiting += [] if child is None else [child]
                case CallLocation(callee, caller):
                    waiting += [caller, callee]
                case FusedLocation(members):
                    waiting += reversed(members)
                case AliasLocation(name):
                    if (line := self._known.get(name)) is not None:
                        self._known.update(dict.fromkeys(callers, line))
                        return line
                    if name in self._aliases and name not in seen:
                        seen.add(name)
                        callers += [] if waiting else [name]  # nothing else comes after it: what is found is its line
                        waiting.append(self._aliases[name])
                case _:
                    assert_never(place)
        return innermost


@lru_cache(maxsize=1024)
def _in_package(file: str) -> bool:
    return not _PACKAGES.isdisjoint(re.split(r"[/\\]", file))
