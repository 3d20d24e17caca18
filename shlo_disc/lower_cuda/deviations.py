"""Cases in which results of NVIDIA's libraries are known to deviate from the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops import fourier, linear_algebra
from shlo_disc.dynamic_ops.opdef import Arrays, RunBody
from shlo_disc.dynamic_ops.program import Op, Program
from shlo_disc.dynamic_ops.reference import by_definition, interpret

_SOLVERS = frozenset({definition.name for definition in linear_algebra.OPS})


def library_deviation(program: Program, inputs: Sequence[NDArray[Any]]) -> str:
    """Say why a GPU may give other results than the reference for these inputs, or nothing.

    Errors of cuSOLVER are small relative to the norm of a matrix, not to each result. If an input of a transform is not
    finite, cuFFT gives NaN in other places than SciPy.
    """
    found = dict[str, None]()

    def evaluate(op: Op[object], operands: Arrays, run: RunBody) -> Arrays:
        if op.name in _SOLVERS:
            found["cuSOLVER rounds otherwise than LAPACK: results are not compared there"] = None
        if fourier.FFT.defines(op) and not np.isfinite(operands[0]).all():
            found["cuFFT has other NaN where a number is not finite: results are not compared there"] = None
        return by_definition(op, operands, run)

    interpret(program, inputs, evaluate=evaluate)
    return "; ".join(found)
