"""Gradients of attention of f16 and bf16 on a CPU: one kernel that rounds where the program does."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc.kernels.groups import GroupKind
from shlo_disc.lower_cpu.kernels import CpuLowering
from tests.lower_cpu.test_attention import ONE_THREAD, Function, last_is, plan_of, rarely_special, sized
from tests.lower_cpu.test_attention_backward import (
    SIZES,
    gradients,
    hidden_rows,
    only_gradients,
    threads_agree,
    verify,
    with_upstream,
)
from tests.lower_cpu.test_attention_rows import BF16, F16, NARROW, as_type
from tests.lower_cuda.attention_programs import FEW_KEYS, causal, heads, library, masked, masked_twice, plain
from tests.pipeline.exports import In, by_jax, check, exported, flat

pytestmark = pytest.mark.slow

LIBRARY = library(is_causal=True)  # its weights of keys and queries are f32, those of values bf16


def exact(q: Any, k: Any, v: Any) -> Any:
    """Products that a program wants exact."""
    with jax.default_matmul_precision("highest"):
        return plain(q, k, v)


def throughout(q: Any, k: Any, v: Any) -> Any:
    """Scores and exponentials are rounded, too; JAX sums them in f32."""
    x = jnp.einsum("bthd,bshd->bhts", q, k)
    seen = jnp.arange(x.shape[-2])[:, None] + 3 > jnp.arange(x.shape[-1])[None]
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(jnp.where(seen, x, -jnp.inf), -1), v)


@pytest.mark.parametrize("name", NARROW)
def test_every_form(name: str) -> None:
    """Result and gradients are two kernels of attention."""
    function, inputs = NARROW[name]
    plan = plan_of(gradients(function), *with_upstream(inputs))
    kinds = [g.kind for g in plan.groups if g.kind not in (GroupKind.ROWS, GroupKind.PARALLEL)]
    reasons = [d.reason for d in plan.decisions if not d.merged]
    assert kinds == [GroupKind.ATTENTION, GroupKind.ATTENTION_BACKWARD], reasons
    verify(gradients(function), with_upstream(inputs), [sized(37, 19, batch=1), sized(70, 300)])


@pytest.mark.parametrize("width", [1, 5, 16, 40, 64])
@pytest.mark.parametrize(
    ("function", "dtype"), [(plain, F16), (causal, BF16), (throughout, BF16), (LIBRARY, BF16), (exact, BF16)]
)
def test_every_number_of_queries_and_keys(function: Function, dtype: Any, width: int) -> None:
    """Odd widths, and odd numbers of queries and keys, have no whole pairs of bf16."""
    verify(only_gradients(function), with_upstream(heads(dtype, width=width, count=1)), [sized(t, s) for t, s in SIZES])


@pytest.mark.parametrize(
    ("function", "dtype"),
    [(plain, F16), (causal, F16), (plain, BF16), (throughout, BF16), (LIBRARY, BF16), (exact, BF16)],
)
def test_it_rounds_where_products_in_memory_do(
    function: Function, dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only sums have another order: nearly all results have the bits of the program without attention."""
    inputs = with_upstream(heads(dtype))
    source = exported(gradients(function), inputs)
    fused = shlo_disc.compile(source, options=ONE_THREAD)
    monkeypatch.setattr(CpuLowering, "abilities", replace(CpuLowering.abilities, attention=None))
    apart = shlo_disc.compile(source, options=replace(ONE_THREAD, cache_dir=tmp_path))
    assert fused.kernels_source.count("shlo_attention_") == 2
    assert apart.kernels_source.count("shlo_attention_") == 0
    for size in (7, 8, 47, 48, 49, 77, 128, 300):
        arrays = [i.array(np.random.default_rng(size), sized(size, size)) for i in inputs]
        found, wanted = flat(fused, arrays), flat(apart, arrays)
        check(found, wanted, str(size), inside=8)
        for one, other in zip(found, wanted, strict=True):
            assert np.mean(one != other) < SHARE[dtype]


SHARE = {F16: 0.1, BF16: 0.05}


