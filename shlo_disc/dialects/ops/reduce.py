"""Reductions over dimensions and windows, and functions on each element."""

from __future__ import annotations

from shlo_disc.dialects.checks import (
    combined_elements,
    compare_reducer,
    compare_region,
    refuse_type,
    same_elements,
    same_shapes,
    spell_element,
)
from shlo_disc.dialects.dims import Dims, at_least, list_slot, unique, within_rank
from shlo_disc.dialects.ops.windows import for_each_dimension, padding_for_each_dimension, windows
from shlo_disc.dialects.record import AttributeSlot, Check, OpRecord, Slot
from shlo_disc.dialects.types import Shape, element_type, shapes_agree, spell_shape, tensor_of
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import DenseAttr, TensorType
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.type_kind import TypeKind

_TENSOR = TypeKind.PLAIN | TypeKind.PER_TENSOR

# --- several reductions at once


def _equally_many(view: OpView) -> Refusal | None:
    inputs, results = len(view.values["inputs"]), len(view.values["results"])
    if 0 < inputs == results:
        return None
    return Refusal("at least one input, and a result for each", f"{inputs}, and {results} results")


def _initial_elements(view: OpView) -> Refusal | None:
    pairs = zip(view.tensors("inputs"), view.tensors("init_values"), strict=True)
    for number, (tensor, initial) in enumerate(pairs):
        wanted, found = element_type(tensor), element_type(initial)
        if wanted != found:
            return Refusal(
                f"initial value {number} of the element type of its input, {spell_element(wanted)}",
                spell_element(found),
            )
    return None


def _body(view: OpView) -> Refusal | None:
    return compare_reducer(view, 0, "body", tuple(map(element_type, view.tensors("inputs"))))


def _result_elements(view: OpView) -> Refusal | None:
    for number, (tensor, wanted) in enumerate(zip(view.tensors("results"), combined_elements(view, 0), strict=True)):
        found = element_type(tensor)
        if found != wanted:
            return Refusal(f"result {number} of elements {spell_element(wanted)}", spell_element(found))
    return None


def _refuse_shape(view: OpView, wanted: Shape) -> Refusal | None:
    for number, tensor in enumerate(view.tensors("results")):
        if not shapes_agree(wanted, tensor.shape):
            return Refusal(f"result {number} of shape {spell_shape(wanted)}", spell_shape(tensor.shape))
    return None


def _input_rank(view: OpView) -> int:
    return len(view.tensors("inputs")[0].shape)


# --- reduce

_DIMENSIONS = Dims("dimensions")


def _reduced_shape(view: OpView) -> Refusal | None:
    reduced = _DIMENSIONS.of(view)
    for shape in dict.fromkeys(tensor.shape for tensor in view.tensors("inputs")):
        wanted = tuple([size for dim, size in enumerate(shape) if dim not in reduced])
        if (refusal := _refuse_shape(view, wanted)) is not None:
            return refusal
    return None


# --- reduce_window, select_and_scatter


def _windows_of_inputs(view: OpView) -> Refusal | None:
    each = windows(view, view.integers("window_dimensions"), "base_dilations", "window_dilations")
    counts = [window.count(size) for window, size in zip(each, view.tensors("inputs")[0].shape, strict=True)]
    return _refuse_shape(view, tuple(counts))


def _windows_of_operand(view: OpView) -> Refusal | None:
    each = windows(view, view.integers("window_dimensions"))
    counts = tuple([window.count(size) for window, size in zip(each, view.shape("operand"), strict=True)])
    if shapes_agree(counts, view.shape("source")):
        return None
    return refuse_type(f"of shape {spell_shape(counts)}, a number for each window", "source", view)


def _operand_rank(view: OpView) -> int:
    return view.rank("operand")


def _select(view: OpView) -> Refusal | None:
    scalar = tensor_of(view.element("operand"))
    return compare_region(view, 0, "select", (scalar, scalar), (TensorType((), DType.I1),))


def _scatter(view: OpView) -> Refusal | None:
    return compare_reducer(view, 1, "scatter", (view.element("operand"),))


def _scattered_elements(view: OpView) -> Refusal | None:
    (wanted,) = combined_elements(view, 1)
    if view.element("result") == wanted:
        return None
    return refuse_type(f"of elements {spell_element(wanted)}", "result", view)


def _padding_slot(label: str) -> AttributeSlot:
    return AttributeSlot("padding", label, (DenseAttr,), required=False, dtype=DType.I64, rank=2)


