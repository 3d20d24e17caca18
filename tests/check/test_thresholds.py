"""Sizes at thresholds stay within what the interpreter can do."""

# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import export

from shlo_disc.check.thresholds import threshold_points
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module


def _largest(function, sizes: str) -> int:
    shape = export.symbolic_shape(sizes)
    text = export.export(jax.jit(function))(jax.ShapeDtypeStruct(shape, jnp.float32)).mlir_module()
    points = [point for seed in range(20) for point in threshold_points(legalize(parse_module(text)), 8, seed)]
    return max(max(point.values()) for point in points)


@pytest.mark.parametrize("function", [jnp.linalg.cholesky, jnp.linalg.qr, jnp.linalg.eigvalsh])
def test_factorizations_are_small(function) -> None:
    """The limit named ops that do not exist, and held for one op of LAPACK alone."""
    assert 16 < _largest(function, "n, n") < _largest(lambda x: x + 1, "n, n")
