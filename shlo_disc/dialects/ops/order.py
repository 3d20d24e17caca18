"""Sorting."""

from __future__ import annotations

from shlo_disc.dialects.checks import compare_region, same_shapes, same_types
from shlo_disc.dialects.dims import dimension_within_rank
from shlo_disc.dialects.record import AttributeSlot, OpRecord, Slot
from shlo_disc.dialects.types import element_type, tensor_of
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import BoolAttr, IntegerAttr, TensorType
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.type_kind import TypeKind


def _comparator(view: OpView) -> Refusal | None:
    pairs = [tensor_of(element_type(tensor)) for tensor in view.tensors("inputs") for _ in range(2)]
    return compare_region(view, 0, "comparator", tuple(pairs), (TensorType((), DType.I1),))


OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.sort",
        (Slot("inputs", TypeKind.UNIFORM, variadic=True, least=1),),
        (Slot("results", TypeKind.UNIFORM, variadic=True, least=1),),
        (
            AttributeSlot("dimension", "I2", (IntegerAttr,), default=IntegerAttr(-1, DType.I64), dtype=DType.I64),
            AttributeSlot("is_stable", "I3", (BoolAttr,), default=BoolAttr(False)),
        ),
        {
            "C2": same_types("inputs", "results"),
            "C3": same_shapes("inputs", "results"),
            "C4": dimension_within_rank("dimension", "inputs", from_end=True),
            "C5": _comparator,
        },
        ("comparator",),
    ),
)
