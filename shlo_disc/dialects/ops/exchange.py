"""Parts that ops between processes share: operands, results, dimensions that are divided or multiplied, roots."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.dialects.checks import refuse_outside
from shlo_disc.dialects.record import AttributeSlot, Check, Slot
from shlo_disc.dialects.types import Shape, Tensor, spell_shape, types_agree
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import BoolAttr, TensorType, UnitAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_type
from shlo_disc.ir.type_kind import TypeKind

OPERANDS = (Slot("operands", TypeKind.UNIFORM, variadic=True, least=1),)
OPERAND = (Slot("operand", TypeKind.UNIFORM),)


def result_slots(label: str) -> tuple[Slot, ...]:
    """Return the slots of any number of results; `label` is that of the constraint on their types."""
    return (Slot("results", TypeKind.UNIFORM, variadic=True, least=1, label=label),)


def result_slot(label: str) -> tuple[Slot, ...]:
    """Return the slot of one result."""
    return (Slot("result", TypeKind.UNIFORM, label=label),)


def root_slot(label: str) -> AttributeSlot:
    """Return the slot `has_dynamic_root`."""
    return AttributeSlot("has_dynamic_root", label, (UnitAttr, BoolAttr), required=False)


# --- dimensions that are gathered or scattered


def dimension_of_each(attribute: str, operands: str) -> Check:
    """Make the constraint that an attribute is a dimension of each operand."""

    def check(view: OpView) -> Refusal | None:
        for tensor in view.tensors(operands):
            refusal = refuse_outside(f"'{attribute}'", [view.integer(attribute)], len(tensor.shape))
            if refusal is not None:
                return refusal
        return None

    return check


def resized(shape: Shape, factors: Mapping[int, int | None], divisors: Mapping[int, int | None]) -> Shape:
    """Multiply and divide sizes; by a number that is not known, they are not known either."""
    sizes = list(shape)
    for changes, change in ((factors, int.__mul__), (divisors, int.__floordiv__)):
        for dimension, number in changes.items():
            size = sizes[dimension]
            sizes[dimension] = None if size is None or number is None else change(size, number)
    return tuple(sizes)


def no_empty(view: OpView, attribute: str, name: str) -> Refusal | None:
    """Refuse operands or results that have no elements along the dimension that an attribute names."""
    dimension = view.integer(attribute)
    for tensor in view.tensors(name):
        if dimension < len(tensor.shape) and tensor.shape[dimension] == 0:
            return Refusal(f"'{name}' to have elements along dimension {dimension}", spell_shape(tensor.shape))
    return None


# --- roots that are operands


def data_operands(view: OpView) -> tuple[Tensor, ...]:
    """Return the operands without the root."""
    operands = view.tensors("operands")
    return operands[:-1] if view.flag("has_dynamic_root") else operands


def dynamic_root(view: OpView) -> Refusal | None:
    """Refuse a last operand that does not name a root for each of the others, if it should."""
    if not view.flag("has_dynamic_root"):
        return None
    operands = view.tensors("operands")
    if len(operands) < 2:
        return Refusal("'operands' to be data and a root, as 'has_dynamic_root' is set", f"{len(operands)} operand")
    wanted = TensorType((len(operands) - 1,), DType.I32)
    if types_agree(operands[-1], wanted):
        return None
    return Refusal(f"the root, the last of 'operands', to be a {spell_type(wanted)}", spell_type(operands[-1]))


def some_data(view: OpView) -> Refusal | None:
    """Refuse an op without operands."""
    return None if view.values["operands"] else Refusal("at least one operand", "none")
