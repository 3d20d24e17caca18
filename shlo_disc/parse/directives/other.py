"""Directives of the dialects that compute sizes: `arith`, `index`, `tensor` and `shape`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shlo_disc.dialects.other.integers import PREDICATES, type_of_constant
from shlo_disc.dialects.other.slots import BOOL, INDEX, truths_of
from shlo_disc.dialects.view import numbers_of
from shlo_disc.ir.attributes import (
    SHAPE,
    SIZE,
    WITNESS,
    Attribute,
    BoolAttr,
    DenseAttr,
    FloatAttr,
    IntegerAttr,
    OpaqueAttr,
    ScalarType,
    TensorType,
    Type,
)
from shlo_disc.ir.core import Block, Op, Region
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_attribute, spell_dictionary, spell_type, spell_types
from shlo_disc.parse.body import BodyReader
from shlo_disc.parse.directives.type import read_same, write_first_type, write_types
from shlo_disc.parse.draft import OpDraft
from shlo_disc.parse.form import Directive
from shlo_disc.parse.literals import encode_elements
from shlo_disc.parse.writer import BodyWriter, operand_names

_NO_OVERFLOW = OpaqueAttr("#arith.overflow<none>")

# --- types of operands and results


def _read_dim(reader: BodyReader, draft: OpDraft) -> None:
    at = reader.at
    reader.check_types(draft, (reader.type(), INDEX), at)
    draft.results = (INDEX,)


def _dim_fits(op: Op) -> bool:
    return len(op.operands) == 2 and op.operands[1].type == INDEX and [x.type for x in op.results] == [INDEX]


def _read_elements(reader: BodyReader, draft: OpDraft) -> None:
    at = reader.at
    type_ = reader.tensor_type("the type of a tensor")
    reader.check_types(draft, [ScalarType(type_.dtype)] * len(draft.operands), at)
    draft.results = (type_,)


def _elements_fit(op: Op) -> bool:
    type_ = op.results[0].type
    return isinstance(type_, TensorType) and all(x.type == ScalarType(type_.dtype) for x in op.operands)


def _read_element(reader: BodyReader, draft: OpDraft) -> None:
    at = reader.at
    type_ = reader.tensor_type("the type of a tensor")
    reader.check_types(draft, [type_, *[INDEX] * (len(draft.operands) - 1)], at)
    draft.results = (ScalarType(type_.dtype),)


def _element_fits(op: Op) -> bool:
    type_ = op.operands[0].type
    indices = all(x.type == INDEX for x in op.operands[1:])
    return indices and isinstance(type_, TensorType) and op.results[0].type == ScalarType(type_.dtype)


def _read_cast(reader: BodyReader, draft: OpDraft) -> None:
    at = reader.at
    reader.check_types(draft, (reader.type(),), at)
    reader.expect("to")
    draft.results = (reader.type(),)


def _write_cast(_writer: BodyWriter, op: Op) -> str:
    return f"{spell_type(op.operands[0].type)} to {spell_type(op.results[0].type)}"


def _one_type_fits(op: Op) -> bool:
    return all(x.type == op.results[0].type for x in op.operands)


def _read_compared(reader: BodyReader, draft: OpDraft) -> None:
    at = reader.at
    type_ = reader.type()
    reader.check_types(draft, [type_] * len(draft.operands), at)
    draft.results = (truths_of(type_),)


def _compared_fits(op: Op) -> bool:
    first = op.operands[0].type
    return all(x.type == first for x in op.operands) and op.results[0].type == truths_of(first)


def _read_selected(reader: BodyReader, draft: OpDraft) -> None:
    """`: T`, where the condition is one i1; else its type stands in front."""
    at = reader.at
    first = reader.type()
    condition, type_ = (first, reader.type()) if reader.accept(",") else (BOOL, first)
    reader.check_types(draft, (condition, type_, type_), at)
    draft.results = (type_,)


def _write_selected(_writer: BodyWriter, op: Op) -> str:
    condition, type_ = op.operands[0].type, op.results[0].type
    return spell_type(type_) if condition == BOOL else f"{spell_type(condition)}, {spell_type(type_)}"


def _selected_fits(op: Op) -> bool:
    return all(x.type == op.results[0].type for x in op.operands[1:])


def _listed(result: Type) -> Directive:
    """`: T, T`, the types of the operands; the result's is known."""

    def read(reader: BodyReader, draft: OpDraft) -> None:
        at = reader.at
        reader.check_types(draft, reader.types() if draft.operands else (), at)
        draft.results = (result,)

    return Directive(read, write_types, fits=_results_are(result))


