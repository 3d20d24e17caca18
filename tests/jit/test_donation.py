"""Donated arguments are deleted where `jax.jit` deletes them, and warned of where it warns."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc


def advance(state: Any, x: Any) -> Any:
    return {"mean": state["mean"] + x.sum()}, x * 2


@pytest.mark.parametrize("donated", [{"donate_argnums": 0}, {"donate_argnums": -2}, {"donate_argnames": "state"}])
def test_donated_leaves_are_deleted_by_every_call(donated: dict[str, Any]) -> None:
    step = shlo_disc.jit(advance, **donated)
    state = {"mean": jnp.zeros(3)}
    for size in (4, 5, 5):
        x = jnp.ones(size)
        before, (state, _) = state, step(state, x)
        assert before["mean"].is_deleted()
        assert not x.is_deleted()
    np.testing.assert_array_equal(state["mean"], np.full(3, 14.0))


def test_a_result_that_is_a_donated_argument_has_memory_of_its_own() -> None:
    x = jnp.ones(50_000)
    same, _ = shlo_disc.jit(lambda x: (x, x + 1), donate_argnums=0)(x)
    assert x.is_deleted()
    assert float(same.sum()) == 50_000


def test_what_no_result_can_use_is_kept_and_warned_of() -> None:
    x, y = jnp.ones(()), jnp.ones(10)
    with pytest.warns(UserWarning, match=r"^Some donated buffers were not usable: float32\[10\]\.$"):
        shlo_disc.jit(lambda x, y: x + y.sum(), donate_argnums=(0, 1))(x, y)
    assert x.is_deleted()
    assert not y.is_deleted()


def test_arrays_of_numpy_may_be_donated() -> None:
    x = np.ones(4, np.float32)
    np.testing.assert_array_equal(shlo_disc.jit(lambda x: x + 1, donate_argnums=0)(x), 2 * x)
