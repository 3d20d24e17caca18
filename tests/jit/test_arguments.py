# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingParameterType=false
"""Arguments and results of every kind are treated as `jax.jit` treats them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc import RuntimeShapeError, ShloDiscError
from shlo_disc.jit.function import JitFunction
from tests.jit.comparing import X, jit, same
from tests.pipeline.exports import FAST


class Pair(NamedTuple):
    left: Any
    right: Any


def check_calls(function: Callable[..., Any], *calls: tuple[Any, ...], **options: Any) -> JitFunction:
    """Each call, several times in turns, gives what `jax.jit` gives."""
    run, reference = jit(function, **options), jax.jit(function, **options)
    for _ in range(3):
        for args in calls:
            same(run(*args), reference(*args))
    return run


# --- kinds of values --------------------------------------------------------------------------------------------------


def test_arrays_of_numpy_and_jax_and_numbers_of_python() -> None:
    values = [2, 2.5, True, 1j, np.float32(2), np.int8(3), np.float64(3), X[0], jnp.asarray(X[0]), np.arange(3)]
    check_calls(lambda x, y: (x + y, x * 2), *[(one, jnp.ones(3, jnp.bfloat16)) for one in values])


def test_weak_types_are_kept_apart() -> None:
    """A weak and a strong float32 are the same to C, and something else to JAX."""
    weak, strong, y = jnp.asarray(2.0), jnp.float32(2), jnp.ones(3, jnp.bfloat16)
    assert (weak.weak_type, strong.weak_type) == (True, False)
    check_calls(lambda x, y: (x + y, x), (strong, y), (weak, y), (strong, y), (2.0, y), (weak, y))
    run = jit(lambda x: (x * 2, x.astype(jnp.float32)))
    for value in (strong, weak, strong, strong, weak, weak, strong):
        same(run(value), jax.jit(lambda x: (x * 2, x.astype(jnp.float32)))(value))


def test_64_bits_on_and_off_in_turns() -> None:
    """The same arrays are another call where JAX is configured otherwise."""

    def function(x: Any) -> Any:
        return x.astype(float) / 3 + jnp.arange(x.shape[0]), x * 2

    run = jit(function)
    for _ in range(2):
        for _ in range(2):
            same(run(X[0]), jax.jit(function)(X[0]))
        with jax.enable_x64(True):
            for x in (X[0], X[0], X[0].astype(np.float64), 2**40, X[0]):
                same(run(np.atleast_1d(x)), jax.jit(function)(np.atleast_1d(x)))
    assert run.report().compilations == 4


def test_wide_numpy_arrays_become_narrow_as_for_jax() -> None:
    check_calls(lambda x: x + 1, (X.astype(np.float64),), (np.arange(3),), (np.arange(3, dtype=np.uint64),))


def test_numbers_that_do_not_fit_overflow() -> None:
    with pytest.raises(OverflowError):
        jit(lambda x: x + 1)(2**40)
    with jax.enable_x64(True):
        check_calls(lambda x: x + 1, (2**40,))


@pytest.mark.parametrize("generator", ["threefry2x32", "rbg"])
def test_random_keys_go_in_and_out(generator: str) -> None:
    key = jax.random.key(3, impl=generator)
    keys = jax.random.split(key, 4)

    def function(key: Any, x: Any) -> Any:
        now, later = jax.random.split(key)
        return jax.random.bits(now, x.shape), {"key": later}

    check_calls(function, (key, X), (key, X[0]), (key, X[:1]), (key, X[:0]))
    run = jit(lambda keys: keys[::-1])
    same(run(keys), keys[::-1])
    same(jax.jit(jit(function))(key, X), jax.jit(function)(key, X))
    same(jax.vmap(jit(function), (0, None))(keys, X), jax.vmap(function, (0, None))(keys, X))


def test_a_key_is_not_its_data() -> None:
    def function(key: Any) -> Any:
        is_key = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        return jax.random.key_data(key) if is_key else key * 2

    key = jax.random.key(1)
    data = jax.random.key_data(key)
    check_calls(function, (key,), (data,), (key,), (data,))


def test_a_key_that_is_known_in_a_traced_branch() -> None:
    key, run = jax.random.key(1), jit(lambda key, x: jax.random.bits(key, x.shape))
    found = lax.cond(X.sum() > 0, lambda: run(key, X), lambda: run(key, X) + 1)
    same(found, jax.random.bits(key, X.shape))


def test_results_are_not_the_memory_of_numpy_arrays() -> None:
    run = jit(lambda x: (x, x.reshape(-1), x[:1]))
    for _ in range(3):
        x = X.copy()
        found = run(x)
        x[:] = 7
        same(found, (jnp.asarray(X), jnp.asarray(X.reshape(-1)), jnp.asarray(X[:1])))


# --- pytrees, positions and names -------------------------------------------------------------------------------------


def test_pytrees_and_none() -> None:
    def function(params: Any, x: Any = None) -> Any:
        scaled = jax.tree.map(lambda one: one * 2, params)
        return {"n": None, "p": Pair(scaled, [x])} if x is None else (scaled, (), x + 1)

    check_calls(function, ({"w": X, "b": [X[0], None]},), (Pair(X, 3.0),), (Pair(X, 3.0), X), ((), X), (None, X[:1]))


def test_names_defaults_and_more_arguments() -> None:
    def function(x, y=2.0, *more, z=None, **named):
        return x * y + (0 if z is None else z) + sum(more) + sum(named[name] * k for k, name in enumerate(named))

    run, right = jit(function), jax.jit(function)
    for args, kwargs in [
        ((X,), {}), ((X, 3.0), {}), ((X, X, X, 1), {}), ((X,), {"z": X}), ((X,), {"a": X, "b": 2}),
        ((X,), {"b": 2, "a": X}), ((), {"y": X, "x": X}), ((X,), {"z": None}),
    ] * 2:  # fmt: skip
        same(run(*args, **kwargs), right(*args, **kwargs))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        run(y=X)


def test_names_and_positions_share_their_programs_sizes() -> None:
    run = jit(lambda x, y: x.sum() + y.sum())
    for n in (3, 5, 8):
        run(x=np.ones(n, np.float32), y=np.ones(2, np.float32))
    assert [one.shapes for one in run.report().variants] == ["[3], [2]", "[x_0], [2]"]


def test_functions_without_arguments_or_results() -> None:
    check_calls(lambda: jnp.ones(3), ())
    check_calls(lambda _: None, (X,))
    check_calls(lambda x: (3.0, x.shape[0], True), (X,), (X[:1],), (X[:0],))
    check_calls(lambda x: x, (X,), (X[0],), (3,))


def test_methods_partials_and_callable_objects() -> None:
    class Model:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @functools.partial(shlo_disc.jit, static_argnums=0, options=FAST)
        def static(self, x: Any) -> Any:
            return x * self.factor

        @staticmethod
        @shlo_disc.jit
        def plain(x: Any) -> Any:
            return x + 1

        def __call__(self, x: Any) -> Any:
            return x - self.factor

    two, three = Model(2.0), Model(3.0)
    for _ in range(2):
        same(two.static(X), jnp.asarray(X * 2))
        same(three.static(X), jnp.asarray(X * 3))
        same(Model.plain(X), jnp.asarray(X + 1))
    same(jit(two)(X), jnp.asarray(X - 2))
    same(jit(functools.partial(jnp.add, 3))(X), jnp.asarray(X + 3))
    same(jit(functools.partial(lambda x, y: x * y, y=X))(X), jnp.asarray(X * X))
    same(jit(two.__call__)(X), jnp.asarray(X - 2))
    assert repr(jit(two)) == "<shlo_disc.jit of Model>"


def test_methods_of_pytrees_take_self_as_an_argument() -> None:
    @jax.tree_util.register_pytree_node_class
    class Layer:
        def __init__(self, w: Any) -> None:
            self.w = w

        def tree_flatten(self) -> Any:
            return (self.w,), None

        @classmethod
        def tree_unflatten(cls, _: Any, children: Any) -> Any:
            return cls(*children)

        @shlo_disc.jit
        def __call__(self, x: Any) -> Any:
            return Layer(x * self.w)

    assert isinstance(Layer(X)(X), Layer)
    same(Layer(X)(X).w, jnp.asarray(X * X))


def test_names_and_texts_are_those_of_the_function() -> None:
    def function(x: Any) -> Any:
        """Documented."""
        return x

    run = jit(function)
    assert (run.__name__, run.__doc__, run.__wrapped__) == ("function", "Documented.", function)
    assert isinstance(run, JitFunction)


# --- constants --------------------------------------------------------------------------------------------------------


def test_static_arguments_by_position_and_name() -> None:
    def function(x: Any, n: int, *, mode: str = "a", flag: Any = None) -> Any:
        return x * n + {"a": 1, "b": 2}[mode] + (flag is None)

    run, right = (make(function, static_argnums=(1,), static_argnames=("mode", "flag")) for make in (jit, jax.jit))
    for _ in range(2):
        for args, kwargs in [
            ((X, 2), {}), ((X, 3), {}), ((X, 2), {"mode": "b"}), ((X, 2), {"flag": 3}), ((X,), {"n": 2}),
            ((X[0], 2), {"mode": "a"}), ((X, True), {}), ((X, 1), {}),
        ]:  # fmt: skip
            same(run(*args, **kwargs), right(*args, **kwargs))


def test_negative_and_single_static_positions() -> None:
    same(jit(lambda n, x: x * len(n), static_argnums=0)("ab", X), jnp.asarray(X * 2))
    same(jit(lambda x, n: x * len(n), static_argnums=-1)(X, "ab"), jnp.asarray(X * 2))
    same(jit(lambda x, n: x * len(n), static_argnames="n")(X, n=(1, 2)), jnp.asarray(X * 2))
    same(jit(lambda x, n: x * len(n), static_argnames="n")(X, (1, 2)), jnp.asarray(X * 2))


def test_sizes_are_learned_for_each_constant() -> None:
    run = jit(lambda x, n: x * n, static_argnums=1)
    for n in (2, 3):
        for size in (3, 5, 8):
            run(np.ones(size, np.float32), n)
    assert run.report().compilations == 4


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"constraints": ["b >= 2"]}, "found the constraint 'b >= 2', but no size has a name"),
        ({"shapes": "b s", "constraints": ["q >= 2"]}, "found the unknown name 'q'"),
        ({"shapes": "b", "likely": {"q": [1]}}, "found likely values of 'q', expected a declared size: b"),
        ({"shapes": "*b, b_0"}, "found the size 'b_0' beside '*b'"),
    ],
)
def test_names_that_nothing_declares_are_refused(declared: Any, message: str) -> None:
    with pytest.raises(ShloDiscError, match=re.escape(message)):
        jit(lambda x, y: x + y, **declared)


def test_constraints_on_names_that_they_define_are_checked() -> None:
    run = jit(lambda x: x * 2, shapes="b", constraints=["b == 8*k", "k >= 2"])
    run(np.ones(16, np.float32))
    for size in (8, 12):
        with pytest.raises(RuntimeShapeError, match=f"found b = {size}, expected"):
            run(np.ones(size, np.float32))


def test_constraints_on_sizes_that_are_numbers_are_checked() -> None:
    run = jit(lambda x, y: x * int(x.shape[0]) + y.sum(), shapes="b, s", constraints=["s <= 2*b"])
    run(np.ones(4, np.float32), np.ones(3, np.float32))
    with pytest.raises(RuntimeShapeError, match=r"found b = 4, s = 9, expected s <= 2\*b"):
        run(np.ones(4, np.float32), np.ones(9, np.float32))


def test_sizes_without_names_share_none_with_others() -> None:
    run = jit(lambda x, y: x.sum() + y.sum(), shapes="_, x_0")
    for x, y in ((3, 4), (7, 9)):
        assert run(np.ones(x, np.float32), np.ones(y, np.float32)) == x + y
    assert run.report().compilations == 1


def test_parameters_by_position_alone_have_no_keyword() -> None:
    def function(x: Any, y: Any = 1, /, **more: Any) -> Any:
        return x * y + sum(more.values())

    assert jit(function)(jnp.asarray(2.0), y=jnp.asarray(3.0)) == function(2.0, y=3.0)


def test_static_arguments_need_a_hash() -> None:
    run = jit(lambda x, n: x * len(n), static_argnums=1)
    with pytest.raises(ValueError, match="found the static argument 'n' of <lambda> of type list, which has no hash"):
        run(X, [1])
    with pytest.raises(ValueError, match="found the static argument 'n' of <lambda> of type dict, which has no hash"):
        run(X, n={})


def test_donated_arguments_are_taken() -> None:
    run = jit(lambda x, y: (x + y, x * y), donate_argnums=0, donate_argnames="y")
    for _ in range(3):
        same(run(jnp.asarray(X), y=jnp.asarray(X)), (jnp.asarray(X * 2), jnp.asarray(X * X)))
