"""Gradients of attention on a CPU: one kernel that stores no scores, and gives what `jax.jit` gives."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.fusion.planners import plan_full
from shlo_disc.kernels.attention.backward import build_backward
from shlo_disc.kernels.attention.masks import hidden_blocks
from shlo_disc.kernels.groups import GroupKind
from shlo_disc.lower_cpu.kernels import CpuLowering
from tests.lower_cpu.test_attention import FORMS, ONE_THREAD, plan_of, rarely_special, sized
from tests.lower_cuda.attention_programs import (
    FEW_KEYS,
    causal,
    heads,
    library,
    masked,
    masked_twice,
    matrices,
    plain,
)
from tests.pipeline.exports import Array, In, by_jax, check, compiled, expected, exported, flat
from tests.pipeline.programs import context_of, planned

pytestmark = pytest.mark.slow

Function = Callable[..., Any]


@lru_cache(maxsize=64)  # equal functions are exported and compiled once
def gradients(function: Function) -> Function:
    """The result, and the gradients of queries, keys and values; the last argument is the gradient of the result."""

    def run(*arguments: Any) -> Any:
        q, k, v, *rest, upstream = arguments
        result, transposed = jax.vjp(lambda q, k, v: function(q, k, v, *rest), q, k, v)
        return result, *transposed(upstream)

    return run


@lru_cache(maxsize=64)
def only_gradients(function: Function) -> Function:
    return lambda *arguments: gradients(function)(*arguments)[1:]


# Flipped weights have no kernel of gradients: their rows are others than those of the scores.
FOUND = {name: form for name, form in FORMS.items() if name != "rows reversed"}


def with_upstream(inputs: Sequence[In]) -> list[In]:
    """The result has the shape of queries, but the width of values."""
    q, k, v = inputs[:3]
    if k.shape.endswith("16, s - 1"):  # keys lie in columns
        return [*inputs, In("b, 3, 8, t - 1", q.dtype)]
    shape = f"{q.shape.rpartition(',')[0]}, {v.shape.rpartition(',')[2]}"
    return [*inputs, In(shape.removeprefix(", "), q.dtype)]


def verify(
    function: Function, inputs: Sequence[In], sizes: Sequence[Mapping[str, int]], options: CompileOptions | None = None
) -> None:
    """Compare with `jax.jit`, the generated program being two kernels of attention."""
    run = compiled(function, inputs, options or ONE_THREAD)
    assert run.kernels_source.count("shlo_attention_backward_") == 1
    rng = np.random.default_rng(len(sizes))
    draws = [[i.array(rng, size) for i in inputs] for size in sizes]
    for size, (arrays, wanted) in zip(sizes, expected(function, inputs, draws), strict=True):
        check(flat(run, arrays), wanted, str(size), scale=4, inside=8)


# ---- where it is found


@pytest.mark.parametrize("name", FOUND)
def test_gradients_are_one_kernel(name: str) -> None:
    function, inputs = FORMS[name]
    plan = plan_of(gradients(function), *with_upstream(inputs))
    kinds = [g.kind for g in plan.groups if g.kind is not GroupKind.ROWS]
    reasons = [d.reason for d in plan.decisions if not d.merged]
    assert kinds == [GroupKind.ATTENTION, GroupKind.ATTENTION_BACKWARD], reasons


def weights_too(q: Any, k: Any, v: Any) -> Any:
    """Someone else reads the weights."""
    weights = jax.nn.softmax(q @ k.T, -1)
    return weights @ v, jnp.max(weights)


def normed(q: Any, k: Any, v: Any) -> Any:
    """No softmax: weights are divided by their sum of squares."""
    x = q @ k.T
    e = jnp.exp(x - jnp.max(x, -1, keepdims=True))
    return (e / jnp.sum(e * e * x, -1, keepdims=True)) @ v


FLAT = (In("t, 16"), In("s, 16"), In("s, 16"))


def _sum_of(function: Function) -> Function:
    return jax.grad(lambda *inputs: sum(jnp.sum(x**2) for x in jax.tree.leaves(function(*inputs))), (0, 1, 2))


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (_sum_of(weights_too), FLAT),
        (_sum_of(plain), heads(width=520)),
    ],
)
def test_what_needs_scores_in_memory_is_left_alone(function: Function, inputs: Sequence[In]) -> None:
    plan = plan_of(function, *inputs)
    assert all(g.kind not in (GroupKind.ATTENTION, GroupKind.ATTENTION_BACKWARD) for g in plan.groups)


def test_what_is_no_softmax_is_right() -> None:
    """Weights need not be a softmax for their gradients to be read as formulas."""
    inputs = with_upstream((In("t, 16"), In("s, 16"), In("s, 16")))
    run = shlo_disc.compile(exported(gradients(normed), inputs), options=ONE_THREAD)
    arrays = [i.array(np.random.default_rng(0), {"t": 37, "s": 70}) for i in inputs]
    check(flat(run, arrays), by_jax(gradients(normed), arrays), "normed", scale=20, inside=8)


def layers(x: Any, *weights: Any) -> Any:
    """Two layers of causal attention, which share their mask."""
    for k in range(0, len(weights), 3):
        q, k_, v = (x @ w for w in weights[k : k + 3])
        seen = jnp.arange(x.shape[0])[:, None] >= jnp.arange(x.shape[0])[None]
        x = x + jax.nn.softmax(jnp.where(seen, q @ k_.T, -jnp.inf), -1) @ v
    return jnp.sum(x**2)


def test_layers() -> None:
    inputs = (In("s, 16"), *[In("16, 16")] * 6)
    function = jax.grad(layers, tuple(range(1, 7)))
    plan = plan_of(function, *inputs)
    assert [g.kind for g in plan.groups].count(GroupKind.ATTENTION_BACKWARD) == 2
    run = shlo_disc.compile(exported(function, inputs), options=ONE_THREAD)
    assert run.peak_memory(s=4096) < 4096 * 16 * 4 * 24
    arrays = [i.array(np.random.default_rng(0), {"s": 70}) * 0.2 for i in inputs]
    check(flat(run, arrays), by_jax(function, arrays), "layers", scale=20, inside=8)


# ---- that it is right


@pytest.mark.parametrize("name", FOUND)
def test_every_form(name: str) -> None:
    function, inputs = FORMS[name]
    verify(gradients(function), with_upstream(inputs), [sized(37, 19, batch=1), sized(70, 300)])


# Queries and keys: none, one, around vectors, strips of 64, blocks of 48 rows and pieces of 256 keys.
SIZES = ((0, 5), (5, 0), (1, 1), (1, 70), (2, 261), (17, 16), (47, 65), (49, 129), (97, 255), (191, 257), (16, 523))


@pytest.mark.parametrize("function", [plain, causal])
@pytest.mark.parametrize("width", [5, 16, 40, 64])
def test_every_number_of_queries_and_keys(function: Function, width: int) -> None:
    inputs = with_upstream(heads(width=width, count=1))
    verify(only_gradients(function), inputs, [sized(t, s) for t, s in SIZES])


@pytest.mark.parametrize("seed", range(3))
def test_random_sizes(seed: int) -> None:
    """Two heads of queries for each of keys, whose gradients are sums over both."""
    rng = np.random.default_rng(seed)
    inputs = with_upstream((In("b, s, 4, 16"), In("b, s, 2, 16"), In("b, s, 2, 16")))
    sizes = [{"b": int(rng.integers(1, 4)), "s": int(rng.integers(1, 400))} for _ in range(4)]
    verify(gradients(library(is_causal=True)), inputs, sizes)


def test_doubles() -> None:
    with jax.enable_x64(True):
        inputs = with_upstream((In("t - 1, 20", np.float64), In("s - 1, 20", np.float64), In("s - 1, 40", np.float64)))
        verify(gradients(matrices), inputs, [sized(37, 19), sized(130, 300)])


def threads_agree(function: Function, inputs: Sequence[In], driver: Any) -> None:
    """Two threads give the bits of one."""
    source = exported(gradients(function), inputs)
    arrays = [i.array(np.random.default_rng(1), sized(200, 300)) for i in inputs]
    one, two = (
        flat(shlo_disc.compile(source, options=CompileOptions(driver=driver, optimize=1, threads=n)), arrays)
        for n in (1, 2)
    )
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("driver", ["c", "vm"])
def test_threads(driver: Any) -> None:
    threads_agree(causal, with_upstream(heads(count=3)), driver)


@pytest.mark.parametrize("function", [masked, masked_twice])
def test_rows_that_are_masked_throughout(function: Function) -> None:
    inputs = with_upstream((*heads(), FEW_KEYS))
    verify(gradients(function), inputs, [sized(20, 600), sized(5, 7)])


def hidden_rows(q: Any, k: Any, v: Any) -> Any:
    """The first 60 rows see no key, whole blocks of them."""
    x = jnp.einsum("bthd,bshd->bhts", q, k)
    seen = jnp.arange(x.shape[-2])[:, None] >= jnp.arange(x.shape[-1])[None] + 60
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(jnp.where(seen, x, -jnp.inf), -1), v)


def test_blocks_that_are_masked_throughout() -> None:
    verify(gradients(hidden_rows), with_upstream(heads()), [sized(300, 300), sized(70, 20)])


@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("function", [causal, library(is_causal=True), plain])
def test_nans_and_infinities(function: Function, position: int) -> None:
    """In queries, keys, values or the gradient of the result: where JAX has numbers, so have we, and the other way."""
    inputs = with_upstream(heads(count=1))
    inputs[position] = replace(inputs[position], draw=rarely_special)
    verify(only_gradients(function), inputs, [sized(20, 70), sized(130, 300)])


def _last_is(value: float) -> Callable[..., Array]:
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        values = rng.standard_normal(shape).astype(dtype)
        values[:, -1] = value
        return values

    return draw


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e30])
@pytest.mark.parametrize("position", [1, 2])
def test_hidden_keys_and_values_that_are_not_moderate(value: float, position: int) -> None:
    """0 times infinity is NaN: hidden keys are left out only if all numbers are so small that products are finite."""
    inputs = with_upstream(heads(count=1))
    inputs[position] = replace(inputs[position], draw=_last_is(value))
    verify(only_gradients(causal), inputs, [sized(300, 300), sized(20, 300)])


# ---- what it saves


@pytest.mark.parametrize("name", ["causal", "library, causal", "library, lengths", "library, everything"])
def test_what_a_mask_hides_is_proven(name: str) -> None:
    function, inputs = FORMS[name]
    found = planned(gradients(function), *with_upstream(inputs))
    context = context_of(found.program, CpuLowering.abilities)
    groups = plan_full(found.program.body, context).groups
    (group,) = (g for g in groups if g.kind is GroupKind.ATTENTION_BACKWARD)
    kernel, _ = build_backward(group, context.facts, context.producers)
    assert kernel.masked
    assert hidden_blocks(kernel.score, kernel.row.symbol, kernel.key.symbol) is not None


def test_no_scores_in_memory() -> None:
    inputs = with_upstream((In("s, 32"),) * 3)
    run = shlo_disc.compile(exported(gradients(matrices), inputs))
    assert run.peak_memory(s=4096) < 4096 * 32 * 4 * 9
