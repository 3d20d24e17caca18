"""Check an op against the slots of its record: the number of values, their types, and attributes."""

from __future__ import annotations

from dataclasses import field

from shlo_disc.dialects.record import AttributeSlot, OpRecord, Slot, describe, describe_attributes, kind_of
from shlo_disc.dialects.types import Tensor, is_sized
from shlo_disc.dialects.view import Refusal
from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DenseAttr,
    EnumAttr,
    FloatAttr,
    IntegerAttr,
    RecordAttr,
    TensorType,
    Type,
    UnrankedTensorType,
)
from shlo_disc.ir.core import Op, Value
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_attribute, spell_type
from shlo_disc.ir.type_kind import TypeKind
from shlo_disc.records import record


@record
class Broken:
    """Why an op is refused, and the label of the constraint that it breaks."""

    label: str
    refusal: Refusal


@record
class Filled:
    """The values of each slot. `open`: the rank of a tensor is unknown; constraints can be checked only at run time."""

    values: dict[str, tuple[Value, ...]]
    open: bool


@record
class Slots:
    """Checks each slot once for each type: types of a module are few, and one object each."""

    _taken: dict[tuple[int, int], bool] = field(default_factory=dict[tuple[int, int], bool])
    _kinds: dict[int, TypeKind] = field(default_factory=dict[int, TypeKind])

    def fill(self, record: OpRecord, op: Op) -> Filled | Broken:
        """Assign the operands and results of an op to its slots, and check its attributes."""
        values: dict[str, tuple[Value, ...]] = {}
        if not _split(record.operands, op.operands, op, "operandSegmentSizes", values):
            expected = f"'{op.name}' to have {_counted(record.operands)} operands"
            return Broken(record.count, Refusal(expected, str(len(op.operands))))
        if not _split(record.results, op.results, op, "resultSegmentSizes", values):
            expected = f"'{op.name}' to have {_counted(record.results)} results"
            return Broken("", Refusal(expected, str(len(op.results))))
        if len(op.regions) != len(record.regions) and not _takes_many(record.regions):
            return Broken("", Refusal(f"'{op.name}' to have {len(record.regions)} regions", str(len(op.regions))))
        is_open = False
        for number, slot in enumerate((*record.operands, *record.results), 1):
            for value in values[slot.name]:
                known = self._taken.get((id(slot), id(value.type)))
                if known is None:
                    refusal = _wrong_value(slot, value, self._kind(value.type))
                    if refusal is not None:
                        return Broken(slot.label or (f"I{number}" if number <= len(record.operands) else ""), refusal)
                    known = self._taken[id(slot), id(value.type)] = _is_open(slot, value)
                is_open |= known
        for attribute in record.attributes:
            refusal = _wrong_attribute(attribute, op)
            if refusal is not None:
                return Broken(attribute.label, refusal)
        return Filled(values, is_open)

    def _kind(self, type_: Type) -> TypeKind:
        if id(type_) not in self._kinds:
            self._kinds[id(type_)] = kind_of(type_)
        return self._kinds[id(type_)]


def _takes_many(regions: tuple[str, ...]) -> bool:
    return bool(regions) and regions[-1].endswith("…")


def _split(
    slots: tuple[Slot, ...], given: tuple[Value, ...], op: Op, named: str, values: dict[str, tuple[Value, ...]]
) -> bool:
    """Assign values to slots; variadic slots get equal shares of the rest unless an attribute gives their sizes."""
    if not any([slot.variadic for slot in slots]):  # noqa: C419 - a list is faster, and this is asked for every op
        for slot, value in zip(slots, given, strict=False):
            values[slot.name] = (value,)
        return len(slots) == len(given)
    sizes = op.attributes.get(named)
    counts = [int(size) for size in sizes.values] if isinstance(sizes, DenseArrayAttr) else _shares(slots, len(given))
    if counts is None or len(counts) != len(slots) or sum(counts) != len(given):
        return False
    if any(count < 0 if slot.variadic else count != 1 for slot, count in zip(slots, counts, strict=True)):
        return False
    at = 0
    for slot, count in zip(slots, counts, strict=True):
        values[slot.name] = given[at : at + count]
        at += count
    return True