def _gives(result: Type) -> Directive:
    """Nothing in the text: all types are known."""

    def read(_reader: BodyReader, draft: OpDraft) -> None:
        draft.results = (result,)

    return Directive(read, lambda _writer, _op: "", fits=_results_are(result))


def _results_are(result: Type) -> Callable[[Op], bool]:
    return lambda op: [x.type for x in op.results] == [result]


# --- attributes


def _typed(name: str) -> Directive:
    """A constant that has its type: `0 : index`, `true`, `dense<…> : tensor<…>`."""

    def read(reader: BodyReader, draft: OpDraft) -> None:
        at = reader.at
        value = reader.attribute()
        type_ = type_of_constant(value)
        if type_ is None:
            raise reader.unexpected("a number, true, false or a literal 'dense<…>'", at)
        draft.attributes[name] = value
        draft.results = (type_,)

    def fits(op: Op) -> bool:
        value = op.attributes.get(name)
        has_type = isinstance(value, BoolAttr | DenseAttr) or (
            isinstance(value, IntegerAttr | FloatAttr) and value.dtype is not None
        )
        return has_type and type_of_constant(value) == op.results[0].type

    return Directive(read, lambda _writer, op: spell_attribute(op.attributes[name]), {}, (name,), fits)


def _index_number(name: str) -> Directive:
    def read(reader: BodyReader, draft: OpDraft) -> None:
        draft.attributes[name] = IntegerAttr(reader.integer(), DType.INDEX)

    def write(_writer: BodyWriter, op: Op) -> str:
        value = op.attributes[name]
        assert isinstance(value, IntegerAttr), "checked by fits"
        return str(value.value)

    def fits(op: Op) -> bool:
        value = op.attributes[name]
        return isinstance(value, IntegerAttr) and value.dtype is DType.INDEX

    return Directive(read, write, {name: IntegerAttr}, fits=fits)


def _predicate(name: str) -> Directive:
    def read(reader: BodyReader, draft: OpDraft) -> None:
        at = reader.at
        word = reader.word(f"one of {', '.join(PREDICATES)}")
        if word not in PREDICATES:
            raise reader.unexpected(f"one of {', '.join(PREDICATES)}", at)
        draft.attributes[name] = IntegerAttr(PREDICATES.index(word), DType.I64)

    def number(op: Op) -> int:
        value = op.attributes[name]
        return value.value if isinstance(value, IntegerAttr) and value.dtype is DType.I64 else -1

    return Directive(
        read,
        lambda _writer, op: PREDICATES[number(op)],
        {name: IntegerAttr},
        fits=lambda op: 0 <= number(op) < len(PREDICATES),
    )


def _extents(name: str) -> Directive:
    """`[1, 2]`: a literal of indices."""

    def read(reader: BodyReader, draft: OpDraft) -> None:
        at = reader.at
        sizes = list(map(str, reader.integers()))
        data = encode_elements(sizes, DType.INDEX, reader.span(at))
        type_ = TensorType((len(sizes),), DType.INDEX)
        draft.attributes[name] = DenseAttr(type_, data, splat=False, spelling=f"[{', '.join(sizes)}]" if sizes else "")

    def write(_writer: BodyWriter, op: Op) -> str:
        value = op.attributes[name]
        assert isinstance(value, DenseAttr), "checked by fits"
        return f"[{', '.join(map(str, numbers_of(value)))}]"

    def fits(op: Op) -> bool:
        value = op.attributes[name]
        return isinstance(value, DenseAttr) and value.type.dtype is DType.INDEX and len(value.type.shape) == 1

    return Directive(read, write, {name: DenseAttr}, fits=fits)


