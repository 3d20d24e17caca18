"""select_and_scatter: every element of the operand asks the windows around it whether they chose it."""

from __future__ import annotations

from shlo_disc.codegen.kernel import WindowScatterKernel
from shlo_disc.diagnostics import NOWHERE, UnsupportedOpError
from shlo_disc.expr.facts import Facts
from shlo_disc.lower_cuda.printed import Printed


def print_window_scatter(kernel: WindowScatterKernel, facts: Facts) -> Printed:
    raise UnsupportedOpError(f"the CUDA target has no kernel for this yet ({kernel}, {facts})", NOWHERE)
