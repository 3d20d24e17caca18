"""Ops that read or write slices at places that indices give."""

from __future__ import annotations

from shlo_disc.dialects.checks import (
    combined_elements,
    compare_reducer,
    each,
    same_elements,
    same_shapes,
    spell_element,
)
from shlo_disc.dialects.dims import (
    Dims,
    ascending,
    in_order,
    list_slot,
    numbers,
    one_for_each_dimension,
    result_shape,
    unique,
    within_rank,
    within_sizes,
)
from shlo_disc.dialects.places import Places
from shlo_disc.dialects.record import AttributeSlot, Check, OpRecord, Slot
from shlo_disc.dialects.types import Shape, element_type, sizes_agree, spell_shape
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import BoolAttr, RecordAttr
from shlo_disc.ir.type_kind import TypeKind


def _flag(name: str, label: str) -> AttributeSlot:
    return AttributeSlot(name, label, (BoolAttr,), default=BoolAttr(False))


# --- gather, dynamic_gather

_NUMBERS = "dimension_numbers"
_OFFSETS, _COLLAPSED = Dims("offset_dims", _NUMBERS), Dims("collapsed_slice_dims", _NUMBERS)
_BATCHING = Dims("operand_batching_dims", _NUMBERS)
_INDEX_BATCHING = Dims("start_indices_batching_dims", _NUMBERS)
_INDEX_MAP = Dims("start_index_map", _NUMBERS)
_GATHER = Places(_NUMBERS, "operand", "start_indices", _OFFSETS, _COLLAPSED, _BATCHING, _INDEX_BATCHING, _INDEX_MAP)


def _thin(dims: Dims) -> Check:
    """Make the constraint `slice_sizes[dims...] <= 1`."""

    def check(view: OpView) -> Refusal | None:
        sizes = numbers(view, "slice_sizes")
        if all(in_order(sizes[dimension], 1) for dimension in dims.of(view)):
            return None
        found = ", ".join([f"{sizes[dimension]} in dimension {dimension}" for dimension in dims.of(view)])
        return Refusal(f"'slice_sizes' of at most 1 in '{dims.name}'", found)

    return check


def _gathered_shape(view: OpView) -> Shape:
    return _GATHER.combined(view, numbers(view, "slice_sizes"))


_GATHER_RULES = OpRecord(
    "stablehlo.gather",
    (Slot("operand", TypeKind.UNIFORM), Slot("start_indices", TypeKind.INTEGER)),
    (Slot("result", TypeKind.UNIFORM),),
    (
        AttributeSlot(_NUMBERS, "I3", (RecordAttr,), values=("gather",)),
        list_slot("slice_sizes", "I9"),
        _flag("indices_are_sorted", "I10"),
    ),
    {
        **_GATHER.fields(
            {
                "offset_dims": "I3",
                "collapsed_slice_dims": "I4",
                "operand_batching_dims": "I5",
                "start_indices_batching_dims": "I6",
                "start_index_map": "I7",
                "index_vector_dim": "I8",
            }
        ),
        "C1": _GATHER.each_dimension_once,
        "C2": _GATHER.index_dimension_exists,
        "C3": _GATHER.index_size,
        "C4": each(unique(_OFFSETS), ascending(_OFFSETS)),
        "C5": within_rank(_OFFSETS, "result"),
        "C6": unique(_COLLAPSED, _BATCHING),
        "C7": ascending(_COLLAPSED),
        "C8": within_rank(_COLLAPSED, "operand"),
        "C20": one_for_each_dimension("slice_sizes"),
        "C9": _thin(_COLLAPSED),
        "C10": ascending(_BATCHING),
        "C11": within_rank(_BATCHING, "operand"),
        "C12": _thin(_BATCHING),
        "C13": unique(_INDEX_BATCHING),
        "C14": within_rank(_INDEX_BATCHING, "start_indices"),
        "C15": _GATHER.index_dimension_is_no_batch,
        "C16": _GATHER.batches_paired,
        "C17": _GATHER.batches_equal,
        "C18": unique(_INDEX_MAP, _BATCHING),
        "C19": within_rank(_INDEX_MAP, "operand"),
        "C21": within_sizes("slice_sizes"),
        "C22": result_shape(_gathered_shape),
        "C23": same_elements("operand", "result"),
    },
)

