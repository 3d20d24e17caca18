"""The records of all ops of StableHLO and CHLO, and of those of other dialects that compute sizes, by name."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.dialects.ops import (
    chlo,
    contract,
    control,
    convolution,
    create,
    custom_call,
    distributed_reduce,
    distribution,
    dynamic_move,
    elementwise,
    indexing,
    linear,
    move,
    normalization,
    order,
    quantization,
    ragged_dot,
    random,
    reduce,
    scan,
    transfer,
)
from shlo_disc.dialects.other import integers, shapes, tensors
from shlo_disc.dialects.record import OpRecord

_FAMILIES = (
    chlo.OPS,
    contract.OPS,
    control.OPS,
    convolution.OPS,
    create.OPS,
    custom_call.OPS,
    distributed_reduce.OPS,
    distribution.OPS,
    dynamic_move.OPS,
    elementwise.OPS,
    indexing.OPS,
    linear.OPS,
    move.OPS,
    normalization.OPS,
    order.OPS,
    quantization.OPS,
    ragged_dot.OPS,
    random.OPS,
    reduce.OPS,
    scan.OPS,
    transfer.OPS,
)

OPS: Mapping[str, OpRecord] = {rules.name: rules for family in _FAMILIES for rules in family}
OTHER_OPS: Mapping[str, OpRecord] = {
    rules.name: rules for family in (integers.OPS, tensors.OPS, shapes.OPS) for rules in family
}
