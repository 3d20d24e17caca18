"""Profiles of functions of `jit`: of the program that serves a call, which is compiled first as by the call itself."""

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
from shlo_disc import CompileOptions

OPTIONS = CompileOptions(optimize=0, threads=1)


def test_a_profile_compiles_and_learns_as_a_call() -> None:
    rows = shlo_disc.jit(lambda x, scale: jnp.tanh(x).sum(1) * scale, options=OPTIONS)
    assert rows.profile(jnp.ones((2, 4)), 2.0, repeat=1).sizes == {}
    second = rows.profile(jnp.ones((3, 4)), scale=2.0, repeat=2)
    assert list(second.sizes.values()) == [3]
    assert second.repeat == 2
    assert rows.report().compilations == 2
    np.testing.assert_allclose(rows(jnp.ones((5, 4)), 2.0), np.full(5, 8 * np.tanh(np.float32(1))), rtol=1e-6)
    third = rows.profile(jnp.ones((5, 4)), 2.0, repeat=1)
    assert list(third.sizes.values()) == [5]
    assert rows.report().compilations == 2, "the program serves this call, too"
    (step,) = third.steps
    assert (step.bytes_read, step.bytes_written) == (4 * 5 * 4 + 4, 4 * 5)
    assert 0 < third.seconds < third.whole.least


def test_whole_calls_are_those_of_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[Any]()
    twice = shlo_disc.jit(lambda x: x + x, options=OPTIONS)
    ordinary = shlo_disc.JitFunction.__call__

    def counted(self: Any, *args: Any) -> Any:
        calls.append(args)
        return ordinary(self, *args)

    monkeypatch.setattr(shlo_disc.JitFunction, "__call__", counted)
    x = jnp.ones(3)
    twice.profile(x, repeat=3)
    assert calls == [(x,)] * 4


def test_donated_arguments_are_not_deleted() -> None:
    step = shlo_disc.jit(lambda state, x: (state + x, x.sum()), donate_argnums=0, options=OPTIONS)
    state, x = jnp.ones(6), jnp.arange(6.0)
    step.profile(state, x, repeat=2)
    np.testing.assert_array_equal(state, np.ones(6))
    step(state, x)
    assert state.is_deleted()


def test_constants_and_numbers_of_sizes_are_those_of_the_call() -> None:
    """`int(n)` makes the program take further arguments, which are those of the call's sizes."""
    scaled = shlo_disc.jit(
        lambda x, power: (x * np.hanning(int(x.shape[0]))) ** power, static_argnums=1, options=OPTIONS
    )
    for size in (4, 5):
        scaled(jnp.ones(size), 2)
    found = scaled.profile(jnp.ones(7), 2, repeat=1)
    assert list(found.sizes.values()) == [7]
    assert scaled.report().compilations == 2


def test_traced_arguments_are_refused() -> None:
    twice = shlo_disc.jit(lambda x: x + x, options=OPTIONS)
    with pytest.raises(shlo_disc.ShloDiscError, match="found a profile of <lambda> in a function that JAX traces"):
        jax.make_jaxpr(lambda x: twice.profile(x, repeat=1))(jnp.ones(3))


@pytest.mark.parametrize("ask", ["prepare", "profile", "__call__"])
def test_errors_of_the_function_are_its_own(ask: str) -> None:
    def outer(x: Any) -> Any:
        return x + jnp.ones((3, 4))

    with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
        getattr(shlo_disc.jit(outer, options=OPTIONS), ask)(jnp.ones(5))


@pytest.mark.parametrize("ask", ["prepare", "profile"])
def test_functions_that_use_traced_values_have_no_program(ask: str) -> None:
    def outer(y: Any) -> Any:
        getattr(shlo_disc.jit(lambda x: x + y, options=OPTIONS), ask)(np.ones(3, np.float32))
        return y

    with pytest.raises(shlo_disc.ShloDiscError, match="uses values that JAX traces outside of it"):
        jax.make_jaxpr(outer)(jnp.ones(3))


def test_keywords_find_the_program_of_positional_arguments() -> None:
    total = shlo_disc.jit(lambda x: x.sum(), options=OPTIONS)
    total.prepare(x=jax.ShapeDtypeStruct((3,), jnp.float32))
    total.profile(x=jnp.ones(3), repeat=1)
    total(jnp.ones(3))
    assert total.report().compilations == 1
