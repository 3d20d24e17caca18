"""Where XLA is known not to follow the specification: what it gives then says nothing about us."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.opdef import Arrays, RunBody
from shlo_disc.dynamic_ops.program import Op, Program
from shlo_disc.dynamic_ops.reference import by_definition, interpret

Array = NDArray[Any]
_EXTREMES = frozenset({"maximum", "minimum"})


def xla_deviation(program: Program, inputs: Sequence[Array]) -> str:
    """Say why XLA's CPU backend may give other results than the specification wants for these inputs, or nothing.

    It vectorizes a reduction by maximum or minimum of rows that are long enough (16 floats, jaxlib 0.10), and forgets
    NaN then.
    """
    found = dict[str, None]()

    def evaluate(op: Op[object], operands: Arrays, run: RunBody) -> Arrays:
        folds = any(inner.name in _EXTREMES for body in op.bodies for inner in body.walk())
        if folds and op.name.startswith("d_reduce") and any(_has_nan(x) for x in operands):
            found["xla drops NaN in reductions by maximum and minimum: its results are not compared there"] = None
        return by_definition(op, operands, run)

    interpret(program, inputs, evaluate=evaluate)
    return "; ".join(found)


def _has_nan(x: Array) -> bool:
    return x.dtype.kind in "fVc" and bool(np.isnan(x.astype(np.complex128)).any())
