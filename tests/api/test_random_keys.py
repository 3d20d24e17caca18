"""Typed random keys of JAX are arguments and results of a compiled export, like any other array."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import shlo_disc
from shlo_disc import ArgumentTypeError
from shlo_disc.exported import read_exported
from tests.api.programs import compiled, counted, dims, exported, spec

GENERATORS = ("threefry2x32", "rbg", "unsafe_rbg")


def step(state: dict[str, Any], keys: Any, x: Any) -> tuple[Any, dict[str, Any], Any]:
    """Draw numbers with a key, and hand on another one."""
    now, later = jax.random.split(state["key"])
    drawn = jax.random.bits(now, x.shape)
    return drawn, {"key": later, "step": state["step"] + 1}, keys[::-1]


def exported_step(generator: str) -> Any:
    (b,) = dims("b")
    kind = jax.random.key(0, impl=generator).dtype
    return exported(step, {"key": spec(dtype=kind), "step": spec(dtype=jnp.int32)}, spec(b, dtype=kind), spec(b))


def data(tree: Any) -> list[Any]:
    """All leaves as NumPy arrays, keys as their integers."""
    leaves = jax.tree_util.tree_leaves(tree)
    return [
        np.asarray(jax.random.key_data(one) if jnp.issubdtype(one.dtype, jax.dtypes.prng_key) else one)
        for one in leaves
    ]


@pytest.mark.parametrize("generator", GENERATORS)
def test_keys_go_in_and_come_out(generator: str) -> None:
    run = shlo_disc.compile(exported_step(generator))
    state: dict[str, Any] = {"key": jax.random.key(5, impl=generator), "step": 0}
    expected: dict[str, Any] = {"key": jax.random.key(5, impl=generator), "step": 0}
    for size in (1, 2, 7, 8):  # JAX's exports take no size of 0
        keys = jax.random.split(jax.random.key(size, impl=generator), size)
        drawn, state, turned = run(state, keys, counted(size))
        wanted, expected, turned_by_jax = jax.jit(step)(expected, keys, counted(size))
        assert (state["key"].dtype, turned.dtype, turned.shape) == (keys.dtype, keys.dtype, (size,))
        assert jax.random.key_impl(turned) == generator
        for found, right in zip(data((drawn, state, turned)), data((wanted, expected, turned_by_jax)), strict=True):
            np.testing.assert_array_equal(found, right)


def test_keys_of_a_deserialized_export_and_of_a_flat_program() -> None:
    kind = jax.random.key(0).dtype
    program = exported(lambda key: jax.random.split(key, 3), spec(dtype=kind))
    restored: Any = export.deserialize(program.serialize())
    for run in (shlo_disc.compile(program), shlo_disc.compile(restored)):
        found = run(jax.random.key(7))
        assert found.dtype == kind
        np.testing.assert_array_equal(data(found), data(jax.random.split(jax.random.key(7), 3)))


def test_the_integers_of_a_key_are_taken_too() -> None:
    run = shlo_disc.compile(exported_step("threefry2x32"))
    key, keys = jax.random.key(3), jax.random.split(jax.random.key(4), 2)
    whole = run({"key": key, "step": 0}, keys, counted(2))
    plain = np.asarray(jax.random.key_data(key)), np.asarray(jax.random.key_data(keys))
    for _ in range(2):  # C may serve the second call
        parts = run({"key": plain[0], "step": np.array(0, np.int32)}, plain[1], counted(2))
        assert parts[1]["key"].dtype == key.dtype
        for found, right in zip(data(parts), data(whole), strict=True):
            np.testing.assert_array_equal(found, right)


def test_a_key_is_bound() -> None:
    run = shlo_disc.compile(exported_step("threefry2x32"))
    state, keys = {"key": jax.random.key(3), "step": np.int32(0)}, jax.random.split(jax.random.key(4), 2)
    wanted = data(run(state, keys, counted(2)))
    for found in (run.bind(state)(keys, counted(2)), run.bind(state, keys)(counted(2))):
        assert found[1]["key"].dtype == keys.dtype
        for one, right in zip(data(found), wanted, strict=True):
            np.testing.assert_array_equal(one, right)


def test_what_is_left_beside_a_bound_key_is_flat() -> None:
    """Calls of arguments that are leaves, none of them a key, take no pytree apart."""
    kind = jax.random.key(0).dtype
    program = exported(lambda key, x: x + jax.random.uniform(key), spec(dtype=kind), spec(2))
    _, _, signature = read_exported(program)
    assert signature.keys == ("threefry2x32", "")
    bound, rest = signature.split((jax.random.key(3),), {})
    assert (bound.signature.is_flat, bound.signature.keys) == (False, ("threefry2x32",))
    assert (rest.signature.is_flat, rest.signature.keys) == (True, ())
    run, key = shlo_disc.compile(program), jax.random.key(3)
    np.testing.assert_array_equal(run.bind(key)(counted(2)), run(key, counted(2)))


def test_a_program_without_keys_names_none() -> None:
    _, _, signature = read_exported(exported(lambda x: x + 1, spec(2)))
    assert (signature.keys, signature.key_results) == ((), ())


def test_a_key_of_another_generator_is_refused() -> None:
    run = shlo_disc.compile(exported_step("threefry2x32"))
    keys = jax.random.split(jax.random.key(4), 2)
    with pytest.raises(ArgumentTypeError) as caught:
        run({"key": jax.random.key(0, impl="rbg"), "step": 0}, keys, counted(2))
    assert str(caught.value) == (
        "args[0]['key']: found a random key of rbg, expected one of threefry2x32\n"
        "  help: make it with jax.random.key(seed, impl='threefry2x32')"
    )
    with pytest.raises(ArgumentTypeError) as caught:
        run({"key": counted(2), "step": 0}, keys, counted(2))
    assert str(caught.value).startswith("args[0]['key']: found dtype float32, expected uint32")


def test_a_key_for_another_array_is_refused() -> None:
    run = compiled(lambda x: x + 1, spec(2, dtype=jnp.uint32))
    with pytest.raises(ArgumentTypeError) as caught:
        run(jax.random.key(0))
    assert str(caught.value) == (
        "args[0]: found PRNGKeyArray, expected an array with a value\n"
        "  help: take the data of a random key with jax.random.key_data"
    )


def test_a_key_while_jax_traces_is_refused() -> None:
    (b,) = dims("b")
    run = compiled(lambda key, x: jax.random.bits(key, x.shape), spec(dtype=jax.random.key(0).dtype), spec(b))
    with pytest.raises(ArgumentTypeError, match="while JAX traces a function"):
        jax.jit(lambda key: run(key, counted(2)))(jax.random.key(0))


def test_a_key_that_is_made_of_integers_comes_out_typed() -> None:
    run = compiled(jax.random.wrap_key_data, spec(2, dtype=jnp.uint32))
    for given in (np.array([3, 4], np.uint32), jnp.array([3, 4], jnp.uint32)):
        for _ in range(2):
            found = run(given)
            assert found.dtype == jax.random.key(0).dtype
            np.testing.assert_array_equal(np.asarray(jax.random.key_data(found)), [3, 4])
