"""Products of tensors."""

from __future__ import annotations

import re

from shlo_disc.dialects.checks import refuse_type, same_baseline_elements
from shlo_disc.dialects.dims import result_shape
from shlo_disc.dialects.ops.products import (
    OPERANDS,
    RESULTS,
    precision_for_each,
    precision_slot,
    quantized_product,
    same_operand_elements,
)
from shlo_disc.dialects.pairing import Pairing
from shlo_disc.dialects.record import AttributeSlot, Check, OpRecord, Slot
from shlo_disc.dialects.types import Shape, sizes_agree
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    EnumAttr,
    IntegerAttr,
    QuantizedElement,
    RecordAttr,
    StringAttr,
)
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_attribute, spell_type
from shlo_disc.ir.type_kind import TypeKind

_NUMBERS = "dot_dimension_numbers"
_PAIRING = Pairing(_NUMBERS)

# --- dot_general: quantized elements


def _rhs_zero_points(view: OpView) -> Refusal | None:
    rhs = view.element("rhs")
    if not isinstance(rhs, QuantizedElement) or not any(rhs.zero_points):
        return None
    return refuse_type("quantized with zero points of 0", "rhs", view)


def _rhs_axis(view: OpView) -> Refusal | None:
    rhs, contracting = view.element("rhs"), _PAIRING.rhs_contracting.of(view)
    if not isinstance(rhs, QuantizedElement) or rhs.axis not in contracting:
        return None
    return Refusal(
        f"'rhs' to be quantized along a dimension that is not contracted (not {list(contracting)})",
        spell_type(view.type("rhs")),
    )


# --- dot_general: algorithm

_FLOATS = frozenset({"tf32", *(dtype.value for dtype in DType if dtype.is_float)})


def _is_precision(attribute: Attribute) -> bool:
    return isinstance(attribute, EnumAttr) and attribute.value in _FLOATS


def _is_count(attribute: Attribute) -> bool:
    return isinstance(attribute, IntegerAttr) and attribute.dtype is None


def _is_flag(attribute: Attribute) -> bool:
    return isinstance(attribute, BoolAttr)


_ALGORITHM = {
    "I8": ("lhs_precision_type", "a type of floats, or tf32", _is_precision),
    "I9": ("rhs_precision_type", "a type of floats, or tf32", _is_precision),
    "I10": ("accumulation_type", "a type of floats, or tf32", _is_precision),
    "I11": ("lhs_component_count", "a number", _is_count),
    "I12": ("rhs_component_count", "a number", _is_count),
    "I13": ("num_primitive_operations", "a number", _is_count),
    "I14": ("allow_imprecise_accumulation", "true or false", _is_flag),
}


def _algorithm_field(label: str) -> Check:
    name, expected, fits = _ALGORITHM[label]

    def check(view: OpView) -> Refusal | None:
        algorithm = view.attribute("algorithm")
        if not isinstance(algorithm, RecordAttr):
            return None
        found = algorithm.fields.get(name)
        if found is not None and fits(found):
            return None
        return Refusal(f"'{name}' of the algorithm to be {expected}", _spell_field(found))

    return check


def _spell_field(found: Attribute | None) -> str:
    if found is None:
        return "none"
    return found.value if isinstance(found, EnumAttr) else spell_attribute(found)


def _algorithm_alone(view: OpView) -> Refusal | None:
    precisions = view.attribute("precision_config")
    if not view.has("algorithm") or not isinstance(precisions, ArrayAttr):
        return None
    found = [item.value for item in precisions.items if isinstance(item, EnumAttr)]
    if all(value == "DEFAULT" for value in found):
        return None
    return Refusal("'precision_config' to be DEFAULT beside an algorithm", ", ".join(found))


def _positive_count(name: str) -> Check:
    def check(view: OpView) -> Refusal | None:
        if not view.has("algorithm") or (count := view.field_number("algorithm", name)) > 0:
            return None
        return Refusal(f"'{name}' of the algorithm to be at least 1", str(count))

    return check


# --- dot: vectors and matrices


def _dot_sizes(view: OpView) -> Refusal | None:
    lhs, rhs = view.shape("lhs"), view.shape("rhs")
    if sizes_agree(lhs[-1], rhs[0]):
        return None
    return Refusal("the last dimension of 'lhs' to have the size of the first of 'rhs'", f"{lhs[-1]} and {rhs[0]}")


def _dot_ranks(view: OpView) -> Refusal | None:
    ranks = view.rank("lhs"), view.rank("rhs")
    if all(rank in (1, 2) for rank in ranks):
        return None
    return Refusal("'lhs' and 'rhs' to have one or two dimensions", f"{ranks[0]} and {ranks[1]}")


def _matrix_shape(view: OpView) -> Shape:
    return *view.shape("lhs")[:-1], *view.shape("rhs")[1:]


# --- einsum, unary_einsum: `ab,bc->ac`, a letter for each dimension; `...` stands for those without

