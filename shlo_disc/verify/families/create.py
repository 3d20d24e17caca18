"""Ops that make a tensor from attributes alone."""

from __future__ import annotations

from shlo_disc.ir.attributes import DenseAttr, QuantizedTensorType, TensorType
from shlo_disc.ir.type_kind import TypeKind
from shlo_disc.parse.spelling import spell_type
from shlo_disc.verify.checks import has_static_shape
from shlo_disc.verify.dims import dimension_within_rank, number_slot
from shlo_disc.verify.rules import AttributeSlot, Rules, Slot
from shlo_disc.verify.view import OpView, Refusal


def literal_type(view: OpView) -> Refusal | None:
    """Demand a literal of the result's type; a quantized constant gives the integers that are stored."""
    value, output = view.attribute("value"), view.tensor("output")
    assert isinstance(value, DenseAttr), "the slot takes a literal"
    wanted = output
    if isinstance(output, QuantizedTensorType):
        wanted = TensorType(output.shape, output.element.storage, output.encoding)
    if value.type == wanted:
        return None
    return Refusal(f"a 'value' of type {spell_type(wanted)} for a result {spell_type(output)}", spell_type(value.type))


RULES: tuple[Rules, ...] = (
    Rules(
        "stablehlo.constant",
        (),
        (Slot("output", TypeKind.TENSOR),),
        (AttributeSlot("value", "I1", (DenseAttr,)),),
        {"C1": literal_type},
    ),
    Rules(
        "stablehlo.iota",
        (),
        (Slot("output", TypeKind.INTEGER | TypeKind.FLOAT | TypeKind.COMPLEX | TypeKind.PER_TENSOR),),
        (number_slot("iota_dimension", "I1"),),
        {"C1": dimension_within_rank("iota_dimension", "output"), "C2": has_static_shape("output")},  # C2 is ours
    ),
)
