"""Ops that compute each element from elements at the same place."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shlo_disc.dialects.checks import (
    has_elements,
    refuse_type,
    same_baseline_elements,
    same_baseline_types,
    same_shapes,
    spell_element,
)
from shlo_disc.dialects.forms import FUNCTIONAL, SAME
from shlo_disc.dialects.record import AttributeSlot, Check, OpRecord, Slot, kind_of
from shlo_disc.dialects.types import Element, baseline_element_type, is_quantized, shapes_agree, spell_shape
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.record import REALS, DialectOp, Elementwise, Prefix
from shlo_disc.functions.table import BY_OP, operand_names
from shlo_disc.ir.attributes import Attribute, EnumAttr, FloatAttr, IntegerAttr, QuantizedElement, RecordAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_attribute
from shlo_disc.ir.type_kind import TypeKind


def _function(function: Elementwise, op: DialectOp) -> OpRecord:
    """The rules of the op of a function of one or two elements."""
    names = operand_names(function, op)
    return OpRecord(
        op.prefix + function.name,
        tuple([Slot(name, op.takes) for name in names]),
        (Slot(op.result, op.takes if op.gives is None else op.gives),),
        _ACCURACY if op.accuracy else (),
        _OWN_CONSTRAINTS.get(function.name) or _constraints(names, op),
        form=" {operands}{attr-dict} : {complex}" if function is BinaryFn.COMPLEX.value else SAME,
    )


def _constraints(names: tuple[str, ...], op: DialectOp) -> Mapping[str, Check]:
    """Constraints: the result has the type of the operands, or their shape and other elements."""
    if op.gives is not None:
        part = {} if op.gives is TypeKind.BOOL else {"C2": _part_element}
        return {"C1": same_shapes(*names, op.result), **part}
    return {"C1": same_baseline_types(*names, op.result), **({"C2": _tolerances} if op.accuracy else {})}


# --- ops with an accuracy: I2 and C2 are ours, the specification does not number them


_ACCURACY = (AttributeSlot("result_accuracy", "I2", (RecordAttr,), required=False, values=("result_accuracy",)),)


def _tolerances(view: OpView) -> Refusal | None:
    accuracy = view.attribute("result_accuracy")
    if not isinstance(accuracy, RecordAttr):
        return None
    mode = _mode(accuracy)
    if mode not in ("DEFAULT", "HIGHEST", "TOLERANCE"):
        return Refusal("a 'result_accuracy' of mode DEFAULT, HIGHEST or TOLERANCE", mode)
    found = {name: accuracy.fields.get(name) for name in ("atol", "rtol", "ulps")}
    for name, number in found.items():
        if number is not None and not _is_plain(number, IntegerAttr if name == "ulps" else FloatAttr):
            return Refusal(f"'{name}' of 'result_accuracy' to be a plain number", spell_attribute(number))
    given = {name: number.value for name, number in found.items() if isinstance(number, FloatAttr | IntegerAttr)}
    for name, number in given.items():
        if number < 0:
            return Refusal(f"'{name}' of 'result_accuracy' to be 0 or more", str(number))
        if number > 0 and mode != "TOLERANCE":
            return Refusal(f"no '{name}' in a 'result_accuracy' of mode {mode}", str(number))
    return None


def _mode(accuracy: RecordAttr) -> str:
    mode = accuracy.fields.get("mode")
    return next(iter(mode.fields), "none") if isinstance(mode, RecordAttr) else "none"


def _is_plain(number: Attribute, kind: type[IntegerAttr | FloatAttr]) -> bool:
    return isinstance(number, kind) and number.dtype is None


# --- parts of complex numbers


def _part_element(view: OpView) -> Refusal | None:
    element = view.element("operand")
    wanted = element.part if isinstance(element, DType) else baseline_element_type(view.tensor("operand"))
    if baseline_element_type(view.tensor("result")) == wanted:
        return None
    return refuse_type(f"of elements {spell_element(wanted)}", "result", view)


COMPLEX_PARTS: Mapping[str, Check] = {
    "I1": has_elements("lhs", DType.F32, DType.F64),
    "I2": has_elements("rhs", DType.F32, DType.F64),
}


def complex_element(view: OpView) -> Refusal | None:
    """Demand a result of complex numbers whose parts are the operands' elements."""
    wanted = {DType.F32: DType.C64, DType.F64: DType.C128}
    found, part = view.element("result"), view.element("lhs")
    if isinstance(part, DType) and found == wanted[part]:
        return None
    return refuse_type(f"of complex numbers with parts {spell_element(part)}", "result", view)


