# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Gradients and batches of functions that JAX traces at given sizes only: one program each for all sizes."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc.jit import program
from tests.jit.test_generalized import PROGRAMS, number, softplus
from tests.jit.test_learning import arrays, served
from tests.pipeline.exports import FAST, check

Function = Callable[..., Any]


def total(function: Function) -> Function:
    """The sum of all results, each after a function whose derivative depends on it."""

    def summed(*args: Any) -> Any:
        found = jax.tree.leaves(function(*args))
        return sum(jnp.sum(jnp.sin(x)) for x in found if jnp.issubdtype(x.dtype, jnp.floating))

    return summed


TRANSFORMS: dict[str, Callable[[Function], Function]] = {
    "gradient": lambda f: jax.grad(total(f)),
    "batch": lambda f: lambda x: jax.vmap(f)(jnp.stack([x, 2 * x, -x][: 1 + len(x) % 3])),
    "second derivative": lambda f: jax.grad(lambda x: jax.grad(total(f))(x).sum()),
    "tangents": lambda f: lambda x: jax.jvp(total(f), (x,), (jnp.cos(x),)),
    "jacobian": jax.jacfwd,
    "batch of gradients": lambda f: lambda x: jax.vmap(jax.grad(total(f)))(jnp.stack([x, -x])),
    "gradient of a batch": lambda f: lambda x: jax.grad(total(jax.vmap(f)))(jnp.stack([x, -x])),
}


def compiled(function: Function, transform: Function, sizes: tuple[int, ...]) -> dict[str, int]:
    """Compare a transformed function with that of JAX at these sizes; how many programs of each kind were compiled."""
    run = shlo_disc.jit(function, options=FAST)
    for size in (*sizes, *sizes[:2]):
        (x,) = arrays((size,))
        found, wanted = transform(run)(x), transform(function)(x)
        assert jax.tree.structure(found) == jax.tree.structure(wanted)
        pairs = [[np.asarray(x) for x in jax.tree.leaves(one)] for one in (found, wanted)]
        check(pairs[0], pairs[1], f"{size}", 64.0, 1.0)  # sines of large numbers
    return Counter([what.partition(" for ")[0] for what, _ in run.report().compiled])


def with_rules_of_its_own(x: Any) -> Any:
    """Parts whose derivatives are not those of what they compute."""
    return softplus(x + lax.stop_gradient(jnp.round(x) - x)) * number(x)


KINDS = [
    "gradient",
    *[pytest.param(name, marks=pytest.mark.slow) for name in ("batch", "second derivative", "jacobian")],
]


@pytest.mark.parametrize("transform", KINDS)
def test_two_programs_of_each_kind(transform: str) -> None:
    found = compiled(with_rules_of_its_own, TRANSFORMS[transform], (6, 11, 16, 7, 17, 64, 1, 0))
    assert found
    assert set(found.values()) == {2}, found


@pytest.mark.slow
def test_a_derivative_is_compared_at_each_shape() -> None:
    """The samples near the first sizes agree; from 100 on the function has another derivative."""

    @jax.custom_jvp
    def scaled(x: Any) -> Any:
        return 2 * x

    @scaled.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return scaled(x), t * (number(x) + 1 if number(x) < 100 else 7)

    found = compiled(lambda x: scaled(x) * number(x), TRANSFORMS["gradient"], (3, 5, 8, 200, 99, 300, 100))
    assert sum(found.values()) <= 8, found


@pytest.mark.slow
def test_derivatives_whose_number_of_parts_is_the_size_are_compiled_for_each() -> None:
    def function(x: Any) -> Any:
        return sum(jnp.sin(x[k]) * k for k in range(number(x)))

    sizes = (2, 3, 4, 5, 6, 7)
    found = compiled(function, TRANSFORMS["gradient"], sizes)
    assert set(found.values()) == {len(sizes)}


@pytest.mark.slow
def test_two_sizes_and_a_size_that_is_in_no_argument_alone() -> None:
    """The transposed function takes one number, whose shape does not tell the sizes."""

    def function(x: Any, y: Any) -> Any:
        return (x.sum() * number(x) + y.sum() * number(y)) * 2

    run = shlo_disc.jit(function, options=FAST)
    for sizes in [[(3,), (5,)], [(4,), (9,)], [(8,), (8,)], [(1,), (7,)], [(7,), (1,)], [(12,), (2,)]]:
        args = arrays(sizes)
        pairs = [[*map(np.asarray, jax.grad(one, (0, 1))(*args))] for one in (run, function)]
        check(pairs[0], pairs[1], f"{sizes}", 1.0, 1.0)
    assert run.report().compilations == 4, run.report()


@pytest.mark.slow
def test_inside_of_jax_jit() -> None:
    """XLA calls the program; what NumPy makes of the size is a constant of the caller."""
    function = PROGRAMS["a window"]
    run = shlo_disc.jit(function, options=FAST)
    for size in (6, 11, 16, 7):
        (x,) = arrays((size,))
        pairs = [[np.asarray(jax.jit(jax.grad(total(one)))(x))] for one in (run, function)]
        check(pairs[0], pairs[1], f"{size}", 1.0, 1.0)
    assert run.report().compilations == 4


@pytest.mark.slow
def test_fixed_derivatives_of_a_function_of_symbols_are_generalized_after_some() -> None:
    """JAX differentiates a transform at a symbol as if that was odd, so that even ones are made at their sizes."""
    found = compiled(lambda x: jnp.abs(jnp.fft.rfft(x)) ** 2, TRANSFORMS["gradient"], (7, 9, 8, 12, 16, 20, 64, 26))
    assert max(found.values()) <= 5, found


def test_a_rule_that_was_traced_for_another_derivative_asks_again() -> None:
    """JAX traces the rule once for all derivatives; the one of odd lengths must not serve even ones."""

    def function(x: Any, y: Any) -> Any:
        return (jnp.abs(jnp.fft.rfft(x)) ** 2).sum() * y

    run = shlo_disc.jit(function, options=FAST)
    for size in (7, 9, 8):
        args = [*arrays((size,)), 2.0]
        for which in (0, (0, 1)):
            pairs = [[np.asarray(x) for x in jax.tree.leaves(jax.grad(one, which)(*args))] for one in (run, function)]
            check(pairs[0], pairs[1], f"{size}", 1.0, 1.0)


@pytest.mark.slow
def test_zeros_after_an_array_are_like_the_array_where_there_are_none() -> None:
    def function(x: Any) -> Any:
        padded = jnp.concatenate([x, jnp.zeros(number(x) % 2, x.dtype)]) if number(x) % 2 else x
        return jnp.sin(padded).reshape(-1, 2).sum(1) + lax.pad(x[::2], 0.0, [(0, number(x) % 3, 0)])[: len(padded) // 2]

    served(function, [(6,), (11,), (16,), (7,), (17,)])


@pytest.mark.slow
def test_traces_at_many_sizes_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "SIZES_KEPT", 2)
    run = shlo_disc.jit(with_rules_of_its_own, options=FAST)
    kept = list[int]()
    for size in (6, 11, 16, 7, 17, 64, 21, 9, 33):
        (x,) = arrays((size,))
        found, wanted = (jax.grad(total(one))(x) for one in (run, with_rules_of_its_own))
        check([np.asarray(found)], [np.asarray(wanted)], f"{size}", 64.0, 1.0)
        jax.clear_caches()  # JAX's keep as many as it likes
        gc.collect()
        kept.append(sum(isinstance(one, program.TracedProgram) for one in gc.get_objects()))
    assert kept[4:] == [kept[4]] * 5, kept
