"""Composites that JAX exports CHLO's ops as: they are these ops, and not what their decompositions compute."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from tests.pipeline.exports import FAST, In, exported, flat

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "acos": (jnp.arccos, np.arccos),
    "acosh": (jnp.arccosh, np.arccosh),
    "asin": (jnp.arcsin, np.arcsin),
    "asinh": (jnp.arcsinh, np.arcsinh),
    "atanh": (jnp.arctanh, np.arctanh),
    "cosh": (jnp.cosh, np.cosh),
    "erf": (jax.lax.erf, np.vectorize(math.erf)),
    "sinh": (jnp.sinh, np.sinh),
}
LIMIT = 4  # units in the last place

DOUBLED = """
func.func private @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.add %x, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.composite "NAME" %x {decomposition = @twice, version = VERSION : i32}
    : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_the_errors_of_its_own(name: str) -> None:
    function, exact = FUNCTIONS[name]
    text = exported(function, (In("n"),)).mlir_module()
    assert f'stablehlo.composite "chlo.{name}"' in text
    assert [op.name for op in legalize(parse_module(text)).body.ops] == [name]
    rng = np.random.default_rng(len(name))
    size = 2.0 ** rng.integers(-30, 8, 100_003)
    x = (rng.choice([-1, 1], size.shape) * rng.uniform(1, 2, size.shape) * size).astype(np.float32)
    (found,) = flat(shlo_disc.compile(text, options=FAST), [x])
    with np.errstate(all="ignore"):
        wanted: NDArray[Any] = exact(x.astype(np.float64)).astype(np.float32)
        apart = np.abs(found - wanted) / np.spacing(np.abs(wanted))
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
    assert apart[np.isfinite(wanted)].max() <= LIMIT


def test_top_k_is_one_sort() -> None:
    text = exported(lambda x: jax.lax.top_k(x, 3), (In("n, 9"),)).mlir_module()
    assert 'stablehlo.composite "chlo.top_k"' in text
    x = np.array([[1, np.nan, -0.0, 0.0, 5, -np.inf, np.inf, 5, 2]], np.float32)
    values, places = flat(shlo_disc.compile(text, options=FAST), [x])
    np.testing.assert_array_equal(values, [[np.nan, np.inf, 5]])
    np.testing.assert_array_equal(places, [[1, 6, 4]])


@pytest.mark.parametrize(
    ("name", "version", "is_own"), [("chlo.sinh", 1, True), ("chlo.sinh", 2, False), ("my.op", 1, False)]
)
def test_only_the_version_that_is_known_is_the_op(name: str, version: int, *, is_own: bool) -> None:
    run = shlo_disc.compile(DOUBLED.replace("NAME", name).replace("VERSION", str(version)), options=FAST)
    x = np.array([1.5, -2], np.float32)
    np.testing.assert_allclose(run(x)[0], np.sinh(x) if is_own else 2 * x, rtol=1e-6)
