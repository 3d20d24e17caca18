"""Ops between quantized types and plain ones."""

from __future__ import annotations

from shlo_disc.dialects.checks import refuse_type, same_shapes, spell_element
from shlo_disc.dialects.forms import SAME
from shlo_disc.dialects.record import OpRecord, Slot
from shlo_disc.dialects.types import expressed_type
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.type_kind import TypeKind


def _quantize_expressed(view: OpView) -> Refusal | None:
    wanted = expressed_type(view.tensor("operand"))
    if expressed_type(view.tensor("result")) is wanted:
        return None
    return refuse_type(f"quantized {wanted.value}, as the operand is", "result", view)


def _dequantize_element(view: OpView) -> Refusal | None:
    wanted = expressed_type(view.tensor("operand"))
    if view.element("result") is wanted:
        return None
    return refuse_type(f"of elements {spell_element(wanted)}, which the operand stands for", "result", view)


OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.uniform_quantize",
        (Slot("operand", TypeKind.FLOAT | TypeKind.QUANTIZED),),
        (Slot("result", TypeKind.QUANTIZED),),
        constraints={"C1": same_shapes("operand", "result"), "C2": _quantize_expressed},
        form=SAME,
    ),
    OpRecord(
        "stablehlo.uniform_dequantize",
        (Slot("operand", TypeKind.QUANTIZED),),
        (Slot("result", TypeKind.FLOAT),),
        constraints={"C1": same_shapes("operand", "result"), "C2": _dequantize_element},
        form=SAME,
    ),
)
