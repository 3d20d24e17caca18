"""Attention of f16 and bf16 on a CPU: one kernel that rounds where the program does."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc import CompileOptions
from tests.lower_cpu.test_attention import (
    FORMS,
    SIZES,
    Function,
    last_is,
    local,
    rarely_special,
    sized,
    verify,
)
from tests.lower_cuda.attention_programs import FEW_KEYS, MASK, causal, heads, library, masked, masked_twice, plain
from tests.pipeline.exports import In, by_jax, check, exported, flat

pytestmark = pytest.mark.slow

F16, BF16 = np.float16, jnp.bfloat16
LIBRARY = library(is_causal=True)  # asks for exact first products of bf16; XLA's CPU does not have it for f16


def as_type(inputs: Sequence[In], dtype: Any) -> list[In]:
    return [replace(one, dtype=dtype) if np.issubdtype(one.dtype, np.floating) else one for one in inputs]


OF_JAX = ("library", "one query, fewer")  # forms that are jax.nn.dot_product_attention
# Flipped weights are divided and rounded as operand of their product: with it, not with their softmax.
NARROW: Mapping[str, tuple[Function, Sequence[In]]] = {
    **{
        f"f16, {name}": (f, as_type(inputs, F16))
        for name, (f, inputs) in FORMS.items()
        if not name.startswith((*OF_JAX, "rows reversed"))
    },
    **{f"bf16, {name}": (f, as_type(inputs, BF16)) for name, (f, inputs) in FORMS.items() if name != "rows reversed"},
}


@pytest.mark.parametrize("name", NARROW)
def test_every_form(name: str) -> None:
    function, inputs = NARROW[name]
    verify(function, inputs, [sized(37, 19, batch=1), sized(70, 300)])


@pytest.mark.parametrize("width", [1, 5, 16, 40, 64, 100])
@pytest.mark.parametrize(("function", "dtype"), [(plain, F16), (causal, BF16), (LIBRARY, BF16)])
def test_every_number_of_queries_and_keys(function: Function, dtype: Any, width: int) -> None:
    """Odd widths have no whole pairs of bf16, nor have odd numbers of keys."""
    verify(function, heads(dtype, width=width, count=1), [sized(t, s) for t, s in SIZES])


@pytest.mark.parametrize("keys", [1, 3, 100, 257, 1000])
@pytest.mark.parametrize("dtype", [F16, BF16])
def test_weights_are_rounded_after_the_division(dtype: Any, keys: int) -> None:
    """Keys that are alike have the weight 1 / keys, rounded: its multiple is not 1."""

    def function(q: Any, k: Any, v: Any) -> Any:
        weights = jax.nn.softmax(jnp.einsum("td,sd->ts", q, k, preferred_element_type=jnp.float32), -1)
        return jnp.einsum("ts,sd->td", weights.astype(dtype), v, preferred_element_type=jnp.float32)

    run = shlo_disc.compile(exported(function, (In("t, 8", dtype), In("s, 8", dtype), In("s, 8", dtype))))
    assert run.kernels_source.count("shlo_attention_rows_") == 1
    ones = np.ones((keys, 8), np.float32).astype(dtype)
    (found,) = flat(run, [ones[:1], ones, ones])
    wanted = float((np.float32(1) / np.float32(keys)).astype(dtype)) * keys
    np.testing.assert_allclose(found, wanted, 1e-6)


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize("function", [masked, masked_twice])
def test_rows_that_are_masked_throughout(function: Function, dtype: Any) -> None:
    verify(function, (*heads(dtype), FEW_KEYS), [sized(20, 600), sized(5, 7)])


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("function", [masked_twice, causal, LIBRARY, plain])
def test_nans_and_infinities(function: Function, position: int) -> None:
    given = heads(BF16)
    inputs = [replace(one, draw=rarely_special) if k == position else one for k, one in enumerate(given)]
    verify(function, [*inputs, MASK] if function is masked_twice else inputs, [sized(20, 70), sized(130, 300)])


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("dtype", [F16, BF16])
def test_a_hidden_value_that_is_not_finite(value: float, dtype: Any) -> None:
    """A weight of 0 times infinity is NaN: hidden keys are left out only if all values are finite."""
    q, k, v = heads(dtype, count=1)
    verify(causal, (q, k, replace(v, draw=last_is(value))), [sized(300, 300), sized(20, 300)])


def test_an_odd_number_of_keys_after_nans() -> None:
    """The pair of the last key has no other half: whatever an earlier call left there is not multiplied with 0."""
    source = exported(plain, heads(BF16))
    run, rng = shlo_disc.compile(source, options=CompileOptions(optimize=1, threads=1)), np.random.default_rng(0)
    nans = [np.full_like(i.array(rng, sized(40, 64)), np.nan) for i in heads(BF16)]
    arrays = [i.array(rng, sized(40, 45)) for i in heads(BF16)]
    assert np.isnan(flat(run, nans)[0].astype(np.float32)).all()
    check(flat(run, arrays), by_jax(plain, arrays), "odd", scale=2, inside=4)


def test_a_mask_hides_blocks() -> None:
    """Keys that are never seen are never read: NaN there would show, but for the check of all values."""
    for function in (LIBRARY, local()):
        inputs = heads(BF16) if function is LIBRARY else as_type(FORMS["library, window"][1], BF16)
        run = shlo_disc.compile(exported(function, inputs))
        assert "_hidden(" in run.kernels_source


@pytest.mark.parametrize("driver", ["c", "vm"])
@pytest.mark.parametrize("function", [causal, LIBRARY])
def test_threads(function: Function, driver: Any) -> None:
    """The bits are those of one thread."""
    source, inputs = exported(function, heads(BF16, count=1)), heads(BF16, count=1)
    arrays = [i.array(np.random.default_rng(1), sized(700, 300, batch=1)) for i in inputs]
    one, two, three = (
        flat(shlo_disc.compile(source, options=CompileOptions(driver=driver, optimize=1, threads=n)), arrays)[0]
        for n in (1, 2, 3)
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, three)
    check([one], by_jax(function, arrays), driver, scale=2, inside=4)
