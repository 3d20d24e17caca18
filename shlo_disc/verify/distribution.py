"""Ops between several processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shlo_disc.expr.dtypes import DType
from shlo_disc.ir.attributes import BoolAttr, DenseAttr, IntegerAttr, TensorType, UnitAttr
from shlo_disc.parse.spelling import spell_type
from shlo_disc.verify.checks import (
    combined_elements,
    compare_reducer,
    compare_types,
    refuse_outside,
    refuse_type,
    same_types,
    spell_element,
)
from shlo_disc.verify.groups import (
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
from shlo_disc.verify.rules import AttributeSlot, Check, Kind, Rules, Slot
from shlo_disc.verify.types import Shape, Tensor, element_type, shapes_agree, spell_shape, tensor_of, types_agree
from shlo_disc.verify.view import Refusal, View

_EXCHANGED = Kind.PLAIN | Kind.PER_TENSOR

# --- dimensions that are gathered or scattered


def _dimension(attribute: str, operands: str) -> Check:
    """Make the constraint that an attribute is a dimension of each operand."""

    def check(view: View) -> Refusal | None:
        for tensor in view.tensors(operands):
            refusal = refuse_outside(f"'{attribute}'", [view.integer(attribute)], len(tensor.shape))
            if refusal is not None:
                return refusal
        return None

    return check


def _resized(shape: Shape, factors: Mapping[int, int | None], divisors: Mapping[int, int | None]) -> Shape:
    """Multiply and divide sizes; by a number that is not known, they are not known either."""
    sizes = list(shape)
    for changes, change in ((factors, int.__mul__), (divisors, int.__floordiv__)):
        for dimension, number in changes.items():
            size = sizes[dimension]
            sizes[dimension] = None if size is None or number is None else change(size, number)
    return tuple(sizes)


def _compare_shapes(view: View, wanted: Sequence[Shape], operands: str, results: str) -> Refusal | None:
    """Refuse results of other shapes than those wanted, or of other elements than the operands."""
    types = [tensor_of(element_type(one), shape) for one, shape in zip(view.tensors(operands), wanted, strict=True)]
    return compare_types(tuple(types), view.types(results), f"what '{operands}' give to have the types of '{results}'")


def _no_empty(view: View, attribute: str, name: str) -> Refusal | None:
    dimension = view.integer(attribute)
    for tensor in view.tensors(name):
        if dimension < len(tensor.shape) and tensor.shape[dimension] == 0:
            return Refusal(f"'{name}' to have elements along dimension {dimension}", spell_shape(tensor.shape))
    return None


def _gathered(view: View) -> Refusal | None:
    dimension, size = view.integer("all_gather_dim"), group_size(view)
    if (refusal := _no_empty(view, "all_gather_dim", "operands")) is not None:
        return refusal
    wanted = [_resized(tensor.shape, {dimension: size}, {}) for tensor in view.tensors("operands")]
    if (refusal := _compare_shapes(view, wanted, "operands", "results")) is not None:
        return refusal
    for operand, result in zip(view.tensors("operands"), view.tensors("results"), strict=True):
        before, after = operand.shape[dimension], result.shape[dimension]
        if before is not None and after is not None and after % before:
            return Refusal(f"'results' to have a multiple of {before} along dimension {dimension}", str(after))
    return None


# --- all_to_all


def _split_count(view: View) -> Refusal | None:
    count = view.integer("split_count")
    return None if count > 0 else Refusal("'split_count' above 0", str(count))


def _split_size(view: View) -> Refusal | None:
    dimension, count = view.integer("split_dimension"), view.integer("split_count")
    for tensor in view.tensors("operands"):
        if (tensor.shape[dimension] or 0) % count:
            expected = f"'operands' to have a multiple of {count} along 'split_dimension' {dimension}"
            return Refusal(expected, str(tensor.shape[dimension]))
    return None


def _split_groups(view: View) -> Refusal | None:
    size, count = group_size(view), view.integer("split_count")
    if size in (None, count):
        return None
    return Refusal(f"groups of {count} processes, as 'split_count' says", f"groups of {size}")


def _exchanged(view: View) -> Refusal | None:
    split, concat = view.integer("split_dimension"), view.integer("concat_dimension")
    count = 1 if split == concat else view.integer("split_count")
    wanted = [_resized(tensor.shape, {concat: count}, {split: count}) for tensor in view.tensors("operands")]
    return _compare_shapes(view, wanted, "operands", "results")


# --- roots that are operands

_Data = Callable[[View], tuple[Tensor, ...]]


def _all(view: View) -> tuple[Tensor, ...]:
    return view.tensors("operands")


def _all_but_root(view: View) -> tuple[Tensor, ...]:
    operands = view.tensors("operands")
    return operands[:-1] if view.flag("has_dynamic_root") else operands


def _root(view: View) -> Refusal | None:
    """The last operand names a root for each of the others."""
    if not view.flag("has_dynamic_root"):
        return None
    operands = view.tensors("operands")
    if len(operands) < 2:
        return Refusal("'operands' to be data and a root, as 'has_dynamic_root' is set", f"{len(operands)} operand")
    wanted = TensorType((len(operands) - 1,), DType.I32)
    if types_agree(operands[-1], wanted):
        return None
    return Refusal(f"the root, the last of 'operands', to be a {spell_type(wanted)}", spell_type(operands[-1]))


def _some_data(view: View) -> Refusal | None:
    return None if view.values["operands"] else Refusal("at least one operand", "none")


def _data_count(view: View) -> Refusal | None:
    count, found = len(_all_but_root(view)), len(view.values["results"])
    return None if count == found else Refusal(f"{count} results, one for each operand that is no root", str(found))


def _broadcast(*, rooted: bool) -> Check:
    """Make the constraint that results have the types of the operands, without a root or with one."""

    def check(view: View) -> Refusal | None:
        if view.flag("has_dynamic_root") is not rooted:
            return None
        refusal = _root(view) or _some_data(view)
        if refusal is not None:
            return refusal
        data, results = _all_but_root(view), view.types("results")
        return compare_types(
            data[: len(results)], results[: len(data)], "'operands' and 'results' to be of the same types"
        )

    return check


def _root_in_group(view: View) -> Refusal | None:
    operands, size = view.values["operands"], group_size(view)
    roots = view.constants.get(operands[-1]) if view.flag("has_dynamic_root") else None
    return None if roots is None or size is None else refuse_outside("the root, the last of 'operands',", roots, size)


# --- reductions


def _reducer(data: _Data) -> Check:
    """Make the constraint that the computation combines two elements of each operand."""

    def check(view: View) -> Refusal | None:
        for tensor in data(view):
            refusal = compare_reducer(view, 0, "computation", (element_type(tensor),))
            if refusal is not None:
                return refusal
        return None

    return check


def _one(view: View) -> tuple[Tensor, ...]:
    return view.tensors("operand")


def _reduced_elements(results: str) -> Check:
    """Make the constraint that results have the elements that the computation returns."""

    def check(view: View) -> Refusal | None:
        (wanted,) = combined_elements(view, 0)
        wrong = [tensor for tensor in view.tensors(results) if element_type(tensor) != wanted]
        return Refusal(f"'{results}' of elements {spell_element(wanted)}", spell_type(wrong[0])) if wrong else None

    return check


def _reduced_shapes(data: _Data) -> Check:
    """Make the constraint that each result has the shape of its operand."""

    def check(view: View) -> Refusal | None:
        operands, results = data(view), view.tensors("results")
        if len(operands) != len(results):
            return Refusal(f"{len(operands)} results, one for each operand", str(len(results)))
        for operand, result in zip(operands, results, strict=True):
            if not shapes_agree(operand.shape, result.shape):
                return Refusal(f"a result of shape {spell_shape(operand.shape)}", spell_shape(result.shape))
        return None

    return check


def _rooted_shapes(view: View) -> Refusal | None:
    return _root(view) or _some_data(view) or _reduced_shapes(_all_but_root)(view)


def _scattered_size(view: View) -> Refusal | None:
    dimension, size = view.integer("scatter_dimension"), group_size(view)
    found = view.shape("operand")[dimension]
    if found is None or size is None or found % size == 0:
        return None
    return Refusal(
        f"'operand' to have a multiple of {size}, the size of a group, along dimension {dimension}", str(found)
    )


def _scattered(view: View) -> Refusal | None:
    dimension, size = view.integer("scatter_dimension"), group_size(view)
    for name in ("operand", "result"):
        if (refusal := _no_empty(view, "scatter_dimension", name)) is not None:
            return refusal
    wanted = _resized(view.shape("operand"), {}, {dimension: size})
    if not shapes_agree(wanted, view.shape("result")):
        return refuse_type(f"of shape {spell_shape(wanted)}", "result", view)
    before, after = view.shape("operand")[dimension], view.shape("result")[dimension]
    if before is not None and after is not None and before % after:
        return Refusal(f"'result' to have a divisor of {before} along dimension {dimension}", str(after))
    return None


_OPERANDS = (Slot("operands", _EXCHANGED, variadic=True),)
_OPERAND = (Slot("operand", _EXCHANGED),)


def _results(label: str) -> tuple[Slot, ...]:
    return (Slot("results", _EXCHANGED, variadic=True, label=label),)


def _result(label: str) -> tuple[Slot, ...]:
    return (Slot("result", _EXCHANGED, label=label),)


def _number(name: str, label: str) -> AttributeSlot:
    return AttributeSlot(name, label, (IntegerAttr,), dtype=DType.I64)


def _root_slot(label: str) -> AttributeSlot:
    return AttributeSlot("has_dynamic_root", label, (UnitAttr, BoolAttr), required=False)


RULES: tuple[Rules, ...] = (
    Rules(
        "stablehlo.all_gather",
        _OPERANDS,
        _results("C6"),
        (_number("all_gather_dim", "I2"), groups_slot("I3"), channel_slot("I4"), global_slot("I5")),
        {
            "I4": whole_channel,
            "C1": _dimension("all_gather_dim", "operands"),
            "C2": unique_groups,
            "C3": all_processes,
            "C4": numbered_groups(),
            "C5": global_channel,
            "C6": _gathered,
        },
    ),
    Rules(
        "stablehlo.all_reduce",
        _OPERANDS,
        _results("C6"),
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
    ),
    Rules(
        "stablehlo.all_to_all",
        _OPERANDS,
        _results("C9"),
        (
            _number("split_dimension", "I2"),
            _number("concat_dimension", "I3"),
            _number("split_count", "I4"),
            groups_slot("I5"),
            channel_slot("I6"),
        ),
        {
            "I6": whole_channel,
            "C1": _dimension("split_dimension", "operands"),
            "C4": _split_count,
            "C2": _split_size,
            "C3": _dimension("concat_dimension", "operands"),
            "C5": unique_groups,
            "C7": numbered_groups(),
            "C8": _split_groups,
            "C9": _exchanged,
        },
    ),
    Rules(
        "stablehlo.collective_broadcast",
        _OPERANDS,
        _results("C3"),
        (groups_slot("I2"), channel_slot("I3"), _root_slot("I4")),
        {
            "I3": whole_channel,
            "C1": unique_groups,
            "C2": no_negative_groups,
            "C3": _broadcast(rooted=False),
            "C4": _broadcast(rooted=True),
            "C5": _data_count,
            "C6": _root_in_group,
        },
    ),
    Rules(
        "stablehlo.collective_permute",
        _OPERAND,
        _result("C5"),
        (pairs_slot("I2", required=True), channel_slot("I3")),
        {
            "I3": whole_channel,
            "C1": pairs_of_two,
            "C2": unique_column(0),
            "C3": unique_column(1),
            "C4": no_negative_pairs,
            "C5": same_types("result", "operand"),
        },
    ),
    Rules(
        "stablehlo.collective_reduce",
        _OPERANDS,
        _results("C3"),
        (groups_slot("I2"), channel_slot("I3"), _root_slot("I4")),
        {
            "I3": whole_channel,
            "C1": unique_groups,
            "C2": no_negative_groups,
            "C3": _rooted_shapes,
            "C4": _reducer(_all_but_root),
            "C5": _reduced_elements("results"),
        },
        ("computation",),
    ),
    Rules(
        "stablehlo.reduce_scatter",
        _OPERAND,
        _result("C8"),
        (_number("scatter_dimension", "I2"), groups_slot("I3"), channel_slot("I4"), global_slot("I5")),
        {
            "I4": whole_channel,
            "C2": _dimension("scatter_dimension", "operand"),
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
    ),
    Rules(
        "stablehlo.cross-replica-sum",
        _OPERAND,
        _result("C1"),
        (AttributeSlot("replica_groups", "I2", (DenseAttr,), dtype=DType.I64),),
        {"C1": same_types("result", "operand")},
    ),
)
