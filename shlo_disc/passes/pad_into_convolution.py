"""Folds a pad of zeros into the padding of the convolution that reads it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from shlo_disc.dynamic_ops.contract import ConvAttrs
from shlo_disc.dynamic_ops.create import ConstantAttrs
from shlo_disc.dynamic_ops.move import PadAttrs
from shlo_disc.dynamic_ops.program import Op, Program
from shlo_disc.expr.dim import const
from shlo_disc.expr.facts import Facts
from shlo_disc.passes.rewriting import Pass, Producers, rewrite

_NONE, _ONE = const(0), const(1)


def absorb_padding(program: Program) -> Program:
    """Put `pad(x, 0)` along spatial dims that are not dilated into the padding of the convolution that reads it."""

    def change(op: Op[Any], producers: Producers) -> Op[Any]:
        if not isinstance(op.attrs, ConvAttrs):
            return op
        pad = producers.get(op.operands[0])
        if pad is None or not isinstance(pad.attrs, PadAttrs) or not _is_zero(pad, producers):
            return op
        return _absorbed(cast("Op[ConvAttrs]", op), cast("Op[PadAttrs]", pad), program.facts)

    return rewrite(program, change)


def _is_zero(pad: Op[Any], producers: Producers) -> bool:
    made = producers.get(pad.operands[1])
    return made is not None and isinstance(made.attrs, ConstantAttrs) and str(made.attrs.value.value) in {"0", "0.0"}


def _absorbed(op: Op[ConvAttrs], pad: Op[PadAttrs], facts: Facts) -> Op[Any]:
    attrs, (source, _) = op.attrs, pad.operands
    spatial = attrs.input.spatial
    padding = list(attrs.padding)
    for dim, (size, padded) in enumerate(zip(source.shape, pad.results[0].shape, strict=True)):
        low = pad.attrs.low[dim]
        high = padded - size - low
        if pad.attrs.interior[dim] != _NONE:
            return op
        if (low, high) == (_NONE, _NONE):
            continue
        if dim not in spatial or attrs.lhs_dilation[spatial.index(dim)] != _ONE:
            return op
        if not (facts.at_least(low, 0).is_true and facts.at_least(high, 0).is_true):  # negative padding crops elements
            return op
        before, after = padding[spatial.index(dim)]
        padding[spatial.index(dim)] = (before + low, after + high)
    return replace(op, operands=(source, *op.operands[1:]), attrs=replace(attrs, padding=tuple(padding)))


PAD_INTO_CONVOLUTION = Pass("pad_into_convolution", absorb_padding)
