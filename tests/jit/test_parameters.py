"""`shlo_disc.jit` takes the parameters of `jax.jit`."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax.numpy as jnp
import pytest

import shlo_disc


def test_parameters_for_xla_are_taken() -> None:
    @functools.partial(shlo_disc.jit, inline=True, keep_unused=True, compiler_options=None)
    def twice(x: Any) -> Any:
        return x + x

    assert float(twice(jnp.float32(3))) == 6
    assert "add" in twice.lower(jnp.float32(3)).as_text()


def test_none_stands_for_no_static_and_no_donated_arguments() -> None:
    given: dict[str, Any] = dict.fromkeys(["static_argnums", "static_argnames", "donate_argnums", "donate_argnames"])
    assert float(shlo_disc.jit(lambda x: x + 1, **given)(1.0)) == 2


def test_other_parameters_are_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'inlined'"):
        shlo_disc.jit(lambda x: x, inlined=True)


class Pair(NamedTuple):
    """A pytree that Python has to take apart."""

    first: Any
    second: Any


def test_pytrees_that_c_does_not_know_change_their_sizes() -> None:
    run = shlo_disc.jit(lambda pair: Pair(pair.first + 1, pair.second.sum()))
    for size in (1, 2, 2, 3, 1, 4):
        found = run(Pair(jnp.ones(size), jnp.ones(size)))
        assert found.first.shape == (size,)
        assert float(found.second) == size
