"""A loop over one dimension that carries values along: `chlo.scan`. Labels are ours."""

from __future__ import annotations

from dataclasses import replace

from shlo_disc.dialects.checks import compare_region, same_types
from shlo_disc.dialects.dims import number_slot
from shlo_disc.dialects.record import AttributeSlot, OpRecord, Slot
from shlo_disc.dialects.types import Tensor, sizes_agree
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import BoolAttr, DenseArrayAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_type
from shlo_disc.ir.type_kind import TypeKind


def _something_to_scan(view: OpView) -> Refusal | None:
    return None if _scanned(view) else Refusal("an input or an output to go along", "none")


def _scanned(view: OpView) -> tuple[Tensor, ...]:
    """Return the types of the tensors that have the scanned dimension."""
    return (*view.tensors("inputs"), *view.tensors("outputs"))


def _dimension(view: OpView) -> Refusal | None:
    dimension = view.integer("dimension")
    for tensor in _scanned(view):
        if not 0 <= dimension < len(tensor.shape):
            expected = f"'dimension' to be at least 0 and below {len(tensor.shape)}, the rank of {spell_type(tensor)}"
            return Refusal(expected, str(dimension))
    return None


def _length(view: OpView) -> Refusal | None:
    sizes = [tensor.shape[view.integer("dimension")] for tensor in _scanned(view)]
    stated = [view.integer("scan_dim_size")] if view.has("scan_dim_size") else []
    if sizes_agree(*stated, *sizes):
        return None
    found = ", ".join(["?" if size is None else str(size) for size in (*stated, *sizes)])
    return Refusal("one length of the scanned dimension in 'scan_dim_size', inputs and outputs", found)


def _body(view: OpView) -> Refusal | None:
    inputs, outputs = _slices(view, "inputs"), _slices(view, "outputs")
    arguments, results = (*inputs, *view.types("inits")), (*outputs, *view.types("carries"))
    return compare_region(view, 0, "body", arguments, results)


def _slices(view: OpView, name: str) -> tuple[Tensor, ...]:
    """Return the types of the slices that one iteration reads or writes."""
    at = view.integer("dimension")
    tensors = view.tensors(name)
    return tuple([replace(tensor, shape=tensor.shape[:at] + tensor.shape[at + 1 :]) for tensor in tensors])


OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "chlo.scan",
        (Slot("inputs", TypeKind.TENSOR, variadic=True), Slot("inits", TypeKind.TENSOR, variadic=True)),
        (Slot("outputs", TypeKind.TENSOR, variadic=True), Slot("carries", TypeKind.TENSOR, variadic=True)),
        (
            number_slot("dimension", "I3"),
            number_slot("scan_dim_size", "I4", required=False),
            AttributeSlot("is_reverse", "I5", (BoolAttr,), required=False),
            AttributeSlot("is_associative", "I6", (BoolAttr,), required=False),
            AttributeSlot("operandSegmentSizes", "I7", (DenseArrayAttr,), dtype=DType.I32),
            AttributeSlot("resultSegmentSizes", "I8", (DenseArrayAttr,), dtype=DType.I32),
        ),
        {
            "C1": _something_to_scan,
            "C2": _dimension,
            "C3": _length,
            "C4": _body,
            "C5": same_types("inits", "carries"),
        },
        ("body",),
        form="{scan}",
    ),
)
