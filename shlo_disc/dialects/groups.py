"""Which processes exchange data: replica groups, source and target pairs, channels."""

from __future__ import annotations

from itertools import chain

from shlo_disc.dialects.checks import refuse_below, refuse_outside, refuse_repeated
from shlo_disc.dialects.record import AttributeSlot, Check
from shlo_disc.dialects.view import OpView, Refusal, numbers_of
from shlo_disc.ir.attributes import Attribute, DenseAttr, IntegerAttr, RecordAttr, UnitAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_attribute

_ABSENT = -1  # fills up a group that is smaller than others


def groups_slot(label: str) -> AttributeSlot:
    """Return the slot `replica_groups`: rows of a table, or axes of a mesh."""
    values = ("replica_group_mesh_axes",)
    return AttributeSlot("replica_groups", label, (DenseAttr, RecordAttr), values=values, dtype=DType.I64, rank=2)


def channel_slot(label: str, *, required: bool = False) -> AttributeSlot:
    """Return the slot `channel_handle`, which holds the channel's number and type."""
    return AttributeSlot("channel_handle", label, (RecordAttr,), required, values=("channel_handle",))


def global_slot(label: str) -> AttributeSlot:
    """Return the slot `use_global_device_ids`."""
    return AttributeSlot("use_global_device_ids", label, (UnitAttr,), required=False)


def pairs_slot(label: str, *, required: bool = False) -> AttributeSlot:
    """Return the slot `source_target_pairs`."""
    return AttributeSlot("source_target_pairs", label, (DenseAttr,), required, dtype=DType.I64, rank=2)


def _numbers(view: OpView) -> tuple[int, ...]:
    groups = view.attribute("replica_groups")
    return numbers_of(groups) if isinstance(groups, DenseAttr) else ()


def group_size(view: OpView) -> int | None:
    """Return the number of processes in each group, None if the text does not determine it."""
    groups = view.attribute("replica_groups")
    count = groups.type.shape[1] if isinstance(groups, DenseAttr) else None
    if not count or view.flag("use_global_device_ids") or channel(view) <= 0:
        return count or None
    partitions = view.module.attributes.get("mhlo.num_partitions")
    return count * partitions.value if isinstance(partitions, IntegerAttr) else None


def channel(view: OpView) -> int:
    """Return the number of the channel; without a handle it is 0."""
    return view.field_number("channel_handle", "handle") if view.has("channel_handle") else 0


def whole_channel(view: OpView) -> Refusal | None:
    """Refuse a channel handle without a number and a type."""
    handle = view.attribute("channel_handle")
    if not isinstance(handle, RecordAttr):
        return None
    if set(handle.fields) == {"handle", "type"} and all(map(_is_number, handle.fields.values())):
        return None
    return Refusal("'channel_handle' to hold two numbers, 'handle' and 'type'", spell_attribute(handle))


def _is_number(attribute: Attribute) -> bool:
    return isinstance(attribute, IntegerAttr)


def unique_groups(view: OpView) -> Refusal | None:
    """Refuse a process in two groups."""
    return refuse_repeated("'replica_groups'", [number for number in _numbers(view) if number != _ABSENT])


def all_processes(view: OpView) -> Refusal | None:
    """Refuse groups of global ids that are empty: they hold every process."""
    groups = view.attribute("replica_groups")
    if view.flag("use_global_device_ids") and isinstance(groups, DenseAttr) and not _numbers(view):
        return Refusal("'replica_groups' of all processes, as 'use_global_device_ids' is set", "none")
    return None


def numbered_groups(*, ragged: bool = False) -> Check:
    """Make the constraint that groups hold the numbers from 0 on; `ragged` ones may be filled up with -1."""

    def check(view: OpView) -> Refusal | None:
        numbers = [number for number in _numbers(view) if not (ragged and number == _ABSENT)]
        return refuse_outside("'replica_groups'", numbers, len(numbers))

    return check


def no_negative_groups(view: OpView) -> Refusal | None:
    """Refuse negative numbers of processes; how many processes there are is not in the text."""
    return refuse_below("'replica_groups'", _numbers(view), 0)


def global_channel(view: OpView) -> Refusal | None:
    """Refuse global ids without a channel."""
    if not view.flag("use_global_device_ids") or channel(view) > 0:
        return None
    return Refusal("a positive channel number, as 'use_global_device_ids' is set", str(channel(view)))


# --- pairs of a source and a target


def pairs_of_two(view: OpView) -> Refusal | None:
    """Refuse rows of another length than 2: a source and a target."""
    pairs = view.attribute("source_target_pairs")
    width = pairs.type.shape[1] if isinstance(pairs, DenseAttr) else 2
    return None if width == 2 else Refusal("'source_target_pairs' to have 2 columns", str(width))


def unique_column(column: int) -> Check:
    """Make the constraint that no source (column 0) or target (column 1) occurs twice."""
    name = ("the sources", "the targets")[column]

    def check(view: OpView) -> Refusal | None:
        return refuse_repeated(f"{name} in 'source_target_pairs'", [row[column] for row in _pairs(view)])

    return check


def no_negative_pairs(view: OpView) -> Refusal | None:
    """Refuse negative numbers of processes in pairs."""
    return refuse_below("'source_target_pairs'", list(chain.from_iterable(_pairs(view))), 0)


def _pairs(view: OpView) -> tuple[tuple[int, ...], ...]:
    return view.rows("source_target_pairs") or ()
