"""Row kernels: which thread computes which row, and which part of it."""

from __future__ import annotations

from shlo_disc.codegen.kernel import RowKernel
from shlo_disc.diagnostics import NOWHERE, UnsupportedOpError
from shlo_disc.expr.facts import Facts
from shlo_disc.lower_cuda.printed import Printed


def print_rows(kernel: RowKernel, facts: Facts) -> Printed:
    raise UnsupportedOpError(f"the CUDA target has no kernel for this yet ({kernel}, {facts})", NOWHERE)