# The specification leaves batches out here; I9, I10 and what follows C14 are those of `gather` on them.
_DYNAMIC_GATHER_RULES = OpRecord(
    "stablehlo.dynamic_gather",
    (
        Slot("operand", TypeKind.UNIFORM),
        Slot("start_indices", TypeKind.INTEGER),
        Slot("slice_sizes", TypeKind.INTEGER, rank=1, sized=True),
    ),
    (Slot("result", TypeKind.UNIFORM),),
    (AttributeSlot(_NUMBERS, "I4", (RecordAttr,), values=("gather",)), _flag("indices_are_sorted", "I8")),
    {
        **_GATHER.fields(
            {
                "offset_dims": "I4",
                "collapsed_slice_dims": "I5",
                "start_index_map": "I6",
                "index_vector_dim": "I7",
                "operand_batching_dims": "I9",
                "start_indices_batching_dims": "I10",
            }
        ),
        "C1": _GATHER.each_dimension_once,
        "C2": _GATHER.index_dimension_exists,
        "C3": _GATHER.index_size,
        "C4": each(unique(_OFFSETS), ascending(_OFFSETS)),
        "C5": within_rank(_OFFSETS, "result"),
        "C6": each(unique(_COLLAPSED), ascending(_COLLAPSED)),
        "C7": within_rank(_COLLAPSED, "operand"),
        "C11": one_for_each_dimension("slice_sizes"),
        "C8": _thin(_COLLAPSED),
        "C9": unique(_INDEX_MAP),
        "C10": within_rank(_INDEX_MAP, "operand"),
        "C12": within_sizes("slice_sizes"),
        "C15": unique(_COLLAPSED, _BATCHING),
        "C16": ascending(_BATCHING),
        "C17": within_rank(_BATCHING, "operand"),
        "C18": _thin(_BATCHING),
        "C19": unique(_INDEX_BATCHING),
        "C20": within_rank(_INDEX_BATCHING, "start_indices"),
        "C21": _GATHER.index_dimension_is_no_batch,
        "C22": _GATHER.batches_paired,
        "C23": _GATHER.batches_equal,
        "C24": unique(_INDEX_MAP, _BATCHING),
        "C13": result_shape(_gathered_shape),
        "C14": same_elements("operand", "result"),
    },
)


# --- scatter

_SCATTER_NUMBERS = "scatter_dimension_numbers"
_WINDOW, _INSERTED = Dims("update_window_dims", _SCATTER_NUMBERS), Dims("inserted_window_dims", _SCATTER_NUMBERS)
_INPUT_BATCHING = Dims("input_batching_dims", _SCATTER_NUMBERS)
_SCATTER_BATCHING = Dims("scatter_indices_batching_dims", _SCATTER_NUMBERS)
_SCATTER_MAP = Dims("scatter_dims_to_operand_dims", _SCATTER_NUMBERS)
_SCATTER = Places(
    *(_SCATTER_NUMBERS, "inputs", "scatter_indices"),
    *(_WINDOW, _INSERTED, _INPUT_BATCHING, _SCATTER_BATCHING, _SCATTER_MAP),
)


def _updates_shape(view: OpView) -> Refusal | None:
    most, found = _SCATTER.combined(view, _SCATTER.shape(view)), view.tensors("updates")[0].shape
    window = _WINDOW.of(view)
    fit = [
        in_order(size, limit) if dimension in window else sizes_agree(size, limit)
        for dimension, (size, limit) in enumerate(zip(found, most, strict=False))
    ]
    if len(found) == len(most) and all(fit):
        return None
    return Refusal(f"'updates' of shape {spell_shape(most)}, or less in dimensions {list(window)}", spell_shape(found))