# --- ops with numbers


def _at_least(name: str, least: int) -> Check:
    def check(view: OpView) -> Refusal | None:
        found = view.integer(name)
        return None if found >= least else Refusal(f"'{name}' to be at least {least}", str(found))

    return check


# --- add


def _add_types(view: OpView) -> Refusal | None:
    names = ("lhs", "rhs", "result")
    quantized = any(is_quantized(view.type(name)) for name in names)
    check = same_shapes(*names) if quantized else same_baseline_types(*names)
    return check(view)


def _all_or_none_quantized(view: OpView) -> Refusal | None:
    names = ("lhs", "rhs", "result")
    found = [is_quantized(view.type(name)) for name in names]
    if len(set(found)) == 1:
        return None
    return refuse_type("quantized, as others are", names[found.index(False)], view)


def _quantized(view: OpView) -> tuple[QuantizedElement, ...]:
    """Return the elements of both operands and the result, none if they are not quantized."""
    elements = [view.element(name) for name in ("lhs", "rhs", "result")]
    return tuple([element for element in elements if isinstance(element, QuantizedElement)])


def _same_in_quantized(what: str, part: Callable[[QuantizedElement], DType]) -> Check:
    def check(view: OpView) -> Refusal | None:
        found = [part(element) for element in _quantized(view)]
        if len(set(found)) <= 1:
            return None
        return Refusal(f"'lhs', 'rhs' and 'result' to have one {what}", ", ".join([one.value for one in found]))

    return check


def _per_axis_result(view: OpView) -> Refusal | None:
    if not (elements := _quantized(view)):
        return None
    lhs, rhs, result = (element.axis is not None for element in elements)
    if (lhs or rhs) == result:
        return None
    return refuse_type(f"quantized per {'axis' if lhs or rhs else 'tensor'}, as the operands are", "result", view)


def _same_axis(operand: str) -> Check:
    def check(view: OpView) -> Refusal | None:
        element, result = view.element(operand), view.element("result")
        if not isinstance(element, QuantizedElement) or not isinstance(result, QuantizedElement):
            return None
        if element.axis in (None, result.axis):
            return None
        return Refusal(
            f"'result' to be quantized along dimension {element.axis}, as '{operand}' is", f"dimension {result.axis}"
        )

    return check


# --- ops of three operands, and comparisons


def _scalar_or_shape_of(name: str, other: str) -> Check:
    def check(view: OpView) -> Refusal | None:
        shape, wanted = view.shape(name), view.shape(other)
        if not shape or shapes_agree(shape, wanted):
            return None
        return refuse_type(f"a scalar or of shape {spell_shape(wanted)}, that of '{other}'", name, view)

    return check


_DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")
_COMPARE_TYPES = ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", "NOTYPE")  # the last is as good as none


def compare_slots(direction: str, type_: str) -> tuple[AttributeSlot, ...]:
    """Make the slots of the attributes of a comparison, under the labels that they have for an op."""
    return (
        AttributeSlot("comparison_direction", direction, (EnumAttr,), values=_DIRECTIONS),
        AttributeSlot(
            "compare_type", type_, (EnumAttr,), required=False, values=_COMPARE_TYPES, enum="comparison_type"
        ),
    )


def compare_type(view: OpView) -> Refusal | None:
    """Demand the comparison of the elements' kind; an absent one is accepted."""
    found, element = view.enum("compare_type"), view.element("lhs")
    if found in (None, "NOTYPE") or isinstance(element, QuantizedElement):
        return None
    wanted = ("FLOAT",) if element.is_complex else ("FLOAT", "TOTALORDER")
    if not element.is_complex and not element.is_float:
        wanted = ("SIGNED",) if element.is_signed else ("UNSIGNED",)
    if found in wanted:
        return None
    return Refusal(f"'compare_type' to be {' or '.join(wanted)} for elements {element.value}", found)


# --- bitcast_convert


def _bits(element: Element) -> int:
    return (element.storage if isinstance(element, QuantizedElement) else element).bits


