"""Constraints on elements quantized per axis, whose axis an op moves."""

from __future__ import annotations

from dataclasses import replace

from shlo_disc.dialects.checks import refuse_type, spell_element
from shlo_disc.dialects.record import Check
from shlo_disc.dialects.types import Shape, Tensor, product, sizes_agree, spell_shape
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import QuantizedElement, QuantizedTensorType
from shlo_disc.ir.spelling import spell_type
from shlo_disc.records import record


@record
class _Axis:
    """Where the elements of a tensor are quantized per axis: that axis, and how."""

    place: int
    element: QuantizedElement
    shape: Shape

    def parts(self) -> Shape:
        """Return the numbers of elements before, along and behind the axis."""
        place, shape = self.place, self.shape
        return product(shape[:place]), shape[place], product(shape[place + 1 :])


def _axes(view: OpView) -> tuple[_Axis, _Axis] | None:
    """Return the axes of the operand and the result if both have one."""
    operand, result = _axis(view.tensor("operand")), _axis(view.tensor("result"))
    return None if operand is None or result is None else (operand, result)


def _axis(tensor: Tensor) -> _Axis | None:
    if isinstance(tensor, QuantizedTensorType) and tensor.element.axis is not None:
        return _Axis(tensor.element.axis, tensor.element, tensor.shape)
    return None


def same_elements_but_axis(*, parameters: bool) -> Check:
    """Make the constraint `element_type(result) = element_type(operand)`, except that axes may differ.

    Where the elements of both are quantized per axis, scales and zero points may differ too if `parameters` may.
    """

    def check(view: OpView) -> Refusal | None:
        found, wanted = view.element("result"), view.element("operand")
        if (axes := _axes(view)) is not None:
            operand, result = axes
            wanted = replace(operand.element, axis=result.place, spelling="")
            if parameters:
                wanted = replace(wanted, scales=result.element.scales, zero_points=result.element.zero_points)
        return None if found == wanted else refuse_type(f"of elements {spell_element(wanted)}", "result", view)

    return check


def transposed_axis(view: OpView) -> Refusal | None:
    """Refuse a result whose axis is not where the permutation takes that of the operand."""
    if (axes := _axes(view)) is None:
        return None
    operand, result = axes
    return _axis_at(view.integers("permutation").index(operand.place), result, view)


def broadcast_axis(view: OpView) -> Refusal | None:
    """Refuse a result whose axis is not that of the operand, or whose parameters are no copies where it is expanded."""
    if (axes := _axes(view)) is None:
        return None
    operand, result = axes
    if (refusal := _axis_at(view.integers("broadcast_dimensions")[operand.place], result, view)) is not None:
        return refusal
    scale, zero_point = operand.element.scales[0], operand.element.zero_points[0]
    parameters = set(zip(result.element.scales, result.element.zero_points, strict=True))
    if operand.shape[operand.place] != 1 or parameters == {(scale, zero_point)}:
        return None
    wanted = f"of scale {scale:g} and zero point {zero_point} throughout, those of 'operand'"
    return refuse_type(wanted, "result", view)


def _axis_at(wanted: int, result: _Axis, view: OpView) -> Refusal | None:
    if result.place == wanted:
        return None
    return refuse_type(f"quantized along dimension {wanted}, where that of 'operand' goes", "result", view)


def reshaped_axis(view: OpView) -> Refusal | None:
    """Refuse a result whose axis does not divide its elements as that of the operand does."""
    if (axes := _axes(view)) is None:
        return None
    operand, result = axes
    if all(map(sizes_agree, operand.parts(), result.parts())):
        return None
    wanted = f"with {spell_shape(operand.parts())} elements before, along and behind its axis, as 'operand'"
    return Refusal(f"'result' {wanted}", spell_type(view.type("result")))