def _update_elements(view: OpView) -> Refusal | None:
    inputs, updates = view.tensors("inputs"), view.tensors("updates")
    for number, (input_, update) in enumerate(zip(inputs, updates, strict=True)):
        if element_type(input_) != element_type(update):
            found = f"{spell_element(element_type(input_))} and {spell_element(element_type(update))}"
            return Refusal(f"'inputs' and 'updates' number {number} to have one element type", found)
    return None


def _update_computation(view: OpView) -> Refusal | None:
    return compare_reducer(view, 0, "update_computation", tuple(map(element_type, view.tensors("inputs"))))


def _result_count(view: OpView) -> Refusal | None:
    inputs, results = len(view.values["inputs"]), len(view.values["results"])
    return None if inputs == results else Refusal(f"{inputs} results, as many as 'inputs'", str(results))


def _result_elements(view: OpView) -> Refusal | None:
    wanted, found = combined_elements(view, 0), tuple(map(element_type, view.tensors("results")))
    if wanted == found:
        return None
    expected = f"'results' of elements {', '.join(map(spell_element, wanted))}, which 'update_computation' returns"
    return Refusal(expected, ", ".join(map(spell_element, found)))


_SCATTER_RULES = OpRecord(
    "stablehlo.scatter",
    (
        Slot("inputs", TypeKind.UNIFORM, variadic=True, least=1),
        Slot("scatter_indices", TypeKind.INTEGER | TypeKind.INDEX),
        Slot("updates", TypeKind.UNIFORM, variadic=True, least=1),
    ),
    (Slot("results", TypeKind.UNIFORM, variadic=True, least=1),),
    (
        AttributeSlot(_SCATTER_NUMBERS, "I4", (RecordAttr,), values=("scatter",)),
        _flag("indices_are_sorted", "I10"),
        _flag("unique_indices", "I11"),
    ),
    {
        **_SCATTER.fields(
            {
                "update_window_dims": "I4",
                "inserted_window_dims": "I5",
                "input_batching_dims": "I6",
                "scatter_indices_batching_dims": "I7",
                "scatter_dims_to_operand_dims": "I8",
                "index_vector_dim": "I9",
            }
        ),
        "C1": same_shapes("inputs"),
        "C2": _SCATTER.each_dimension_once,
        "C3": same_shapes("updates"),
        "C6": _update_elements,
        "C7": each(unique(_WINDOW), ascending(_WINDOW)),
        "C8": within_rank(_WINDOW, "updates"),
        "C9": unique(_INSERTED, _INPUT_BATCHING),
        "C10": ascending(_INSERTED),
        "C11": within_rank(_INSERTED, "inputs"),
        "C12": ascending(_INPUT_BATCHING),
        "C13": within_rank(_INPUT_BATCHING, "inputs"),
        "C14": unique(_SCATTER_BATCHING),
        "C15": within_rank(_SCATTER_BATCHING, "scatter_indices"),
        "C22": _SCATTER.index_dimension_exists,
        "C16": _SCATTER.index_dimension_is_no_batch,
        "C17": _SCATTER.batches_paired,
        "C18": _SCATTER.batches_equal,
        "C19": _SCATTER.index_size,
        "C20": unique(_SCATTER_MAP, _INPUT_BATCHING),
        "C21": within_rank(_SCATTER_MAP, "inputs"),
        "C4": _updates_shape,
        "C23": _update_computation,
        "C24": each(_result_count, same_shapes("inputs", "results")),
        "C25": _result_elements,
    },
    ("update_computation",),
    count="C5",
)

OPS: tuple[OpRecord, ...] = (_GATHER_RULES, _DYNAMIC_GATHER_RULES, _SCATTER_RULES)
