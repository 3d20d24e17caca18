"""Convolutions, static and dynamic."""

from __future__ import annotations

from shlo_disc.dialects.checks import (
    each,
    refuse_below,
    refuse_count,
    refuse_outside,
    refuse_type,
    same_elements,
    spell_element,
)
from shlo_disc.dialects.dims import at_least, list_slot, number_slot, result_shape
from shlo_disc.dialects.ops.products import (
    OPERANDS,
    RESULTS,
    any_quantized,
    precision_for_each,
    precision_slot,
    quantized_product,
)
from shlo_disc.dialects.ops.windows import for_each_dimension, padding_for_each_dimension, windows
from shlo_disc.dialects.record import AttributeSlot, Check, OpRecord, Slot
from shlo_disc.dialects.types import Element, Shape, is_promotable, shapes_agree, sizes_agree, spell_shape
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import ConvDimensionsAttr, DenseArrayAttr, DenseAttr, QuantizedElement
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_conv_dimensions
from shlo_disc.ir.type_kind import TypeKind

# --- dimension numbers: `[b, 0, f]x[0, i, o]->[b, 0, f]`, of the input, the kernel and the output

_LETTERS = {
    "I8": ("input", "b", "batch"),
    "I9": ("input", "f", "feature"),
    "I11": ("kernel", "i", "input feature"),
    "I12": ("kernel", "o", "output feature"),
    "I14": ("output", "b", "batch"),
    "I15": ("output", "f", "feature"),
}
_SPATIAL = {"I10": "input", "I13": "kernel", "I16": "output"}


def _numbers(view: OpView) -> ConvDimensionsAttr:
    numbers = view.attribute("dimension_numbers")
    assert isinstance(numbers, ConvDimensionsAttr), "the slot takes dimension numbers"
    return numbers


def _side(view: OpView, side: str) -> tuple[str | int, ...]:
    """Return what each dimension of a side is."""
    numbers = _numbers(view)
    return {"input": numbers.input, "kernel": numbers.kernel, "output": numbers.output}[side]


def _place(view: OpView, side: str, letter: str) -> int:
    """Return the dimension that a letter stands for."""
    return _side(view, side).index(letter)


def _spatial(view: OpView, side: str) -> tuple[int, ...]:
    """Return the spatial dimensions, in their order."""
    listed = _side(view, side)
    return tuple([listed.index(number) for number in range(sum(isinstance(item, int) for item in listed))])


def _letter_once(side: str, letter: str, meaning: str) -> Check:
    def check(view: OpView) -> Refusal | None:
        if _side(view, side).count(letter) == 1:
            return None
        expected = f"one {meaning} dimension '{letter}' of the {side} in 'dimension_numbers'"
        return Refusal(expected, spell_conv_dimensions(_numbers(view)))

    return check


def _spatial_once(side: str) -> Check:
    def check(view: OpView) -> Refusal | None:
        found = sorted([item for item in _side(view, side) if isinstance(item, int)])
        if found == list(range(len(found))):
            return None
        expected = f"spatial dimensions 0, 1 … of the {side}, each once, in 'dimension_numbers'"
        return Refusal(expected, spell_conv_dimensions(_numbers(view)))

    return check


def _spatial_count(side: str) -> Check:
    name = f"the spatial dimensions of the {side}"
    return lambda view: refuse_count(name, _spatial(view, side), _spatial_rank(view))


def _within_rank(side: str) -> Check:
    def check(view: OpView) -> Refusal | None:
        named = [place for place, item in enumerate(_side(view, side)) if item != "?"]
        return refuse_outside(f"the dimensions of the {side}", named, view.rank("lhs"))

    return check


# --- ranks and windows


def _spatial_rank(view: OpView) -> int:
    return view.rank("lhs") - 2


def _same_rank(view: OpView) -> Refusal | None:
    ranks = view.rank("lhs"), view.rank("rhs")
    if ranks[0] == ranks[1]:
        return None
    return Refusal("'lhs' and 'rhs' to have equally many dimensions", f"{ranks[0]} and {ranks[1]}")


def _result_rank(view: OpView) -> Refusal | None:
    if view.rank("result") == view.rank("lhs"):
        return None
    return refuse_type(f"of {view.rank('lhs')} dimensions, as 'lhs' is", "result", view)


def _enough_strides(view: OpView) -> Refusal | None:
    # exports of one-dimensional convolutions are known that have two strides
    strides, rank = view.integers("window_strides"), _spatial_rank(view)
    return refuse_count("'window_strides'", strides, rank) if len(strides) < rank and strides else None


def _padding_operand(view: OpView) -> Refusal | None:
    wanted = (_spatial_rank(view), 2)
    if shapes_agree(view.shape("padding"), wanted):
        return None
    return refuse_type(f"of shape {spell_shape(wanted)}", "padding", view)


def _some_window(view: OpView) -> Refusal | None:
    sizes = [view.shape("rhs")[dim] for dim in _spatial(view, "kernel")]
    return refuse_type("of spatial sizes above 0", "rhs", view) if 0 in sizes else None


def _output_shape(view: OpView) -> Shape:
    lhs, rhs = view.shape("lhs"), view.shape("rhs")
    sizes = tuple([rhs[dim] for dim in _spatial(view, "kernel")])
    moving = windows(view, sizes, "lhs_dilation", "rhs_dilation")
    batch = lhs[_place(view, "input", "b")]
    shape: list[int | None] = [None] * len(lhs)
    shape[_place(view, "output", "b")] = None if batch is None else batch // view.integer("batch_group_count")
    shape[_place(view, "output", "f")] = rhs[_place(view, "kernel", "o")]
    for window, output, input_ in zip(moving, _spatial(view, "output"), _spatial(view, "input"), strict=True):
        shape[output] = window.count(lhs[input_])
    return tuple(shape)


