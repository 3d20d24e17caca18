"""Batch normalization: for training, for inference, and its gradients."""

from __future__ import annotations

from shlo_disc.dialects.checks import each, same_baseline_elements, same_baseline_types, same_shapes
from shlo_disc.dialects.dims import dimension_within_rank, number_slot
from shlo_disc.dialects.record import AttributeSlot, Check, OpRecord, Slot
from shlo_disc.dialects.types import sizes_agree
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import FloatAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.type_kind import TypeKind

_KIND = TypeKind.FLOAT | TypeKind.PER_TENSOR


def _tensor(name: str) -> Slot:
    return Slot(name, _KIND)


def _features(*names: str) -> tuple[Slot, ...]:
    """Return slots that hold one number for each feature."""
    return tuple([Slot(name, _KIND, rank=1) for name in names])


def _one_for_each_feature(name: str) -> Check:
    def check(view: OpView) -> Refusal | None:
        feature, (found,) = view.integer("feature_index"), view.shape(name)
        wanted = view.shape("operand")[feature]
        if sizes_agree(wanted, found):
            return None
        return Refusal(f"'{name}' to have the size of dimension {feature} of 'operand', {wanted}", str(found))

    return check


def _rules(name: str, operands: tuple[Slot, ...], results: tuple[Slot, ...], constraints: dict[str, Check]) -> OpRecord:
    """Add what all three have in common: attributes, C1 and C2."""
    count = len(operands)
    attributes = (
        AttributeSlot("epsilon", f"I{count + 1}", (FloatAttr,), dtype=DType.F32),
        number_slot("feature_index", f"I{count + 2}"),
    )
    common: dict[str, Check] = {
        "C1": dimension_within_rank("feature_index", "operand"),
        "C2": same_baseline_elements(*[slot.name for slot in (*operands, *results)]),
    }
    return OpRecord(f"stablehlo.{name}", operands, results, attributes, {**common, **constraints})


OPS: tuple[OpRecord, ...] = (
    _rules(
        "batch_norm_grad",
        (_tensor("operand"), *_features("scale", "mean", "variance"), _tensor("grad_output")),
        (_tensor("grad_operand"), *_features("grad_scale", "grad_offset")),
        {
            "C3": same_shapes("operand", "grad_output", "grad_operand"),
            "C4": same_shapes("scale", "mean", "variance", "grad_scale", "grad_offset"),
            "C5": _one_for_each_feature("scale"),
        },
    ),
    _rules(
        "batch_norm_inference",
        (_tensor("operand"), *_features("scale", "offset", "mean", "variance")),
        (_tensor("result"),),
        {
            "C3": _one_for_each_feature("scale"),
            "C4": _one_for_each_feature("offset"),
            "C5": _one_for_each_feature("mean"),
            "C6": each(_one_for_each_feature("variance"), same_shapes("scale", "offset", "mean", "variance")),
            "C7": same_baseline_types("operand", "result"),
        },
    ),
    _rules(
        "batch_norm_training",
        (_tensor("operand"), *_features("scale", "offset")),
        (_tensor("output"), *_features("batch_mean", "batch_var")),
        {
            "C3": _one_for_each_feature("scale"),
            "C4": _one_for_each_feature("offset"),
            "C5": _one_for_each_feature("batch_mean"),
            "C6": _one_for_each_feature("batch_var"),
            "C7": same_baseline_types("operand", "output"),
        },
    ),
)