def _regrouped_shape(view: OpView) -> Refusal | None:
    """Demand that the last dimension of the narrower type holds the bits of one element of the wider one."""
    operand, result = _bits(view.element("operand")), _bits(view.element("result"))
    if operand == result:
        return same_shapes("operand", "result")(view)
    narrow, wide = ("result", "operand") if result < operand else ("operand", "result")
    count, rest = divmod(max(operand, result), min(operand, result))
    if rest:
        return Refusal("element types of which one has a multiple of the other's bits", f"{operand} and {result} bits")
    if shapes_agree(view.shape(narrow), (*view.shape(wide), count)):
        return None
    return refuse_type(
        f"of shape {spell_shape((*view.shape(wide), count))}, to hold the bits of '{wide}'", narrow, view
    )


def _both_or_none_complex(view: OpView) -> Refusal | None:
    names = ("operand", "result")
    found = [kind_of(view.type(name)) is TypeKind.COMPLEX for name in names]
    if len(set(found)) == 1:
        return None
    return refuse_type("complex, as the other is", names[found.index(False)], view)


_OWN_CONSTRAINTS: Mapping[str, Mapping[str, Check]] = {
    "add": {
        "C1": _add_types,
        "C2": _all_or_none_quantized,
        "C3": _same_in_quantized("storage type", lambda element: element.storage),
        "C4": _same_in_quantized("expressed type", lambda element: element.expressed),
        "C5": _per_axis_result,
        "C6": _same_axis("lhs"),
        "C7": _same_axis("rhs"),
    },
    "complex": {
        **COMPLEX_PARTS,
        "C1": same_baseline_types("lhs", "rhs"),
        "C2": same_shapes("lhs", "result"),
        "C3": complex_element,
    },
}

OPS: tuple[OpRecord, ...] = (
    *[_function(function, op) for function, op in BY_OP.values() if op.prefix is Prefix.STABLEHLO],
    OpRecord(
        "stablehlo.bitcast_convert",
        (Slot("operand", TypeKind.TENSOR),),
        (Slot("result", TypeKind.TENSOR),),
        constraints={"C2": _both_or_none_complex, "C1": _regrouped_shape},
        form=FUNCTIONAL,
    ),
    OpRecord(
        "stablehlo.clamp",
        (Slot("min", TypeKind.UNIFORM), Slot("operand", TypeKind.UNIFORM), Slot("max", TypeKind.UNIFORM)),
        (Slot("result", TypeKind.UNIFORM),),
        constraints={
            "C1": _scalar_or_shape_of("min", "operand"),
            "C2": _scalar_or_shape_of("max", "operand"),
            "C3": same_baseline_elements("min", "operand", "max"),
            "C4": same_baseline_types("operand", "result"),
        },
        form=SAME,
    ),
    OpRecord(
        "stablehlo.compare",
        (Slot("lhs", TypeKind.UNIFORM), Slot("rhs", TypeKind.UNIFORM)),
        (Slot("result", TypeKind.BOOL),),
        compare_slots("I3", "I4"),
        {
            "C1": same_baseline_elements("lhs", "rhs"),
            "C2": same_shapes("lhs", "rhs", "result"),
            "C3": compare_type,
        },
        form=" {enum:comparison_direction}, {operands}{compare-type}{attr-dict} : {functional}",
    ),
    OpRecord(
        "stablehlo.convert",
        (Slot("operand", TypeKind.PLAIN),),
        (Slot("result", TypeKind.PLAIN),),
        constraints={"C1": same_shapes("operand", "result")},
        form=SAME,
    ),
    OpRecord(
        "stablehlo.reduce_precision",
        (Slot("operand", REALS),),
        (Slot("output", REALS),),
        (
            AttributeSlot("exponent_bits", "I2", (IntegerAttr,), dtype=DType.I32),
            AttributeSlot("mantissa_bits", "I3", (IntegerAttr,), dtype=DType.I32),
        ),
        {
            "C1": same_baseline_types("operand", "output"),
            "C2": _at_least("exponent_bits", 1),
            "C3": _at_least("mantissa_bits", 0),
        },
        form=" {operands}, format = {format}{attr-dict} : {same}",
    ),
    OpRecord(
        "stablehlo.select",
        (Slot("pred", TypeKind.BOOL), Slot("on_true", TypeKind.UNIFORM), Slot("on_false", TypeKind.UNIFORM)),
        (Slot("result", TypeKind.UNIFORM),),
        constraints={
            "C1": _scalar_or_shape_of("pred", "on_true"),
            "C2": same_baseline_types("on_true", "on_false", "result"),
        },
        form=" {operands}{attr-dict} : {select}",
    ),
)
