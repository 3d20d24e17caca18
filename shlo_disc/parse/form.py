"""An op's pretty form: a template with directives in braces.

`" {operands}, dims = {i64s:permutation}{attr-dict} : {functional}"` is that of a transpose. Literal text is read token
by token and written as it is. A directive has functions that read it, write it, and decide whether it can be written.
A part between `(?` and `)` is optional; it is written if the op has the attribute in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from shlo_disc.ir.attributes import Attribute
from shlo_disc.ir.core import Op
from shlo_disc.ir.spelling import spell_dictionary
from shlo_disc.parse.body import BodyReader
from shlo_disc.parse.draft import OpDraft
from shlo_disc.parse.lexer import split_tokens
from shlo_disc.parse.writer import BodyWriter
from shlo_disc.records import record

Read = Callable[[BodyReader, OpDraft], None]
Write = Callable[[BodyWriter, Op], str]


def always(_op: Op) -> bool:
    """Return True: the directive can write any op."""
    return True


@record
class Directive:
    """One part of a form.

    `attributes` are those that it writes, with the kind that each must have; `optional` ones may be absent. `fits` may
    rely on the kinds of `attributes`, `locates` on `fits`: it is whether there is a place for all locations.
    """

    read: Read
    write: Write
    attributes: Mapping[str, type[Attribute]] = field(default_factory=dict[str, type[Attribute]])
    optional: tuple[str, ...] = ()
    fits: Callable[[Op], bool] = always
    locates: Callable[[Op], bool] = always

    def can_write(self, op: Op) -> bool:
        """Whether the directive can express its part of the op."""
        kinds_fit = all(type(op.attributes.get(name)) is kind for name, kind in self.attributes.items())
        return kinds_fit and self.fits(op)


@record
class Form:
    """A whole template, compiled; `attributes` are those that it names."""

    read: Read
    write: Write
    attributes: frozenset[str]
    fits: Callable[[Op], bool]
    locates: Callable[[Op], bool]


_PIECE = re.compile(r"\(\?(?P<group>[^()]*)\)|\{(?P<directive>[\w:-]+)\}|(?P<literal>(?:(?!\(\?|\{[\w:-]+\}).)+)")

_Find = Callable[[str], Directive]


def compile_form(template: str, find: _Find) -> Form:
    """Compile a template; `find` gives the directive of a name (`attr-dict` is built in)."""
    pieces = list(_PIECE.finditer(template))
    parts = [None if piece["directive"] == "attr-dict" else _part(piece, find) for piece in pieces]
    required = {name for part in parts if part is not None for name in part.attributes}
    optional = {name for part in parts if part is not None for name in part.optional}
    rest = _attribute_dictionary(frozenset(required), frozenset(required | optional))
    whole = _sequence([rest if part is None else part for part in parts])
    return Form(whole.read, whole.write, frozenset(required | optional), whole.can_write, whole.locates)


def _part(piece: re.Match[str], find: _Find) -> Directive:
    if piece["directive"]:
        return find(piece["directive"])
    return _group(piece["group"], find) if piece["group"] else _literal(piece["literal"])


def _sequence(parts: Sequence[Directive]) -> Directive:
    reads = tuple([part.read for part in parts])
    writes = tuple([part.write for part in parts])
    conditions = tuple([part.fits for part in parts if part.fits is not always])
    (locates,) = {part.locates for part in parts} - {always} or {always}

    def read(reader: BodyReader, draft: OpDraft) -> None:
        for part in reads:
            part(reader, draft)

    def write(writer: BodyWriter, op: Op) -> str:
        return "".join([part(writer, op) for part in writes])

    return Directive(
        read,
        write,
        {name: kind for part in parts for name, kind in part.attributes.items()},
        tuple([name for part in parts for name in part.optional]),
        lambda op: all(condition(op) for condition in conditions),
        locates,
    )


def _group(template: str, find: _Find) -> Directive:
    """A part that is present only if its attribute is, recognized by its first tokens."""
    pieces = list(_PIECE.finditer(template))
    start = list(split_tokens(pieces[0]["literal"]))
    inner = _sequence([_part(piece, find) for piece in pieces])
    (name,) = inner.attributes

    def read(reader: BodyReader, draft: OpDraft) -> None:
        if reader.tokens[reader.at : reader.at + len(start)] == start:
            inner.read(reader, draft)

    def write(writer: BodyWriter, op: Op) -> str:
        return inner.write(writer, op) if name in op.attributes else ""

    return Directive(
        read,
        write,
        optional=(name,),
        fits=lambda op: name not in op.attributes or inner.can_write(op),
    )


def _literal(text: str) -> Directive:
    tokens = split_tokens(text)

    def read(reader: BodyReader, _draft: OpDraft) -> None:
        for token in tokens:
            if reader.tokens[reader.at] != token:
                raise reader.unexpected(f"'{token}'")
            reader.at += 1

    return Directive(read, lambda _writer, _op: text)


def _attribute_dictionary(required: frozenset[str], written: frozenset[str]) -> Directive:
    """Everything that no other part of the form writes."""

    def read(reader: BodyReader, draft: OpDraft) -> None:
        at = reader.at
        if reader.tokens[at] != "{":
            return
        found = reader.dictionary()
        for name in found:
            if name in required or name in draft.attributes:
                raise reader.unexpected(f"no '{name}' in the dictionary, as the op spells it", at)
        draft.attributes.update(found)

    def write(_writer: BodyWriter, op: Op) -> str:
        rest = {name: value for name, value in op.attributes.items() if name not in written}
        return f" {spell_dictionary(rest)}" if rest else ""

    return Directive(read, write)