def _shares(slots: tuple[Slot, ...], total: int) -> list[int] | None:
    variadic = sum(slot.variadic for slot in slots)
    rest = total - (len(slots) - variadic)
    if rest < 0 or (rest % variadic if variadic else rest):
        return None
    return [rest // variadic if slot.variadic else 1 for slot in slots]


def _counted(slots: tuple[Slot, ...]) -> str:
    fixed, variadic = sum(not slot.variadic for slot in slots), sum(slot.variadic for slot in slots)
    if not variadic:
        return str(fixed)
    lists = f"{variadic} equally long lists of" if variadic > 1 else "any number of"
    return f"{fixed} and {lists}" if fixed else lists


def _wrong_value(slot: Slot, value: Value, kind: TypeKind) -> Refusal | None:
    if kind not in slot.kind:
        if kind & ~TypeKind.UNRANKED in slot.kind:
            return Refusal(f"'{slot.name}' to have a known number of dimensions", spell_type(value.type), value)
        return Refusal(f"'{slot.name}' to hold {describe(slot.kind)}", spell_type(value.type), value)
    if slot.rank is not None and isinstance(value.type, Tensor) and len(value.type.shape) != slot.rank:
        return Refusal(f"'{slot.name}' to have rank {slot.rank}", spell_type(value.type), value)
    if slot.sized and isinstance(value.type, Tensor) and not is_sized(value.type):
        return Refusal(f"'{slot.name}' to have known sizes", spell_type(value.type), value)
    if slot.dtype is not None and isinstance(value.type, TensorType) and value.type.dtype is not slot.dtype:
        return Refusal(f"'{slot.name}' to hold {slot.dtype.value}", spell_type(value.type), value)
    return None


def _is_open(slot: Slot, value: Value) -> bool:
    """Whether the slot is one for tensors and the value one of unknown rank."""
    return TypeKind.TOKEN not in slot.kind and isinstance(value.type, UnrankedTensorType)


def _wrong_attribute(slot: AttributeSlot, op: Op) -> Refusal | None:
    found = op.attributes.get(slot.name)
    if found is None:
        missing = slot.required and slot.default is None
        return Refusal(f"an attribute '{slot.name}', {describe_attributes(slot.kinds)}", "none") if missing else None
    if not isinstance(found, slot.kinds):
        return Refusal(f"the attribute '{slot.name}' to be {describe_attributes(slot.kinds)}", spell_attribute(found))
    if slot.values and not all(_value(item) in slot.values for item in _items(found)):
        return Refusal(f"'{slot.name}' to be one of {', '.join(slot.values)}", spell_attribute(found))
    if slot.dtype is not None and _dtype(found) not in (None, slot.dtype):
        return Refusal(f"'{slot.name}' of type {slot.dtype.value}", spell_attribute(found))
    if slot.rank is not None and isinstance(found, DenseAttr) and len(found.type.shape) != slot.rank:
        return Refusal(f"'{slot.name}' to have rank {slot.rank}", spell_type(found.type))
    return None


def _items(attribute: Attribute) -> tuple[Attribute, ...]:
    """Return the parts that have a value or a name; numbers in a literal have none."""
    if isinstance(attribute, ArrayAttr):
        return attribute.items
    return () if isinstance(attribute, DenseAttr) else (attribute,)


def _value(attribute: Attribute) -> str:
    """Return the value of an enumeration or the name of a record."""
    match attribute:
        case EnumAttr():
            return attribute.value
        case RecordAttr():
            return attribute.name
        case _:
            return ""


def _dtype(attribute: Attribute) -> DType | None:
    match attribute:
        case IntegerAttr(_, dtype):
            return dtype or DType.I64
        case FloatAttr(_, dtype):
            return dtype or DType.F64
        case DenseArrayAttr(dtype):
            return dtype
        case DenseAttr(type_):
            return type_.dtype
        case _:
            return None
