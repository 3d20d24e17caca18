"""What is wrong with an exported JAX function is said with the function's own line."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import shlo_disc
from tests.api.programs import dims, exported, spec

pytestmark = pytest.mark.quick

HERE = Path(__file__)
SPEC = spec(*dims("b"), 4)


def solved(x: Array) -> Array:
    y = jnp.tanh(x)
    return jnp.linalg.cholesky(y @ y.T)  # line 1: in a function that JAX makes


def transformed(x: Array) -> Array:
    return jax.nn.relu(jnp.fft.fft(x).real)  # line 1: in a function that JAX makes


def _foreign(program: Any) -> str:
    """The text of a program whose libraries nobody knows."""
    text = re.sub(
        r"stablehlo\.fft (%\w+), type = +FFT, length = \[4\]",
        r"stablehlo.custom_call @nowhere(\1)",
        program.mlir_module(),
    )
    return re.sub(r"@lapack\w+", "@nowhere", text)


def line_of(function: Callable[..., Any], comment: str) -> int:
    """The number of the line that carries the comment."""
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if comment in line)


@pytest.mark.parametrize(
    ("function", "comment", "suffix"),
    [(solved, "# line 1", " (calls @cholesky)"), (transformed, "# line 1", " (calls @fft)")],
)
def test_an_op_that_is_not_supported(function: Callable[..., Any], comment: str, suffix: str) -> None:
    with pytest.raises(shlo_disc.UnsupportedOpError) as caught:
        shlo_disc.compile(_foreign(exported(function, SPEC)))
    lines = str(caught.value).splitlines()
    assert lines[3] == f"  from: {HERE}:{line_of(function, comment)}{suffix}"


def test_an_op_that_breaks_a_rule() -> None:
    text = exported(solved, SPEC).mlir_module()
    module = shlo_disc.parse(text.replace("stablehlo.tanh", "stablehlo.not"))
    with pytest.raises(shlo_disc.VerifyError) as caught:
        shlo_disc.verify(module)
    assert str(caught.value).splitlines()[3] == f"  from: {HERE}:{line_of(solved, 'jnp.tanh')}"


def test_a_parsed_module_keeps_the_lines() -> None:
    module = shlo_disc.parse(_foreign(exported(transformed, SPEC)))
    with pytest.raises(shlo_disc.UnsupportedOpError, match=rf"\n  from: .*{HERE.name}:\d+ "):
        shlo_disc.compile(module)


TEXT = """\
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.add %x, %y : tensor<?xf32> loc("jit(f)/add"("model.py":7:11))
  return %0 : tensor<?xf32>
}
"""


def test_sizes_that_differ_in_a_call() -> None:
    run = shlo_disc.compile(TEXT)
    with pytest.raises(shlo_disc.RuntimeShapeError, match=r"\n +\^+\n  from: model\.py:7$"):
        run(np.ones(3, np.float32), np.ones(4, np.float32))


def test_shapes_that_contradict_each_other() -> None:
    text = TEXT.replace("%x: tensor<?x", "%x: tensor<3x").replace("%y: tensor<?x", "%y: tensor<4x")
    widened = """{
  %a = stablehlo.convert %x : (tensor<3xf32>) -> tensor<?xf32>
  %b = stablehlo.convert %y : (tensor<4xf32>) -> tensor<?xf32>"""
    text = text.replace("{", widened, 1).replace("add %x, %y", "add %a, %b")
    with pytest.raises(shlo_disc.ShapeError, match=r"\n  from: model\.py:7$"):
        shlo_disc.compile(text)
