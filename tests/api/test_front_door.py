"""`compile` takes functions of JAX with the types of their arguments."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shlo_disc

pytestmark = pytest.mark.quick

SHAPES = ({"w": "f32[d, 8]"}, "f32[b, s, d]")


def model(params: Any, x: Any) -> Any:
    """A layer, and the mean over places."""
    return jnp.tanh(x @ params["w"]).mean(1)


def arguments(b: int, s: int, d: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng()
    return {"w": rng.normal(size=(d, 8)).astype(np.float32)}, rng.normal(size=(b, s, d)).astype(np.float32)


@pytest.mark.parametrize("function", [model, jax.jit(model), shlo_disc.jit(model)], ids=["plain", "jitted", "jit"])
def test_a_function_is_compiled_for_all_sizes(function: Any) -> None:
    run = shlo_disc.compile(function, shapes=SHAPES, device="cpu")
    for b, s in ((1, 1), (2, 7), (5, 3)):
        given_ = arguments(b, s)
        np.testing.assert_allclose(run(*given_), model(*given_), rtol=1e-5, atol=1e-6)
    assert run.stats.compilations == 1


def test_types_may_be_specs_and_arrays() -> None:
    params, x = arguments(2, 3)
    run = shlo_disc.compile(model, shapes=(params, jax.ShapeDtypeStruct(x.shape, x.dtype)), device="cpu")
    np.testing.assert_allclose(run(params, x), model(params, x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "uint16", "bool", "complex64"])
def test_types_have_their_short_names(dtype: str) -> None:
    short = {"float32": "f32", "bfloat16": "bf16", "int8": "i8", "uint16": "u16", "bool": "bool", "complex64": "c64"}
    for name in (dtype, short[dtype]):
        run = shlo_disc.compile(lambda x: x, shapes=f"{name}[n]", device="cpu")
        x = np.ones(3, jnp.dtype(dtype))
        assert run(x).dtype == x.dtype


def test_the_type_of_one_bit_is_bool() -> None:
    run = shlo_disc.compile(lambda mask, x: jnp.where(mask, x, 0), shapes="i1[b], f32[b]", device="cpu")
    np.testing.assert_array_equal(run(np.array([True, False]), np.ones(2, np.float32)), [1, 0])


@given(a=st.integers(1, 9), c=st.integers(0, 9), n=st.integers(0, 12))
@settings(max_examples=10, deadline=None)
def test_sums_and_products_of_sizes(a: int, c: int, n: int) -> None:
    run = shlo_disc.compile(lambda x, y: (x.sum(), y * 2), shapes=f"f32[n+1], f32[{a}*n+{c}]", device="cpu")
    x, y = np.ones(n + 2, np.float32), np.ones(a * (n + 1) + c, np.float32)
    assert run(x, y)[1].shape == y.shape
    with pytest.raises(shlo_disc.RuntimeShapeError):
        run(x, np.ones(a * (n + 1) + c + 1, np.float32))


def test_sizes_without_names_share_none() -> None:
    types = ({"a": {"b": "f32[_, 2]"}, "a_b": "f32[_, 2]"}, "f32[_]", "f32[args_1_0_0]")
    run = shlo_disc.compile(lambda p, x, y: (p["a"]["b"].sum() + p["a_b"].sum(), x, y), shapes=types, device="cpu")
    run(
        {"a": {"b": np.ones((3, 2), np.float32)}, "a_b": np.ones((5, 2), np.float32)},
        *(np.ones(n, np.float32) for n in (4, 6)),
    )


def test_a_function_without_arguments() -> None:
    assert shlo_disc.compile(lambda: jnp.arange(3), shapes="", device="cpu")().tolist() == [0, 1, 2]


def test_constraints_are_used_in_tracing_and_checked_in_calls() -> None:
    run = shlo_disc.compile(
        lambda x: x.reshape(-1, 8).sum(1), shapes="f32[b, 4]", constraints=["b == 2*k"], device="cpu"
    )
    assert run(np.ones((4, 4), np.float32)).tolist() == [8, 8]
    with pytest.raises(shlo_disc.RuntimeShapeError):
        run(np.ones((3, 4), np.float32))


def test_transforms_of_any_length() -> None:
    run = shlo_disc.compile(jnp.fft.fft2, shapes="f32[b, n, m]", device="cpu")
    for shape in ((2, 5, 7), (1, 1, 16), (3, 8, 1)):
        x = np.random.default_rng().normal(size=shape).astype(np.float32)
        np.testing.assert_allclose(run(x), np.fft.fft2(x), rtol=1e-4, atol=1e-4)


def test_a_lowered_function_is_compiled_for_its_sizes() -> None:
    lowered = jax.jit(lambda x: x + 1).lower(jnp.ones(3))
    (found,) = shlo_disc.compile(lowered, device="cpu")(np.ones(3, np.float32))
    assert found.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("program", "shapes", "message"),
    [
        (model, None, "found a function without the types of its arguments"),
        (model, "f32[b, s", "expected types such as f32[b, s, 256], separated by commas"),
        (model, "q32[b]", "found the type 'q32', expected one such as f32, bf16, i32, u8, bool or c64"),
        (model, "f32[b] i32[c]", "expected types such as f32[b, s, 256], separated by commas"),
        (model, "f32[... b]", "expected a fixed number of sizes"),
        (model, "f32[b-]", "found 'b-', expected a size"),
        (model, ({"w": 3},), "shapes[0]['w']: found int, expected a text"),
        (model, ({"w": "f32[b], f32[c]"},), "expected one type such as 'f32[b, 256]'"),
        (model, 3, "found shapes of type int"),
        ("module {}", "f32[b]", "found shapes beside a program of type str"),
        (jax.jit(jnp.sin).lower(1.0), "f32[b]", "found shapes beside a Lowered of jax.jit"),
    ],
    ids=range(11),
)
def test_mistakes_say_what_was_expected(program: Any, shapes: Any, message: str) -> None:
    with pytest.raises(shlo_disc.ShloDiscError) as caught:
        shlo_disc.compile(program, shapes=shapes, device="cpu")
    assert message in str(caught.value)


def test_errors_of_the_function_are_its_own() -> None:
    def divides(x: Any) -> Any:
        raise ZeroDivisionError(x)

    with pytest.raises(ZeroDivisionError):
        shlo_disc.compile(divides, shapes="f32[b]", device="cpu")
