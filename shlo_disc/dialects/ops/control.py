"""Control flow, composites, barriers, tuples and tokens."""

from __future__ import annotations

import re

from shlo_disc.dialects.checks import compare_region, compare_types, is_predicate, refuse_type, same_types
from shlo_disc.dialects.record import AttributeSlot, Check, OpRecord, Slot
from shlo_disc.dialects.types import types_agree
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import DictAttr, IntegerAttr, StringAttr, SymbolAttr, TupleType
from shlo_disc.ir.core import Declaration, Function
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_type, spell_types
from shlo_disc.ir.type_kind import TypeKind

_STATE = TypeKind.TENSOR | TypeKind.TOKEN | TypeKind.BUFFER
_BRANCH = TypeKind.TENSOR | TypeKind.TOKEN
_MEMBER = TypeKind.TENSOR | TypeKind.TOKEN | TypeKind.TUPLE | TypeKind.BUFFER
_BARRED = TypeKind.UNIFORM | TypeKind.TOKEN

# --- while


def _condition(view: OpView) -> Refusal | None:
    state, returned = view.types("operand"), view.returned(0)
    predicate = len(returned) == 1 and is_predicate(returned[0])
    if not predicate:
        return Refusal("'cond' to return one tensor<i1>", spell_types(returned))
    return compare_region(view, 0, "cond", state, returned)


def _body(view: OpView) -> Refusal | None:
    state = view.types("operand")
    return compare_region(view, 1, "body", state, state)


# --- if and case


def _index_type(view: OpView) -> Refusal | None:
    return None if view.element("index") is DType.I32 else refuse_type("tensor<i32>", "index", view)


def _no_arguments(view: OpView) -> Refusal | None:
    for number, region in enumerate(view.op.regions):
        count = len(region.block.arguments)
        if count:
            return Refusal(f"branch {number} to have no arguments", str(count))
    return None


def _same_results(view: OpView) -> Refusal | None:
    for number in range(1, len(view.op.regions)):
        expected = f"branches 0 and {number} to return the same types"
        refusal = compare_types(view.returned(0), view.returned(number), expected)
        if refusal is not None:
            return refusal
    return None


def _branch_results(view: OpView) -> Refusal | None:
    return compare_types(view.types("results"), view.returned(0), "'results' and what the branches return to be alike")


# --- composite

_NAMESPACED = re.compile(r"[a-zA-Z]\w*(\.[\w$]+)+", re.ASCII)


def _namespaced(view: OpView) -> Refusal | None:
    name = view.attribute("name")
    assert isinstance(name, StringAttr), "the slot takes a string"
    if _NAMESPACED.fullmatch(name.value):
        return None
    return Refusal("'name' to be that of an op with its namespace, such as 'chlo.sinh'", f"'{name.value}'")


def _function(view: OpView) -> Function | Declaration | None:
    symbol = view.attribute("decomposition")
    assert isinstance(symbol, SymbolAttr), "the slot takes a symbol"
    functions = [one for one in view.module.contents if isinstance(one, Function | Declaration)]
    return next((one for one in functions if one.name == symbol.name), None)


def _decomposition(view: OpView) -> Refusal | None:
    if _function(view) is not None:
        return None
    return Refusal("'decomposition' to name a function of this module", "none of that name")


def _decomposed(name: str) -> Check:
    """Make the constraint that a decomposition has the input or result types of the composite."""

    def check(view: OpView) -> Refusal | None:
        function = _function(view)
        assert function is not None, "C2 demands it"
        wanted = function.type.inputs if name == "inputs" else function.type.results
        if view.types(name) == wanted:
            return None
        return Refusal(f"'{name}' to have the types of '@{function.name}', {spell_types(wanted)}", _found(view, name))

    return check


def _found(view: OpView, name: str) -> str:
    return spell_types(view.types(name))


# --- optimization_barrier


def _same_exactly(view: OpView) -> Refusal | None:
    """Demand the same types: here an unknown size does not agree with others."""
    if view.types("operand") == view.types("result"):
        return None
    return Refusal(
        "'operand' and 'result' to have the same types", f"{_found(view, 'operand')} and {_found(view, 'result')}"
    )


# --- tuple and get_tuple_element


