"""Ops between several processes."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.dialects.checks import (
    compare_types,
    refuse_outside,
    same_types,
)
from shlo_disc.dialects.dims import number_slot
from shlo_disc.dialects.groups import (
    all_processes,
    channel_slot,
    global_channel,
    global_slot,
    group_size,
    groups_slot,
    no_negative_groups,
    no_negative_pairs,
    numbered_groups,
    pairs_of_two,
    pairs_slot,
    unique_column,
    unique_groups,
    whole_channel,
)
from shlo_disc.dialects.ops.exchange import (
    OPERAND,
    OPERANDS,
    data_operands,
    dimension_of_each,
    dynamic_root,
    no_empty,
    resized,
    result_slot,
    result_slots,
    root_slot,
    some_data,
)
from shlo_disc.dialects.record import AttributeSlot, Check, OpRecord
from shlo_disc.dialects.types import Shape, element_type, tensor_of
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import DenseAttr
from shlo_disc.ir.dtypes import DType

# --- dimensions that are gathered or scattered


def _compare_shapes(view: OpView, wanted: Sequence[Shape], operands: str, results: str) -> Refusal | None:
    """Refuse results of other shapes than those wanted, or of other elements than the operands."""
    types = [tensor_of(element_type(one), shape) for one, shape in zip(view.tensors(operands), wanted, strict=True)]
    return compare_types(tuple(types), view.types(results), f"what '{operands}' give to have the types of '{results}'")


def _gathered(view: OpView) -> Refusal | None:
    dimension, size = view.integer("all_gather_dim"), group_size(view)
    if (refusal := no_empty(view, "all_gather_dim", "operands")) is not None:
        return refusal
    wanted = [resized(tensor.shape, {dimension: size}, {}) for tensor in view.tensors("operands")]
    if (refusal := _compare_shapes(view, wanted, "operands", "results")) is not None:
        return refusal
    for operand, result in zip(view.tensors("operands"), view.tensors("results"), strict=True):
        before, after = operand.shape[dimension], result.shape[dimension]
        if before is not None and after is not None and after % before:
            return Refusal(f"'results' to have a multiple of {before} along dimension {dimension}", str(after))
    return None


# --- all_to_all


def _split_count(view: OpView) -> Refusal | None:
    count = view.integer("split_count")
    return None if count > 0 else Refusal("'split_count' above 0", str(count))


def _split_size(view: OpView) -> Refusal | None:
    dimension, count = view.integer("split_dimension"), view.integer("split_count")
    for tensor in view.tensors("operands"):
        if (tensor.shape[dimension] or 0) % count:
            expected = f"'operands' to have a multiple of {count} along 'split_dimension' {dimension}"
            return Refusal(expected, str(tensor.shape[dimension]))
    return None


def _split_groups(view: OpView) -> Refusal | None:
    size, count = group_size(view), view.integer("split_count")
    if size in (None, count):
        return None
    return Refusal(f"groups of {count} processes, as 'split_count' says", f"groups of {size}")


def _exchanged(view: OpView) -> Refusal | None:
    split, concat = view.integer("split_dimension"), view.integer("concat_dimension")
    count = 1 if split == concat else view.integer("split_count")
    wanted = [resized(tensor.shape, {concat: count}, {split: count}) for tensor in view.tensors("operands")]
    return _compare_shapes(view, wanted, "operands", "results")


def _data_count(view: OpView) -> Refusal | None:
    count, found = len(data_operands(view)), len(view.values["results"])
    return None if count == found else Refusal(f"{count} results, one for each operand that is no root", str(found))


def _broadcast(*, rooted: bool) -> Check:
    """Make the constraint that results have the types of the operands, without a root or with one."""

    def check(view: OpView) -> Refusal | None:
        if view.flag("has_dynamic_root") is not rooted:
            return None
        refusal = dynamic_root(view) or some_data(view)
        if refusal is not None:
            return refusal
        data, results = data_operands(view), view.types("results")
        return compare_types(
            data[: len(results)], results[: len(data)], "'operands' and 'results' to be of the same types"
        )

    return check


def _root_in_group(view: OpView) -> Refusal | None:
    operands, size = view.values["operands"], group_size(view)
    roots = view.constants.get(operands[-1]) if view.flag("has_dynamic_root") else None
    return None if roots is None or size is None else refuse_outside("the root, the last of 'operands',", roots, size)


OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.all_gather",
        OPERANDS,
        result_slots("C6"),
        (number_slot("all_gather_dim", "I2"), groups_slot("I3"), channel_slot("I4"), global_slot("I5")),
        {
            "I4": whole_channel,
            "C1": dimension_of_each("all_gather_dim", "operands"),
            "C2": unique_groups,
            "C3": all_processes,
            "C4": numbered_groups(),
            "C5": global_channel,
            "C6": _gathered,
        },
        effects=True,
    ),
    OpRecord(
        "stablehlo.all_to_all",
        OPERANDS,
        result_slots("C9"),
        (
            number_slot("split_dimension", "I2"),
            number_slot("concat_dimension", "I3"),
            number_slot("split_count", "I4"),
            groups_slot("I5"),
            channel_slot("I6"),
        ),
        {
            "I6": whole_channel,
            "C1": dimension_of_each("split_dimension", "operands"),
            "C4": _split_count,
            "C2": _split_size,
            "C3": dimension_of_each("concat_dimension", "operands"),
            "C5": unique_groups,
            "C7": numbered_groups(),
            "C8": _split_groups,
            "C9": _exchanged,
        },
        effects=True,
    ),
    OpRecord(
        "stablehlo.collective_broadcast",
        OPERANDS,
        result_slots("C3"),
        (groups_slot("I2"), channel_slot("I3"), root_slot("I4")),
        {
            "I3": whole_channel,
            "C1": unique_groups,
            "C2": no_negative_groups,
            "C3": _broadcast(rooted=False),
            "C4": _broadcast(rooted=True),
            "C5": _data_count,
            "C6": _root_in_group,
        },
        effects=True,
    ),
    OpRecord(
        "stablehlo.collective_permute",
        OPERAND,
        result_slot("C5"),
        (pairs_slot("I2", required=True), channel_slot("I3")),
        {
            "I3": whole_channel,
            "C1": pairs_of_two,
            "C2": unique_column(0),
            "C3": unique_column(1),
            "C4": no_negative_pairs,
            "C5": same_types("result", "operand"),
        },
        effects=True,
    ),
    OpRecord(
        "stablehlo.cross-replica-sum",
        OPERAND,
        result_slot("C1"),
        (AttributeSlot("replica_groups", "I2", (DenseAttr,), dtype=DType.I64),),
        {"C1": same_types("result", "operand")},
        effects=True,
    ),
)
