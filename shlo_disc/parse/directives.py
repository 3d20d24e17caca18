"""The parts of an op's pretty form. Each part reads itself, writes itself, and says when it can be written.

A form is a template: literal text with directives in braces, `" {operands}, dims = [{i64s:permutation}]{attr-dict} : {functional}"`.
Literal text is read token by token and written as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shlo_disc.expr.dtypes import DType
from shlo_disc.ir.attributes import (
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DenseAttr,
    EnumAttr,
    IntegerAttr,
    StringAttr,
    SymbolAttr,
    TensorType,
    TupleType,
    Type,
)
from shlo_disc.ir.core import Op
from shlo_disc.parse.attributes import ENUMS
from shlo_disc.parse.body import BodyReader, Draft
from shlo_disc.parse.lexer import split_tokens
from shlo_disc.parse.spelling import (
    spell_attribute,
    spell_dictionary,
    spell_results,
    spell_symbol,
    spell_type,
)
from shlo_disc.parse.writer import BodyWriter, operand_names, signature

Read = Callable[[BodyReader, Draft], None]
Write = Callable[[BodyWriter, Op], str]


def _always(_op: Op) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Directive:
    """One part of a form.

    `attributes` are those that it writes, with the kind that each must have; `optional` ones may be absent.
    """

    read: Read
    write: Write
    attributes: Mapping[str, type[Attribute]] = field(default_factory=dict[str, type[Attribute]])
    optional: tuple[str, ...] = ()
    fits: Callable[[Op], bool] = _always


@dataclass(frozen=True, slots=True)
class Form:
    """A whole template, compiled."""

    read: Read
    write: Write
    attributes: Mapping[str, type[Attribute]]
    fits: Callable[[Op], bool]


_PART = re.compile(r"\{([\w:-]+)\}")


def compile_form(template: str, extra: Mapping[str, Directive]) -> Form:
    """Compile a template; `extra` holds the directives that belong to single ops."""
    pieces = _PART.split(template)
    parts: list[Directive] = []
    for i, piece in enumerate(pieces):
        if i % 2 == 0:
            if piece:
                parts.append(_literal(piece))
        elif piece in extra:
            parts.append(extra[piece])
        elif piece == "attr-dict":
            parts.append(_attribute_dictionary(pieces, extra))
        else:
            parts.append(_directive(piece))
    reads = tuple([part.read for part in parts])
    writes = tuple([part.write for part in parts])
    fits = tuple([part.fits for part in parts if part.fits is not _always])
    attributes = {name: kind for part in parts for name, kind in part.attributes.items()}

    def read(reader: BodyReader, draft: Draft) -> None:
        for part in reads:
            part(reader, draft)

    def write(writer: BodyWriter, op: Op) -> str:
        return "".join([part(writer, op) for part in writes])

    def all_fit(op: Op) -> bool:
        return all(
            type(op.attributes.get(name)) is kind for name, kind in attributes.items()
        ) and all(part(op) for part in fits)

    return Form(read, write, attributes, all_fit)


def _literal(text: str) -> Directive:
    tokens = split_tokens(text)

    def read(reader: BodyReader, _draft: Draft) -> None:
        for token in tokens:
            if reader.tokens[reader.at] != token:
                raise reader.unexpected(f"'{token}'")
            reader.at += 1

    return Directive(read, lambda _writer, _op: text)


def _directive(spec: str) -> Directive:
    name, *arguments = spec.split(":")
    return _PLAIN[name] if name in _PLAIN else _WITH_ARGUMENTS[name](*arguments)


def _attribute_dictionary(pieces: Sequence[str], extra: Mapping[str, Directive]) -> Directive:
    """Everything that no other part of the form writes."""
    others = [
        extra[piece] if piece in extra else _directive(piece)
        for piece in pieces[1::2]
        if piece != "attr-dict"
    ]
    written = frozenset(name for part in others for name in (*part.attributes, *part.optional))

    def read(reader: BodyReader, draft: Draft) -> None:
        if reader.tokens[reader.at] == "{":
            draft.attributes.update(reader.dictionary())

    def write(_writer: BodyWriter, op: Op) -> str:
        rest = {name: value for name, value in op.attributes.items() if name not in written}
        return f" {spell_dictionary(rest)}" if rest else ""

    return Directive(read, write)


# --- operands


def _write_operands(_writer: BodyWriter, op: Op) -> str:
    return operand_names(op.operands)


def _write_spaced_operands(_writer: BodyWriter, op: Op) -> str:
    return f" {operand_names(op.operands)}" if op.operands else ""


# --- attributes


def _symbol(name: str) -> Directive:
    def read(reader: BodyReader, draft: Draft) -> None:
        draft.attributes[name] = SymbolAttr(reader.symbol())

    def write(_writer: BodyWriter, op: Op) -> str:
        return spell_attribute(op.attributes[name])

    return Directive(read, write, {name: SymbolAttr})


def _symbol_string(name: str) -> Directive:
    """A string that is written like a symbol: the target of a custom call."""

    def read(reader: BodyReader, draft: Draft) -> None:
        draft.attributes[name] = StringAttr(reader.symbol())

    def write(_writer: BodyWriter, op: Op) -> str:
        attribute = op.attributes[name]
        assert isinstance(attribute, StringAttr), "checked by fits"
        return spell_symbol(attribute.value)

    return Directive(read, write, {name: StringAttr})


def _string(name: str) -> Directive:
    def read(reader: BodyReader, draft: Draft) -> None:
        draft.attributes[name] = StringAttr(reader.string())

    def write(_writer: BodyWriter, op: Op) -> str:
        return spell_attribute(op.attributes[name])

    return Directive(read, write, {name: StringAttr})


def integer_directive(dtype: DType) -> Callable[[str], Directive]:
    """Make the directive for a bare number that stands for an integer of `dtype`."""

    def directive(name: str) -> Directive:
        def read(reader: BodyReader, draft: Draft) -> None:
            draft.attributes[name] = IntegerAttr(reader.integer(), dtype)

        def write(_writer: BodyWriter, op: Op) -> str:
            attribute = op.attributes[name]
            assert isinstance(attribute, IntegerAttr), "checked by fits"
            return str(attribute.value)

        def fits(op: Op) -> bool:
            attribute = op.attributes[name]
            return isinstance(attribute, IntegerAttr) and attribute.dtype is dtype

        return Directive(read, write, {name: IntegerAttr}, fits=fits)

    return directive


def _integers(name: str) -> Directive:
    def read(reader: BodyReader, draft: Draft) -> None:
        draft.attributes[name] = DenseArrayAttr(DType.I64, reader.integers())

    def write(_writer: BodyWriter, op: Op) -> str:
        attribute = op.attributes[name]
        assert isinstance(attribute, DenseArrayAttr), "checked by fits"
        return f"[{', '.join(map(str, attribute.values))}]"

    def fits(op: Op) -> bool:
        attribute = op.attributes[name]
        return isinstance(attribute, DenseArrayAttr) and attribute.dtype is DType.I64

    return Directive(read, write, {name: DenseArrayAttr}, fits=fits)


def _boolean(name: str) -> Directive:
    def read(reader: BodyReader, draft: Draft) -> None:
        token = reader.tokens[reader.at]
        if token not in ("true", "false"):
            raise reader.unexpected("'true' or 'false'")
        reader.at += 1
        draft.attributes[name] = BoolAttr(token == "true")

    def write(_writer: BodyWriter, op: Op) -> str:
        return spell_attribute(op.attributes[name])

    return Directive(read, write, {name: BoolAttr})


def read_enum(reader: BodyReader, family: str) -> EnumAttr:
    """Read a bare value of an enumeration, such as `LT`."""
    at = reader.at
    value = reader.word(f"one of {', '.join(ENUMS[family])}")
    if value not in ENUMS[family]:
        raise reader.unexpected(f"one of {', '.join(ENUMS[family])}", at)
    return EnumAttr("stablehlo", family, value)


def is_enum(attribute: Attribute | None, family: str) -> bool:
    """Tell whether an attribute can be written as a bare value of `family`."""
    return (
        isinstance(attribute, EnumAttr)
        and attribute.dialect == "stablehlo"
        and attribute.family == family
    )


def write_enum(attribute: Attribute) -> str:
    """Write a bare value of an enumeration."""
    assert isinstance(attribute, EnumAttr), "checked by fits"
    return attribute.value


def _enum(name: str, family: str) -> Directive:
    def read(reader: BodyReader, draft: Draft) -> None:
        draft.attributes[name] = read_enum(reader, family)

    return Directive(
        read,
        lambda _writer, op: write_enum(op.attributes[name]),
        {name: EnumAttr},
        fits=lambda op: is_enum(op.attributes[name], family),
    )


def _literal_value(name: str) -> Directive:
    """A literal whose type is the result type: `stablehlo.constant`."""

    def read(reader: BodyReader, draft: Draft) -> None:
        value = reader.dense()
        draft.attributes[name] = value
        draft.results = (value.type,)

    def write(_writer: BodyWriter, op: Op) -> str:
        return spell_attribute(op.attributes[name])

    def fits(op: Op) -> bool:
        value = op.attributes[name]
        return isinstance(value, DenseAttr) and value.type == op.results[0].type

    return Directive(read, write, {name: DenseAttr}, fits=fits)


# --- types


def _read_functional(reader: BodyReader, draft: Draft) -> None:
    reader.functional(draft)


def _write_functional(_writer: BodyWriter, op: Op) -> str:
    return spell_type(signature(op))


def _or_functional(read_short: Read, short: Callable[[Op], str | None]) -> Directive:
    """A short way to state the types, where they allow it; else the functional form."""

    def read(reader: BodyReader, draft: Draft) -> None:
        if reader.tokens[reader.at] == "(":
            reader.functional(draft)
        else:
            read_short(reader, draft)

    def write(writer: BodyWriter, op: Op) -> str:
        text = short(op)
        return _write_functional(writer, op) if text is None else text

    return Directive(read, write)


def _read_same(reader: BodyReader, draft: Draft) -> None:
    at = reader.at
    type_ = reader.type()
    for operand in draft.operands:
        if operand.type is not type_:
            reader.check_types(draft, [type_] * len(draft.operands), at)
    draft.results = (type_,)


def _write_same(op: Op) -> str | None:
    type_ = op.results[0].type
    return spell_type(type_) if all(operand.type == type_ for operand in op.operands) else None


def _read_select(reader: BodyReader, draft: Draft) -> None:
    at = reader.at
    predicate = reader.type()
    reader.expect(",")
    value = reader.type()
    reader.check_types(draft, (predicate, value, value), at)
    draft.results = (value,)


def _write_select(op: Op) -> str | None:
    predicate, on_true, on_false = (operand.type for operand in op.operands)
    if on_true != on_false or on_true != op.results[0].type:
        return None
    return f"{spell_type(predicate)}, {spell_type(on_true)}"


_PARTS: Mapping[DType, DType] = {DType.C64: DType.F32, DType.C128: DType.F64}


def _parts(type_: Type) -> Type | None:
    """Give the type of the real and imaginary parts of a complex tensor."""
    if not isinstance(type_, TensorType) or type_.dtype not in _PARTS:
        return None
    return TensorType(type_.shape, _PARTS[type_.dtype], type_.encoding)


def _read_complex(reader: BodyReader, draft: Draft) -> None:
    at = reader.at
    type_ = reader.type()
    part = _parts(type_)
    if part is None:
        raise reader.unexpected("a tensor type of complex elements", at)
    reader.check_types(draft, [part] * len(draft.operands), at)
    draft.results = (type_,)


def _write_complex(op: Op) -> str | None:
    type_ = op.results[0].type
    part = _parts(type_)
    return spell_type(type_) if all(operand.type == part for operand in op.operands) else None


def _read_tuple(reader: BodyReader, draft: Draft) -> None:
    at = reader.at
    type_ = reader.type()
    if not isinstance(type_, TupleType):
        raise reader.unexpected("a tuple type", at)
    reader.check_types(draft, type_.members, at)
    draft.results = (type_,)


def _write_tuple(op: Op) -> str | None:
    return spell_type(op.results[0].type)


def _read_result(reader: BodyReader, draft: Draft) -> None:
    draft.results = (reader.type(),)


def _read_list(reader: BodyReader, draft: Draft) -> None:
    """`: T, T`: the results have the types of the operands."""
    at = reader.at
    types = reader.types() if draft.operands else list(reader.type_list())
    reader.check_types(draft, types, at)
    draft.results = types


def _write_list(_writer: BodyWriter, op: Op) -> str:
    return ", ".join([spell_type(operand.type) for operand in op.operands]) or "()"


def _read_returned(reader: BodyReader, draft: Draft) -> None:
    at = reader.at
    if draft.operands or reader.tokens[at] == ":":
        reader.expect(":")
        reader.check_types(draft, reader.types(), at + 1)


def _write_returned(_writer: BodyWriter, op: Op) -> str:
    return (
        f" : {', '.join([spell_type(operand.type) for operand in op.operands])}"
        if op.operands
        else ""
    )


def _read_arrow(reader: BodyReader, draft: Draft) -> None:
    """`: T, T -> T`, without parentheses around the operand types."""
    at = reader.at
    if reader.tokens[at] == "(":
        reader.functional(draft)
        return
    reader.check_types(draft, reader.types(), at)
    reader.expect("->")
    draft.results = reader.type_list() if reader.tokens[reader.at] == "(" else (reader.type(),)


def _write_arrow(_writer: BodyWriter, op: Op) -> str:
    type_ = signature(op)
    return f"{', '.join(map(spell_type, type_.inputs))} -> {spell_results(type_.results)}"


def _same_types(op: Op) -> bool:
    type_ = signature(op)
    return type_.inputs == type_.results


_PLAIN: Mapping[str, Directive] = {
    "operands": Directive(BodyReader.operands, _write_operands),
    "spaced-operands": Directive(BodyReader.operands, _write_spaced_operands),
    "functional": Directive(_read_functional, _write_functional),
    "same": _or_functional(_read_same, _write_same),
    "select": _or_functional(_read_select, _write_select),
    "complex": _or_functional(_read_complex, _write_complex),
    "tuple": _or_functional(_read_tuple, _write_tuple),
    "result": Directive(_read_result, lambda _writer, op: spell_type(op.results[0].type)),
    "list": Directive(_read_list, _write_list, fits=_same_types),
    "returned": Directive(_read_returned, _write_returned),
    "arrow": Directive(_read_arrow, _write_arrow),
}

_WITH_ARGUMENTS: Mapping[str, Callable[..., Directive]] = {
    "symbol": _symbol,
    "symbol-string": _symbol_string,
    "string": _string,
    "i64": integer_directive(DType.I64),
    "i32": integer_directive(DType.I32),
    "i64s": _integers,
    "bool": _boolean,
    "enum": _enum,
    "literal": _literal_value,
}
