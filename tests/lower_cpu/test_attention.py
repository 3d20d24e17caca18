"""Attention on a CPU: one kernel that stores no scores, and gives what `jax.jit` gives."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.fusion.planners import plan_full
from shlo_disc.kernels.attention.forward import build_attention
from shlo_disc.kernels.attention.masks import hidden_blocks
from shlo_disc.kernels.groups import FusionPlan, GroupKind
from shlo_disc.lower_cpu.kernels import CpuLowering
from tests.lower_cuda.attention_programs import (
    ATTENTION,
    FEW_KEYS,
    MASK,
    REFUSED,
    causal,
    heads,
    library,
    masked,
    masked_twice,
    matrices,
    plain,
)
from tests.pipeline.exports import Array, In, between, by_jax, check, compiled, expected, exported, flat, special
from tests.pipeline.programs import context_of, planned

Function = Callable[..., Any]
ONE_THREAD = CompileOptions(optimize=1, threads=1)

# Queries and keys: none, one, very few, around vectors, strips of 64 and blocks of 48 and 192 rows and 256 keys.
SIZES = (
    (0, 5),
    (5, 0),
    (1, 1),
    (1, 70),
    (2, 261),
    (7, 66),
    (9, 16),
    (25, 63),
    (47, 65),
    (49, 129),
    (191, 255),
    (193, 257),
    (16, 523),
)


def sized(queries: int, keys: int, batch: int = 2) -> Mapping[str, int]:
    return {"b": batch, "t": queries + 1, "s": keys + 1}


def plan_of(function: Function, *inputs: In) -> FusionPlan:
    found = planned(function, *inputs)
    return plan_full(found.program.body, context_of(found.program, CpuLowering.abilities))


def verify(
    function: Function, inputs: Sequence[In], sizes: Sequence[Mapping[str, int]], options: CompileOptions | None = None
) -> None:
    """Compare with `jax.jit`, the generated program being one attention kernel."""
    run = compiled(function, inputs, options or ONE_THREAD)
    assert len(re.findall("shlo_attention_(?!split|join)", run.kernels_source)) == 1
    rng = np.random.default_rng(len(sizes))
    draws = [[i.array(rng, size) for i in inputs] for size in sizes]
    for size, (arrays, wanted) in zip(sizes, expected(function, inputs, draws), strict=True):
        check(flat(run, arrays), wanted, str(size), scale=2, inside=4)


# ---- where it is found


def local(**options: Any) -> Function:
    """A window of keys around each query; JAX wants to know the sizes."""
    return library(local_window_size=(20, 3), **options)


def lengths(q: Any, k: Any, v: Any, queries: Any, keys: Any) -> Any:
    return jax.nn.dot_product_attention(q, k, v, query_seq_lengths=queries, key_value_seq_lengths=keys)


def everything(q: Any, k: Any, v: Any, bias: Any, mask: Any, keys: Any) -> Any:
    return jax.nn.dot_product_attention(q, k, v, bias, mask=mask, is_causal=True, key_value_seq_lengths=keys)


def multi_query(q: Any, k: Any, v: Any) -> Any:
    """One head of keys for all of queries, broadcast."""
    k, v = (jnp.broadcast_to(x, (*x.shape[:2], *q.shape[2:])) for x in (k, v))
    return plain(q, k, v)


FIXED = (In("b, 300, 2, 16"),) * 3
BIAS, MASKS = In("b, 2, t - 1, s - 1"), In("b, 2, t - 1, s - 1", np.bool_)
LENGTHS = In("b", np.int32, draw=lambda rng, shape, dtype: rng.integers(0, 400, shape).astype(dtype))
FORMS: Mapping[str, tuple[Function, Sequence[In]]] = {
    **{name: one for name, one in ATTENTION.items() if name not in ("f16", "bf16")},
    "library, mask": (lambda q, k, v, m: jax.nn.dot_product_attention(q, k, v, mask=m),
                      (*heads(), MASKS)),
    "library, lengths": (lengths, (*heads(), LENGTHS, LENGTHS)),
    "library, everything": (everything, (*heads(), BIAS, MASKS, LENGTHS)),
    "library, window": (local(), FIXED),
    "library, causal window": (local(is_causal=True), FIXED),
    "one head of keys": (multi_query, (heads()[0], In("b, s - 1, 1, 16"), In("b, s - 1, 1, 16"))),
    "wide as 256": (plain, heads(width=256, count=1)),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_attention_is_one_kernel(name: str) -> None:
    function, inputs = FORMS[name]
    plan = plan_of(function, *inputs)
    kinds = [g.kind for g in plan.groups if g.kind is not GroupKind.ROWS]  # queries and masks may be computed before
    assert kinds == [GroupKind.ATTENTION], [d.reason for d in plan.decisions if not d.merged]
    assert len(plan.groups) <= 2


@pytest.mark.parametrize("name", [n for n in REFUSED if n != "too wide"])
def test_what_only_looks_like_attention_is_refused(name: str) -> None:
    function, inputs, reason = REFUSED[name]
    plan = plan_of(function, *inputs)
    assert all(g.kind is not GroupKind.ATTENTION for g in plan.groups)
    assert reason is None or any(reason in d.reason for d in plan.decisions if not d.merged)


def test_what_is_too_wide_is_refused() -> None:
    plan = plan_of(plain, *heads(width=520))
    assert all(g.kind is not GroupKind.ATTENTION for g in plan.groups)
    assert any("520 wide, more than 512" in d.reason for d in plan.decisions)


# ---- that it is right


@pytest.mark.parametrize("name", FORMS)
def test_every_form(name: str) -> None:
    function, inputs = FORMS[name]
    verify(function, inputs, [sized(37, 19, batch=1), sized(70, 300)])


@pytest.mark.parametrize("function", [plain, causal])
@pytest.mark.parametrize("width", [5, 16, 40, 64])
def test_every_number_of_queries_and_keys(function: Function, width: int) -> None:
    verify(function, heads(width=width, count=1), [sized(t, s) for t, s in SIZES])


def test_doubles() -> None:
    with jax.enable_x64(True):
        inputs = (In("t - 1, 20", np.float64), In("s - 1, 20", np.float64), In("s - 1, 40", np.float64))
        verify(matrices, inputs, [sized(37, 19), sized(130, 300)])


@pytest.mark.parametrize("driver", ["c", "vm"])
def test_threads(driver: Any) -> None:
    """One matrix is shared, and the bits are those of one thread."""
    source = exported(causal, heads(count=1))
    arrays = [i.array(np.random.default_rng(1), sized(700, 300, batch=1)) for i in heads(count=1)]
    one, two = (
        flat(shlo_disc.compile(source, options=CompileOptions(driver=driver, optimize=1, threads=n)), arrays)[0]
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)
    check([one], by_jax(causal, arrays), driver, scale=2, inside=4)


@pytest.mark.parametrize("function", [masked, masked_twice])
def test_rows_that_are_masked_throughout(function: Function) -> None:
    """-inf everywhere is NaN, unless the mask is applied to the weights too; and whole blocks of keys are masked."""
    verify(function, (*heads(), FEW_KEYS), [sized(20, 600), sized(5, 7)])


def rarely_special(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    values, odd = rng.standard_normal(shape).astype(dtype), special(rng, shape, dtype)
    return np.where((rng.random(shape) < 0.002) & ~np.isfinite(odd), odd, values)


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("function", [masked, masked_twice, causal, library(is_causal=True), plain])
def test_nans_and_infinities(function: Function, position: int) -> None:
    """In queries, keys or values; where scores become NaN or infinite, so do the rows that they belong to."""
    inputs = [replace(one, draw=rarely_special) if k == position else one for k, one in enumerate(heads())]
    if function in (masked, masked_twice):
        inputs.append(MASK)
    verify(function, inputs, [sized(20, 70), sized(130, 300)])


def last_is(value: float) -> Callable[..., Array]:
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        values = rng.standard_normal(shape).astype(dtype)
        values[:, -1] = value
        return values

    return draw


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_hidden_value_that_is_not_finite(value: float) -> None:
    """A weight of 0 times infinity is NaN: hidden keys are left out only if their values are finite."""
    q, k, v = heads(count=1)
    verify(causal, (q, k, replace(v, draw=last_is(value))), [sized(300, 300), sized(20, 300)])


def test_large_scores() -> None:
    """The largest score grows from block to block: what was summed before shrinks to nothing."""

    def rising(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        return rng.uniform(0.9, 1.1, shape).astype(dtype) * np.linspace(0, 60, shape[1], dtype=dtype)[:, None, None]

    q, k, v = heads(count=1)
    ones = replace(q, draw=between(1, 1))
    run = shlo_disc.compile(exported(plain, heads(count=1)), options=CompileOptions(optimize=1))
    arrays = [i.array(np.random.default_rng(0), sized(3, 900, 1)) for i in (ones, replace(k, draw=rising), v)]
    check(flat(run, arrays), by_jax(plain, arrays), "rising", scale=20, inside=4)


# ---- what a mask hides


HIDDEN = {
    "causal": True, "library, causal": True, "library, bias": True, "library, lengths": True, "library, window": True,
    "library, everything": True, "mask": False, "plain": False, "bias": False, "soft cap": False,
}  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN)
def test_what_a_mask_hides_is_proven(name: str) -> None:
    function, inputs = FORMS[name]
    found = planned(function, *inputs)
    context = context_of(found.program, CpuLowering.abilities)
    (group,) = (g for g in plan_full(found.program.body, context).groups if g.kind is GroupKind.ATTENTION)
    kernel, _ = build_attention(group, context.facts, context.producers)
    hidden = hidden_blocks(kernel.score, kernel.row.symbol, kernel.key.symbol)
    assert (hidden is not None) == HIDDEN[name]
    assert hidden is None or hidden.fill < -1e30


@pytest.mark.parametrize("of_heads", [False, True], ids=["one", "of each head"])
def test_a_mask_that_two_layers_read_hides_blocks_in_both(of_heads: bool) -> None:
    """Its conditions are computed again, also if it is as large as the scores: stored ones would tell nothing."""

    def layers(q: Any, k: Any, v: Any) -> Any:
        shape = (*((q.shape[0], q.shape[2]) if of_heads else ()), q.shape[1], k.shape[1])
        rows, keys = (jax.lax.broadcasted_iota(np.int32, shape, len(shape) + axis) for axis in (-2, -1))
        seen = rows >= keys

        def layer(x: Any) -> Any:
            weights = jax.nn.softmax(jnp.where(seen, jnp.einsum("bthd,bshd->bhts", x, k), -jnp.inf), -1)
            return jnp.einsum("bhts,bshd->bthd", weights, v)

        return layer(layer(q))

    found = planned(layers, *heads())
    context = context_of(found.program, CpuLowering.abilities)
    groups = plan_full(found.program.body, context).groups
    assert [group.kind for group in groups] == [GroupKind.ATTENTION] * 2
    for group in groups:
        kernel, _ = build_attention(group, context.facts, context.producers)
        assert hidden_blocks(kernel.score, kernel.row.symbol, kernel.key.symbol) is not None
    run = shlo_disc.compile(exported(layers, heads()), options=CompileOptions(optimize=1, threads=1))
    arrays = [i.array(np.random.default_rng(0), sized(130, 300)) for i in heads()]
    check(flat(run, arrays), by_jax(layers, arrays), "two layers", scale=4, inside=4)


def test_no_scores_in_memory() -> None:
    run = shlo_disc.compile(exported(matrices, (In("s, 32"),) * 3))
    assert run.peak_memory(s=4096) < 4096 * 32 * 4 * 5
