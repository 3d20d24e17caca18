"""Contractions: dot and convolution."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import numpy as np

from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.elementwise import converted
from shlo_disc.dynamic_ops.indexing import ONE, ZERO, in_range, select_all
from shlo_disc.dynamic_ops.opdef import Arrays, ElementQuery, OpDef, Template, Trait, plain
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.expr.dim import Dim, Sym, of
from shlo_disc.expr.scalar import Arg, Binary, Const, Fold, FoldResult, Index, InRange, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.references.formats import rounded
from shlo_disc.ir.dtypes import Array, DType, numpy_dtype
from shlo_disc.records import record


class Precision(Enum):
    """The requested precision of f32 products; a target with a single implementation uses it for all."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


@record
class DotAttrs:
    """StableHLO's dot_general: result dims are the batch dims, then the free dims of lhs, then those of rhs."""

    lhs_batch: tuple[int, ...]
    rhs_batch: tuple[int, ...]
    lhs_contract: tuple[int, ...]
    rhs_contract: tuple[int, ...]
    precision: Precision = Precision.DEFAULT


@record
class DataDims:
    """Which dims of a convolution's input or output are which."""

    batch: int
    feature: int
    spatial: tuple[int, ...]


@record
class KernelDims:
    """Which dims of a convolution's kernel are which."""

    input_feature: int
    output_feature: int
    spatial: tuple[int, ...]


@record
class ConvAttrs:
    """StableHLO's convolution; all tuples have one entry per spatial dim, in the order of `spatial`."""

    input: DataDims
    kernel: KernelDims
    output: DataDims
    strides: tuple[Dim, ...]
    padding: tuple[tuple[Dim, Dim], ...]
    lhs_dilation: tuple[Dim, ...]
    rhs_dilation: tuple[Dim, ...]
    reversal: tuple[bool, ...]
    feature_groups: int
    batch_groups: int
    precision: Precision = Precision.DEFAULT


def accumulator(dtype: DType) -> DType:
    """The accumulator type of sums of products: floats narrower than f32 accumulate in f32."""
    return DType.F32 if dtype.is_float and dtype.bits < DType.F32.bits else dtype


def free_dims(rank: int, *taken: tuple[int, ...]) -> tuple[int, ...]:
    """The dims that are in no group of `taken`."""
    return tuple(k for k in range(rank) if not any(k in group for group in taken))


def sum_of_products(ask: ElementQuery, axes: tuple[tuple[Sym, Dim], ...], a: Scalar, b: Scalar, dtype: DType) -> Scalar:
    """The sum of `a * b` over axes, in the type of the factors, as a number of type `dtype`."""
    product = _combine(BinaryFn.MULTIPLY, a, b)
    carry = Arg(ask.symbol("acc").name, product.dtype)
    zero: float | int = 0.0 if product.dtype.is_float else 0
    init = Const(complex(0) if product.dtype.is_complex else zero, product.dtype)
    total = Fold(axes, (carry,), (init,), (_combine(BinaryFn.ADD, carry, product),))
    return converted(FoldResult(total, 0), dtype)


def _combine(fn: BinaryFn, a: Scalar, b: Scalar) -> Scalar:
    if a.dtype.is_bool:
        fn = {BinaryFn.ADD: BinaryFn.OR, BinaryFn.MULTIPLY: BinaryFn.AND}[fn]
    return Binary(fn, a, b, a.dtype)


