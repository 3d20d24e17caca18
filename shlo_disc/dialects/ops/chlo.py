"""Ops of CHLO. It has no specification: labels are ours, in the order of operands, attributes and constraints."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.dialects.checks import (
    has_elements,
    refuse_outside,
    refuse_type,
    same_baseline_elements,
    same_baseline_types,
    same_shapes,
    spell_element,
)
from shlo_disc.dialects.dims import list_slot, number_slot
from shlo_disc.dialects.forms import ARROW, FUNCTIONAL
from shlo_disc.dialects.ops.create import literal_type
from shlo_disc.dialects.ops.elementwise import COMPLEX_PARTS, compare_slots, compare_type, complex_element
from shlo_disc.dialects.record import AttributeSlot, Check, OpRecord, Slot
from shlo_disc.dialects.types import Shape, shapes_agree, spell_shape
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.functions.record import DialectOp, Elementwise, Prefix
from shlo_disc.functions.table import BY_OP, operand_names
from shlo_disc.ir.attributes import (
    Attribute,
    BoolAttr,
    DenseAttr,
    FloatAttr,
    IntegerAttr,
    OpaqueAttr,
)
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_attribute
from shlo_disc.ir.type_kind import TypeKind

# Most ops take tensors whose number of dimensions is not known; those take any kind of them.
_ANY = TypeKind.TENSOR | TypeKind.UNRANKED
_REAL = TypeKind.FLOAT | TypeKind.UNRANKED
_COMPLEX = TypeKind.COMPLEX | TypeKind.UNRANKED
_BOOL = TypeKind.BOOL | TypeKind.UNRANKED


# --- elementwise


def _function(function: Elementwise, op: DialectOp) -> OpRecord:
    """The rules of the op of a function of one or two elements."""
    names = operand_names(function, op)
    takes = op.takes | TypeKind.UNRANKED if op.takes & ~TypeKind.INTEGER else op.takes  # integers have to be ranked
    values = (*names, op.result)
    return OpRecord(
        op.prefix + function.name,
        tuple([Slot(name, takes) for name in names]),
        (Slot(op.result, takes if op.gives is None else op.gives | TypeKind.UNRANKED),),
        constraints={"C1": same_baseline_types(*values) if op.gives is None else same_shapes(*values)},
        form=ARROW,
    )


# --- broadcasts of two operands: the sizes of the one with fewer dimensions stand along `broadcast_dimensions`


def _by_rank(view: OpView) -> tuple[Shape, Shape]:
    """Return the shape with more dimensions and the one with fewer."""
    lhs, rhs = view.shape("lhs"), view.shape("rhs")
    return (lhs, rhs) if len(lhs) > len(rhs) else (rhs, lhs)


def _dimensions(view: OpView) -> tuple[int, ...]:
    """Return `broadcast_dimensions`; by default, dimensions are aligned from the right."""
    large, small = _by_rank(view)
    return view.integers("broadcast_dimensions", tuple(range(len(large) - len(small), len(large))))


def _broadcast_dimensions(view: OpView) -> Refusal | None:
    large, small = _by_rank(view)
    found = _dimensions(view)
    if len(found) != len(small) or list(found) != sorted(set(found)):
        return Refusal(f"'broadcast_dimensions' to be {len(small)} ascending numbers", str(list(found)))
    return refuse_outside("'broadcast_dimensions'", found, len(large))


def _aligned(view: OpView) -> tuple[Shape, Shape]:
    """Return both shapes with equally many dimensions."""
    large, small = _by_rank(view)
    sizes = dict(zip(_dimensions(view), small, strict=True))
    return large, tuple([sizes.get(dimension, 1) for dimension in range(len(large))])


def _broadcast_sizes(view: OpView) -> Refusal | None:
    return _refuse_sizes(*_aligned(view))


def _refuse_sizes(*shapes: Shape) -> Refusal | None:
    for dimension, sizes in enumerate(zip(*shapes, strict=True)):
        known = {size for size in sizes if size not in (None, 1)}
        if len(known) > 1:
            found = " and ".join([spell_shape([size]) for size in sizes])
            return Refusal(f"sizes in dimension {dimension} of the result that are equal or 1", found)
    return None


def _joined(*shapes: Shape) -> Shape:
    """Return the shape that all broadcast to.

    >>> _joined((4, 1, None), (1, 1, 3)), _joined((None,), (1,))
    ((4, 1, 3), (None,))
    """
    joined: list[int | None] = []
    for sizes in zip(*shapes, strict=True):
        known = [size for size in sizes if size not in (None, 1)]
        joined.append(known[0] if known else None if None in sizes else 1)
    return tuple(joined)


def _broadcast_shape(view: OpView) -> Refusal | None:
    return _refuse_shape(_joined(*_aligned(view)), view)


def _refuse_shape(wanted: Shape, view: OpView) -> Refusal | None:
    if shapes_agree(wanted, view.shape("result")):
        return None
    return refuse_type(f"of shape {spell_shape(wanted)}", "result", view)


def _broadcast(
    name: str,
    kind: TypeKind,
    result: TypeKind,
    elements: Mapping[str, Check],
    attributes: tuple[AttributeSlot, ...] = (),
) -> OpRecord:
    return OpRecord(
        f"chlo.broadcast_{name}",
        (Slot("lhs", kind), Slot("rhs", kind)),
        (Slot("result", result),),
        (
            list_slot("broadcast_dimensions", "I3", required=False),
            *attributes,
        ),
        {"C1": _broadcast_dimensions, "C2": _broadcast_sizes, "C3": _broadcast_shape, **elements},
        form=FUNCTIONAL,
    )


def _broadcasting(function: Elementwise, op: DialectOp) -> OpRecord:
    takes = op.takes | TypeKind.UNRANKED
    if op.gives is None:
        return _broadcast(function.name, takes, takes, {"C4": same_baseline_elements("lhs", "rhs", "result")})
    elements = {**COMPLEX_PARTS, "C4": same_baseline_elements("lhs", "rhs"), "C5": complex_element}
    return _broadcast(function.name, takes, op.gives | TypeKind.UNRANKED, elements)


# --- broadcast_select


def _select_aligned(view: OpView) -> tuple[Shape, ...]:
    shapes = [view.shape(name) for name in ("pred", "on_true", "on_false")]
    rank = max(map(len, shapes))
    return tuple([(1,) * (rank - len(shape)) + shape for shape in shapes])


def _select_sizes(view: OpView) -> Refusal | None:
    return _refuse_sizes(*_select_aligned(view))


def _select_shape(view: OpView) -> Refusal | None:
    return _refuse_shape(_joined(*_select_aligned(view)), view)


# --- constant_like


def _like_element(view: OpView) -> Refusal | None:
    value, element = view.attribute("value"), view.element("result")
    assert value is not None, "the slot demands one"
    if isinstance(element, DType) and _is_of(value, element):
        return None
    return Refusal(f"a 'value' of type {spell_element(element)}, that of the result", spell_attribute(value))


def _is_of(value: Attribute, dtype: DType) -> bool:
    match value:
        case IntegerAttr(_, found):
            return (found or DType.I64) is dtype
        case FloatAttr(_, found, _):
            return (found or DType.F64) is dtype
        case BoolAttr():
            return dtype.is_bool
        case OpaqueAttr(text):
            return dtype.is_complex and text.startswith(f"#complex.number<:{dtype.part.value} ")
        case _:
            return False


# --- top_k


def _top_rank(view: OpView) -> Refusal | None:
    return None if view.rank("operand") else refuse_type("a tensor of at least 1 dimension", "operand", view)


def _top_count(view: OpView) -> Refusal | None:
    size, count = view.shape("operand")[-1], view.integer("k")
    if count >= 0 and (size is None or count <= size):
        return None
    most = "" if size is None else f" and at most {size}, the size of the last dimension"
    return Refusal(f"'k' to be at least 0{most}", str(count))


def _top_shape(name: str) -> Check:
    def check(view: OpView) -> Refusal | None:
        wanted = (*view.shape("operand")[:-1], view.integer("k"))
        if shapes_agree(wanted, view.shape(name)):
            return None
        return refuse_type(f"of shape {spell_shape(wanted)}", name, view)

    return check


OPS: tuple[OpRecord, ...] = (
    *[_function(function, op) for function, op in BY_OP.values() if op.prefix is Prefix.CHLO],
    *[_broadcasting(function, op) for function, op in BY_OP.values() if op.prefix is Prefix.BROADCASTING],
    _broadcast(
        "compare",
        _ANY,
        _BOOL,
        {"C4": same_baseline_elements("lhs", "rhs"), "C5": compare_type},
        compare_slots("I4", "I5"),
    ),
    OpRecord(
        "chlo.broadcast_select",
        (Slot("pred", TypeKind.BOOL), Slot("on_true", _ANY), Slot("on_false", _ANY)),
        (Slot("result", _ANY),),
        constraints={
            "C1": same_baseline_elements("on_true", "on_false", "result"),
            "C2": _select_sizes,
            "C3": _select_shape,
        },
        form=FUNCTIONAL,
    ),
    OpRecord(
        "chlo.constant",
        (),
        (Slot("output", TypeKind.UNIFORM),),
        (AttributeSlot("value", "I1", (DenseAttr,)),),
        {"C1": literal_type},
        form="{attr-dict} {literal:value}",
    ),
    OpRecord(
        "chlo.constant_like",
        (Slot("operand", _ANY),),
        (Slot("result", _ANY),),
        (AttributeSlot("value", "I2", (IntegerAttr, FloatAttr, BoolAttr, OpaqueAttr)),),
        {"C1": same_shapes("operand", "result"), "C2": _like_element},
    ),
    OpRecord(
        "chlo.top_k",
        (Slot("operand", _ANY),),
        (Slot("values", _ANY), Slot("indices", TypeKind.INTEGER | TypeKind.UNRANKED)),
        (
            number_slot("k", "I2"),
            AttributeSlot("is_stable", "I3", (BoolAttr,), required=False),
        ),
        {
            "C1": _top_rank,
            "C2": _top_count,
            "C3": _top_shape("values"),
            "C4": _top_shape("indices"),
            "C5": same_baseline_elements("operand", "values"),
            "C6": has_elements("indices", DType.I32),
        },
        form="({operands}, k = {i64:k}(?, is_stable = {bool:is_stable})){attr-dict} : {arrow}",
    ),
)
