# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
"""Slices at places that turn out to be known are views, and read what JAX reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from jax import lax

from shlo_disc.dynamic_ops.program import Program
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from tests.pipeline.exports import In, exported

pytestmark = pytest.mark.quick

MOVES = {"d_gather", "d_dynamic_slice"}


def passed(function: Callable[..., Any], *inputs: In) -> Program:
    program = legalize(parse_module(exported(function, inputs).mlir_module(), "export.mlir"))
    for step in PASSES:
        program = step.run(program)
    return program


KNOWN: tuple[tuple[Callable[..., Any], tuple[In, ...]], ...] = (
    (lambda x: x[2] + 1, (In("5, n, 3"),)),
    (lambda x: x[-1] + 1, (In("5, n, 3"),)),
    (lambda x: x[1, :, 2] * 2, (In("5, n, 3"),)),
    (lambda x: lax.dynamic_index_in_dim(x, 3, 1, keepdims=False) + 1, (In("n, 5"),)),
    (lambda x: lax.dynamic_slice(x, (0, 7), (2, 3)) + 1, (In("4, 6"),)),  # past the end: moved inside
    (lambda x: lax.dynamic_slice(x, (-9, 1), (2, 3)) + 1, (In("4, 6"),)),
    (lambda x: lax.dynamic_slice(x, (x.shape[0] - 2, 0), (2, 3)) + 1, (In("n + 3, 3"),)),
)


@pytest.mark.parametrize(("function", "inputs"), KNOWN)
def test_known_places_are_views(function: Callable[..., Any], inputs: tuple[In, ...]) -> None:
    program = passed(function, *inputs)
    assert not MOVES.intersection(op.name for op in program.body.walk())
    for n in (1, 2, 7):
        shape = [int(d) if d.strip().isdigit() else n + 3 * ("3" in d) for d in inputs[0].shape.split(",")]
        x = np.random.default_rng(n).standard_normal(shape).astype(np.float32)
        (found,) = interpret(program, [x])
        np.testing.assert_array_equal(found, np.asarray(function(x)))


def test_places_that_data_decides_stay() -> None:
    program = passed(lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 3)) + 1, In("4, 6"), In("", np.int32))
    assert "d_dynamic_slice" in {op.name for op in program.body.walk()}


def test_rows_by_a_table_of_constants_stay_a_gather() -> None:
    program = passed(lambda x: x[np.array([0, 0, 2])] + 1, In("4, n"))
    assert "d_gather" in {op.name for op in program.body.walk()}