_TERM = re.compile(r"[A-Za-z]*(\.\.\.[A-Za-z]*)?")


def _terms(view: OpView) -> dict[str, str]:
    """Return the term of each operand and of the result; {} where the text is not of that form."""
    config = view.attribute("einsum_config")
    assert isinstance(config, StringAttr), "the slot takes a string"
    operands, _, result = config.value.replace(" ", "").partition("->")
    terms = [*operands.split(","), result]
    if "->" not in config.value or len(terms) != len(view.values) or not all(map(_TERM.fullmatch, terms)):
        return {}
    return dict(zip(view.values, terms, strict=True))


def _einsum_form(view: OpView) -> Refusal | None:
    if _terms(view):
        return None
    wanted = "ab->a" if "operand" in view.values else "ab,bc->ac"
    return Refusal(f"'einsum_config' of the form \"{wanted}\"", spell_attribute(view.op.attributes["einsum_config"]))


def _letters(term: str, rank: int) -> str | None:
    """Return the letters of all dimensions, `.` for those without; None if the term cannot have so many."""
    head, dots, tail = term.partition("...")
    rest = rank - len(head) - len(tail)
    return None if rest < 0 or (rest and not dots) else head + "." * rest + tail


def _einsum_ranks(view: OpView) -> Refusal | None:
    for name, term in _terms(view).items():
        if _letters(term, view.rank(name)) is None:
            return Refusal(
                f"'einsum_config' to name each of '{name}' dimensions, {view.rank(name)} in all", f"'{term}'"
            )
    return None


def _einsum_sizes(view: OpView) -> Refusal | None:
    known: dict[str, int] = {}
    for name, term in _terms(view).items():
        for letter, size in zip(_letters(term, view.rank(name)) or "", view.shape(name), strict=True):
            if letter != "." and size is not None and known.setdefault(letter, size) != size:
                return Refusal(f"dimensions '{letter}' to have one size", f"{known[letter]}, and {size} in '{name}'")
    return None


def _einsum_result(view: OpView) -> Refusal | None:
    terms = _terms(view)
    result = terms.pop("result").replace(".", "")
    if len(set(result)) == len(result) and set(result) <= set("".join(terms.values())):
        return None
    return Refusal("'einsum_config' to give the result dimensions of the operands, each once", f"'{result}'")


def _einsum(name: str, operands: tuple[str, ...], alike: tuple[str, ...]) -> OpRecord:
    constraints = {
        "C1": _einsum_form,
        "C2": _einsum_ranks,
        "C3": _einsum_sizes,
        "C4": _einsum_result,
        "C5": same_baseline_elements(*alike),
    }
    config = AttributeSlot("einsum_config", f"I{len(operands) + 1}", (StringAttr,))
    slots = tuple([Slot(operand, TypeKind.TENSOR) for operand in operands])
    form = " {operands}, config = {string:einsum_config}{attr-dict} : {functional}"
    return OpRecord(name, slots, RESULTS, (config,), constraints, form=form)


OPS: tuple[OpRecord, ...] = (
    _einsum("stablehlo.einsum", ("lhs", "rhs"), ("lhs", "rhs")),
    _einsum("stablehlo.unary_einsum", ("operand",), ("operand", "result")),
    OpRecord(
        "stablehlo.dot_general",
        OPERANDS,
        RESULTS,
        (
            AttributeSlot(_NUMBERS, "I3", (RecordAttr,), values=("dot",)),
            precision_slot("I7"),
            AttributeSlot("algorithm", "I8", (RecordAttr,), required=False, values=("dot_algorithm",)),
        ),
        {
            **_PAIRING.lists("I3", "I4", "I5", "I6"),
            **{label: _algorithm_field(label) for label in _ALGORITHM},
            **_PAIRING.constraints(),
            "C11": precision_for_each,
            "C12": result_shape(_PAIRING.shape),
            "C13": same_operand_elements,
            **quantized_product("C14", "C17", "C18", "C19", "C20"),
            "C15": _rhs_zero_points,
            "C16": _rhs_axis,
            "C21": _algorithm_alone,
            "C22": _positive_count("lhs_component_count"),
            "C23": _positive_count("rhs_component_count"),
            "C24": _positive_count("num_primitive_operations"),
        },
        form=" {operands}, {dot-dimensions}{precision}{algorithm}{attr-dict} : {functional}",
    ),
    OpRecord(
        "stablehlo.dot",
        OPERANDS,
        RESULTS,
        (precision_slot("I3"),),
        {
            "C1": _dot_ranks,
            "C2": _dot_sizes,
            "C3": precision_for_each,
            "C4": result_shape(_matrix_shape),
            "C5": same_operand_elements,
            **quantized_product("C6", "C7", "C8", "C9", "C10"),
        },
        form=" {operands}{precision}{attr-dict} : {functional}",
    ),
)
