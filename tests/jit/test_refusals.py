# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingParameterType=false
"""What is refused, and how; what is handed to `jax.jit`; and what a function offers besides calls."""

from __future__ import annotations

import logging
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import Primitive
from jax.interpreters import ad, mlir

import shlo_disc
from shlo_disc import ArgumentTypeError, ShloDiscError, UnsupportedOpError
from tests.jit.comparing import X, jit, same

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


def test_a_function_without_a_derivative_in_forward_mode_raises_jaxs_error() -> None:
    @jax.custom_vjp
    def doubled(x: Any) -> Any:
        return 2 * x

    doubled.defvjp(lambda x: (2 * x, None), lambda _, t: (2 * t,))
    run = jit(lambda x: doubled(x) + 1)
    same(jax.grad(lambda x: run(x).sum())(X), 2 * np.ones_like(X))
    with pytest.raises(TypeError, match=r"can't apply forward-mode autodiff \(jvp\) to a custom_vjp function"):
        jax.jvp(run, (X,), (X,))


@pytest.mark.parametrize("x", [X, np.float32(2)], ids=["any size", "no sizes"])
def test_what_jax_cannot_transpose_raises_its_error(x: Any) -> None:
    def function(x: Any) -> Any:
        limit = (x * 0).sum() + 3  # a number that JAX does not know
        return jax.lax.while_loop(lambda s: s[0] < limit, lambda s: (s[0] + 1, jnp.sin(s[1])), (0.0, x))[1].sum()

    run = jit(function)
    np.testing.assert_allclose(jax.jvp(run, (x,), (x,)), jax.jvp(function, (x,), (x,)), rtol=1e-5)
    for _ in range(2):
        with pytest.raises(ValueError, match="Reverse-mode differentiation does not work for"):
            jax.grad(run)(x)


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


def on_host() -> Any:
    """The identity as a custom call that XLA takes for a wish where to keep an array, and that JAX does not export."""
    primitive = Primitive("on_host")
    primitive.def_abstract_eval(lambda x: x)
    mlir.register_lowering(primitive, jax.ffi.ffi_lowering("MoveToHost", api_version=1, backend_config=""))
    ad.deflinear(primitive, lambda cotangent: [cotangent])
    return primitive


ON_HOST = on_host()


def placed(x: Any) -> Any:
    return ON_HOST.bind(x) * 2


def test_what_cannot_be_compiled_is_an_error() -> None:
    run = jit(placed)
    for _ in range(2):
        with pytest.raises(UnsupportedOpError, match="JAX cannot export placed"):
            run(X)


def test_handing_to_jax_is_never_silent(caplog: pytest.LogCaptureFixture) -> None:
    run = jit(placed, fallback="jax")
    with caplog.at_level(logging.WARNING, logger="shlo_disc"):
        for _ in range(2):
            same(run(X), jnp.asarray(X * 2))
    (line,) = run.report().handed_to_jax
    assert line.startswith("placed: calls with shapes [(2, 3)] are handed to jax.jit: ")
    assert [one.getMessage() for one in caplog.records] == [line]
    assert line in str(run.report())
    same(run(X[:1]), jnp.asarray(X[:1] * 2))
    assert len(run.report().handed_to_jax) == 2


def test_handing_to_jax_inside_of_traces() -> None:
    run = jit(placed, fallback="jax")
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