def _tuple_type(view: OpView) -> Refusal | None:
    wanted = TupleType(view.types("val"))
    return None if view.type("result") == wanted else refuse_type(spell_type(wanted), "result", view)


def _members(view: OpView) -> tuple[TupleType, int]:
    type_ = view.type("operand")
    assert isinstance(type_, TupleType), "the slot takes a tuple"
    return type_, view.integer("index")


def _member_index(view: OpView) -> Refusal | None:
    type_, index = _members(view)
    if 0 <= index < len(type_.members):
        return None
    return Refusal(f"'index' below {len(type_.members)}, the number of members of 'operand'", str(index))


def _member_type(view: OpView) -> Refusal | None:
    type_, index = _members(view)
    wanted = type_.members[index]
    return None if types_agree(view.type("result"), wanted) else refuse_type(spell_type(wanted), "result", view)


OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.while",
        (Slot("operand", _STATE, variadic=True),),
        (Slot("results", _STATE, variadic=True, label="C3"),),
        (),
        {"C1": _condition, "C2": _body, "C3": same_types("results", "operand")},
        ("cond", "body"),
        form="{while}",
    ),
    OpRecord(
        "stablehlo.if",
        (Slot("pred", TypeKind.BOOL, 0),),
        (Slot("results", _BRANCH, variadic=True, label="C3"),),
        (),
        {"C1": _no_arguments, "C2": _same_results, "C3": _branch_results},
        ("true_branch", "false_branch"),
    ),
    OpRecord(
        "stablehlo.case",
        (Slot("index", TypeKind.SIGNED, 0),),
        (Slot("results", _BRANCH, variadic=True, label="C4"),),
        (),
        {"I1": _index_type, "C2": _no_arguments, "C3": _same_results, "C4": _branch_results},
        ("branch", "branches…"),
    ),
    OpRecord(
        "stablehlo.composite",
        (Slot("inputs", TypeKind.TENSOR | TypeKind.TOKEN | TypeKind.TUPLE, variadic=True),),
        (Slot("results", TypeKind.TENSOR | TypeKind.TOKEN | TypeKind.TUPLE, variadic=True, label="C4"),),
        (
            AttributeSlot("name", "I2", (StringAttr,)),
            AttributeSlot("composite_attributes", "I3", (DictAttr,), required=False),
            AttributeSlot("decomposition", "I4", (SymbolAttr,)),
            AttributeSlot("version", "I5", (IntegerAttr,), required=False, dtype=DType.I32),
        ),
        {"C1": _namespaced, "C2": _decomposition, "C3": _decomposed("inputs"), "C4": _decomposed("results")},
        ("regions…",),
        form=" {string:name}{spaced-operands}{regions}{attr-dict} : {functional}",
        effects=True,
    ),
    OpRecord(
        "stablehlo.tuple",
        (Slot("val", _MEMBER, variadic=True),),
        (Slot("result", TypeKind.TUPLE, label="C1"),),
        (),
        {"C1": _tuple_type},
        form="{spaced-operands}{attr-dict} : {tuple}",
    ),
    OpRecord(
        "stablehlo.get_tuple_element",
        (Slot("operand", TypeKind.TUPLE),),
        (Slot("result", _MEMBER, label="C2"),),
        (AttributeSlot("index", "I2", (IntegerAttr,), dtype=DType.I32),),
        {"C1": _member_index, "C2": _member_type},
        form=" {operands}[{i32:index}]{attr-dict} : {functional}",
    ),
    OpRecord(
        "stablehlo.optimization_barrier",
        (Slot("operand", _BARRED, variadic=True),),
        (Slot("result", _BARRED, variadic=True, label="C1"),),
        (),
        {"C1": _same_exactly},
        form="{barrier}",
    ),
    OpRecord(
        "stablehlo.after_all",
        (Slot("inputs", TypeKind.TOKEN, variadic=True),),
        (Slot("result", TypeKind.TOKEN, label="C1"),),
        form="{spaced-operands}{attr-dict} : {same}",
    ),
    OpRecord(
        "stablehlo.return",
        (Slot("results", _STATE, variadic=True),),
        (),
        form="{spaced-operands}{attr-dict}{returned}",
    ),
    OpRecord(
        "stablehlo.create_token",
        (),
        (Slot("output", TypeKind.TOKEN, label="C1"),),
        form="{attr-dict} : {result}",
    ),
)