# --- map


def _any_input(view: OpView) -> Refusal | None:
    return None if view.values["inputs"] else Refusal("at least one input", "none")


def _all_dimensions(view: OpView) -> Refusal | None:
    found, rank = view.integers("dimensions"), _input_rank(view)
    if found == tuple(range(rank)):
        return None
    return Refusal(f"'dimensions' to be those of the inputs, {list(range(rank))}", str(list(found)))


def _computation(view: OpView) -> Refusal | None:
    scalars = tuple([tensor_of(element_type(tensor)) for tensor in view.tensors("inputs")])
    return compare_region(view, 0, "computation", scalars, (tensor_of(view.element("result")),))


_REDUCTION = (
    Slot("inputs", _TENSOR, variadic=True, least=1),
    Slot("init_values", _TENSOR, rank=0, variadic=True, least=1),
)
_REDUCED = (Slot("results", _TENSOR, variadic=True, least=1),)

_REDUCE_CONSTRAINTS: dict[str, Check] = {
    "C3": _equally_many,
    "C1": same_shapes("inputs"),
    "C2": _initial_elements,
    "C4": within_rank(_DIMENSIONS, "inputs"),
    "C5": unique(_DIMENSIONS),
    "C6": _body,
    "C7": _reduced_shape,
    "C8": _result_elements,
}

_REDUCE_WINDOW_CONSTRAINTS: dict[str, Check] = {
    "C1": _equally_many,
    "C2": same_shapes("inputs"),
    "C3": _initial_elements,
    "C4": for_each_dimension("window_dimensions", _input_rank),
    "C5": at_least("window_dimensions", 1),
    "C6": for_each_dimension("window_strides", _input_rank),
    "C7": at_least("window_strides", 1),
    "C8": for_each_dimension("base_dilations", _input_rank),
    "C9": at_least("base_dilations", 1),
    "C10": for_each_dimension("window_dilations", _input_rank),
    "C11": at_least("window_dilations", 1),
    "C12": padding_for_each_dimension(_input_rank),
    "C13": _body,
    "C14": same_shapes("results"),
    "C15": _windows_of_inputs,
    "C16": _result_elements,
}

_SELECT_AND_SCATTER_CONSTRAINTS: dict[str, Check] = {
    "C1": same_elements("operand", "source"),
    "C3": same_elements("operand", "init_value"),
    "C4": for_each_dimension("window_dimensions", _operand_rank),
    "C5": at_least("window_dimensions", 1),
    "C6": for_each_dimension("window_strides", _operand_rank),
    "C7": at_least("window_strides", 1),
    "C8": padding_for_each_dimension(_operand_rank),
    "C2": _windows_of_operand,
    "C9": _select,
    "C10": _scatter,
    "C11": same_shapes("operand", "result"),
    "C12": _scattered_elements,
}

OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.reduce",
        _REDUCTION,
        _REDUCED,
        (list_slot("dimensions", "I3"),),
        _REDUCE_CONSTRAINTS,
        ("body",),
        count="C3",
        form="{reduced} across dimensions = {i64s:dimensions}{attr-dict} : {functional}{reducer}",
    ),
    OpRecord(
        "stablehlo.reduce_window",
        _REDUCTION,
        _REDUCED,
        (
            list_slot("window_dimensions", "I3"),
            list_slot("window_strides", "I4", required=False),
            list_slot("base_dilations", "I5", required=False),
            list_slot("window_dilations", "I6", required=False),
            _padding_slot("I7"),
        ),
        _REDUCE_WINDOW_CONSTRAINTS,
        ("body",),
        count="C1",
    ),
    OpRecord(
        "stablehlo.select_and_scatter",
        (Slot("operand", _TENSOR), Slot("source", _TENSOR), Slot("init_value", _TENSOR, rank=0)),
        (Slot("result", _TENSOR),),
        (
            list_slot("window_dimensions", "I4"),
            list_slot("window_strides", "I5", required=False),
            _padding_slot("I6"),
        ),
        _SELECT_AND_SCATTER_CONSTRAINTS,
        ("select", "scatter"),
    ),
    OpRecord(
        "stablehlo.map",
        (Slot("inputs", _TENSOR, variadic=True, least=1),),
        (Slot("result", _TENSOR),),
        (list_slot("dimensions", "I2"),),
        {
            "C2": _any_input,
            "C1": same_shapes("inputs", "result"),
            "C3": _all_dimensions,
            "C4": _computation,
        },
        ("computation",),
    ),
)