def _read_overflow(reader: BodyReader, draft: OpDraft) -> None:
    if reader.tokens[reader.at] == "overflow":
        first = reader.at + 1
        reader.at += 1
        reader.enclosed("<", ">", lambda: reader.word("nsw or nuw"))
        draft.attributes["overflowFlags"] = OpaqueAttr(f"#arith.overflow{reader.text_between(first, reader.at - 1)}")


def _overflow_text(attribute: Attribute | None) -> str | None:
    """What stands behind `overflow`; None for an attribute that no form can express."""
    if attribute is None or attribute == _NO_OVERFLOW:
        return ""
    prefix = "#arith.overflow"
    return (
        attribute.text[len(prefix) :]
        if isinstance(attribute, OpaqueAttr) and attribute.text.startswith(prefix)
        else None
    )


def _write_overflow(_writer: BodyWriter, op: Op) -> str:
    flags = _overflow_text(op.attributes.get("overflowFlags"))
    return f" overflow{flags}" if flags else ""


# --- operands and regions


def _read_indexed(reader: BodyReader, draft: OpDraft) -> None:
    """`%t[%i, %j]`."""
    reader.operand(draft)
    reader.expect("[")
    if reader.tokens[reader.at] != "]":
        reader.operands(draft)
    reader.expect("]")


def _write_indexed(_writer: BodyWriter, op: Op) -> str:
    return f"%{op.operands[0].name}[{operand_names(op.operands[1:])}]"


def _read_assuming(reader: BodyReader, draft: OpDraft) -> None:
    """`%witness -> (T, T) { … }`."""
    reader.operand(draft)
    draft.results = reader.type_list() if reader.accept("->") else ()
    draft.regions.append(reader.region(end="" if draft.results else "shape.assuming_yield"))
    if reader.tokens[reader.at] == "{":
        draft.attributes.update(reader.dictionary())


def _write_assuming(writer: BodyWriter, op: Op) -> str:
    results = f" -> {spell_types(tuple([x.type for x in op.results]))}" if op.results else ""
    attributes = f" {spell_dictionary(op.attributes)}" if op.attributes else ""
    block = op.regions[0].block
    if not op.results and not block.ops[-1].attributes:  # as MLIR, which adds the end when it reads
        block = Block((), block.ops[:-1])
    return f"{operand_names(op.operands)}{results} {writer.region(Region((block,)))}{attributes}"


def _assuming_fits(op: Op) -> bool:
    return len(op.operands) == 1 and op.operands[0].type == WITNESS and not op.regions[0].block.arguments


OTHER_ATTRIBUTE_DIRECTIVES: Mapping[str, Callable[[str], Directive]] = {
    "typed": _typed,
    "index": _index_number,
    "predicate": _predicate,
    "extents": _extents,
}
OTHER_DIRECTIVES: Mapping[str, Directive] = {
    "dim-of": Directive(_read_dim, write_first_type, fits=_dim_fits),
    "elements-of": Directive(_read_elements, lambda _writer, op: spell_type(op.results[0].type), fits=_elements_fit),
    "element-of": Directive(_read_element, write_first_type, fits=_element_fits),
    "cast": Directive(_read_cast, _write_cast),
    "one-type": Directive(read_same, write_first_type, fits=_one_type_fits),
    "compared": Directive(_read_compared, write_first_type, fits=_compared_fits),
    "selected": Directive(_read_selected, _write_selected, fits=_selected_fits),
    "overflow": Directive(
        _read_overflow,
        _write_overflow,
        optional=("overflowFlags",),
        fits=lambda op: _overflow_text(op.attributes.get("overflowFlags")) is not None,
    ),
    "indexed": Directive(_read_indexed, _write_indexed),
    "assuming": Directive(_read_assuming, _write_assuming, fits=_assuming_fits),
    **{
        f"listed-{name}": _listed(type_)
        for name, type_ in (("i1", BOOL), ("index", INDEX), ("shape", SHAPE), ("witness", WITNESS))
    },
    **{f"gives-{name}": _gives(type_) for name, type_ in (("index", INDEX), ("size", SIZE), ("witness", WITNESS))},
}
