"""Hold the ops of a module against the rules: `verify_ops`."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.diagnostics import Note, VerifyError
from shlo_disc.expr.dtypes import DType
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
    UnrankedTensorType,
)
from shlo_disc.ir.core import Module, Op, Value
from shlo_disc.ir.depth import with_room
from shlo_disc.ir.verify import verify_module
from shlo_disc.parse.origins import naming_origins
from shlo_disc.parse.spelling import spell_attribute, spell_type
from shlo_disc.verify.registry import RULES
from shlo_disc.verify.rules import AttributeSlot, Kind, Rules, Slot, describe, describe_attributes, kind_of
from shlo_disc.verify.types import Tensor
from shlo_disc.verify.value_types import verify_signatures, verify_type
from shlo_disc.verify.view import Refusal, View
from shlo_disc.verify.walk import Walk


def verify(module: Module) -> None:
    """Raise `VerifyError` where a module breaks a rule of StableHLO: first how it is connected, then op by op."""
    with naming_origins(module):
        verify_module(module, spell_type)
    verify_ops(module)


@with_room
def verify_ops(module: Module) -> None:
    """Raise `VerifyError` at the first op that breaks a constraint of the StableHLO specification.

    Ops of other dialects than StableHLO and CHLO are not looked at.
    """
    walk = Walk(module)
    with naming_origins(module):
        verify_signatures(module)
        for op in walk.ops():
            for value in op.results:
                verify_type(value.type, value.span)
            rules = RULES.get(op.name)
            if rules is not None and (broken := _broken(rules, op, module, walk.constants)) is not None:
                raise _error(op, *broken)
            for region in op.regions:
                for block in region.blocks:
                    for value in block.arguments:
                        verify_type(value.type, value.span)


def _broken(
    rules: Rules, op: Op, module: Module, constants: Mapping[Value, tuple[int, ...]]
) -> tuple[str, Refusal] | None:
    """Give the label of the first constraint that an op breaks, and why."""
    values: dict[str, tuple[Value, ...]] = {}
    operands = ("operand", rules.operands, op.operands, rules.count)
    for what, slots, given, label in (operands, ("result", rules.results, op.results, "")):
        split = _split(slots, given, op.attributes.get(f"{what}SegmentSizes"))
        if split is None:
            return label, Refusal(f"'{op.name}' to have {_counted(slots)} {what}s", str(len(given)))
        values.update(split)
    for number, slot in enumerate(rules.operands, 1):
        if (refusal := _wrong_value(slot, values[slot.name])) is not None:
            return slot.label or f"I{number}", refusal
    for slot in rules.results:
        if (refusal := _wrong_value(slot, values[slot.name])) is not None:
            return slot.label, refusal
    for attribute in rules.attributes:
        if (refusal := _wrong_attribute(attribute, op)) is not None:
            return attribute.label, refusal
    if any(_is_open(slot, values[slot.name]) for slot in (*rules.operands, *rules.results)):
        return None  # what the shapes are, and with them what the constraints speak of, only the run tells
    defaults = {slot.name: slot.default for slot in rules.attributes if slot.default is not None}
    view = View(op, module, values, defaults, constants)
    for label, check in rules.constraints.items():
        if (refusal := check(view)) is not None:
            return label, refusal
    return None


def _split(
    slots: tuple[Slot, ...], given: tuple[Value, ...], sizes: Attribute | None
) -> dict[str, tuple[Value, ...]] | None:
    """Give each slot its values; variadic slots share what is left equally unless `sizes` counts them out."""
    if len(slots) == len(given) and not any(slot.variadic for slot in slots):
        return {slot.name: (value,) for slot, value in zip(slots, given, strict=True)}
    counts = [int(size) for size in sizes.values] if isinstance(sizes, DenseArrayAttr) else _shares(slots, len(given))
    if counts is None or len(counts) != len(slots) or sum(counts) != len(given):
        return None
    if any(count < 0 if slot.variadic else count != 1 for slot, count in zip(slots, counts, strict=True)):
        return None
    split: dict[str, tuple[Value, ...]] = {}
    at = 0
    for slot, count in zip(slots, counts, strict=True):
        split[slot.name] = given[at : at + count]
        at += count
    return split


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


def _wrong_value(slot: Slot, values: tuple[Value, ...]) -> Refusal | None:
    for value in values:
        kind = kind_of(value.type)
        if kind not in slot.kind:
            if kind & ~Kind.UNRANKED in slot.kind:
                return Refusal(f"'{slot.name}' to have a known number of dimensions", spell_type(value.type), value)
            return Refusal(f"'{slot.name}' to hold {describe(slot.kind)}", spell_type(value.type), value)
        if slot.rank is not None and isinstance(value.type, Tensor) and len(value.type.shape) != slot.rank:
            return Refusal(f"'{slot.name}' to have rank {slot.rank}", spell_type(value.type), value)
        if slot.dtype is not None and isinstance(value.type, TensorType) and value.type.dtype is not slot.dtype:
            return Refusal(f"'{slot.name}' to hold {slot.dtype.value}", spell_type(value.type), value)
    return None


def _is_open(slot: Slot, values: tuple[Value, ...]) -> bool:
    """Tell whether the slot is one for tensors and holds one of unknown rank."""
    return Kind.TOKEN not in slot.kind and any(isinstance(value.type, UnrankedTensorType) for value in values)


def _wrong_attribute(slot: AttributeSlot, op: Op) -> Refusal | None:
    found = op.attributes.get(slot.name)
    names = describe_attributes(slot.kinds)
    if found is None:
        missing = slot.required and slot.default is None
        return Refusal(f"an attribute '{slot.name}', {names}", "none") if missing else None
    if not isinstance(found, slot.kinds):
        return Refusal(f"the attribute '{slot.name}' to be {names}", spell_attribute(found))
    if slot.values and not all(_value(item) in slot.values for item in _items(found)):
        return Refusal(f"'{slot.name}' to be one of {', '.join(slot.values)}", spell_attribute(found))
    if slot.dtype is not None and _dtype(found) not in (None, slot.dtype):
        return Refusal(f"'{slot.name}' of type {slot.dtype.value}", spell_attribute(found))
    if slot.rank is not None and isinstance(found, DenseAttr) and len(found.type.shape) != slot.rank:
        return Refusal(f"'{slot.name}' to have rank {slot.rank}", spell_type(found.type))
    return None


def _items(attribute: Attribute) -> tuple[Attribute, ...]:
    """Give what has a value or a name: numbers in a literal have none."""
    if isinstance(attribute, ArrayAttr):
        return attribute.items
    return () if isinstance(attribute, DenseAttr) else (attribute,)


def _value(attribute: Attribute) -> str:
    """Give the value of an enumeration or the name of a record."""
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


def _error(op: Op, label: str, refusal: Refusal) -> VerifyError:
    dialect, _, name = op.name.partition(".")
    known = f"{label} of {name}" if dialect == "stablehlo" else f"{label} of {op.name}"
    notes = ()
    if refusal.at is not None and all(value is not refusal.at for value in op.results):
        notes = (Note(f"'%{refusal.at.name}' is defined here", refusal.at.span),)
    message = f"expected {refusal.expected}, found {refusal.found}" + (f" ({known})" if label else "")
    return VerifyError(message, op.span, notes=notes)
