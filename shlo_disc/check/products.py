"""Sums of products whose terms are added one after the other, each unrounded, as by fused multiply-add."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.contract import ConvAttrs, DotAttrs, accumulator
from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.opdef import Arrays, RunBody
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.dynamic_ops.reference import by_definition
from shlo_disc.expr.dim import const
from shlo_disc.functions.references.formats import rounded
from shlo_disc.ir.dtypes import DType, numpy_dtype

Array = NDArray[Any]

_WIDE = {DType.F32: DType.F64, DType.C64: DType.C128}
_LONGEST = 4096  # terms: longer sums are made of partial sums


def overflow_in_turn(op: Op[Any], inputs: Arrays) -> bool:
    """Whether terms of a sum of products may be too large for the type that they are added in: f32, or a pair of it."""
    if not isinstance(op.attrs, DotAttrs | ConvAttrs) or accumulator(op.results[0].dtype) not in _WIDE:
        return False
    most = [float(np.max(np.where(np.isfinite(x), abs(x), 0), initial=0)) for x in map(_wide, inputs)]
    largest = most[0] * most[1] * _length(op, inputs)
    return largest > float(np.finfo(np.float32).max) and _length(op, inputs) <= _LONGEST


def added_in_turn(op: Op[Any], inputs: Arrays, run: RunBody, random: np.random.Generator) -> Arrays:
    """Add the terms of a product or convolution in a random order, and round after each.

    A partial sum that is too large is an infinity, and NaN with a later one of the other sign; the exact sum of all
    terms may be finite, and so may the products.
    """
    dtype = op.results[0].dtype
    narrow = numpy_dtype(accumulator(dtype))
    wide_op = replace(op, results=(replace(op.results[0], dtype=_WIDE[accumulator(dtype)]),))
    terms = list(_terms(wide_op, tuple(map(_wide, inputs))))
    total: Array = np.zeros(concrete_shape(op.results[0].shape), narrow)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in random.permutation(len(terms)):
            term, operands = terms[int(k)]
            (product,) = by_definition(term, operands, run)
            total = (total + product).astype(narrow)
        return (rounded(total, dtype),)


def _wide(x: Array) -> Array:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _length(op: Op[Any], inputs: Arrays) -> int:
    """The number of products that a result is the sum of."""
    if isinstance(op.attrs, DotAttrs):
        return math.prod(inputs[0].shape[k] for k in op.attrs.lhs_contract)
    features = inputs[1].shape[op.attrs.kernel.output_feature]
    return inputs[1].size // features if features else 0


def _terms(op: Op[Any], inputs: Arrays) -> Iterator[tuple[Op[Any], Arrays]]:
    """The same op of one contracted position each."""
    x, y = inputs
    if isinstance(op.attrs, DotAttrs):
        left, right = op.attrs.lhs_contract, op.attrs.rhs_contract
        for at in np.ndindex(*[x.shape[k] for k in left]):
            yield op, (_at(x, left, at), _at(y, right, at))
        return
    attrs: ConvAttrs = op.attrs
    feature, spatial = attrs.kernel.input_feature, attrs.kernel.spatial
    depth = y.shape[feature]
    for channel, *taps in np.ndindex(depth, *[y.shape[k] for k in spatial]):
        of_groups = [slice(None)] * x.ndim
        of_groups[attrs.input.feature] = slice(channel, None, depth)
        data = x[tuple(of_groups)]
        kernel = zip(spatial, taps, attrs.reversal, strict=True)
        places = [y.shape[k] - 1 - tap if reverses else tap for k, tap, reverses in kernel]
        steps = zip(attrs.padding, places, concrete_shape(attrs.rhs_dilation), strict=True)
        padding = tuple([(low - const(tap * step), high) for (low, high), tap, step in steps])
        yield replace(op, attrs=replace(attrs, padding=padding)), (data, _at(y, (feature, *spatial), (channel, *taps)))


def _at(x: Array, dims: tuple[int, ...], at: tuple[int, ...]) -> Array:
    """One position along each of `dims`, which stay as dims of size 1."""
    index = [slice(None)] * x.ndim
    for dim, k in zip(dims, at, strict=True):
        index[dim] = slice(k, k + 1)
    return x[tuple(index)]
