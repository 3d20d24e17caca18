"""Results that depend on nothing that is differentiated have no tangents, as with `jax.jit`."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.custom_derivatives import SymbolicZero

import shlo_disc


def are_zero(jit: Callable[..., Any], function: Callable[..., Any]) -> list[bool]:
    """Which tangents of `function(x, 2.0)` by x are zeros without an array."""
    found = list[bool]()

    @jax.custom_jvp
    def watch(*values: Any) -> Any:
        return values

    def rule(primals: Any, tangents: Any) -> Any:
        found.extend(type(one) is SymbolicZero for one in tangents)
        return primals, tuple([jnp.zeros_like(one) for one in primals])

    watch.defjvp(rule, symbolic_zeros=True)
    jax.jvp(lambda x: watch(*jit(function)(x, 2.0)), (jnp.ones(3),), (jnp.ones(3),))
    return found


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: (x * y, y, jnp.sin(y), x.shape[0] * 1.0),
        lambda x, y: (jnp.float32(x.shape[0]), y + 1),
        lambda x, y: (jax.lax.fori_loop(0, 3, lambda _, z: z * y, x), jax.lax.cond(y > 1, jnp.sin, jnp.cos, y)),
    ],
)
def test_tangents_are_zeros_where_jax_finds_zeros(function: Callable[..., Any]) -> None:
    assert are_zero(shlo_disc.jit, function) == are_zero(jax.jit, function)