@pytest.mark.parametrize("seed", range(2))
def test_random_sizes(seed: int) -> None:
    """Two heads of queries for each of keys, whose gradients are sums over both."""
    rng = np.random.default_rng(seed)
    inputs = with_upstream(as_type((In("b, s, 4, 16"), In("b, s, 2, 16"), In("b, s, 2, 16")), BF16))
    sizes = [{"b": int(rng.integers(1, 4)), "s": int(rng.integers(1, 400))} for _ in range(4)]
    verify(gradients(LIBRARY), inputs, sizes)


@pytest.mark.parametrize("driver", ["c", "vm"])
@pytest.mark.parametrize("function", [causal, LIBRARY])
def test_threads(function: Function, driver: Any) -> None:
    threads_agree(function, with_upstream(heads(BF16, count=3)), driver)


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize("function", [masked, masked_twice])
def test_rows_that_are_masked_throughout(function: Function, dtype: Any) -> None:
    verify(gradients(function), with_upstream((*heads(dtype), FEW_KEYS)), [sized(20, 600), sized(5, 7)])


@pytest.mark.parametrize("dtype", [F16, BF16])
def test_blocks_that_are_masked_throughout(dtype: Any) -> None:
    verify(gradients(hidden_rows), with_upstream(heads(dtype)), [sized(300, 300), sized(70, 20)])


@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("function", [causal, LIBRARY, plain])
def test_nans_and_infinities(function: Function, position: int) -> None:
    """In queries, keys, values or the gradient of the result: where JAX has numbers, so have we, and the other way."""
    inputs = with_upstream(heads(BF16, count=1))
    inputs[position] = replace(inputs[position], draw=rarely_special)
    verify(only_gradients(function), inputs, [sized(20, 70), sized(130, 300)])


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e30])
@pytest.mark.parametrize("position", [1, 2])
@pytest.mark.parametrize("function", [causal, LIBRARY])
def test_hidden_keys_and_values_that_are_not_moderate(function: Function, value: float, position: int) -> None:
    """0 times infinity is NaN: hidden keys are left out only if all numbers are so small that products are finite."""
    inputs = with_upstream(heads(BF16, count=1))
    inputs[position] = replace(inputs[position], draw=last_is(value))
    verify(only_gradients(function), inputs, [sized(300, 300), sized(20, 300)])


@pytest.mark.parametrize("value", [3e4, -3e4, np.inf])
def test_hidden_values_whose_products_overflow(value: float) -> None:
    """Of f16 no number is so moderate that its products are finite: nothing is left out."""
    inputs = with_upstream(heads(F16, count=1))
    inputs[2] = replace(inputs[2], draw=last_is(value))
    verify(only_gradients(causal), inputs, [sized(300, 300)])


def test_an_odd_number_of_keys_after_nans() -> None:
    """The last key and the last row have no other half: whatever an earlier call left is not multiplied with 0."""
    inputs = with_upstream(heads(BF16))
    run, rng = shlo_disc.compile(exported(gradients(plain), inputs), options=ONE_THREAD), np.random.default_rng(0)
    nans = [np.full_like(i.array(rng, sized(48, 64)), np.nan) for i in inputs]
    arrays = [i.array(rng, sized(41, 45)) for i in inputs]
    assert all(np.isnan(one.astype(np.float32)).all() for one in flat(run, nans))
    check(flat(run, arrays), by_jax(gradients(plain), arrays), "odd", scale=4, inside=8)


def test_what_a_mask_hides_is_left_out() -> None:
    """Of bf16; f16 overflows too soon."""
    for function, dtype, hides in ((causal, BF16, True), (throughout, BF16, True), (causal, F16, False)):
        run = shlo_disc.compile(exported(only_gradients(function), with_upstream(heads(dtype))), options=ONE_THREAD)
        assert ("_hidden(" in run.kernels_source) is hides


def test_exponentials_that_are_rounded_are_computed_once() -> None:
    """They take the place of scores, though what is summed is their value in f32."""
    run = shlo_disc.compile(exported(only_gradients(throughout), with_upstream(heads(BF16))), options=ONE_THREAD)
    assert run.kernels_source.count("exp_(") == 2  # of whole vectors, and of the rest


def test_no_scores_in_memory() -> None:
    inputs = with_upstream(heads(BF16, width=32, count=1))
    run = shlo_disc.compile(exported(gradients(plain), inputs), options=ONE_THREAD)
    assert run.peak_memory(b=1, t=4096, s=4096) < 4096 * 32 * 2 * 9
