"""Constraints on lists of numbers: those that name dimensions, and those that have one number for each dimension."""

from __future__ import annotations

from collections.abc import Callable

from shlo_disc.dialects.checks import refuse_below, refuse_outside, refuse_repeated, refuse_type
from shlo_disc.dialects.record import AttributeSlot, Check
from shlo_disc.dialects.types import Shape, greatest_shape, shapes_agree, spell_shape
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import DenseArrayAttr, IntegerAttr, RecordAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_attribute
from shlo_disc.records import record


def list_slot(name: str, label: str, *, required: bool = True) -> AttributeSlot:
    """Return the slot of an attribute that is a list of integers."""
    return AttributeSlot(name, label, (DenseArrayAttr,), required, dtype=DType.I64)


def number_slot(name: str, label: str, *, required: bool = True) -> AttributeSlot:
    """Return the slot of an attribute that is an integer."""
    return AttributeSlot(name, label, (IntegerAttr,), required, dtype=DType.I64)


@record
class Dims:
    """A list of integers: an attribute, or a field of an attribute that is a record."""

    name: str
    record: str = ""

    def of(self, view: OpView) -> tuple[int, ...]:
        """The numbers; none where the list is left out."""
        return view.field(self.record, self.name) if self.record else view.integers(self.name)


def unique(*lists: Dims) -> Check:
    """Make the constraint `is_unique(a + b + …)`."""
    names = " with ".join([f"'{dims.name}'" for dims in lists])
    return lambda view: refuse_repeated(names, [number for dims in lists for number in dims.of(view)])


def ascending(dims: Dims) -> Check:
    """Make the constraint `is_sorted(dims)`."""

    def check(view: OpView) -> Refusal | None:
        numbers = dims.of(view)
        return None if in_order(*numbers) else Refusal(f"'{dims.name}' in ascending order", str(list(numbers)))

    return check


def within_rank(dims: Dims, tensor: str) -> Check:
    """Make the constraint `0 <= dims < rank(tensor)`; of a variadic operand the first tensor counts."""
    return lambda view: refuse_outside(f"'{dims.name}', dimensions of '{tensor}',", dims.of(view), _rank(view, tensor))


def dimension_within_rank(name: str, tensor: str, *, from_end: bool = False) -> Check:
    """Make the constraint `0 <= name < rank(tensor)` of one number; negative ones may count `from_end`."""

    def check(view: OpView) -> Refusal | None:
        number, rank = view.integer(name), _rank(view, tensor)
        return refuse_number(f"'{name}', a dimension of '{tensor}',", number, -rank if from_end else 0, rank)

    return check


def refuse_number(name: str, number: int, least: int, limit: int) -> Refusal | None:
    """Refuse a number that is not `least` … `limit` - 1."""
    return None if least <= number < limit else Refusal(f"{name} to be at least {least} and below {limit}", str(number))


def _rank(view: OpView, tensor: str) -> int:
    return len(view.tensors(tensor)[0].shape)


def number_field(record: str, name: str) -> Check:
    """Make the constraint that a field of a record is a number."""

    def check(view: OpView) -> Refusal | None:
        found = view.attribute(record)
        assert isinstance(found, RecordAttr), "the slot takes a record"
        field = found.fields.get(name)
        if field is None or (isinstance(field, IntegerAttr) and field.dtype in (None, DType.I64)):
            return None
        return Refusal(f"'{name}' to be a number", spell_attribute(field))

    return check


# --- one number for each dimension of 'operand': an attribute, or an operand, which a constant may make known


def numbers(view: OpView, name: str) -> Shape:
    """Return the numbers, None for those known only at run time."""
    if name not in view.values:
        return view.integers(name)
    constant = view.constant(name)
    return (None,) * view.rank("operand") if constant is None else constant


def one_for_each_dimension(*names: str) -> Check:
    """Make the constraint `size(a) = size(b) = … = rank(operand)`."""

    def check(view: OpView) -> Refusal | None:
        rank = view.rank("operand")
        for name in names:
            found = view.shape(name)[0] if name in view.values else len(view.integers(name))
            if found not in (None, rank):
                return Refusal(f"'{name}' to have as many numbers as 'operand' has dimensions, {rank}", str(found))
        return None

    return check


def at_least(name: str, least: int) -> Check:
    """Make the constraint `least <= a`."""
    return lambda view: refuse_below(f"'{name}'", [n for n in numbers(view, name) if n is not None], least)


def within_sizes(*names: str) -> Check:
    """Make the constraint `0 <= a <= b <= … <= shape(operand)`; a size with a bound is at most that."""

    def check(view: OpView) -> Refusal | None:
        lists = [numbers(view, name) for name in names]
        for dimension, (size, *row) in enumerate(zip(greatest_shape(view.tensor("operand")), *lists, strict=True)):
            if not in_order(0, *row, size):
                expected = " <= ".join(["0", *[f"'{name}'" for name in names], "size"])
                *found, limit = ["?" if number is None else str(number) for number in (*row, size)]
                found = f"{', '.join(found)} and a size of {limit} in dimension {dimension}"
                return Refusal(f"{expected} in each dimension of 'operand'", found)
        return None

    return check


def in_order(*sizes: int | None) -> bool:
    """Whether numbers ascend (or stay), as far as they are known.

    >>> in_order(0, None, 3), in_order(0, 4, None, 3)
    (True, False)
    """
    known = [size for size in sizes if size is not None]
    return known == sorted(known)


def result_shape(compute: Callable[[OpView], Shape]) -> Check:
    """Make the constraint `shape(result) = …`."""

    def check(view: OpView) -> Refusal | None:
        wanted = compute(view)
        if shapes_agree(wanted, view.shape("result")):
            return None
        return refuse_type(f"of shape {spell_shape(wanted)}", "result", view)

    return check
