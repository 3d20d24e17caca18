"""Constraints that `dot_general` and `convolution` share: elements, quantized or not, and precisions."""

from __future__ import annotations

from shlo_disc.dialects.checks import refuse_type, spell_element
from shlo_disc.dialects.record import AttributeSlot, Check, Slot
from shlo_disc.dialects.types import Element, is_per_axis_quantized, is_quantized
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import ArrayAttr, QuantizedElement
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_type
from shlo_disc.ir.type_kind import TypeKind

OPERANDS = (Slot("lhs", TypeKind.PLAIN | TypeKind.PER_TENSOR), Slot("rhs", TypeKind.TENSOR))
RESULTS = (Slot("result", TypeKind.TENSOR),)

_PRECISIONS = ("DEFAULT", "HIGH", "HIGHEST")


def precision_slot(label: str) -> AttributeSlot:
    """Make the slot of `precision_config`."""
    return AttributeSlot("precision_config", label, (ArrayAttr,), required=False, values=_PRECISIONS)


def precision_for_each(view: OpView) -> Refusal | None:
    """Demand a precision for each operand; an empty list counts as one that is left out."""
    found = view.attribute("precision_config")
    if not isinstance(found, ArrayAttr) or len(found.items) in (0, 2):
        return None
    return Refusal("two precisions in 'precision_config', of 'lhs' and of 'rhs'", str(len(found.items)))


def quantized_product(together: str, storage: str, expressed: str, granularity: str, hybrid: str) -> dict[str, Check]:
    """Make the constraints on quantized operands, under the labels that they have for an op."""
    return {
        together: _quantized_together,
        storage: _storage,
        expressed: _expressed,
        granularity: _granularity,
        hybrid: _hybrid,
    }


def any_quantized(view: OpView) -> bool:
    """Whether an operand or the result is quantized."""
    return any(is_quantized(view.type(name)) for name in ("lhs", "rhs", "result"))


def same_operand_elements(view: OpView) -> Refusal | None:
    """Demand one type of plain operands; narrow floats, or types that the result holds, may be mixed."""
    lhs, rhs, result = (view.element(name) for name in ("lhs", "rhs", "result"))
    if any_quantized(view) or lhs == rhs or (_is_narrow(lhs) and _is_narrow(rhs)) or _holds(result, lhs, rhs):
        return None
    return Refusal("'lhs' and 'rhs' to have the same elements", f"{spell_element(lhs)} and {spell_element(rhs)}")


def _is_narrow(element: Element) -> bool:
    # training in eight bits multiplies f8E4M3FN with f8E5M2: exported so, and taken by every compiler
    return isinstance(element, DType) and element.is_float and element.bits <= 8


def _holds(result: Element, *operands: Element) -> bool:
    # in bf16 the gradients of jax.nn.dot_product_attention multiply f32 with bf16, as of 0.10: jaxlib takes it
    if not (isinstance(result, DType) and result.is_float):
        return False
    return all(isinstance(one, DType) and one.is_float and one.bits <= result.bits for one in operands)


def _quantized_together(view: OpView) -> Refusal | None:
    lhs, rhs, result = (view.type(name) for name in ("lhs", "rhs", "result"))
    if not any_quantized(view) or (is_quantized(rhs) and is_quantized(lhs) == is_quantized(result)):
        return None
    return Refusal(
        "'rhs' to be quantized, and 'lhs' if and only if the result is",
        ", ".join(map(spell_type, (lhs, rhs, result))),
    )


def _storage(view: OpView) -> Refusal | None:
    lhs, rhs = view.element("lhs"), view.element("rhs")
    if not isinstance(lhs, QuantizedElement) or not isinstance(rhs, QuantizedElement) or lhs.storage is rhs.storage:
        return None
    return Refusal("'lhs' and 'rhs' to be stored alike", f"{lhs.storage.value} and {rhs.storage.value}")


def _expressed(view: OpView) -> Refusal | None:
    if not is_quantized(view.type("lhs")):
        return None
    elements = [view.element(name) for name in ("lhs", "rhs", "result")]
    found = [element.expressed for element in elements if isinstance(element, QuantizedElement)]
    if len(set(found)) == 1:
        return None
    return Refusal("all operands and the result to express one type", ", ".join([dtype.value for dtype in found]))


def _granularity(view: OpView) -> Refusal | None:
    one_scale = not is_per_axis_quantized(view.type("rhs"))
    if is_quantized(view.type("lhs")) and one_scale and is_per_axis_quantized(view.type("result")):
        return refuse_type("quantized per tensor, as 'rhs' is", "result", view)
    return None


def _hybrid(view: OpView) -> Refusal | None:
    lhs, rhs, result = (view.element(name) for name in ("lhs", "rhs", "result"))
    if not isinstance(lhs, DType) or not isinstance(rhs, QuantizedElement) or lhs is rhs.expressed is result:
        return None
    found = f"{spell_element(lhs)}, {rhs.expressed.value} and {spell_element(result)}"
    return Refusal("the elements of 'lhs' and of the result to be what 'rhs' expresses", found)
