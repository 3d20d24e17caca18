"""Constraints on elements quantized per axis, whose axis an op moves."""

from __future__ import annotations

from dataclasses import replace

from shlo_disc.ir.attributes import QuantizedElement
from shlo_disc.parse.spelling import spell_type
from shlo_disc.verify.checks import refuse_type, spell_element
from shlo_disc.verify.rules import Check
from shlo_disc.verify.types import Shape, product, sizes_agree, spell_shape
from shlo_disc.verify.view import Refusal, View


def same_elements_but_axis(*, parameters: bool) -> Check:
    """Make the constraint `element_type(result) = element_type(operand)`, but that axes may differ.

    Where the elements of both are quantized per axis, scales and zero points may differ too if `parameters` may.
    """

    def check(view: View) -> Refusal | None:
        found, wanted = view.element("result"), view.element("operand")
        if (axes := _axes(view)) is not None:
            source, result = axes
            wanted = replace(source, axis=result.axis, spelling="")
            if parameters:
                wanted = replace(wanted, scales=result.scales, zero_points=result.zero_points)
        return None if found == wanted else refuse_type(f"of elements {spell_element(wanted)}", "result", view)

    return check


def _axes(view: View) -> tuple[QuantizedElement, QuantizedElement] | None:
    """Give the element types of the operand and the result if both are quantized per axis."""
    operand, result = view.element("operand"), view.element("result")
    if isinstance(operand, QuantizedElement) and isinstance(result, QuantizedElement):
        return None if operand.axis is None or result.axis is None else (operand, result)
    return None


def transposed_axis(view: View) -> Refusal | None:
    """Refuse a result whose axis is not where the permutation takes that of the operand."""
    if (axes := _axes(view)) is None:
        return None
    operand, result = axes
    places = {source: place for place, source in enumerate(view.integers("permutation"))}
    return _axis_at(places.get(operand.axis or 0), result, view)


def broadcast_axis(view: View) -> Refusal | None:
    """Refuse a result whose axis is not that of the operand, or whose parameters are no copies where it is expanded."""
    if (axes := _axes(view)) is None:
        return None
    operand, result = axes
    places = dict(enumerate(view.integers("broadcast_dimensions")))
    if (refusal := _axis_at(places.get(operand.axis or 0), result, view)) is not None:
        return refusal
    expanded = view.shape("operand")[operand.axis or 0] == 1
    parameters = set(zip(result.scales, result.zero_points, strict=True))
    if not expanded or parameters == {(operand.scales[0], operand.zero_points[0])}:
        return None
    wanted = f"scale {operand.scales[0]:g} and zero point {operand.zero_points[0]}, those of 'operand', throughout"
    return refuse_type(f"of {wanted}", "result", view)


def _axis_at(wanted: int | None, result: QuantizedElement, view: View) -> Refusal | None:
    if result.axis == wanted:
        return None
    return refuse_type(f"quantized along dimension {wanted}, where that of 'operand' goes", "result", view)


def reshaped_axis(view: View) -> Refusal | None:
    """Refuse a result whose axis does not divide its elements as that of the operand does."""
    if (axes := _axes(view)) is None:
        return None
    operand, result = axes
    parts = _around(view.shape("operand"), operand.axis or 0)
    if all(map(sizes_agree, parts, _around(view.shape("result"), result.axis or 0))):
        return None
    wanted = f"with {spell_shape(parts)} elements before, along and behind its quantization dimension, as 'operand'"
    return Refusal(f"'result' {wanted}", spell_type(view.type("result")))


def _around(shape: Shape, axis: int) -> Shape:
    """Give how many elements there are before, along and behind an axis."""
    return product(shape[:axis]), product(shape[axis : axis + 1]), product(shape[axis + 1 :])