def _dot(op: Op[DotAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    lhs, rhs = op.operands
    attrs, dtype = op.attrs, accumulator(op.results[0].dtype)
    axes = tuple((ask.symbol("k"), lhs.shape[dim]) for dim in attrs.lhs_contract)
    batch = index[: len(attrs.lhs_batch)]
    lhs_free = free_dims(len(lhs.shape), attrs.lhs_batch, attrs.lhs_contract)
    rhs_free = free_dims(len(rhs.shape), attrs.rhs_batch, attrs.rhs_contract)
    middle = len(batch) + len(lhs_free)

    def place(dims: tuple[int, ...]) -> Index:
        contracted = tuple(of(symbol) for symbol, _ in axes)
        return tuple(at for _, at in sorted(zip(dims, (*batch, *contracted, *rest), strict=True), key=_first))

    rest = index[len(batch) : middle]
    a = ask.at(lhs, place((*attrs.lhs_batch, *attrs.lhs_contract, *lhs_free)))
    rest = index[middle:]
    b = ask.at(rhs, place((*attrs.rhs_batch, *attrs.rhs_contract, *rhs_free)))
    return sum_of_products(ask, axes, converted(a, dtype), converted(b, dtype), op.results[0].dtype)


def _first(pair: tuple[int, Dim]) -> int:
    return pair[0]


def sums_in(op: Op[Any]) -> np.dtype[Any]:
    """The arithmetic type of a reference: f32 for narrower floats, else the result's type."""
    dtype = numpy_dtype(op.results[0].dtype)
    is_standard = dtype.kind in "biuc" or dtype.name in ("float32", "float64")
    return dtype if is_standard or dtype.name.startswith(("int", "uint")) else np.dtype(np.float32)


def _dot_reference(op: Op[DotAttrs], inputs: Arrays) -> Arrays:
    """Bring both sides to (batch, free, contracted) and (batch, contracted, free), and multiply matrices."""
    attrs = op.attrs
    lhs, rhs = (x.astype(sums_in(op)) for x in inputs)
    lhs_free = [k for k in range(lhs.ndim) if k not in (*attrs.lhs_batch, *attrs.lhs_contract)]
    rhs_free = [k for k in range(rhs.ndim) if k not in (*attrs.rhs_batch, *attrs.rhs_contract)]
    batch = [lhs.shape[k] for k in attrs.lhs_batch]
    m, n, depth = (
        int(np.prod([x.shape[k] for k in dims], dtype=np.int64))
        for x, dims in ((lhs, lhs_free), (rhs, rhs_free), (lhs, attrs.lhs_contract))
    )
    a = lhs.transpose(*attrs.lhs_batch, *lhs_free, *attrs.lhs_contract).reshape(*batch, m, depth)
    b = rhs.transpose(*attrs.rhs_batch, *attrs.rhs_contract, *rhs_free).reshape(*batch, depth, n)
    return (rounded(matrix_product(a, b).reshape(concrete_shape(op.results[0].shape)), op.results[0].dtype),)


def matrix_product(a: Array, b: Array) -> Array:
    """Multiply matrices, complex ones by the products of their parts.

    BLAS multiplies a complex product by 1 + 0i in the end, which makes NaN of infinity, for some shapes and operands.
    """
    if a.dtype.kind != "c":
        return np.matmul(a, b)
    real, imag, other_real, other_imag = (np.ascontiguousarray(part(x)) for x in (a, b) for part in (np.real, np.imag))
    first: Array = np.matmul(real, other_real) - np.matmul(imag, other_imag)
    found = np.empty(first.shape, a.dtype)
    found.real, found.imag = first, np.matmul(real, other_imag) + np.matmul(imag, other_real)
    return found


def _convolution(op: Op[ConvAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    x, kernel = op.operands
    attrs, dtype = op.attrs, accumulator(op.results[0].dtype)
    features = kernel.shape[attrs.kernel.input_feature]
    window = tuple(kernel.shape[dim] for dim in attrs.kernel.spatial)
    taps = tuple(ask.symbol("w") for _ in window)
    channel = ask.symbol("c")
    out_feature = index[attrs.output.feature]
    batch_group, feature_group = (
        _group(out_feature, kernel.shape[attrs.kernel.output_feature], groups)
        for groups in (attrs.batch_groups, attrs.feature_groups)
    )
    group_batch = x.shape[attrs.input.batch] // attrs.batch_groups
    where = {
        attrs.input.batch: index[attrs.output.batch] + batch_group * group_batch,
        attrs.input.feature: of(channel) + feature_group * features,
    }
    tap_at = {attrs.kernel.output_feature: out_feature, attrs.kernel.input_feature: of(channel)}
    inside: list[Scalar] = []
    for k, (tap, size) in enumerate(zip(taps, window, strict=True)):
        tap_at[attrs.kernel.spatial[k]] = size - 1 - of(tap) if attrs.reversal[k] else of(tap)
        offset = (
            index[attrs.output.spatial[k]] * attrs.strides[k] + of(tap) * attrs.rhs_dilation[k] - attrs.padding[k][0]
        )
        step, dim = attrs.lhs_dilation[k], attrs.input.spatial[k]
        if not _stays_inside(attrs, k, size):
            inside.append(in_range(offset, (x.shape[dim] - 1) * step + 1))
        if step != ONE:
            inside.append(InRange(offset % step, ZERO, ONE))
        where[dim] = offset // step
    a = converted(ask.at(x, tuple(where[k] for k in range(len(where)))), dtype)
    b = converted(ask.at(kernel, tuple(tap_at[k] for k in range(len(tap_at)))), dtype)
    zero = Const(complex(0) if dtype.is_complex else 0.0 if dtype.is_float else 0, dtype)
    axes = (*zip(taps, window, strict=True), (channel, features))
    return sum_of_products(ask, axes, select_all(inside, a, zero), b, op.results[0].dtype)


def _group(feature: Dim, features: Dim, groups: int) -> Dim:
    """Which of the equal groups of output features this one belongs to."""
    return ZERO if groups == 1 else feature // (features // groups)


def _stays_inside(attrs: ConvAttrs, k: int, window: Dim) -> bool:
    """Whether no padding is ever read along spatial dim `k`, whatever the size."""
    return attrs.padding[k] == (ZERO, ZERO) and window == ONE == attrs.lhs_dilation[k]


def _convolution_reference(op: Op[ConvAttrs], inputs: Arrays) -> Arrays:
    """Sum one matrix product per kernel tap, group by group."""
    attrs, dtype = op.attrs, sums_in(op)
    rank = len(attrs.strides)
    x = inputs[0].astype(dtype).transpose(attrs.input.batch, attrs.input.feature, *attrs.input.spatial)
    w = (
        inputs[1]
        .astype(dtype)
        .transpose(attrs.kernel.output_feature, attrs.kernel.input_feature, *attrs.kernel.spatial)
    )
    w = np.flip(w, tuple(k + 2 for k in range(rank) if attrs.reversal[k]))
    final = concrete_shape(op.results[0].shape)
    out = tuple(final[dim] for dim in attrs.output.spatial)
    x = _spread(x, attrs, out, w.shape[2:])
    groups = max(attrs.feature_groups, attrs.batch_groups)
    found = [
        _one_group(piece, weights, attrs, out)
        for piece, weights in zip(
            np.array_split(x, groups, axis=0 if attrs.batch_groups > 1 else 1),
            np.array_split(w, groups, axis=0),
            strict=True,
        )
    ]
    order = np.argsort([attrs.output.batch, attrs.output.feature, *attrs.output.spatial])
    return (rounded(np.concatenate(found, axis=1).transpose(order), op.results[0].dtype),)


def _spread(x: Array, attrs: ConvAttrs, out: tuple[int, ...], window: tuple[int, ...]) -> Array:
    """Dilate and pad the input so that every tap reads in bounds."""
    strides, dilation, spacing = map(concrete_shape, (attrs.strides, attrs.rhs_dilation, attrs.lhs_dilation))
    low = concrete_shape(tuple(pad[0] for pad in attrs.padding))
    need = [max(0, (n - 1) * s + (k - 1) * d + 1) for n, s, k, d in zip(out, strides, window, dilation, strict=True)]
    found = np.zeros((*x.shape[:2], *need), x.dtype)
    for at in np.ndindex(x.shape[2:]):
        place = tuple(i * s + p for i, s, p in zip(at, spacing, low, strict=True))
        if all(0 <= p < n for p, n in zip(place, need, strict=True)):
            found[(slice(None), slice(None), *place)] = x[(slice(None), slice(None), *at)]
    return found


def _one_group(x: Array, w: Array, attrs: ConvAttrs, out: tuple[int, ...]) -> Array:
    strides, dilation = concrete_shape(attrs.strides), concrete_shape(attrs.rhs_dilation)
    found = np.zeros((x.shape[0], w.shape[0], *out), x.dtype)
    if 0 in out:
        return found
    for tap in np.ndindex(w.shape[2:]):
        view = tuple(
            slice(k * d, k * d + (n - 1) * s + 1, s) for k, d, n, s in zip(tap, dilation, out, strides, strict=True)
        )
        piece = x[(slice(None), slice(None), *view)].reshape(*x.shape[:2], math.prod(out))
        # (not by tensordot: for a single weight of 0, BLAS returns 0 for 0 * infinity instead of NaN)
        found += matrix_product(w[(slice(None), slice(None), *tap)], piece).reshape(found.shape)
    return found


DOT = OpDef(
    name="d_dot",
    attrs=DotAttrs,
    template=Template.DOT,
    element=_dot,
    reference=plain(_dot_reference),
    traits=frozenset({Trait.SUM}),
)
CONVOLUTION = OpDef(
    name="d_convolution",
    attrs=ConvAttrs,
    template=Template.CONVOLUTION,
    element=_convolution,
    reference=plain(_convolution_reference),
    traits=frozenset({Trait.SUM}),
)
OPS = (
    DOT,
    CONVOLUTION,
)
