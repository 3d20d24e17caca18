"""Donated arguments are deleted where `jax.jit` deletes them, and warned of where it warns."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import jax
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


def deleted(tree: Any) -> list[bool]:
    return [one.is_deleted() for one in jax.tree.leaves(tree)]


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
def test_calls_that_c_serves_delete_what_jax_deletes() -> None:
    """Of each type as many as there are results of it, in order: here two of three, and none of another size."""

    def function(state: Any, x: Any) -> Any:
        a, b, c, d, e = state["a"], state["b"], state["c"], state["d"], state["A"]  # which comes first
        return [a + b + c, b * 2, d.astype(jnp.float32).sum() + x], d + 1, e.sum()

    run, reference = shlo_disc.jit(function, donate_argnums=0), jax.jit(function, donate_argnums=0)
    for size in (3, 3, 3, 5, 3, 5, 5, 0, 0):

        def state(size: int = size) -> Any:
            found = {name: jnp.full(size, k, jnp.float32) for k, name in enumerate("abc")}
            return found | {"d": jnp.zeros(size, jnp.int32), "A": jnp.ones(7)}

        one, other, x = state(), state(), jnp.ones(())
        found, wanted = run(one, x), reference(other, x)
        jax.tree.map(np.testing.assert_array_equal, found, wanted)
        assert deleted(one) == deleted(other)
        assert not x.is_deleted()
        with pytest.raises(RuntimeError, match="deleted"):
            run(one, x)


def test_the_program_itself_deletes_nothing() -> None:
    step = shlo_disc.jit(advance, donate_argnums=0)
    x = jnp.ones(4)
    for _ in range(3):
        step({"mean": jnp.zeros(3)}, x)
    state = {"mean": jnp.zeros(3)}
    np.testing.assert_array_equal(step.compiled(state, x)[0]["mean"], np.full(3, 4.0))
    assert deleted(state) == [False]


def test_a_call_that_is_refused_deletes_nothing() -> None:
    step = shlo_disc.jit(lambda state, x: state + x, shapes="n, n", donate_argnums=0)
    for _ in range(3):
        step(jnp.ones(4), jnp.ones(4))
    state = jnp.ones(4)
    with pytest.raises(shlo_disc.RuntimeShapeError):
        step(state, jnp.ones(5))
    assert not state.is_deleted()


def test_many_donated_arrays_of_a_loop() -> None:
    """Also once XLA makes the results."""
    step = shlo_disc.jit(lambda state: {name: one + 1 for name, one in state.items()}, donate_argnums=0)
    state = {str(k): jnp.full(2, k, jnp.float32) for k in range(50)}
    for _ in range(600):
        before, state = state, step(state)
        assert all(deleted(before))
    assert [np.asarray(one).tolist() for one in state.values()] == [[k + 600.0] * 2 for k in sorted(range(50), key=str)]
