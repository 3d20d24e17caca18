"""Ops that make a tensor from attributes alone."""

from __future__ import annotations

from shlo_disc.dialects.checks import has_static_shape
from shlo_disc.dialects.dims import dimension_within_rank, number_slot
from shlo_disc.dialects.record import AttributeSlot, OpRecord, Slot
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import DenseAttr, QuantizedTensorType, TensorType
from shlo_disc.ir.spelling import spell_type
from shlo_disc.ir.type_kind import TypeKind


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


OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.constant",
        (),
        (Slot("output", TypeKind.TENSOR),),
        (AttributeSlot("value", "I1", (DenseAttr,)),),
        {"C1": literal_type},
        form="{attr-dict} {literal:value}",
    ),
    OpRecord(
        "stablehlo.iota",
        (),
        (Slot("output", TypeKind.INTEGER | TypeKind.FLOAT | TypeKind.COMPLEX | TypeKind.PER_TENSOR),),
        (number_slot("iota_dimension", "I1"),),
        {
            "C1": dimension_within_rank("iota_dimension", "output"),
            "C2": has_static_shape("output"),
        },  # C2 is ours
        form=" dim = {i64:iota_dimension}{attr-dict} : {result}",
    ),
)
