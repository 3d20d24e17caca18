"""Ops that move elements and compute none."""

from __future__ import annotations

from shlo_disc.ir.attributes import DenseArrayAttr, QuantizedElement
from shlo_disc.parse.spelling import spell_type
from shlo_disc.verify.checks import refuse_type, spell_element
from shlo_disc.verify.rules import AttributeSlot, Kind, Rules, Slot
from shlo_disc.verify.types import shapes_agree, spell_shape
from shlo_disc.verify.view import Refusal, View

# --- transpose


def _transpose_element(view: View) -> Refusal | None:
    found, wanted = view.element("result"), view.element("operand")
    if isinstance(found, QuantizedElement) and isinstance(wanted, QuantizedElement) and wanted.axis is not None:
        wanted = QuantizedElement(
            wanted.storage, wanted.least, wanted.most, wanted.expressed, found.axis, wanted.scales, wanted.zero_points
        )
    if found == wanted:
        return None
    return refuse_type(f"of elements {spell_element(wanted)}", "result", view)


def _transpose_permutation(view: View) -> Refusal | None:
    permutation, rank = view.integers("permutation"), view.rank("operand")
    if sorted(permutation) == list(range(rank)):
        return None
    return Refusal(f"'permutation' to be one of 0 … {rank - 1}", str(list(permutation)))


def _transpose_shape(view: View) -> Refusal | None:
    operand = view.shape("operand")
    wanted = tuple([operand[d] for d in view.integers("permutation")])
    if shapes_agree(wanted, view.shape("result")):
        return None
    return refuse_type(f"of shape {spell_shape(wanted)}", "result", view)


def _transpose_axis(view: View) -> Refusal | None:
    found, operand = view.element("result"), view.element("operand")
    if not isinstance(found, QuantizedElement) or found.axis is None or not isinstance(operand, QuantizedElement):
        return None
    if operand.axis == view.integers("permutation")[found.axis]:
        return None
    return Refusal(f"a quantization dimension that moves with {operand.axis}", spell_type(view.type("result")))


RULES: tuple[Rules, ...] = (
    Rules(
        "stablehlo.transpose",
        (Slot("operand", Kind.TENSOR),),
        (Slot("result", Kind.TENSOR),),
        (AttributeSlot("permutation", "I2", (DenseArrayAttr,)),),
        {
            "C1": _transpose_element,
            "C2": _transpose_permutation,
            "C3": _transpose_shape,
            "C4": _transpose_axis,
        },
    ),
)
