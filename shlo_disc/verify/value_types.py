"""Constraints on types themselves: on quantized types, and on bounds of sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from shlo_disc.diagnostics import Span, VerifyError
from shlo_disc.dialects.types import Shape, Tensor, spell_shape
from shlo_disc.dialects.view import Refusal
from shlo_disc.ir.attributes import (
    BoundsAttr,
    FutureType,
    QuantizedElement,
    QuantizedTensorType,
    TensorType,
    TupleType,
    Type,
    UnrankedTensorType,
)
from shlo_disc.ir.core import Declaration, Function, Module, Op
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_quantized, spell_type

# The least and the greatest positive number; scales are read as f64.
_RANGES: Mapping[DType, tuple[float, float]] = {
    DType.F16: (2.0**-24, (2.0 - 2.0**-10) * 2.0**15),
    DType.BF16: (2.0**-133, (2.0 - 2.0**-7) * 2.0**127),
    DType.F32: (2.0**-149, (2.0 - 2.0**-23) * 2.0**127),
}


def verify_signatures(module: Module) -> None:
    """Raise `VerifyError` at the first argument or result of a function whose type `verify_type` refuses."""
    for content in module.contents:
        match content:
            case Declaration():
                for type_ in (*content.type.inputs, *content.type.results):
                    verify_type(type_, content.span)
            case Function():
                for argument in content.body.arguments:
                    verify_type(argument.type, argument.span)
            case Op():
                pass


def verify_type(type_: Type, span: Span) -> None:
    """Raise `VerifyError` if a type breaks a constraint on quantized types or on bounds."""
    if isinstance(type_, TensorType) and type_.encoding is None:
        return
    for label, refusal in _refusals(type_):
        if refusal is not None:
            raise VerifyError(f"expected {refusal.expected}, found {refusal.found} ({label})", span)


def _refusals(type_: Type) -> Iterator[tuple[str, Refusal | None]]:
    match type_:
        case TensorType():
            yield from _bounds_refusals(type_)
        case QuantizedTensorType(shape, element):
            yield from _quantized_refusals(element, shape)
            yield from _bounds_refusals(type_)
        case UnrankedTensorType(element) if isinstance(element, QuantizedElement):
            yield from _quantized_refusals(element, None)
        case TupleType(members) | FutureType(members):
            for member in members:
                yield from _refusals(member)
        case _:
            pass


# --- bounds: the specification does not number what it demands of them; C1 and C2 are ours


def _bounds_refusals(tensor: Tensor) -> Iterator[tuple[str, Refusal | None]]:
    if isinstance(tensor.encoding, BoundsAttr):
        yield "C1 of bounds", _bound_for_each(tensor, tensor.encoding)
        yield "C2 of bounds", _bounds_of_unknown(tensor, tensor.encoding)


def _bound_for_each(tensor: Tensor, bounds: BoundsAttr) -> Refusal | None:
    if len(bounds.sizes) == len(tensor.shape):
        return None
    return Refusal(
        f"{len(tensor.shape)} bounds, one for each dimension of {spell_type(tensor)}", str(len(bounds.sizes))
    )


def _bounds_of_unknown(tensor: Tensor, bounds: BoundsAttr) -> Refusal | None:
    for dimension, (size, bound) in enumerate(zip(tensor.shape, bounds.sizes, strict=True)):
        if size is not None and bound is not None:
            return Refusal(f"a bound '?' for dimension {dimension}, which has size {size}", str(bound))
    return None


# --- quantized types


def _quantized_refusals(element: QuantizedElement, shape: Shape | None) -> Iterator[tuple[str, Refusal | None]]:
    yield "C3 of quantized type", _storage_range(element)
    yield "C5 of quantized type", _positive_scales(element)
    yield "C6 of quantized type", _finite_scales(element)
    yield "C4 of quantized type", _expressed_scales(element)
    yield "C7 of quantized type", _zero_points(element)
    yield "C11 of quantized type", _axis(element)
    if shape is not None:
        yield "C12 of quantized type", _axis_of_tensor(element, shape)
        yield "C13 of quantized type", _scale_for_each(element, shape)


def _storage_range(element: QuantizedElement) -> Refusal | None:
    bits = element.storage.bits - element.storage.is_signed
    least, most = -(1 << bits) if element.storage.is_signed else 0, (1 << bits) - 1
    if least <= element.least < element.most <= most:
        return None
    return Refusal(
        f"two ascending storage bounds in {least} … {most}, the range of {element.storage.value}",
        f"{element.least} and {element.most}",
    )


def _positive_scales(element: QuantizedElement) -> Refusal | None:
    wrong = [scale for scale in element.scales if scale <= 0]
    return _refuse("scales above 0", wrong[0], element) if wrong else None


def _finite_scales(element: QuantizedElement) -> Refusal | None:
    wrong = [scale for scale in element.scales if not math.isfinite(scale)]
    return _refuse("finite scales", wrong[0], element) if wrong else None


def _expressed_scales(element: QuantizedElement) -> Refusal | None:
    """Demand scales in the range of the expressed type: the text gives them without a type."""
    wrong = [scale for scale in element.scales if not _fits(scale, element.expressed)]
    return _refuse(f"scales in the range of {element.expressed.value}", wrong[0], element) if wrong else None


def _fits(scale: float, dtype: DType) -> bool:
    least, most = _RANGES.get(dtype, (0.0, math.inf))
    return least <= scale <= most


def _zero_points(element: QuantizedElement) -> Refusal | None:
    wrong = [zero for zero in element.zero_points if not element.least <= zero <= element.most]
    return _refuse(f"zero points in {element.least} … {element.most}", wrong[0], element) if wrong else None


def _axis(element: QuantizedElement) -> Refusal | None:
    if element.axis is None or element.axis >= 0:
        return None
    return _refuse("a quantization dimension of 0 or more", element.axis, element)


def _axis_of_tensor(element: QuantizedElement, shape: Shape) -> Refusal | None:
    if element.axis is None or element.axis < len(shape):
        return None
    return _refuse(f"a quantization dimension below {len(shape)}, the rank of the tensor", element.axis, element)


def _scale_for_each(element: QuantizedElement, shape: Shape) -> Refusal | None:
    if element.axis is None or shape[element.axis] in (None, len(element.scales)):
        return None
    expected = (
        f"{shape[element.axis]} scales, one for each place along dimension {element.axis} of {spell_shape(shape)}"
    )
    return _refuse(expected, len(element.scales), element)


def _refuse(expected: str, found: float, element: QuantizedElement) -> Refusal:
    return Refusal(expected, f"{found} in {spell_quantized(element)}")
