"""Directives for single attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shlo_disc.ir.attributes import (
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DenseAttr,
    EnumAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolAttr,
)
from shlo_disc.ir.core import Op
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import (
    spell_attribute,
    spell_symbol,
)
from shlo_disc.parse.attributes import ENUMS
from shlo_disc.parse.body import BodyReader
from shlo_disc.parse.draft import OpDraft
from shlo_disc.parse.form import Directive
from shlo_disc.parse.writer import BodyWriter


def _symbol(name: str) -> Directive:
    def read(reader: BodyReader, draft: OpDraft) -> None:
        draft.attributes[name] = SymbolAttr(reader.symbol())

    def write(_writer: BodyWriter, op: Op) -> str:
        return spell_attribute(op.attributes[name])

    return Directive(read, write, {name: SymbolAttr})


def _symbol_string(name: str) -> Directive:
    """A string that is written like a symbol: the target of a custom call."""

    def read(reader: BodyReader, draft: OpDraft) -> None:
        draft.attributes[name] = StringAttr(reader.symbol())

    def write(_writer: BodyWriter, op: Op) -> str:
        attribute = op.attributes[name]
        assert isinstance(attribute, StringAttr), "checked by fits"
        return spell_symbol(attribute.value)

    return Directive(read, write, {name: StringAttr})


def _string(name: str) -> Directive:
    def read(reader: BodyReader, draft: OpDraft) -> None:
        draft.attributes[name] = StringAttr(reader.string())

    def write(_writer: BodyWriter, op: Op) -> str:
        return spell_attribute(op.attributes[name])

    return Directive(read, write, {name: StringAttr})


def _integer(dtype: DType) -> Callable[[str], Directive]:
    """Make the directive for a bare number that stands for an integer of `dtype`."""

    def directive(name: str) -> Directive:
        def read(reader: BodyReader, draft: OpDraft) -> None:
            draft.attributes[name] = IntegerAttr(reader.integer(dtype), dtype)

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
    def read(reader: BodyReader, draft: OpDraft) -> None:
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
    def read(reader: BodyReader, draft: OpDraft) -> None:
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
    """Whether an attribute can be written as a bare value of `family`."""
    return isinstance(attribute, EnumAttr) and attribute.dialect == "stablehlo" and attribute.family == family


def write_enum(attribute: Attribute) -> str:
    """Write a bare value of an enumeration."""
    assert isinstance(attribute, EnumAttr), "checked by fits"
    return attribute.value


def _enum(name: str) -> Directive:
    def read(reader: BodyReader, draft: OpDraft) -> None:
        draft.attributes[name] = read_enum(reader, name)

    return Directive(
        read,
        lambda _writer, op: write_enum(op.attributes[name]),
        {name: EnumAttr},
        fits=lambda op: is_enum(op.attributes[name], name),
    )


def _float(name: str) -> Directive:
    """A bare number that stands for an f64."""

    def read(reader: BodyReader, draft: OpDraft) -> None:
        token = reader.tokens[reader.at]
        try:
            draft.attributes[name] = FloatAttr(float(token), DType.F64, token)
        except ValueError:
            raise reader.unexpected("a number") from None
        reader.at += 1

    def write(_writer: BodyWriter, op: Op) -> str:
        attribute = op.attributes[name]
        assert isinstance(attribute, FloatAttr), "checked by fits"
        return attribute.text

    def fits(op: Op) -> bool:
        attribute = op.attributes[name]
        return isinstance(attribute, FloatAttr) and attribute.dtype is DType.F64

    return Directive(read, write, {name: FloatAttr}, fits=fits)


def _dense(name: str) -> Directive:
    """A literal whose type is that of the only operand."""

    def read(reader: BodyReader, draft: OpDraft) -> None:
        at = reader.at
        value = reader.dense()
        draft.attributes[name] = value
        reader.check_types(draft, (value.type,), at)

    def write(_writer: BodyWriter, op: Op) -> str:
        return spell_attribute(op.attributes[name])

    def fits(op: Op) -> bool:
        value = op.attributes[name]
        return isinstance(value, DenseAttr) and value.type == op.operands[0].type

    return Directive(read, write, {name: DenseAttr}, fits=fits)


def _literal_value(name: str) -> Directive:
    """A literal whose type is the result type: `stablehlo.constant`."""

    def read(reader: BodyReader, draft: OpDraft) -> None:
        value = reader.dense()
        draft.attributes[name] = value
        draft.results = (value.type,)

    def write(_writer: BodyWriter, op: Op) -> str:
        return spell_attribute(op.attributes[name])

    def fits(op: Op) -> bool:
        value = op.attributes[name]
        return isinstance(value, DenseAttr) and value.type == op.results[0].type

    return Directive(read, write, {name: DenseAttr}, fits=fits)


ATTRIBUTE_DIRECTIVES: Mapping[str, Callable[[str], Directive]] = {
    "symbol": _symbol,
    "symbol-string": _symbol_string,
    "string": _string,
    "i64": _integer(DType.I64),
    "i32": _integer(DType.I32),
    "ui32": _integer(DType.UI32),
    "ui64": _integer(DType.UI64),
    "i64s": _integers,
    "f64": _float,
    "dense": _dense,
    "bool": _boolean,
    "enum": _enum,
    "literal": _literal_value,
}
