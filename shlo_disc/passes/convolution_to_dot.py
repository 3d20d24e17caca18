"""Turns a convolution with one tap, without strides and padding, into a matrix product of positions and features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shlo_disc.dynamic_ops import move
from shlo_disc.dynamic_ops.contract import DOT, ConvAttrs, DotAttrs, free_dims
from shlo_disc.dynamic_ops.move import TransposeAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from shlo_disc.expr.dim import const
from shlo_disc.expr.facts import Facts
from shlo_disc.passes.rewriting import Changed, Pass, Producers, rewrite

_NONE, _ONE = const(0), const(1)


def multiply_points(program: Program) -> Program:
    """Replace pointwise convolutions by `d_dot`; the operand whose dims come first in the result is the left one."""

    def change(op: Op[Any], _producers: Producers) -> Changed:
        if isinstance(op.attrs, ConvAttrs) and _is_pointwise(op, program.facts):
            return _product(op, program.facts)
        return op

    return rewrite(program, change)


def _is_pointwise(op: Op[ConvAttrs], facts: Facts) -> bool:
    attrs, taps = op.attrs, op.operands[1].shape
    sizes = (*(taps[d] for d in attrs.kernel.spatial), *attrs.strides, *attrs.lhs_dilation)
    padding = (amount for pair in attrs.padding for amount in pair)
    return (
        attrs.feature_groups == attrs.batch_groups == 1
        and all(facts.canonical(size) == _ONE for size in sizes)
        and all(facts.canonical(amount) == _NONE for amount in padding)
    )


def _product(op: Op[ConvAttrs], facts: Facts) -> Changed:
    attrs, (image, taps), (result,) = op.attrs, op.operands, op.results
    data, kernel, out = attrs.input, attrs.kernel, attrs.output
    flipped = kernel.output_feature < kernel.input_feature
    matrix = tuple(taps.shape[d] for d in sorted((kernel.input_feature, kernel.output_feature)))
    weights = Tensor(f"{result.name}_weights", matrix, taps.dtype, op.span)
    positions = free_dims(len(image.shape), (data.feature,))
    shape = tuple(image.shape[d] for d in positions)
    features = (taps.shape[kernel.output_feature],)
    if out.feature == len(result.shape) - 1:
        operands, contract = (image, weights), ((data.feature,), (int(flipped),))
        shape, feature, first = shape + features, len(positions), 0
    else:
        operands, contract = (weights, image), ((int(flipped),), (data.feature,))
        shape, feature, first = features + shape, 0, 1
    places = {out.feature: feature, out.batch: first + positions.index(data.batch)}
    places |= {o: first + positions.index(i) for o, i in zip(out.spatial, data.spatial, strict=True)}
    order = tuple(places[d] for d in range(len(places)))
    assert all(facts.canonical(shape[p] - result.shape[d]) == _NONE for d, p in places.items()), "one point per point"
    reshape = move.RESHAPE.op((taps,), NoAttrs(), (weights,), op.span)
    dot = DOT.op(operands, DotAttrs((), (), *contract, attrs.precision), (result,), op.span)
    if order == tuple(range(len(order))):
        return reshape, dot
    whole = Tensor(f"{result.name}_product", shape, result.dtype, op.span)
    transpose = move.TRANSPOSE.op((whole,), TransposeAttrs(order), (result,), op.span)
    return reshape, replace(dot, results=(whole,)), transpose


CONVOLUTION_TO_DOT = Pass("convolution_to_dot", multiply_points)