# --- groups


def _positive(groups: str) -> Check:
    return lambda view: refuse_below(f"'{groups}'", [view.integer(groups)], 1)


def _divisible(operand: str, side: str, letter: str, groups: str) -> Check:
    def check(view: OpView) -> Refusal | None:
        place, count = _place(view, side, letter), view.integer(groups)
        size = view.shape(operand)[place]
        if size is None or size % count == 0:
            return None
        return Refusal(f"dimension {place} of '{operand}' to be a multiple of '{groups}', {count}", str(size))

    return check


def _features(view: OpView) -> Refusal | None:
    place, kernel_place = _place(view, "input", "f"), _place(view, "kernel", "i")
    features, found = view.shape("lhs")[place], view.shape("rhs")[kernel_place]
    wanted = None if features is None else features // view.integer("feature_group_count")
    if sizes_agree(wanted, found):
        return None
    return Refusal(
        f"dimension {kernel_place} of 'rhs' to have the size {wanted}, that of dimension {place} of 'lhs' in one group",
        str(found),
    )


def _one_sort_of_groups(view: OpView) -> Refusal | None:
    counts = view.integer("feature_group_count"), view.integer("batch_group_count")
    if 1 in counts:
        return None
    return Refusal("'feature_group_count' or 'batch_group_count' to be 1", f"{counts[0]} and {counts[1]}")


# --- elements


def _plain_elements(view: OpView) -> Refusal | None:
    if any_quantized(view):
        return None
    if (refusal := same_elements("lhs", "rhs")(view)) is not None:
        return refusal
    wanted = view.element("lhs")
    # a program may ask for wider results: exported so, and taken by every compiler
    if _is_wider(wanted, view.element("result")):
        return None
    return refuse_type(f"of elements {spell_element(wanted)}, or wider", "result", view)


def _is_wider(element: Element, result: Element) -> bool:
    of_integers = isinstance(element, DType) and element.is_integer and isinstance(result, DType) and result.is_float
    return is_promotable(element, result) or of_integers


def _quantized_along(name: str, side: str, letter: str) -> Check:
    def check(view: OpView) -> Refusal | None:
        element, place = view.element(name), _place(view, side, letter)
        if not isinstance(element, QuantizedElement) or element.axis in (None, place):
            return None
        return refuse_type(f"quantized along dimension {place}, its output features", name, view)

    return check


_CONSTRAINTS: dict[str, Check] = {
    **{label: _letter_once(*named) for label, named in _LETTERS.items()},
    **{label: _spatial_once(side) for label, side in _SPATIAL.items()},
    "C1": _same_rank,
    "C26": _result_rank,
    "C12": _spatial_count("input"),
    "C13": _within_rank("input"),
    "C17": _spatial_count("kernel"),
    "C18": _within_rank("kernel"),
    "C19": _spatial_count("output"),
    "C20": _within_rank("output"),
    "C2": for_each_dimension("window_strides", _spatial_rank),
    "C3": at_least("window_strides", 1),
    "C4": padding_for_each_dimension(_spatial_rank),
    "C5": for_each_dimension("lhs_dilation", _spatial_rank),
    "C6": at_least("lhs_dilation", 1),
    "C7": for_each_dimension("rhs_dilation", _spatial_rank),
    "C8": at_least("rhs_dilation", 1),
    "C9": for_each_dimension("window_reversal", _spatial_rank),
    "C21": _positive("feature_group_count"),
    "C22": _positive("batch_group_count"),
    "C23": _one_sort_of_groups,
    "C10": _divisible("lhs", "input", "b", "batch_group_count"),
    "C11": _divisible("lhs", "input", "f", "feature_group_count"),
    "C14": _features,
    "C15": _divisible("rhs", "kernel", "o", "batch_group_count"),
    "C16": _divisible("rhs", "kernel", "o", "feature_group_count"),
    "C24": precision_for_each,
    "C25": each(_some_window, result_shape(_output_shape)),
    "C27": _plain_elements,
    **quantized_product("C28", "C31", "C32", "C33", "C34"),
    "C29": _quantized_along("rhs", "kernel", "o"),
    "C30": _quantized_along("result", "output", "f"),
}

_ATTRIBUTES = (
    list_slot("lhs_dilation", "I5", required=False),
    list_slot("rhs_dilation", "I6", required=False),
    AttributeSlot("window_reversal", "I7", (DenseArrayAttr,), required=False, dtype=DType.I1),
    AttributeSlot("dimension_numbers", "I8", (ConvDimensionsAttr,)),
    number_slot("feature_group_count", "I17"),
    number_slot("batch_group_count", "I18"),
    precision_slot("I19"),
)

OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.convolution",
        OPERANDS,
        RESULTS,
        (
            list_slot("window_strides", "I3", required=False),
            AttributeSlot("padding", "I4", (DenseAttr,), required=False, dtype=DType.I64, rank=2),
            *_ATTRIBUTES,
        ),
        _CONSTRAINTS,
        form="({operands}) dim_numbers = {conv-dimensions}, window = {window}{attr-dict} : {functional}",
    ),
    OpRecord(
        "stablehlo.dynamic_conv",
        (*OPERANDS, Slot("padding", TypeKind.INTEGER, rank=2, sized=True)),
        RESULTS,
        (list_slot("window_strides", "I4", required=False), *_ATTRIBUTES),
        {**_CONSTRAINTS, "C2": _enough_strides, "C4": _padding_operand},
    ),
)
