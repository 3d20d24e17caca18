"""`arith` and `index`: arithmetic of single integers, and of tensors of them element by element."""

from __future__ import annotations

from collections.abc import Iterator

from shlo_disc.dialects.checks import identical_types
from shlo_disc.dialects.other.slots import (
    BOOL,
    INDEX,
    INTEGERS,
    NUMBERS,
    UNSIGNED,
    element_of,
    identical_shapes,
    of_type,
    truths_of,
)
from shlo_disc.dialects.record import AttributeSlot, Check, OpRecord, Slot
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import (
    BoolAttr,
    DenseAttr,
    FloatAttr,
    IntegerAttr,
    OpaqueAttr,
    ScalarType,
    Type,
)
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_type
from shlo_disc.ir.type_kind import TypeKind

BINARY = (
    *("addi", "subi", "muli", "divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "remsi", "remui"),
    *("minsi", "minui", "maxsi", "maxui", "andi", "ori", "xori"),
)
INDEX_BINARY = (
    *("add", "sub", "mul", "divs", "divu", "floordivs", "ceildivs", "ceildivu", "rems", "remu"),
    *("mins", "minu", "maxs", "maxu", "and", "or", "xor"),
)
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")  # of `cmpi`, by number
_ANY = NUMBERS | UNSIGNED
_OVERFLOW = AttributeSlot("overflowFlags", "", (OpaqueAttr,), required=False)
_MAY_OVERFLOW = frozenset({"addi", "subi", "muli"})


def _binary(name: str) -> OpRecord:
    may_overflow = name in _MAY_OVERFLOW
    return OpRecord(
        f"arith.{name}",
        (Slot("lhs", INTEGERS), Slot("rhs", INTEGERS)),
        (Slot("result", INTEGERS),),
        (_OVERFLOW,) if may_overflow else (),
        {"C1": identical_types("lhs", "rhs", "result")},
        form=f" {{operands}}{'{overflow}' if may_overflow else ''}{{attr-dict}} : {{one-type}}",
    )


# --- constants


def type_of_constant(value: object) -> Type | None:
    """The type of the result of `arith.constant`."""
    match value:
        case BoolAttr():
            return BOOL
        case IntegerAttr(_, dtype):
            return ScalarType(dtype or DType.I64)
        case FloatAttr(_, dtype):
            return ScalarType(dtype or DType.F64)
        case DenseAttr(type_):
            return type_
        case _:
            return None


def _typed_by_value(view: OpView) -> Refusal | None:
    wanted = type_of_constant(view.attribute("value"))
    found = view.type("result")
    if wanted is None or found == wanted:
        return None
    return Refusal(
        f"'result' to have the type of 'value', {spell_type(wanted)}", spell_type(found), view.value("result")
    )


# --- comparisons


def _truths(view: OpView) -> Refusal | None:
    wanted, found = truths_of(view.type("lhs")), view.type("result")
    return (
        None
        if found == wanted
        else Refusal(f"'result' of type {spell_type(wanted)}", spell_type(found), view.value("result"))
    )


def _known_predicate(view: OpView) -> Refusal | None:
    number = view.integer("predicate")
    if 0 <= number < len(PREDICATES):
        return None
    return Refusal(f"'predicate' to be from 0 to {len(PREDICATES) - 1}", str(number))


def _condition(view: OpView) -> Refusal | None:
    condition = view.type("condition")
    if condition in (BOOL, truths_of(view.type("on_true"))):
        return None
    return Refusal(
        "'condition' to be i1, or as many as there are elements", spell_type(condition), view.value("condition")
    )


# --- conversions


def _changes_width(view: OpView, *, grows: bool) -> Refusal | None:
    before, after = element_of(view.type("in")), element_of(view.type("out"))
    if before is None or after is None or DType.INDEX in (before, after):
        return Refusal("integers of a fixed number of bits", "index", view.value("in"))
    if (before.bits < after.bits) if grows else (before.bits > after.bits):
        return None
    return Refusal(f"{'more' if grows else 'fewer'} bits than those of {before.value}", after.value, view.value("out"))


def _grows(view: OpView) -> Refusal | None:
    return _changes_width(view, grows=True)


def _shrinks(view: OpView) -> Refusal | None:
    return _changes_width(view, grows=False)


def _one_index(view: OpView) -> Refusal | None:
    indices = sum(element_of(view.type(name)) is DType.INDEX for name in ("in", "out"))
    if indices == 1:
        return None
    return Refusal("one of 'in' and 'out' to be of type index", "both" if indices else "none")


def _conversion(name: str, check: Check | None, attributes: tuple[AttributeSlot, ...] = ()) -> OpRecord:
    constraints = {"C1": identical_shapes("in", "out")}
    return OpRecord(
        name,
        (Slot("in", INTEGERS),),
        (Slot("out", INTEGERS),),
        attributes,
        constraints if check is None else constraints | {"C2": check},
        form=f" {{operands}}{'{overflow}' if attributes else ''}{{attr-dict}} : {{cast}}",
    )


# --- `index`: as `arith`, without types in the text


def _of_index(name: str) -> OpRecord:
    return OpRecord(
        f"index.{name}",
        (Slot("lhs", TypeKind.SCALAR), Slot("rhs", TypeKind.SCALAR)),
        (Slot("result", TypeKind.SCALAR),),
        constraints={"C1": of_type("lhs", INDEX), "C2": of_type("rhs", INDEX), "C3": of_type("result", INDEX)},
        form=" {operands}{attr-dict}{gives-index}",
    )


def _records() -> Iterator[OpRecord]:
    yield from map(_binary, BINARY)
    yield from map(_of_index, INDEX_BINARY)
    yield _conversion("arith.extsi", _grows)
    yield _conversion("arith.extui", _grows)
    yield _conversion("arith.trunci", _shrinks, (_OVERFLOW,))
    yield _conversion("arith.index_cast", _one_index)
    yield _conversion("arith.index_castui", _one_index)
    yield _conversion("index.casts", _one_index)
    yield _conversion("index.castu", _one_index)


OPS = (
    *_records(),
    OpRecord(
        "arith.constant",
        (),
        (Slot("result", NUMBERS),),
        (AttributeSlot("value", "", (BoolAttr, IntegerAttr, FloatAttr, DenseAttr)),),
        {"C1": _typed_by_value},
        form="{attr-dict} {typed:value}",
    ),
    OpRecord(
        "arith.cmpi",
        (Slot("lhs", INTEGERS), Slot("rhs", INTEGERS)),
        (Slot("result", INTEGERS),),
        (AttributeSlot("predicate", "", (IntegerAttr,), dtype=DType.I64),),
        {"C1": identical_types("lhs", "rhs"), "C2": _truths, "C3": _known_predicate},
        form=" {predicate:predicate}, {operands}{attr-dict} : {compared}",
    ),
    OpRecord(
        "arith.select",
        (Slot("condition", INTEGERS), Slot("on_true", _ANY), Slot("on_false", _ANY)),
        (Slot("result", _ANY),),
        constraints={"C1": identical_types("on_true", "on_false", "result"), "C2": _condition},
        form=" {operands}{attr-dict} : {selected}",
    ),
    OpRecord(
        "index.constant",
        (),
        (Slot("result", TypeKind.SCALAR),),
        (AttributeSlot("value", "", (IntegerAttr,), dtype=DType.INDEX),),
        {"C1": of_type("result", INDEX)},
        form="{attr-dict} {index:value}{gives-index}",
    ),
)
