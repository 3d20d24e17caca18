"""Demand the highest precision of every product, whatever the program says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shlo_disc.dynamic_ops.contract import ConvAttrs, DotAttrs, Precision
from shlo_disc.dynamic_ops.program import Op, Program
from shlo_disc.passes.rewriting import Producers, rewrite


def demand_highest_precision(program: Program) -> Program:
    """Dots and convolutions compute with f32 inputs as they are."""
    return rewrite(program, _highest)


def _highest(op: Op[Any], producers: Producers) -> Op[Any]:
    del producers
    if isinstance(op.attrs, DotAttrs | ConvAttrs):
        return replace(op, attrs=replace(op.attrs, precision=Precision.HIGHEST))
    return op
