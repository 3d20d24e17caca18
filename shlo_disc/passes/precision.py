"""Raises every product to the highest precision, whatever the program specifies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shlo_disc.dynamic_ops.contract import ConvAttrs, DotAttrs, Precision
from shlo_disc.dynamic_ops.program import Op, Program
from shlo_disc.passes.rewriting import Producers, rewrite


def demand_highest_precision(program: Program) -> Program:
    """Set dots and convolutions to compute with unrounded f32 inputs."""
    return rewrite(program, _highest)


def _highest(op: Op[Any], producers: Producers) -> Op[Any]:
    del producers
    if isinstance(op.attrs, DotAttrs | ConvAttrs):
        return replace(op, attrs=replace(op.attrs, precision=Precision.HIGHEST))
    return op
