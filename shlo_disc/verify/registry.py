"""The rules of all ops, by name."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.verify.families import (
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
from shlo_disc.verify.rules import Rules

_FAMILIES = (
    chlo.RULES,
    contract.RULES,
    control.RULES,
    convolution.RULES,
    create.RULES,
    custom_call.RULES,
    distributed_reduce.RULES,
    distribution.RULES,
    dynamic_move.RULES,
    elementwise.RULES,
    indexing.RULES,
    linear.RULES,
    move.RULES,
    normalization.RULES,
    order.RULES,
    quantization.RULES,
    ragged_dot.RULES,
    random.RULES,
    reduce.RULES,
    scan.RULES,
    transfer.RULES,
)

RULES: Mapping[str, Rules] = {rules.name: rules for family in _FAMILIES for rules in family}
