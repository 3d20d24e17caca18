"""Reductions over several processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from shlo_disc.dialects.checks import combined_elements, compare_reducer, refuse_type, spell_element
from shlo_disc.dialects.dims import number_slot
from shlo_disc.dialects.groups import (
    all_processes,
    channel_slot,
    global_channel,
    global_slot,
    group_size,
    groups_slot,
    no_negative_groups,
    numbered_groups,
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
from shlo_disc.dialects.record import Check, OpRecord
from shlo_disc.dialects.types import Tensor, element_type, shapes_agree, spell_shape
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.spelling import spell_type

_Data: TypeAlias = Callable[[OpView], tuple[Tensor, ...]]


def _all(view: OpView) -> tuple[Tensor, ...]:
    return view.tensors("operands")


def _one(view: OpView) -> tuple[Tensor, ...]:
    return view.tensors("operand")


def _reducer(data: _Data) -> Check:
    """Make the constraint that the computation combines two elements of each operand."""

    def check(view: OpView) -> Refusal | None:
        for tensor in data(view):
            refusal = compare_reducer(view, 0, "computation", (element_type(tensor),))
            if refusal is not None:
                return refusal
        return None

    return check


def _reduced_elements(results: str) -> Check:
    """Make the constraint that results have the elements that the computation returns."""

    def check(view: OpView) -> Refusal | None:
        (wanted,) = combined_elements(view, 0)
        wrong = [tensor for tensor in view.tensors(results) if element_type(tensor) != wanted]
        return Refusal(f"'{results}' of elements {spell_element(wanted)}", spell_type(wrong[0])) if wrong else None

    return check


def _reduced_shapes(data: _Data) -> Check:
    """Make the constraint that each result has the shape of its operand."""

    def check(view: OpView) -> Refusal | None:
        operands, results = data(view), view.tensors("results")
        if len(operands) != len(results):
            return Refusal(f"{len(operands)} results, one for each operand", str(len(results)))
        for operand, result in zip(operands, results, strict=True):
            if not shapes_agree(operand.shape, result.shape):
                return Refusal(f"a result of shape {spell_shape(operand.shape)}", spell_shape(result.shape))
        return None

    return check


def _rooted_shapes(view: OpView) -> Refusal | None:
    return dynamic_root(view) or some_data(view) or _reduced_shapes(data_operands)(view)


def _scattered_size(view: OpView) -> Refusal | None:
    dimension, size = view.integer("scatter_dimension"), group_size(view)
    found = view.shape("operand")[dimension]
    if found is None or size is None or found % size == 0:
        return None
    return Refusal(
        f"'operand' to have a multiple of {size}, the size of a group, along dimension {dimension}", str(found)
    )


def _scattered(view: OpView) -> Refusal | None:
    dimension, size = view.integer("scatter_dimension"), group_size(view)
    for name in ("operand", "result"):
        if (refusal := no_empty(view, "scatter_dimension", name)) is not None:
            return refusal
    wanted = resized(view.shape("operand"), {}, {dimension: size})
    if not shapes_agree(wanted, view.shape("result")):
        return refuse_type(f"of shape {spell_shape(wanted)}", "result", view)
    before, after = view.shape("operand")[dimension], view.shape("result")[dimension]
    if before is not None and after is not None and before % after:
        return Refusal(f"'result' to have a divisor of {before} along dimension {dimension}", str(after))
    return None


OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.all_reduce",
        OPERANDS,
        result_slots("C6"),
        (groups_slot("I2"), channel_slot("I3"), global_slot("I4")),
        {
            "I3": whole_channel,
            "C1": unique_groups,
            "C2": all_processes,
            "C3": numbered_groups(ragged=True),
            "C4": global_channel,
            "C5": _reducer(_all),
            "C6": _reduced_shapes(_all),
            "C7": _reduced_elements("results"),
        },
        ("computation",),
        effects=True,
    ),
    OpRecord(
        "stablehlo.collective_reduce",
        OPERANDS,
        result_slots("C3"),
        (groups_slot("I2"), channel_slot("I3"), root_slot("I4")),
        {
            "I3": whole_channel,
            "C1": unique_groups,
            "C2": no_negative_groups,
            "C3": _rooted_shapes,
            "C4": _reducer(data_operands),
            "C5": _reduced_elements("results"),
        },
        ("computation",),
        effects=True,
    ),
    OpRecord(
        "stablehlo.reduce_scatter",
        OPERAND,
        result_slot("C8"),
        (number_slot("scatter_dimension", "I2"), groups_slot("I3"), channel_slot("I4"), global_slot("I5")),
        {
            "I4": whole_channel,
            "C2": dimension_of_each("scatter_dimension", "operand"),
            "C1": _scattered_size,
            "C3": unique_groups,
            "C4": all_processes,
            "C5": numbered_groups(),
            "C6": global_channel,
            "C7": _reducer(_one),
            "C8": _scattered,
            "C9": _reduced_elements("result"),
        },
        ("computation",),
        effects=True,
    ),
)
