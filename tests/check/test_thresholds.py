"""Sizes at thresholds stay within what the interpreter can do."""

# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import export

from shlo_disc.check.costs import affordable, costs_of, seconds_of
from shlo_disc.check.sampling import varied_points
from shlo_disc.check.thresholds import threshold_points
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module


def _largest(function, sizes: str) -> int:
    program = legalize(parse_module(_text(function, sizes)))
    points = [point for seed in range(20) for point in threshold_points(program, 8, seed)]
    return max(max(point.values()) for point in points)


def _text(function, sizes: str) -> str:
    shape = export.symbolic_shape(sizes)
    return export.export(jax.jit(function))(jax.ShapeDtypeStruct(shape, jnp.float32)).mlir_module()


@pytest.mark.parametrize("function", [jnp.linalg.cholesky, jnp.linalg.qr, jnp.linalg.eigvalsh])
def test_factorizations_are_small(function) -> None:
    """The limit named ops that do not exist, and held for one op of LAPACK alone."""
    assert 16 < _largest(function, "n, n") < _largest(lambda x: x + 1, "n, n")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.cumsum(x, axis=0),  # windows as long as the axis
        lambda x: jax.lax.reduce((x, x), (0.0, 0.0), _added, (0, 1)),  # of pairs: Python runs the region for each
        lambda x: jax.lax.polygamma(x, x + 1),
    ],
)
def test_a_legal_run_takes_seconds(function) -> None:
    """Legal runs of these took minutes at the largest sizes, which bounded elements alone."""
    assert 8 < _largest(function, "n, n") < _largest(lambda x: x + 1, "n, n")


def _added(one, other):
    return one[0] + other[0], one[1] + other[1]


def test_other_sizes_are_left_out_where_they_cost_too_much() -> None:
    """Where no threshold passes the checks, sizes up to 9 had no limit: products of four of them took minutes."""
    program = legalize(parse_module(_text(lambda x: jnp.sin(jnp.broadcast_to(x, (100_000, *x.shape))), "n, n")))
    points = varied_points(program, 8, 1, 9)
    kept = affordable(program, points, 0.1)
    assert 0 < len(kept) < len(points)
    assert max(max(point.values()) for point in kept) <= 4 < max(max(point.values()) for point in points)
    assert len(affordable(program, points, -1.0)) == 1


@pytest.mark.parametrize("count", [1, 40])
def test_costs_of_all_ops_count_together(count: int) -> None:
    def many(x):
        for _ in range(count):
            x = jnp.sin(x)
        return x

    program = legalize(parse_module(_text(many, "n, n")))
    costs = costs_of(program)
    points = [point for seed in range(20) for point in threshold_points(program, 8, seed)]
    dearest = max(seconds_of(costs, point) for point in points)
    assert dearest <= 2
    assert (dearest > 0.5) == (count == 40)
