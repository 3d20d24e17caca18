"""Attributes as older versions of StableHLO and JAX spelled them, converted to today's form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shlo_disc.ir.attributes import Attribute, DenseArrayAttr, DenseAttr, EnumAttr, StringAttr
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.parse.attributes import ENUMS

Renew = Callable[[Attribute], Attribute]


def _numbers(attribute: Attribute) -> tuple[int, ...] | None:
    """Return the elements of `dense<[1, 2]> : tensor<2xi64>`, or None for anything else."""
    if not isinstance(attribute, DenseAttr):
        return None
    dtype = attribute.type.dtype
    if len(attribute.type.shape) > 1 or not (dtype.is_integer or dtype.is_bool):
        return None
    count = attribute.type.shape[0] if attribute.type.shape else 1
    found: list[int] = np.frombuffer(attribute.data, numpy_dtype(dtype)).tolist()
    return tuple(map(int, found)) * (count or 0) if attribute.splat else tuple(map(int, found))


def _array(dtype: DType) -> Renew:
    def renew(attribute: Attribute) -> Attribute:
        numbers = _numbers(attribute)
        return attribute if numbers is None else DenseArrayAttr(dtype, numbers)

    return renew


def _enum(family: str) -> Renew:
    """Take the value as a string."""

    def renew(attribute: Attribute) -> Attribute:
        if isinstance(attribute, StringAttr) and attribute.value in ENUMS[family]:
            return EnumAttr("stablehlo", family, attribute.value)
        return attribute

    return renew


def renewal(kind: str) -> Renew:
    """Return the converter of an attribute that is a list of `i64s` or `flags` today, or a value of the enum `kind`."""
    match kind:
        case "i64s":
            return _array(DType.I64)
        case "flags":
            return _array(DType.I1)
        case _:
            return _enum(kind)
