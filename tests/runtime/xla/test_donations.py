# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Programs that overwrite arguments leave XLA's values as they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from tests.pipeline.exports import FAST, In, exported
from tests.runtime.xla.texts import normal

Function = Callable[[Any, Any], Any]


def in_place(x: Any, y: Any) -> Any:
    return x * 0.9 + y, jnp.sort(y)


def as_scratch(x: Any, y: Any) -> Any:
    return jnp.sum(jnp.sort(jnp.exp(x)) * jnp.cumsum(y))


def exchanged(x: Any, y: Any) -> Any:
    return y, x


def reshaped(x: Any, y: Any) -> Any:
    return (jnp.sin(x) + y)[:, None]


def used_afterwards(f: Function, x: Any, y: Any) -> Any:
    a, b = jnp.sin(x), jnp.cos(y)
    return f(a, b), a * 2, b + a


def one_value_twice(f: Function, x: Any, y: Any) -> Any:
    a = jnp.sin(x)
    return f(a, a), a + y


def equal_values(f: Function, x: Any, y: Any) -> Any:
    return f(jnp.sin(x), jnp.sin(x) * 1.0), y


def called_twice(f: Function, x: Any, y: Any) -> Any:
    a = jnp.sin(x)
    return f(a, y), f(a, y * 2)


def carried(f: Function, x: Any, y: Any) -> Any:
    return lax.scan(lambda c, _: (c + jnp.sum(jax.tree.leaves(f(c, y))[0]), c), x, None, length=3)


def of_constants(f: Function, x: Any, y: Any) -> Any:
    return f(jnp.arange(7.0), x + y)


def of_arguments(f: Function, x: Any, y: Any) -> Any:
    return f(x, y)


# By the result that takes the memory of an argument; None for a program that only computes in it.
PROGRAMS: dict[Function, dict[int, int | None]] = {
    in_place: {0: 0},
    as_scratch: {0: None, 1: None},
    exchanged: {0: 1, 1: 0},
    reshaped: {1: 0},
}
USES = (used_afterwards, one_value_twice, equal_values, called_twice, carried, of_constants, of_arguments)


@pytest.mark.parametrize("function", PROGRAMS)
def test_values_of_xla_stay(function: Function) -> None:
    export = exported(function, (In("n"), In("n")))
    run = shlo_disc.compile(export, device="cpu", options=FAST, donate=(0, 1))
    assert {one.argument: one.result for one in run.executable.artifact.donations} == PROGRAMS[function]
    x, y = normal(1, 7), normal(2, 7)
    kept = x.copy(), y.copy()
    for use in USES:
        found = jax.jit(lambda x, y, use=use: use(run.as_jax(), x, y))(x, y)
        for ours, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(use(function, x, y)), strict=True):
            np.testing.assert_allclose(ours, wanted, 1e-5, 1e-5, err_msg=use.__name__)
        np.testing.assert_array_equal((x, y), kept, use.__name__)


def test_what_jax_donates_is_overwritten() -> None:
    run = shlo_disc.compile(exported(in_place, (In("n"), In("n"))), device="cpu", options=FAST, donate=(0,))
    step = jax.jit(lambda x, y: run.as_jax()(x, y)[0], donate_argnums=0)
    y = jnp.ones(100_000)
    x = jnp.zeros(100_000)
    lowered = step.lower(x, y)
    assert "output_operand_alias" in lowered.as_text()
    place = x.unsafe_buffer_pointer()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = step(x, y)
    assert x.is_deleted()
    assert found.unsafe_buffer_pointer() == place
    np.testing.assert_array_equal(found, 1)
