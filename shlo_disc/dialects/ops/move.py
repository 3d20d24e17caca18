"""Ops that move elements and compute none."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.dialects.axes import broadcast_axis, reshaped_axis, same_elements_but_axis, transposed_axis
from shlo_disc.dialects.checks import each, refuse_below, same_elements, same_types
from shlo_disc.dialects.dims import (
    Dims,
    at_least,
    dimension_within_rank,
    in_order,
    list_slot,
    number_slot,
    numbers,
    one_for_each_dimension,
    result_shape,
    unique,
    within_rank,
    within_sizes,
)
from shlo_disc.dialects.forms import FUNCTIONAL
from shlo_disc.dialects.record import Check, OpRecord, Slot
from shlo_disc.dialects.types import Shape, product, shapes_agree, sizes_agree, spell_shape
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.type_kind import TypeKind

_OPERAND = Slot("operand", TypeKind.UNIFORM)
_RESULT = Slot("result", TypeKind.UNIFORM)


def known_shape(view: OpView) -> Shape:
    """Return the shape of the result; sizes that its type leaves open may be known from a constant shape operand."""
    shape = view.shape("result")
    for name in ("output_dimensions", "output_shape"):
        if name in view.values and (sizes := view.constant(name)) is not None and len(sizes) == len(shape):
            return tuple([known if size is None else size for size, known in zip(shape, sizes, strict=True)])
    return shape


# --- broadcast_in_dim, broadcast


def _broadcast_sizes(view: OpView) -> Refusal | None:
    result = known_shape(view)
    for dimension, (size, place) in enumerate(
        zip(view.shape("operand"), view.integers("broadcast_dimensions"), strict=True)
    ):
        if size != 1 and not sizes_agree(size, result[place]):
            return Refusal(
                f"dimension {dimension} of 'operand' to have the size of dimension {place} of 'result' or 1",
                f"{size} and {result[place]}",
            )
    return None


_BROADCAST_DIMENSIONS = Dims("broadcast_dimensions")

BROADCAST: Mapping[str, Check] = {
    "C1": same_elements_but_axis(parameters=True),
    "C2": one_for_each_dimension("broadcast_dimensions"),
    "C3": within_rank(_BROADCAST_DIMENSIONS, "result"),
    "C4": unique(_BROADCAST_DIMENSIONS),
    "C5": _broadcast_sizes,
    "C6": broadcast_axis,
}
"""The constraints of `broadcast_in_dim` and of its dynamic form."""


# --- reshape


def _reshaped_size(view: OpView) -> Refusal | None:
    before, after = product(view.shape("operand")), product(known_shape(view))
    if sizes_agree(before, after):
        return None
    return Refusal("'result' to have as many elements as 'operand'", f"{after} and {before}")


RESHAPE: Mapping[str, Check] = {
    "C1": same_elements_but_axis(parameters=False),
    "C2": _reshaped_size,
    "C3": reshaped_axis,
}
"""The constraints of `reshape` and of its dynamic form."""


# --- slice, pad; their dynamic forms have operands by the names of the attributes here


def _sliced_shape(view: OpView) -> Shape:
    names = ("start_indices", "limit_indices", "strides")
    return tuple(map(_sliced_size, *[numbers(view, name) for name in names]))


def _sliced_size(start: int | None, limit: int | None, stride: int | None) -> int | None:
    return None if start is None or limit is None or stride is None else -((start - limit) // stride)


SLICE: Mapping[str, Check] = {
    "C1": same_elements("operand", "result"),
    "C2": one_for_each_dimension("start_indices", "limit_indices", "strides"),
    "C3": within_sizes("start_indices", "limit_indices"),
    "C4": at_least("strides", 1),
    "C5": result_shape(_sliced_shape),
}
"""The constraints of `slice` and of its dynamic form."""


def _padded_shape(view: OpView) -> Shape:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return tuple(map(_padded_size, view.shape("operand"), *[numbers(view, name) for name in names]))


def _padded_size(size: int | None, low: int | None, high: int | None, interior: int | None) -> int | None:
    if size is None or low is None or high is None or interior is None:
        return None
    return low + size + max(size - 1, 0) * interior + high


def _padding_left(view: OpView) -> Refusal | None:
    shape = _padded_shape(view)
    if all(size is None or size >= 0 for size in shape):
        return None
    return Refusal("padding to leave no size of 'result' below 0", spell_shape(shape))


PAD: Mapping[str, Check] = {
    "C1": same_elements("operand", "padding_value", "result"),
    "C2": one_for_each_dimension("edge_padding_low", "edge_padding_high", "interior_padding"),
    "C3": at_least("interior_padding", 0),
    "C4": each(_padding_left, result_shape(_padded_shape)),
}
"""The constraints of `pad` and of its dynamic form."""


# --- concatenate


def _joined_shapes(view: OpView) -> Refusal | None:
    shapes = [_without(tensor.shape, view.integer("dimension")) for tensor in view.tensors("inputs")]
    if shapes_agree(*shapes):
        return None
    found = ", ".join([spell_shape(tensor.shape) for tensor in view.tensors("inputs")])
    return Refusal(f"'inputs' to differ in the size of dimension {view.integer('dimension')} only", found)


def _without(shape: Shape, dimension: int) -> Shape:
    return tuple([None if place == dimension else size for place, size in enumerate(shape)])


def _concatenated_shape(view: OpView) -> Shape:
    dimension, shapes = view.integer("dimension"), [tensor.shape for tensor in view.tensors("inputs")]
    shape = list(map(_first_known, *shapes))
    sizes = [shape[dimension] for shape in shapes]
    shape[dimension] = sum(size or 0 for size in sizes) if None not in sizes else None
    return tuple(shape)


def _first_known(*sizes: int | None) -> int | None:
    return next((size for size in sizes if size is not None), None)


# --- transpose


def _transposed_permutation(view: OpView) -> Refusal | None:
    permutation, rank = view.integers("permutation"), view.rank("operand")
    if sorted(permutation) == list(range(rank)):
        return None
    return Refusal(f"'permutation' to be {list(range(rank))} in some order", str(list(permutation)))


def _transposed_shape(view: OpView) -> Shape:
    return tuple([view.shape("operand")[dimension] for dimension in view.integers("permutation")])


# --- dynamic_slice, dynamic_update_slice


def _starts(view: OpView) -> Refusal | None:
    starts, rank = len(view.values["start_indices"]), view.rank("operand")
    if starts == rank:
        return None
    return Refusal(f"as many values 'start_indices' as 'operand' has dimensions, {rank}", str(starts))


def _update_rank(view: OpView) -> Refusal | None:
    update, operand = view.rank("update"), view.rank("operand")
    return None if update == operand else Refusal(f"'update' to have rank {operand}, as 'operand'", str(update))


def _update_sizes(view: OpView) -> Refusal | None:
    update, operand = view.shape("update"), view.shape("operand")
    if all(map(in_order, update, operand)):
        return None
    found = f"{spell_shape(update)} and {spell_shape(operand)}"
    return Refusal("'update' to be no larger than 'operand' in any dimension", found)


# --- broadcast, torch_index_select: the specification has them no more


def _prefixed_shape(view: OpView) -> Shape:
    return view.integers("broadcast_sizes") + view.shape("operand")


def _batch_dims(view: OpView) -> Refusal | None:
    batch, most = view.integer("batch_dims"), min(view.integer("dim"), view.rank("index"))
    if 0 <= batch <= most:
        return None
    return Refusal(f"'batch_dims' to be at least 0 and at most {most}, within 'index' and before 'dim'", str(batch))


def _batch_sizes(view: OpView) -> Refusal | None:
    batch = view.integer("batch_dims")
    operand, index = view.shape("operand")[:batch], view.shape("index")[:batch]
    if shapes_agree(operand, index):
        return None
    found = f"{spell_shape(operand)} and {spell_shape(index)}"
    return Refusal(f"'operand' and 'index' to have the same first {batch} sizes", found)


def _selected_shape(view: OpView) -> Shape:
    operand, dimension = view.shape("operand"), view.integer("dim")
    return operand[:dimension] + view.shape("index")[view.integer("batch_dims") :] + operand[dimension + 1 :]


OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.broadcast_in_dim",
        (Slot("operand", TypeKind.TENSOR),),
        (Slot("result", TypeKind.TENSOR, sized=True, label="C7"),),
        (list_slot("broadcast_dimensions", "I2"),),
        BROADCAST,
        form=" {operands}, dims = {i64s:broadcast_dimensions}{attr-dict} : {functional}",
    ),
    OpRecord(
        "stablehlo.reshape",
        (Slot("operand", TypeKind.TENSOR),),
        (Slot("result", TypeKind.TENSOR, sized=True, label="C4"),),
        constraints=RESHAPE,
        form=FUNCTIONAL,
    ),
    OpRecord(
        "stablehlo.reverse",
        (_OPERAND,),
        (_RESULT,),
        (list_slot("dimensions", "I2"),),
        {
            "C1": same_types("operand", "result"),
            "C2": unique(Dims("dimensions")),
            "C3": within_rank(Dims("dimensions"), "result"),
        },
        form=" {operands}, dims = {i64s:dimensions}{attr-dict} : {same}",
    ),
    OpRecord(
        "stablehlo.slice",
        (_OPERAND,),
        (_RESULT,),
        (list_slot("start_indices", "I2"), list_slot("limit_indices", "I3"), list_slot("strides", "I4")),
        SLICE,
        form=" {operands} {ranges}{attr-dict} : {functional}",
    ),
    OpRecord(
        "stablehlo.pad",
        (_OPERAND, Slot("padding_value", TypeKind.UNIFORM, rank=0)),
        (_RESULT,),
        (
            list_slot("edge_padding_low", "I3"),
            list_slot("edge_padding_high", "I4"),
            list_slot("interior_padding", "I5"),
        ),
        PAD,
        form=(
            " {operands}, low = {i64s:edge_padding_low}, high = {i64s:edge_padding_high}, "
            "interior = {i64s:interior_padding}{attr-dict} : {functional}"
        ),
    ),
    OpRecord(
        "stablehlo.concatenate",
        (Slot("inputs", TypeKind.UNIFORM, variadic=True, least=1),),
        (_RESULT,),
        (number_slot("dimension", "I2"),),
        {
            "C1": same_elements("inputs"),
            "C4": dimension_within_rank("dimension", "inputs"),
            "C2": _joined_shapes,
            "C5": same_elements("inputs", "result"),
            "C6": result_shape(_concatenated_shape),
        },
        form=" {operands}, dim = {i64:dimension}{attr-dict} : {functional}",
    ),
    OpRecord(
        "stablehlo.transpose",
        (Slot("operand", TypeKind.TENSOR),),
        (Slot("result", TypeKind.TENSOR),),
        (list_slot("permutation", "I2"),),
        {
            "C1": same_elements_but_axis(parameters=False),
            "C2": _transposed_permutation,
            "C3": result_shape(_transposed_shape),
            "C4": transposed_axis,
        },
        form=" {operands}, dims = {i64s:permutation}{attr-dict} : {functional}",
    ),
    OpRecord(
        "stablehlo.dynamic_slice",
        (_OPERAND, Slot("start_indices", TypeKind.INTEGER, rank=0, variadic=True)),
        (_RESULT,),
        (list_slot("slice_sizes", "I3"),),
        {
            "C1": same_elements("operand", "result"),
            "C2": each(one_for_each_dimension("slice_sizes"), _starts),
            "C3": same_elements("start_indices"),
            "C4": within_sizes("slice_sizes"),
            "C5": result_shape(lambda view: view.integers("slice_sizes")),
        },
        form=" {operands}, sizes = {i64s:slice_sizes}{attr-dict} : {functional}",
    ),
    OpRecord(
        "stablehlo.dynamic_update_slice",
        (_OPERAND, Slot("update", TypeKind.UNIFORM), Slot("start_indices", TypeKind.INTEGER, rank=0, variadic=True)),
        (_RESULT,),
        constraints={
            "C1": same_types("operand", "result"),
            "C2": same_elements("update", "operand"),
            "C3": _update_rank,
            "C4": _starts,
            "C5": same_elements("start_indices"),
            "C6": _update_sizes,
        },
        form=FUNCTIONAL,
    ),
    OpRecord(
        "stablehlo.broadcast",
        (_OPERAND,),
        (_RESULT,),
        (list_slot("broadcast_sizes", "I2"),),
        {
            "C1": same_elements("operand", "result"),
            "C2": lambda view: refuse_below("'broadcast_sizes'", view.integers("broadcast_sizes"), 0),
            "C3": result_shape(_prefixed_shape),
        },
        form=" {operands}, sizes = {i64s:broadcast_sizes}{attr-dict} : {functional}",
    ),
    OpRecord(
        "stablehlo.torch_index_select",
        (_OPERAND, Slot("index", TypeKind.INTEGER)),
        (_RESULT,),
        (number_slot("dim", "I3"), number_slot("batch_dims", "I4")),
        {
            "C1": same_elements("operand", "result"),
            "C2": dimension_within_rank("dim", "operand"),
            "C3": _batch_dims,
            "C4": _batch_sizes,
            "C5": result_shape(_selected_shape),
        },
    ),
)
