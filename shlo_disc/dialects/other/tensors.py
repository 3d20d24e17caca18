"""`tensor`: sizes of tensors, and tensors of single numbers; and `builtin.unrealized_conversion_cast`."""

from __future__ import annotations

import math

from shlo_disc.dialects.other.slots import (
    EXTENTS,
    INDEX,
    INTEGERS,
    UNSIGNED,
    element_of,
    of_type,
)
from shlo_disc.dialects.record import OpRecord, Slot
from shlo_disc.dialects.types import types_agree
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import ScalarType, TensorType
from shlo_disc.ir.spelling import spell_type
from shlo_disc.ir.type_kind import TypeKind

_TENSOR = TypeKind.TENSOR | TypeKind.INDEX
_SCALAR = TypeKind.SCALAR | TypeKind.SCALAR_UNSIGNED | TypeKind.SCALAR_FLOAT
_CONVERTED = INTEGERS | UNSIGNED | EXTENTS | TypeKind.SIZE
_PLAIN = TypeKind.PLAIN | TypeKind.INDEX


def _has_dimensions(view: OpView) -> Refusal | None:
    return None if view.rank("source") else Refusal("'source' to have dimensions", spell_type(view.type("source")))


def _as_many(view: OpView) -> Refusal | None:
    type_, count = view.type("result"), len(view.values["elements"])
    assert isinstance(type_, TensorType), "the slot takes tensors only"
    wanted = math.prod([size for size in type_.shape if size is not None])
    return None if count == wanted else Refusal(f"{wanted} elements of {spell_type(type_)}", str(count))


def _of_their_type(view: OpView) -> Refusal | None:
    wanted = element_of(view.type("result"))
    for value in view.values["elements"]:
        if not isinstance(value.type, ScalarType) or value.type.dtype is not wanted:
            expected = f"elements of type {'none' if wanted is None else wanted.value}"
            return Refusal(expected, spell_type(value.type), value)
    return None


def _index_for_each_dimension(view: OpView) -> Refusal | None:
    rank, count = view.rank("tensor"), len(view.values["indices"])
    return None if rank == count else Refusal(f"{rank} indices, one for each dimension", str(count))


def _is_its_element(view: OpView) -> Refusal | None:
    wanted, found = element_of(view.type("tensor")), view.type("result")
    if isinstance(found, ScalarType) and found.dtype is wanted:
        return None
    expected = f"'result' to have the type of an element of {spell_type(view.type('tensor'))}"
    return Refusal(expected, spell_type(found), view.value("result"))


def _compatible(view: OpView) -> Refusal | None:
    source, result = view.type("source"), view.type("dest")
    if types_agree(source, result):
        return None
    return Refusal(f"'dest' to be compatible with {spell_type(source)}", spell_type(result), view.value("dest"))


OPS = (
    OpRecord(
        "tensor.dim",
        (Slot("source", _TENSOR), Slot("index", TypeKind.SCALAR)),
        (Slot("result", TypeKind.SCALAR),),
        constraints={"C1": of_type("index", INDEX), "C2": of_type("result", INDEX), "C3": _has_dimensions},
        form=" {operands}{attr-dict} : {dim-of}",
    ),
    OpRecord(
        "tensor.from_elements",
        (Slot("elements", _SCALAR, variadic=True),),
        (Slot("result", _PLAIN, sized=True),),
        constraints={"C1": _as_many, "C2": _of_their_type},
        form="{spaced-operands}{attr-dict} : {elements-of}",
    ),
    OpRecord(
        "tensor.extract",
        (Slot("tensor", _PLAIN), Slot("indices", TypeKind.SCALAR, variadic=True)),
        (Slot("result", _SCALAR),),
        constraints={"C1": of_type("indices", INDEX), "C2": _index_for_each_dimension, "C3": _is_its_element},
        form=" {indexed}{attr-dict} : {element-of}",
    ),
    OpRecord(
        "tensor.cast",
        (Slot("source", _PLAIN),),
        (Slot("dest", _PLAIN),),
        constraints={"C1": _compatible},
        form=" {operands}{attr-dict} : {cast}",
    ),
    OpRecord(
        "builtin.unrealized_conversion_cast",
        (Slot("in", _CONVERTED),),
        (Slot("out", _CONVERTED),),
        form=" {operands}{attr-dict} : {cast}",
    ),
)
