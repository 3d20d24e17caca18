"""All DHLO ops by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shlo_disc.dynamic_ops import (
    composed,
    contract,
    control,
    create,
    custom,
    elementwise,
    fourier,
    gather,
    grouped,
    linear_algebra,
    move,
    order,
    random,
    reduce,
    slices,
)
from shlo_disc.dynamic_ops.opdef import OpDef, Trait
from shlo_disc.dynamic_ops.program import Op

_FAMILIES = (
    elementwise,
    composed,
    create,
    move,
    slices,
    gather,
    reduce,
    contract,
    grouped,
    order,
    control,
    random,
    fourier,
    linear_algebra,
    custom,
)

OPS: Mapping[str, OpDef[Any]] = {definition.name: definition for family in _FAMILIES for definition in family.OPS}


def ops_with(trait: Trait) -> frozenset[str]:
    """The names of the ops that have a trait."""
    return frozenset(name for name, one in OPS.items() if trait in one.traits)


def definition(op: Op[Any]) -> OpDef[Any]:
    """Look up the definition of an op."""
    return OPS[op.name]
