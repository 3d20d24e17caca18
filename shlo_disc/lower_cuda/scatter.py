"""Scatter and select_and_scatter."""

from __future__ import annotations

from shlo_disc.codegen.kernel import ScatterKernel, WindowScatterKernel
from shlo_disc.diagnostics import NOWHERE, UnsupportedOpError
from shlo_disc.expr.facts import Facts
from shlo_disc.lower_cuda.printed import Printed


def print_scatter(kernel: ScatterKernel, facts: Facts) -> Printed:
    raise UnsupportedOpError(f"the CUDA target has no kernel for this yet ({kernel}, {facts})", NOWHERE)


def print_window_scatter(kernel: WindowScatterKernel, facts: Facts) -> Printed:
    raise UnsupportedOpError(f"the CUDA target has no kernel for this yet ({kernel}, {facts})", NOWHERE)
