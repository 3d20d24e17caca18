"""An op's pretty form: a template with directives in braces.

`" {operands}, dims = {i64s:permutation}{attr-dict} : {functional}"` is that of a transpose. Literal
text is read token by token and written as it stands. A directive reads itself, writes itself, and
says when it can be written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from shlo_disc.ir.attributes import (
    Attribute,
)
from shlo_disc.ir.core import Op
from shlo_disc.parse.body import BodyReader
from shlo_disc.parse.draft import Draft
from shlo_disc.parse.lexer import split_tokens
from shlo_disc.parse.spelling import (
    spell_dictionary,
)
from shlo_disc.parse.writer import BodyWriter

Read = Callable[[BodyReader, Draft], None]
Write = Callable[[BodyWriter, Op], str]


def always(_op: Op) -> bool:
    """Tell that a directive can write any op."""
    return True


@dataclass(frozen=True, slots=True)
class Directive:
    """One part of a form.

    `attributes` are those that it writes, with the kind that each must have; `optional` ones may be
    absent. `fits` may rely on the kinds of `attributes`.
    """

    read: Read
    write: Write
    attributes: Mapping[str, type[Attribute]] = field(default_factory=dict[str, type[Attribute]])
    optional: tuple[str, ...] = ()
    fits: Callable[[Op], bool] = always


@dataclass(frozen=True, slots=True)
class Form:
    """A whole template, compiled."""

    read: Read
    write: Write
    attributes: Mapping[str, type[Attribute]]
    fits: Callable[[Op], bool]


_DIRECTIVE = re.compile(r"\{([\w:-]+)\}")


def compile_form(template: str, find: Callable[[str], Directive]) -> Form:
    """Compile a template; `find` gives the directive of a name (`attr-dict` is known here)."""
    pieces = _DIRECTIVE.split(template)
    named = [find(piece) for piece in pieces[1::2] if piece != "attr-dict"]
    attributes = {name: kind for part in named for name, kind in part.attributes.items()}
    optional = {name for part in named for name in part.optional}
    rest = _attribute_dictionary(frozenset(attributes) | optional)
    waiting = iter(named)
    parts: list[Directive] = []
    for i, piece in enumerate(pieces):
        if i % 2:
            parts.append(rest if piece == "attr-dict" else next(waiting))
        elif piece:
            parts.append(_literal(piece))
    reads = tuple([part.read for part in parts])
    writes = tuple([part.write for part in parts])
    fits = tuple([part.fits for part in parts if part.fits is not always])

    def read(reader: BodyReader, draft: Draft) -> None:
        for part in reads:
            part(reader, draft)

    def write(writer: BodyWriter, op: Op) -> str:
        return "".join([part(writer, op) for part in writes])

    def all_fit(op: Op) -> bool:
        kinds_fit = all(type(op.attributes.get(name)) is kind for name, kind in attributes.items())
        return kinds_fit and all(part(op) for part in fits)

    return Form(read, write, attributes, all_fit)


def _literal(text: str) -> Directive:
    tokens = split_tokens(text)

    def read(reader: BodyReader, _draft: Draft) -> None:
        for token in tokens:
            if reader.tokens[reader.at] != token:
                raise reader.unexpected(f"'{token}'")
            reader.at += 1

    return Directive(read, lambda _writer, _op: text)


def _attribute_dictionary(written: frozenset[str]) -> Directive:
    """Everything that no other part of the form writes."""

    def read(reader: BodyReader, draft: Draft) -> None:
        at = reader.at
        if reader.tokens[at] != "{":
            return
        found = reader.dictionary()
        for name in found:
            if name in written:
                raise reader.unexpected(f"no '{name}' in the dictionary, as the op spells it", at)
        draft.attributes.update(found)

    def write(_writer: BodyWriter, op: Op) -> str:
        rest = {name: value for name, value in op.attributes.items() if name not in written}
        return f" {spell_dictionary(rest)}" if rest else ""

    return Directive(read, write)
