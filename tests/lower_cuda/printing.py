# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
"""The row kernels of small programs, and what the CUDA target prints for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shlo_disc.emit.naming import NAME
from shlo_disc.expr.facts import Facts
from shlo_disc.kernels.kernel import RowKernel
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.lower_cuda.rows.schedules import SEAMS
from tests.pipeline.exports import In
from tests.pipeline.programs import planned

KERNEL = "kernel"


def row_kernels(function: Callable[..., Any], *inputs: In) -> list[tuple[RowKernel, Facts]]:
    """The row kernels of a program, and what is known about its sizes."""
    found = planned(function, *inputs)
    facts = found.program.facts
    return [(build_row_kernel(group, facts, found.producers, SEAMS)[0], facts) for group in found.plan.groups]


def row_kernel(function: Callable[..., Any], *inputs: In) -> tuple[RowKernel, Facts]:
    """The kernel of a program that has only one."""
    (found,) = row_kernels(function, *inputs)
    return found


def module(printed: Printed) -> str:
    """A file with the kernels of one group."""
    return '#include "call/shlo.cuh"\n' + printed.text.replace(NAME, KERNEL)


def text_of(printed: Printed, suffix: str) -> str:
    """The text of the one kernel whose name ends so."""
    heads = [part for part in printed.text.split('extern "C"') if f" {NAME}{suffix}(" in part]
    (text,) = heads
    return text
