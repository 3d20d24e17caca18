"""Ops that move elements, with sizes given by operands; constant operands are checked against the types."""

from __future__ import annotations

from shlo_disc.dialects.checks import identical_types, same_elements
from shlo_disc.dialects.dims import (
    Dims,
    dimension_within_rank,
    in_order,
    list_slot,
    number_slot,
    result_shape,
    unique,
    within_rank,
)
from shlo_disc.dialects.forms import FUNCTIONAL
from shlo_disc.dialects.ops.move import BROADCAST, PAD, RESHAPE, SLICE
from shlo_disc.dialects.record import Check, OpRecord, Slot
from shlo_disc.dialects.types import Shape, greatest_shape, shapes_agree, sizes_agree, spell_shape
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.type_kind import TypeKind

_SIZES = TypeKind.INTEGER | TypeKind.INDEX
_OPERAND = Slot("operand", TypeKind.UNIFORM)
_RESULT = Slot("result", TypeKind.UNIFORM)
_EXPANDING = Dims("known_expanding_dimensions")
_NONEXPANDING = Dims("known_nonexpanding_dimensions")


def _shape_operand(name: str) -> Check:
    """Make the constraint `size(a) = rank(result)`; numbers that a constant gives must be the sizes of the result."""

    def check(view: OpView) -> Refusal | None:
        (count,), result, sizes = view.shape(name), view.shape("result"), view.constant(name)
        if not sizes_agree(count, len(result)):
            return Refusal(f"'{name}' to have as many numbers as 'result' has dimensions, {len(result)}", str(count))
        if sizes is None or (shapes_agree(sizes, result) and min(sizes, default=0) >= 0):
            return None
        return Refusal(f"'{name}' to hold the sizes of 'result', {spell_shape(result)}", str(list(sizes)))

    return check


# --- set_dimension_size: not in the specification


def _set_size(view: OpView) -> int | None:
    constant = view.constant("size")
    return None if constant is None else constant[0]


def _most(view: OpView) -> int | None:
    """Return the greatest value of the size that is set."""
    return greatest_shape(view.tensor("operand"))[view.integer("dimension")]


def _sized_shape(view: OpView) -> Shape:
    shape, dimension = view.shape("operand"), view.integer("dimension")
    return (*shape[:dimension], _set_size(view), *shape[dimension + 1 :])


def _size_within(view: OpView) -> Refusal | None:
    size, most = _set_size(view), _most(view)
    if in_order(0, size, most):
        return None
    return Refusal(f"'size' to be at least 0 and at most that of 'operand', {spell_shape((most,))}", str(size))


def _result_within(view: OpView) -> Refusal | None:
    dimension, most = view.integer("dimension"), _most(view)
    size = view.shape("result")[dimension]
    if in_order(size, most):
        return None
    return Refusal(f"dimension {dimension} of 'result' to be no larger than that of 'operand', {most}", str(size))


OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.dynamic_broadcast_in_dim",
        (Slot("operand", TypeKind.TENSOR), Slot("output_dimensions", _SIZES, rank=1, sized=True)),
        (Slot("result", TypeKind.TENSOR),),
        (
            list_slot("broadcast_dimensions", "I3"),
            list_slot("known_expanding_dimensions", "I4", required=False),
            list_slot("known_nonexpanding_dimensions", "I5", required=False),
        ),
        {
            **BROADCAST,
            "C7": _shape_operand("output_dimensions"),
            "C8": unique(_EXPANDING, _NONEXPANDING),
            "C9": within_rank(_EXPANDING, "operand"),
            "C10": within_rank(_NONEXPANDING, "operand"),
        },
        form=" {operands}, dims = {i64s:broadcast_dimensions}{attr-dict} : {functional}",
    ),
    OpRecord(
        "stablehlo.dynamic_reshape",
        (Slot("operand", TypeKind.TENSOR), Slot("output_shape", _SIZES, rank=1, sized=True)),
        (Slot("result", TypeKind.TENSOR),),
        constraints={**RESHAPE, "C4": _shape_operand("output_shape")},
        form=FUNCTIONAL,
    ),
    OpRecord(
        "stablehlo.dynamic_iota",
        (Slot("output_shape", _SIZES, rank=1, sized=True),),
        (Slot("result", TypeKind.INTEGER | TypeKind.FLOAT | TypeKind.COMPLEX | TypeKind.PER_TENSOR, label="C3"),),
        (number_slot("iota_dimension", "I2"),),
        {"C2": _shape_operand("output_shape"), "C1": dimension_within_rank("iota_dimension", "result")},
        form=" {operands}, dim = {i64:iota_dimension}{attr-dict} : {functional}",
    ),
    OpRecord(
        "stablehlo.dynamic_pad",
        (
            _OPERAND,
            Slot("padding_value", TypeKind.UNIFORM, rank=0),
            *[
                Slot(name, _SIZES, rank=1, sized=True)
                for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
            ],
        ),
        (_RESULT,),
        constraints={**PAD, "C5": identical_types("edge_padding_low", "edge_padding_high", "interior_padding")},
        form=FUNCTIONAL,
    ),
    OpRecord(
        "stablehlo.real_dynamic_slice",
        (_OPERAND, *[Slot(name, _SIZES, rank=1, sized=True) for name in ("start_indices", "limit_indices", "strides")]),
        (_RESULT,),
        constraints={**SLICE, "C6": identical_types("start_indices", "limit_indices", "strides")},
        form=FUNCTIONAL,
    ),
    OpRecord(
        "stablehlo.get_dimension_size",
        (Slot("operand", TypeKind.TENSOR),),
        (Slot("result", TypeKind.SIGNED, rank=0, dtype=DType.I32),),
        (number_slot("dimension", "I2"),),
        {"C1": dimension_within_rank("dimension", "operand")},
        form=" {operands}, dim = {i64:dimension}{attr-dict} : {functional}",
    ),
    OpRecord(
        "stablehlo.set_dimension_size",
        (_OPERAND, Slot("size", TypeKind.SIGNED, rank=0, dtype=DType.I32)),
        (_RESULT,),
        (number_slot("dimension", "I3"),),
        {
            "C1": dimension_within_rank("dimension", "operand"),
            "C2": same_elements("operand", "result"),
            "C3": result_shape(_sized_shape),
            "C4": _size_within,
            "C5": _result_within,
        },
        form=" {operands}, dim = {i64:dimension}{attr-dict} : {functional}",
    ),
)
