"""Packages give in C what programs give in Python, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shlo_disc
from shlo_disc.c_package.header import header_text
from tests.c_package.packages import OK, SHAPE, Answer, assert_same_bits, compiled_function, compiled_text, package
from tests.c_package.programs import PROGRAMS, SIZES


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_python(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    run = compiled_function(program.function, program.shapes)
    built = package(run, tmp_path)
    rng = np.random.default_rng(7)
    calls = [[np.asarray(one) for one in program.arguments(rng, n)] for n in SIZES]
    expected = [called(run, call) for call in calls]
    assert sum(isinstance(one, tuple) for one in expected) >= len(SIZES) - 1  # JAX's sizes are at least 1
    for threads in (1, 2):
        for answer, wanted in zip(built.calls(calls, threads=threads), expected, strict=True):
            assert_same(answer, wanted)


TEXT = """
func.func @main(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %n: tensor<i32>)
    -> (tensor<?x?xf32>, tensor<?xi64>, tensor<?xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %2 = stablehlo.dynamic_iota %1, dim = 0 : (tensor<1xi32>) -> tensor<?xi64>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<?x?xf32>, tensor<f32>) -> tensor<?xf32>
  return %0, %2, %3 : tensor<?x?xf32>, tensor<?xi64>, tensor<?xf32>
}
"""


def test_empty_arrays_and_sizes_that_are_elements(tmp_path: Path) -> None:
    run = compiled_text(TEXT)
    built = package(run, tmp_path)
    rng = np.random.default_rng(1)
    sizes = [(a, b, c) for a in (0, 1, 5) for b in (0, 1, 19) for c in (0, 3)]
    calls: list[list[Any]] = [
        [rng.standard_normal((a, b), np.float32), rng.standard_normal((b, c), np.float32), np.int32(n)]
        for a, b, c in sizes
        for n in (0, 7)
    ]
    calls += [[*calls[0][:2], np.int32(-1)], [*calls[0][:2], np.int32(-70000)]]
    for answer, call in zip(built.calls(calls), calls, strict=True):
        assert_same(answer, called(run, call))


def called(run: shlo_disc.Compiled, call: list[Any]) -> tuple[Any, ...] | str:
    """The results of Python, or the text of its error about sizes."""
    try:
        return run.executable(call)
    except shlo_disc.RuntimeShapeError as error:
        return str(error)


def assert_same(answer: Answer, wanted: tuple[Any, ...] | str) -> None:
    if isinstance(wanted, str):
        assert (answer.status, answer.message) == (SHAPE, wanted)
        return
    assert (answer.status, answer.message) == (OK, "")
    for one, other in zip(answer.results, wanted, strict=True):
        assert_same_bits(one, other)


@pytest.mark.quick
def test_the_header_has_a_number_for_each_element_type() -> None:
    text = header_text("gelu")
    assert "typedef enum gelu_dtype {\n  GELU_BOOL,\n  GELU_INT8,\n" in text
