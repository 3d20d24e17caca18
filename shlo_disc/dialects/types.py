"""Functions of types that constraints use, by their names in the specification (section "Notation").

Sizes that are not known (`?`) agree with every size; their values are checked when the program runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TypeAlias

from shlo_disc.ir.attributes import BoundsAttr, QuantizedElement, QuantizedTensorType, TensorType, Type
from shlo_disc.ir.dtypes import DType

Shape: TypeAlias = tuple[int | None, ...]
Element: TypeAlias = DType | QuantizedElement
Tensor: TypeAlias = TensorType | QuantizedTensorType


def element_type(tensor: Tensor) -> Element:
    """Return the element type, quantized or not."""
    return tensor.dtype if isinstance(tensor, TensorType) else tensor.element


def baseline_element_type(tensor: Tensor) -> DType | QuantizedElement:
    """Return the element type, with normalized parameters of a per-tensor quantization.

    Two types with equal baselines differ in scales and zero points at most.
    """
    element = element_type(tensor)
    if isinstance(element, QuantizedElement) and element.axis is None:
        return replace(element, scales=(1.0,), zero_points=(0,))
    return element


def expressed_type(tensor: Tensor) -> DType:
    """Return the type of the numbers that the elements stand for."""
    element = element_type(tensor)
    return element.expressed if isinstance(element, QuantizedElement) else element


def is_quantized(type_: Type) -> bool:
    return isinstance(type_, QuantizedTensorType)


def is_per_axis_quantized(type_: Type) -> bool:
    return isinstance(type_, QuantizedTensorType) and type_.element.axis is not None


def tensor_of(element: Element, shape: Shape = ()) -> Tensor:
    """Return the type of a tensor of an element type; without a shape, that of a scalar."""
    return QuantizedTensorType(shape, element) if isinstance(element, QuantizedElement) else TensorType(shape, element)


def is_promotable(element: Element, other: Element) -> bool:
    """Whether elements can be promoted to another type of the same sort, as wide or wider.

    >>> is_promotable(DType.F16, DType.F32), is_promotable(DType.F32, DType.F16), is_promotable(DType.I1, DType.I32)
    (True, False, False)
    """
    match element, other:
        case QuantizedElement(), QuantizedElement():
            return element.expressed is other.expressed and element.storage.bits <= other.storage.bits
        case DType(), DType():
            return _sort(element) == _sort(other) and element.bits <= other.bits
        case _:
            return False


def _sort(dtype: DType) -> tuple[bool, bool, bool]:
    return dtype.is_bool, dtype.is_integer, dtype.is_float


def sizes_agree(*sizes: int | None) -> bool:
    """Whether all sizes can be the same number."""
    return len({size for size in sizes if size is not None}) <= 1


def shapes_agree(*shapes: Sequence[int | None]) -> bool:
    """Whether all shapes can be the same.

    >>> shapes_agree((4, None), (None, 3)), shapes_agree((4,), (5,)), shapes_agree((4,), (4, 1))
    (True, False, False)
    """
    if shapes[:1] * len(shapes) == shapes:
        return True  # the usual case: for speed only
    if len({len(shape) for shape in shapes}) > 1:
        return False
    return all(sizes_agree(*sizes) for sizes in zip(*shapes, strict=True))


def greatest_shape(tensor: Tensor) -> Shape:
    """Return the greatest value of each size: the size, or its bound; None where it has none."""
    encoding = tensor.encoding
    bounds = encoding.sizes if isinstance(encoding, BoundsAttr) else (None,) * len(tensor.shape)
    return tuple([bound if size is None else size for size, bound in zip(tensor.shape, bounds, strict=False)])


def is_sized(tensor: Tensor) -> bool:
    """Whether all sizes of a tensor are known, or all but one that has a bound."""
    return None not in tensor.shape or (tensor.shape.count(None) == 1 and None not in greatest_shape(tensor))


def tensors_agree(*tensors: Tensor) -> bool:
    """Whether all tensors can have one shape, none of whose sizes is above a bound."""
    shapes = [tensor.shape for tensor in tensors]
    if not shapes_agree(*shapes):
        return False
    if all(tensor.encoding is None for tensor in tensors):
        return True
    # lists of bounds of another length are refused when the type itself is verified
    columns = zip(zip(*shapes, strict=True), zip(*map(greatest_shape, tensors), strict=False), strict=False)
    return all(_within(sizes, bounds) for sizes, bounds in columns)


def _within(sizes: Shape, bounds: Shape) -> bool:
    known = [size for size in sizes if size is not None]
    return not known or all(bound is None or known[0] <= bound for bound in bounds)


def product(sizes: Sequence[int | None]) -> int | None:
    """Multiply sizes; None if one is not known.

    >>> product((2, 3)), product((2, None))
    (6, None)
    """
    known = [size for size in sizes if size is not None]
    return prod(known) if len(known) == len(sizes) else None


def types_agree(first: Type, second: Type) -> bool:
    """Whether two types can be the same: tensors by their elements and shapes, others if equal."""
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return element_type(first) == element_type(second) and tensors_agree(first, second)
    return first == second


def spell_shape(shape: Sequence[int | None]) -> str:
    """Spell a shape as people read it.

    >>> spell_shape((4, None)), spell_shape(())
    ('4x?', 'a scalar')
    """
    return "x".join(["?" if size is None else str(size) for size in shape]) or "a scalar"
