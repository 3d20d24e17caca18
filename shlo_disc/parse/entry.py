"""What the parser and the printer know of one op."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.dialects.record import AttributeSlot, OpRecord, Slot
from shlo_disc.ir.attributes import DenseArrayAttr, EnumAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.parse.draft import Count
from shlo_disc.records import record

_LISTS: Mapping[DType | None, str] = {DType.I64: "i64s", DType.I1: "flags"}


@record
class OpSyntax:
    """One op: the numbers of its operands, results and regions, its pretty form if it has one, and its attributes.

    `attributes` are the op's own (MLIR's properties); those that its form names may be left out. All others are
    foreign: MLIR prints them apart. An attribute that older texts spell in another way has a kind here: `i64s`,
    `flags`, or the name of an enumeration (`old_forms.renewal`); others have none.
    """

    name: str
    operands: Count
    results: Count
    regions: Count
    form: str | None
    attributes: Mapping[str, str]


def syntax_of(record: OpRecord) -> OpSyntax:
    """Derive the syntax of an op from its record."""
    fixed = [name for name in record.regions if not name.endswith("…")]
    return OpSyntax(
        record.name,
        _count_values(record.operands),
        _count_values(record.results),
        Count(len(fixed), None if len(fixed) < len(record.regions) else len(fixed)),
        record.form,
        {slot.name: _older_kind(slot) for slot in record.attributes},
    )


def _count_values(slots: tuple[Slot, ...]) -> Count:
    least = sum(slot.least if slot.variadic else 1 for slot in slots)
    return Count(least, None if any(slot.variadic for slot in slots) else least)


def _older_kind(slot: AttributeSlot) -> str:
    if EnumAttr in slot.kinds:
        return slot.enum or slot.name
    return _LISTS.get(slot.dtype, "") if DenseArrayAttr in slot.kinds else ""


def syntax(name: str, signature: str, form: str | None = None, attributes: str = "") -> OpSyntax:
    """Describe an op of another dialect.

    `signature` gives the numbers of operands, results and regions: "2 1", "1+ 1 1"; regions are 0 if left out.
    """
    operands, results, *regions = signature.split()
    return OpSyntax(
        name,
        _count(operands),
        _count(results),
        _count(regions[0] if regions else "0"),
        form,
        dict.fromkeys(attributes.split(), ""),
    )


def _count(text: str) -> Count:
    return Count(int(text[:-1]), None) if text.endswith("+") else Count(int(text), int(text))
