"""Directives for operands and types."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shlo_disc.ir.attributes import (
    TensorType,
    TupleType,
    Type,
)
from shlo_disc.ir.core import Op
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import (
    spell_dictionary,
    spell_results,
    spell_type,
)
from shlo_disc.parse.body import BodyReader
from shlo_disc.parse.draft import OpDraft
from shlo_disc.parse.form import Directive, Read
from shlo_disc.parse.writer import BodyWriter, operand_names, signature


def _write_operands(_writer: BodyWriter, op: Op) -> str:
    return operand_names(op.operands)


def _write_spaced_operands(_writer: BodyWriter, op: Op) -> str:
    return f" {operand_names(op.operands)}" if op.operands else ""


def _read_functional(reader: BodyReader, draft: OpDraft) -> None:
    reader.functional(draft)


def _write_functional(_writer: BodyWriter, op: Op) -> str:
    return spell_type(signature(op))


def _or_functional(read_short: Read, short: Callable[[Op], str | None]) -> Directive:
    """The short form of the types where it applies, else the functional form."""

    def read(reader: BodyReader, draft: OpDraft) -> None:
        if reader.tokens[reader.at] == "(":
            reader.functional(draft)
        else:
            read_short(reader, draft)

    def write(writer: BodyWriter, op: Op) -> str:
        text = short(op)
        return _write_functional(writer, op) if text is None else text

    return Directive(read, write)


def read_same(reader: BodyReader, draft: OpDraft) -> None:
    """`T`, the type of each operand and of the result."""
    at = reader.at
    type_ = reader.type()
    for operand in draft.operands:
        if operand.type is not type_:
            reader.check_types(draft, [type_] * len(draft.operands), at)
    draft.results = (type_,)


def _write_same(op: Op) -> str | None:
    type_ = op.results[0].type
    return spell_type(type_) if all(operand.type == type_ for operand in op.operands) else None


def _read_select(reader: BodyReader, draft: OpDraft) -> None:
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
    """Return the type of the real and imaginary parts of a complex tensor."""
    if not isinstance(type_, TensorType) or type_.dtype not in _PARTS:
        return None
    return TensorType(type_.shape, _PARTS[type_.dtype], type_.encoding)


def _read_complex(reader: BodyReader, draft: OpDraft) -> None:
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


def _read_tuple(reader: BodyReader, draft: OpDraft) -> None:
    at = reader.at
    type_ = reader.type()
    if not isinstance(type_, TupleType):
        raise reader.unexpected("a tuple type", at)
    reader.check_types(draft, type_.members, at)
    draft.results = (type_,)


def _write_tuple(op: Op) -> str | None:
    type_ = op.results[0].type
    members = tuple([operand.type for operand in op.operands])
    return spell_type(type_) if type_ == TupleType(members) else None


def _read_result(reader: BodyReader, draft: OpDraft) -> None:
    draft.results = (reader.type(),)


def _read_list(reader: BodyReader, draft: OpDraft) -> None:
    """`: T, T`: the results have the types of the operands."""
    at = reader.at
    types = reader.types()
    reader.check_types(draft, types, at)
    draft.results = types


def write_first_type(_writer: BodyWriter, op: Op) -> str:
    """The type of the first operand."""
    return spell_type(op.operands[0].type)


def _read_each(reader: BodyReader, draft: OpDraft) -> None:
    """`: T`, the type of each operand; there are no results."""
    at = reader.at
    reader.check_types(draft, [reader.type()] * len(draft.operands), at)


def _each_fits(op: Op) -> bool:
    return len({operand.type for operand in op.operands}) == 1 and not op.results


def _read_listed(reader: BodyReader, draft: OpDraft) -> None:
    at = reader.at
    reader.check_types(draft, reader.types(), at)


def write_types(_writer: BodyWriter, op: Op) -> str:
    """`T, T`: the types of the operands."""
    return ", ".join([spell_type(operand.type) for operand in op.operands])


def _read_barrier(reader: BodyReader, draft: OpDraft) -> None:
    """`{…} %a, %b : T, T`, or `()` without operands; attributes may also follow the operands."""
    if reader.tokens[reader.at] == "{":
        draft.attributes.update(reader.dictionary())
    if reader.accept("("):
        reader.expect(")")
        return
    reader.operands(draft)
    if reader.tokens[reader.at] == "{":
        draft.attributes.update(reader.dictionary())
    reader.expect(":")
    _read_list(reader, draft)


def _write_barrier(writer: BodyWriter, op: Op) -> str:
    attributes = f" {spell_dictionary(op.attributes)}" if op.attributes else ""
    if not op.operands:
        return f"{attributes}()"
    return f"{attributes} {operand_names(op.operands)} : {write_types(writer, op)}"


def _read_returned(reader: BodyReader, draft: OpDraft) -> None:
    at = reader.at
    if draft.operands or reader.tokens[at] == ":":
        reader.expect(":")
        reader.check_types(draft, reader.types(), at + 1)


def _write_returned(writer: BodyWriter, op: Op) -> str:
    return f" : {write_types(writer, op)}" if op.operands else ""


def _read_arrow(reader: BodyReader, draft: OpDraft) -> None:
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


TYPE_DIRECTIVES: Mapping[str, Directive] = {
    "operands": Directive(BodyReader.operands, _write_operands),
    "spaced-operands": Directive(BodyReader.operands, _write_spaced_operands),
    "functional": Directive(_read_functional, _write_functional),
    "same": _or_functional(read_same, _write_same),
    "select": _or_functional(_read_select, _write_select),
    "complex": _or_functional(_read_complex, _write_complex),
    "tuple": _or_functional(_read_tuple, _write_tuple),
    "result": Directive(_read_result, lambda _writer, op: spell_type(op.results[0].type)),
    "each": Directive(_read_each, write_first_type, fits=_each_fits),
    "listed": Directive(_read_listed, write_types),
    "barrier": Directive(_read_barrier, _write_barrier, fits=_same_types),
    "returned": Directive(_read_returned, _write_returned),
    "arrow": Directive(_read_arrow, _write_arrow),
}
