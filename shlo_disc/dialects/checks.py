"""Constraints that many ops share, as functions that make a check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shlo_disc.dialects.record import Check
from shlo_disc.dialects.types import (
    Element,
    Tensor,
    baseline_element_type,
    element_type,
    is_promotable,
    tensor_of,
    tensors_agree,
    types_agree,
)
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    FunctionType,
    IntegerAttr,
    QuantizedElement,
    RecordAttr,
    TensorType,
    Type,
)
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_attribute, spell_quantized, spell_type


def spell_element(element: Element) -> str:
    """Spell an element type."""
    return spell_quantized(element) if isinstance(element, QuantizedElement) else element.value


def refuse_type(expected: str, name: str, view: OpView) -> Refusal:
    """Refuse the type of an operand or result."""
    value = view.value(name)
    return Refusal(f"'{name}' to be {expected}", spell_type(value.type), value)


def same_shapes(*names: str) -> Check:
    """Make the constraint `shape(a) = shape(b) = …`."""

    def check(view: OpView) -> Refusal | None:
        tensors = [tensor for name in names for tensor in view.tensors(name)]
        if tensors_agree(*tensors):
            return None
        return Refusal(f"{_quoted(names)} to have one shape", _listed(tuple(tensors)))

    return check


def same_elements(*names: str) -> Check:
    """Make the constraint `element_type(a) = element_type(b) = …`."""
    return _one_element(names, element_type)


def same_baseline_elements(*names: str) -> Check:
    """Make the constraint `baseline_element_type(a) = baseline_element_type(b) = …`."""
    return _one_element(names, baseline_element_type)


def _one_element(names: tuple[str, ...], what: Callable[[Tensor], Element]) -> Check:
    def check(view: OpView) -> Refusal | None:
        tensors = [tensor for name in names for tensor in view.tensors(name)]
        if len(set(map(what, tensors))) <= 1:
            return None
        found = ", ".join([spell_element(element_type(tensor)) for tensor in tensors])
        return Refusal(f"{_quoted(names)} to have one element type", found)

    return check


def same_baseline_types(*names: str) -> Check:
    """Make the constraint `baseline_type(a) = baseline_type(b) = …`: shapes and baseline element types."""

    def check(view: OpView) -> Refusal | None:
        tensors = [tensor for name in names for tensor in view.tensors(name)]
        same = len({baseline_element_type(tensor) for tensor in tensors}) <= 1
        if same and tensors_agree(*tensors):
            return None
        return Refusal(f"{_quoted(names)} to have one type", _listed(tuple(tensors)))

    return check


def _quoted(names: tuple[str, ...]) -> str:
    """Quote names as people list them: `'a', 'b' and 'c'`."""
    quoted = [f"'{name}'" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def same_types(first: str, second: str) -> Check:
    """Make the constraint `type(a...) = type(b...)` of two (variadic) operands or results."""

    def check(view: OpView) -> Refusal | None:
        lhs, rhs = view.types(first), view.types(second)
        return compare_types(lhs, rhs, f"'{first}' and '{second}' to have the same types")

    return check


def identical_types(*names: str) -> Check:
    """Make the constraint that operands have one type, in which an unknown size differs from a known one."""

    def check(view: OpView) -> Refusal | None:
        types = tuple([view.type(name) for name in names])
        return None if len(set(types)) == 1 else Refusal(f"{_quoted(names)} to have one type", _listed(types))

    return check


def compare_types(lhs: tuple[Type, ...], rhs: tuple[Type, ...], expected: str) -> Refusal | None:
    """Refuse two lists of types that cannot be the same."""
    return None if _agree(lhs, rhs) else Refusal(expected, f"{_listed(lhs)} and {_listed(rhs)}")


def _agree(lhs: tuple[Type, ...], rhs: tuple[Type, ...]) -> bool:
    return len(lhs) == len(rhs) and all(map(types_agree, lhs, rhs))


def _listed(types: tuple[Type, ...]) -> str:
    return ", ".join(map(spell_type, types)) or "none"


def each(*checks: Check) -> Check:
    """Make a constraint of several parts."""

    def check(view: OpView) -> Refusal | None:
        return next((refusal for part in checks if (refusal := part(view)) is not None), None)

    return check


def is_predicate(type_: Type) -> bool:
    """Whether a type is `tensor<i1>`."""
    return isinstance(type_, TensorType) and not type_.shape and type_.dtype.is_bool


def compare_region(
    view: OpView, region: int, name: str, inputs: tuple[Type, ...], results: tuple[Type, ...]
) -> Refusal | None:
    """Refuse a region that does not take `inputs` and return `results`."""
    arguments = tuple([value.type for value in view.block(region).arguments])
    returned = view.returned(region)
    if _agree(inputs, arguments) and _agree(results, returned):
        return None
    wanted, found = FunctionType(inputs, results), FunctionType(arguments, returned)
    return Refusal(f"'{name}' to be a region of type {spell_type(wanted)}", spell_type(found))


def compare_reducer(view: OpView, region: int, name: str, elements: tuple[Element, ...]) -> Refusal | None:
    """Refuse a region that does not combine two scalars of each element type into one.

    Its types may be wider than `elements`; `combined_elements` gives them.
    """
    wanted, returned = tuple([tensor_of(element) for element in elements]), view.returned(region)
    if len(returned) == len(wanted) and all(map(_holds, returned, elements)):
        return compare_region(view, region, name, (*returned, *returned), returned)
    return compare_region(view, region, name, (*wanted, *wanted), wanted)


def _holds(type_: Type, element: Element) -> bool:
    return isinstance(type_, Tensor) and not type_.shape and is_promotable(element, element_type(type_))


def combined_elements(view: OpView, region: int) -> tuple[Element, ...]:
    """Return the element types that a region for which `compare_reducer` holds returns."""
    return tuple([element_type(type_) for type_ in view.returned(region) if isinstance(type_, Tensor)])


def refuse_repeated(name: str, numbers: Sequence[int]) -> Refusal | None:
    """Refuse a list that holds a number twice."""
    return None if len(set(numbers)) == len(numbers) else Refusal(f"{name} to be different numbers", _list(numbers))


def refuse_outside(name: str, numbers: Sequence[int], limit: int) -> Refusal | None:
    """Refuse a list that holds another number than 0 … `limit` - 1."""
    if all(0 <= number < limit for number in numbers):
        return None
    return Refusal(f"{name} to be at least 0 and below {limit}", _list(numbers))


def refuse_below(name: str, numbers: Sequence[int], least: int) -> Refusal | None:
    """Refuse a list that holds a number below `least`."""
    if all(number >= least for number in numbers):
        return None
    return Refusal(f"{name} to be at least {least}", _list(numbers))


def refuse_count(name: str, numbers: Sequence[int], count: int) -> Refusal | None:
    """Refuse a list that does not hold `count` numbers."""
    if len(numbers) == count:
        return None
    return Refusal(f"{name} to hold {count} numbers", f"{len(numbers)}: {_list(numbers)}")


def _list(numbers: Sequence[int]) -> str:
    return f"[{', '.join(map(str, numbers))}]"


def list_fields(record: str, labels: Mapping[str, str]) -> dict[str, Check]:
    """Make the constraints that fields of a record are lists of numbers; `labels` are theirs by name."""
    return {label: _list_field(record, name) for name, label in labels.items()}


def _list_field(record: str, name: str) -> Check:
    def check(view: OpView) -> Refusal | None:
        found = view.attribute(record)
        assert isinstance(found, RecordAttr), "the slot takes a record"
        field = found.fields.get(name)
        if field is None or (isinstance(field, ArrayAttr) and all(map(_is_number, field.items))):
            return None
        return Refusal(f"'{name}' to be a list of numbers", spell_attribute(field))

    return check


def _is_number(attribute: Attribute) -> bool:
    return isinstance(attribute, IntegerAttr) and attribute.dtype in (None, DType.I64)


def has_elements(name: str, *dtypes: DType) -> Check:
    """Make the constraint that an operand or result has elements of one of the given types."""

    def check(view: OpView) -> Refusal | None:
        if view.element(name) in dtypes:
            return None
        return refuse_type(f"a tensor of elements {' or '.join([dtype.value for dtype in dtypes])}", name, view)

    return check


def has_static_shape(name: str) -> Check:
    """Make the constraint that all sizes of an operand or result are numbers."""

    def check(view: OpView) -> Refusal | None:
        return refuse_type("of a shape without '?'", name, view) if None in view.shape(name) else None

    return check
