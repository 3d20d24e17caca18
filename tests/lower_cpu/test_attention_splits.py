"""Attention of few rows on a CPU: keys are cut into splits that threads share, by sizes alone."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc import CompileOptions
from tests.lower_cpu.test_attention import rarely_special
from tests.lower_cuda.attention_programs import biased, causal, few_keys, library, masked, masked_twice, mixed, plain
from tests.pipeline.exports import Array, In, check, expected, exported, flat

Function = Callable[..., Any]

# Queries, keys, heads: cut at 1024 keys, where splits end unevenly, at the most rows and heads, and beyond.
SIZES = (
    (0, 1024, 1), (1, 0, 1), (1, 1023, 1), (1, 1024, 1), (1, 1025, 2), (2, 2047, 1), (7, 2049, 1), (8, 1601, 3),
    (1, 8195, 1), (47, 3000, 1), (48, 1100, 2), (49, 1100, 1), (3, 1030, 4), (3, 1030, 5),
)  # fmt: skip


def inputs(width: int = 16, dtype: Any = np.float32) -> list[In]:
    q, kv = f"b, t - 1, h, {width}", f"b, s - 1, h, {width}"
    return [In(q, dtype), In(kv, dtype), In(kv, dtype)]


def sized(queries: int, keys: int, heads: int = 1, batch: int = 1) -> Mapping[str, int]:
    return {"b": batch, "t": queries + 1, "s": keys + 1, "h": heads}


def verify(function: Function, given: Sequence[In], sizes: Sequence[Mapping[str, int]], driver: Any = "c") -> None:
    """Compare with `jax.jit`, and the bits of two threads with those of one."""
    source = exported(function, given)
    runs = [shlo_disc.compile(source, options=CompileOptions(optimize=1, threads=n, driver=driver)) for n in (1, 2)]
    assert "shlo_attention_split" in runs[0].kernels_source
    rng = np.random.default_rng(0)
    draws = [[i.array(rng, size) for i in given] for size in sizes]
    for size, (arrays, wanted) in zip(sizes, expected(function, given, draws), strict=True):
        one, two = (flat(run, arrays) for run in runs)
        check(one, wanted, str(size), scale=2, inside=4)
        np.testing.assert_array_equal(one[0], two[0], str(size))


@pytest.mark.parametrize("width", [5, 64])
def test_every_size(width: int) -> None:
    verify(plain, inputs(width), [sized(*one) for one in SIZES])


def products(q: Any, k: Any, v: Any) -> Any:
    """As `plain`, all of one type."""
    return mixed(jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", q, k), -1), v)


def test_doubles() -> None:
    with jax.enable_x64(True):
        verify(products, inputs(20, np.float64), [sized(1, 2000), sized(20, 1700, 2)])


def test_random_sizes() -> None:
    rng = np.random.default_rng(1)
    sizes = [
        sized(int(rng.integers(1, 60)), int(rng.integers(1, 6000)), int(rng.integers(1, 5)), int(rng.integers(1, 3)))
        for _ in range(8)
    ]
    verify(library(is_causal=True), inputs(), sizes)


def test_the_other_driver() -> None:
    verify(plain, inputs(), [sized(1, 3000), sized(5, 3000, 2)], "vm")


def first_keys(q: Any, k: Any, v: Any, lengths: Any) -> Any:
    """All keys of most splits are hidden."""
    return jax.nn.dot_product_attention(q, k, v, key_value_seq_lengths=lengths)


def few(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return rng.integers(1, 70, shape).astype(dtype)


def test_splits_that_are_hidden() -> None:
    verify(first_keys, [*inputs(), In("b", np.int32, draw=few)], [sized(1, 5000), sized(3, 1500, 2)])


@pytest.mark.parametrize("function", [masked, masked_twice])
def test_rows_that_are_masked_throughout(function: Function) -> None:
    """-inf in all splits is NaN, or 0 if the mask is applied to the weights too."""
    mask = In("b, t - 1, s - 1", np.bool_, draw=few_keys)
    verify(function, [*inputs(), mask], [sized(9, 3000), sized(2, 1111, 2)])


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("function", [plain, causal])
def test_nans_and_infinities(function: Function, position: int) -> None:
    """In one split, they reach what they reach in the program."""
    given = inputs()
    given[position] = replace(given[position], draw=rarely_special)
    verify(function, given, [sized(4, 2000), sized(9, 1200, 2)])


def growing(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A bias that is larger in each split, by more than an exponential can bear."""
    del rng
    return np.broadcast_to(np.arange(shape[-1]) * 0.5 - 300, shape).astype(dtype)


def test_large_scores() -> None:
    """What earlier splits come to shrinks to nothing."""
    verify(biased, [*inputs(), In("h, t - 1, s - 1", draw=growing)], [sized(4, 2000), sized(1, 1024, 2)])


@pytest.mark.parametrize(("keys", "cut"), [("t", False), ("t + 975", False), ("t + 976", True)])
def test_few_rows_that_have_few_keys(keys: str, cut: bool) -> None:
    """Up to 48 rows of `t` have no 1024 keys."""
    given = [In("1, t, 2, 8"), In(f"1, {keys}, 2, 8"), In(f"1, {keys}, 2, 8")]
    run = shlo_disc.compile(exported(plain, given))
    assert ("shlo_attention_split" in run.kernels_source) == cut
    assert run.peak_memory(t=49) == 0
    assert (run.peak_memory(t=48) > 0) == cut
