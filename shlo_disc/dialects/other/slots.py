"""Slots and constraints that ops of several dialects share."""

from __future__ import annotations

from shlo_disc.dialects.record import Check
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import ScalarType, TensorType, Type
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_type
from shlo_disc.ir.type_kind import TypeKind

INDEX = ScalarType(DType.INDEX)
BOOL = ScalarType(DType.I1)
INTEGERS = TypeKind.SCALAR | TypeKind.SIGNED | TypeKind.BOOL | TypeKind.INDEX  # one integer, or a tensor of them
UNSIGNED = TypeKind.SCALAR_UNSIGNED | TypeKind.UNSIGNED
NUMBERS = INTEGERS | TypeKind.SCALAR_FLOAT | TypeKind.FLOAT
EXTENTS = TypeKind.SHAPE | TypeKind.INDEX  # a shape: a value of its own type, or a tensor of sizes
A_SIZE = TypeKind.SCALAR | TypeKind.SIZE


def of_type(name: str, type_: Type) -> Check:
    """Demand that an operand or a result has this type."""

    def check(view: OpView) -> Refusal | None:
        wrong = [value for value in view.values[name] if value.type != type_]
        if not wrong:
            return None
        return Refusal(f"'{name}' of type {spell_type(type_)}", spell_type(wrong[0].type), wrong[0])

    return check


def rank_1(name: str) -> Check:
    """Demand that those operands or results that are tensors have one dimension."""

    def check(view: OpView) -> Refusal | None:
        for value in view.values[name]:
            if isinstance(value.type, TensorType) and len(value.type.shape) != 1:
                return Refusal(f"'{name}' to have rank 1", spell_type(value.type), value)
        return None

    return check


def truths_of(type_: Type) -> Type:
    """The type of as many truth values as there are numbers."""
    return TensorType(type_.shape, DType.I1) if isinstance(type_, TensorType) else BOOL


def element_of(type_: Type) -> DType | None:
    """The type of one number: of a scalar itself, or of a tensor's elements."""
    return type_.dtype if isinstance(type_, ScalarType | TensorType) else None


def shape_of(type_: Type) -> tuple[int | None, ...]:
    """The sizes of a tensor; a scalar has none."""
    return type_.shape if isinstance(type_, TensorType) else ()


def identical_shapes(first: str, second: str) -> Check:
    """Demand that both are scalars, or tensors of one shape."""

    def check(view: OpView) -> Refusal | None:
        a, b = view.type(first), view.type(second)
        if isinstance(a, TensorType) == isinstance(b, TensorType) and shape_of(a) == shape_of(b):
            return None
        return Refusal(f"'{second}' to have the shape of '{first}', {spell_type(a)}", spell_type(b), view.value(second))

    return check
