# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingParameterType=false
"""Arguments and results of every kind are treated as `jax.jit` treats them."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc import ArgumentTypeError, ShloDiscError, UnsupportedOpError
from shlo_disc.jit.function import JitFunction
from tests.pipeline.exports import FAST


class Pair(NamedTuple):
    left: Any
    right: Any


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def jit(function: Any, **options: Any) -> Any:
    return shlo_disc.jit(function, options=FAST, **options)


def same(found: Any, wanted: Any) -> None:
    """Compare pytrees: structure, shapes, dtypes, weak types, and bits."""
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert isinstance(one, jax.Array)
        types = [jax.typeof(x) for x in (one, other)]
        assert [(t.shape, t.dtype, t.weak_type) for t in types[:1]] == [
            (t.shape, t.dtype, t.weak_type) for t in types[1:]
        ]
        np.testing.assert_array_equal(_numbers(one), _numbers(other))


def _numbers(array: Any) -> Any:
    is_key = jnp.issubdtype(array.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(array) if is_key else array)


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


def test_static_arguments_need_a_hash() -> None:
    run = jit(lambda x, n: x * len(n), static_argnums=1)
    with pytest.raises(ValueError, match="found the static argument 1 of <lambda> of type list, which has no hash"):
        run(X, [1])
    with pytest.raises(ValueError, match="found the static argument 'n' of <lambda> of type dict, which has no hash"):
        run(X, n={})


def test_donated_arguments_are_taken() -> None:
    run = jit(lambda x, y: (x + y, x * y), donate_argnums=0, donate_argnames="y")
    for _ in range(3):
        same(run(jnp.asarray(X), y=jnp.asarray(X)), (jnp.asarray(X * 2), jnp.asarray(X * X)))


# --- errors -----------------------------------------------------------------------------------------------------------


def test_what_is_no_array_is_refused() -> None:
    run = jit(lambda x: x)
    with pytest.raises(TypeError, match="Argument 'hello' of type <class 'str'> is not a valid JAX type"):
        run("hello")
    with pytest.raises(TypeError, match="not a valid JAX type"):
        run({"a": object()})
    with pytest.raises(TypeError, match="returned a value of type <class 'str'>"):
        jit(lambda _: "text")(X)


def test_a_users_exception_is_raised_unchanged() -> None:
    class OwnError(Exception):
        pass

    error = OwnError("mine", 3)

    def function(_: Any) -> Any:
        raise error

    run = jit(function)
    for _ in range(2):
        with pytest.raises(OwnError) as caught:
            run(X)
        assert caught.value is error
        assert caught.value.__cause__ is None
    with pytest.raises(OwnError) as caught:
        jax.grad(lambda x: run(x).sum())(X)
    assert caught.value is error
    with pytest.raises(ZeroDivisionError):
        jit(lambda x: x / (1 // 0))(X)
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jit(lambda x: x if x.sum() > 0 else -x)(X)
    with pytest.raises(TypeError, match="add got incompatible shapes for broadcasting"):
        jit(lambda x, y: x + y)(X, X[:, :2])


def test_wrong_ranks_and_declarations() -> None:
    run = jit(lambda x: x, shapes="b s")
    with pytest.raises(ArgumentTypeError, match="x: found rank 1, expected 2: 'b s'"):
        run(X[0])
    for shapes, message in [
        ("b, s, t", r"found shapes of 3 arguments, expected at most 1: <lambda> takes x"),
        ({"y": "b"}, r"found a shape of 'y', expected one of the parameters of <lambda>: x"),
        (3, r"found shapes of type int, expected a text such as 'b s 256, b', or texts in a tuple"),
        ((3,), r"found 3 among the shapes, expected a text such as 'b s 256', or None"),
    ]:
        with pytest.raises(ShloDiscError, match=message):
            jit(lambda x: x, shapes=shapes)
    with pytest.raises(ShloDiscError, match="x: the shapes have another structure than the argument"):
        jit(lambda x: x, shapes={"x": {"a": "b"}})({"c": X})
    with pytest.raises(ShloDiscError, match="found 'b' as the function, expected a function"):
        shlo_disc.jit("b")
    with pytest.raises(ShloDiscError, match="found fallback 'no', expected 'error' or 'jax'"):
        jit(lambda x: x, fallback="no")
    with pytest.raises(ShloDiscError, match="has not been called yet"):
        _ = run.compiled


def test_annotations_declare_shapes() -> None:
    class Float:
        dim_str = "b 3"

    def function(x: Any, y: Any) -> Any:
        return x * 2, y

    function.__annotations__ = {"x": Float, "y": int}
    run = jit(function)
    run(X, X)
    assert run.report().variants[0].shapes == "[b, 3], [2, 3]"
    with pytest.raises(ShloDiscError, match=r"x: found \[3, 2\], declared \[b, 3\]"):
        run(X.T, X)


# --- what cannot be compiled ------------------------------------------------------------------------------------------


def printing(x: Any) -> Any:
    jax.debug.print("sum {}", x.sum())
    return x * 2


def test_what_cannot_be_compiled_is_an_error() -> None:
    run = jit(printing)
    for _ in range(2):
        with pytest.raises(UnsupportedOpError, match="JAX cannot export printing"):
            run(X)


def test_handing_to_jax_is_never_silent(caplog: pytest.LogCaptureFixture) -> None:
    run = jit(printing, fallback="jax")
    with caplog.at_level(logging.WARNING, logger="shlo_disc"):
        for _ in range(2):
            same(run(X), jnp.asarray(X * 2))
    (line,) = run.report().handed_to_jax
    assert line.startswith("printing: calls with shapes [(2, 3)] are handed to jax.jit: ")
    assert [one.getMessage() for one in caplog.records] == [line]
    assert line in str(run.report())
    same(run(X[:1]), jnp.asarray(X[:1] * 2))
    assert len(run.report().handed_to_jax) == 2


def test_handing_to_jax_inside_of_traces() -> None:
    run = jit(printing, fallback="jax")
    same(jax.jit(run)(X), jnp.asarray(X * 2))
    same(jax.grad(lambda x: run(x).sum())(X), jnp.full_like(X, 2))
    assert len(run.report().handed_to_jax) == 1


# --- besides calls ----------------------------------------------------------------------------------------------------


def test_ahead_of_time() -> None:
    run = jit(lambda x, y: (x @ y).sum(0), shapes="b s, s 4")
    compiled = run.prepare(jax.ShapeDtypeStruct((2, 3), jnp.float32), jax.ShapeDtypeStruct((3, 4), jnp.float32))
    assert compiled is run.compiled
    same(run(X, X.T @ np.ones((2, 4), np.float32)), jax.jit(run.__wrapped__)(X, X.T @ np.ones((2, 4), np.float32)))
    assert run.report().compilations == 1
    key = jax.eval_shape(lambda: jax.random.key(0))
    jit(jax.random.bits).prepare(key)


def test_the_interface_of_jax_jit() -> None:
    run = jit(lambda x: x * 2)
    assert run.eval_shape(X) == jax.ShapeDtypeStruct(X.shape, jnp.float32)
    assert "stablehlo.multiply" in run.lower(X).as_text()
    assert run.trace(X).jaxpr.out_avals[0].shape == X.shape
    same(run.lower(X).compile()(X), jnp.asarray(X * 2))
    same(run(X), jnp.asarray(X * 2))
    run.clear_cache()
    assert run.report().compilations in {0, 1}
    same(run(X), jnp.asarray(X * 2))


def test_without_jit_the_function_runs_as_it_is() -> None:
    run = jit(lambda x: x * 2)
    with jax.disable_jit():
        same(run(X), jnp.asarray(X * 2))
