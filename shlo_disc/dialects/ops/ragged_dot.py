"""A product of which one dimension of `lhs` is divided into groups: `chlo.ragged_dot`.

The kind of that dimension decides what the groups do: of a free one, each group is multiplied by its own part of
`rhs`; a contracting one gives a product for each group; a batching one is cut into groups of batches. Labels are ours.
"""

from __future__ import annotations

from shlo_disc.dialects.checks import list_fields, refuse_type
from shlo_disc.dialects.dims import Dims, result_shape, unique, within_rank
from shlo_disc.dialects.ops.products import precision_for_each, precision_slot
from shlo_disc.dialects.pairing import Pairing
from shlo_disc.dialects.record import AttributeSlot, OpRecord, Slot
from shlo_disc.dialects.types import Shape, sizes_agree, spell_shape
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import RecordAttr
from shlo_disc.ir.type_kind import TypeKind

_NUMBERS = "ragged_dot_dimension_numbers"
_PAIRING = Pairing(_NUMBERS)
_RAGGED = Dims("lhs_ragged_dimensions", _NUMBERS)
_GROUPS = Dims("rhs_group_dimensions", _NUMBERS)


def _one_ragged(view: OpView) -> Refusal | None:
    found = _RAGGED.of(view)
    return None if len(found) == 1 else Refusal("one dimension in 'lhs_ragged_dimensions'", str(list(found)))


def _ragged(view: OpView) -> int:
    return _RAGGED.of(view)[0]


def _group_dimensions(view: OpView) -> Refusal | None:
    """Demand a dimension of groups of `rhs` if the ragged dimension is free, else none."""
    found = _GROUPS.of(view)
    wanted = 1 if _ragged(view) in _PAIRING.lhs_free(view) else 0
    if len(found) == wanted:
        return None
    return Refusal(
        f"'rhs_group_dimensions' to hold {wanted} numbers for ragged dimension {_ragged(view)}", str([*found])
    )


def _count(view: OpView) -> int | None:
    """Return the number of groups."""
    return view.shape("group_sizes")[-1]


def _outer(view: OpView) -> tuple[int, ...]:
    """Return the dimensions of `lhs` along which group sizes may differ."""
    ragged, batching = _ragged(view), _PAIRING.lhs_batching.of(view)
    if ragged in batching:
        return batching[: batching.index(ragged)]
    contracting = _PAIRING.lhs_contracting.of(view)
    if ragged in contracting:
        return (*batching, *contracting[: contracting.index(ragged)])
    return (*batching, *[dim for dim in _PAIRING.lhs_free(view) if dim < ragged])


def _group_sizes(view: OpView) -> Refusal | None:
    found, lhs = view.shape("group_sizes"), view.shape("lhs")
    outer = tuple([lhs[dim] for dim in _outer(view)])
    if len(found) == 1 or (found and found[:-1] == outer):
        return None
    expected = f"of 1 dimension or of shape {spell_shape((*outer, None))}, '?' being the number of groups"
    return refuse_type(expected, "group_sizes", view)


def _group_count(view: OpView) -> Refusal | None:
    for dim in _GROUPS.of(view):
        size = view.shape("rhs")[dim]
        if not sizes_agree(size, _count(view)):
            return Refusal(f"dimension {dim} of 'rhs' to have a place for each of {_count(view)} groups", str(size))
    return None


def _shape(view: OpView) -> Shape:
    product = _PAIRING.shape(view, without=_GROUPS.of(view))
    return (_count(view), *product) if _ragged(view) in _PAIRING.lhs_contracting.of(view) else product


OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "chlo.ragged_dot",
        (Slot("lhs", TypeKind.TENSOR), Slot("rhs", TypeKind.TENSOR), Slot("group_sizes", TypeKind.INTEGER)),
        (Slot("result", TypeKind.TENSOR),),
        (AttributeSlot(_NUMBERS, "I4", (RecordAttr,), values=("ragged_dot",)), precision_slot("I10")),
        {
            **_PAIRING.lists("I4", "I5", "I6", "I7"),
            **list_fields(_NUMBERS, {_RAGGED.name: "I8", _GROUPS.name: "I9"}),
            **_PAIRING.constraints(),
            "C11": precision_for_each,
            "C12": _one_ragged,
            "C13": within_rank(_RAGGED, "lhs"),
            "C14": within_rank(_GROUPS, "rhs"),
            "C15": unique(_GROUPS, _PAIRING.rhs_batching),
            "C16": unique(_GROUPS, _PAIRING.rhs_contracting),
            "C17": _group_dimensions,
            "C18": _group_sizes,
            "C19": _group_count,
            "C20": result_shape(_shape),
        },
    ),
)
