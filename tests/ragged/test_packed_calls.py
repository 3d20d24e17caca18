# JAX's functions are partly untyped; nothing untyped leaves this file.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownLambdaType=false
"""Programs compiled with ragged arguments: results, bits, files, at many sizes and lengths."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc

WIDTH = 16
RAGGED: Mapping[str, str | int] = {"s": "lengths"}
SIZES = ((1, 1), (2, 3), (5, 16), (3, 17), (4, 33), (2, 129))


def encoded(p, x, lengths):
    """A layer of an encoder, and the mean of its rows."""
    b, s, d = x.shape
    mask = jnp.arange(s)[None] < lengths[:, None]
    y = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    q, k, v = jnp.moveaxis((y @ p["qkv"]).reshape(b, s, 3, 2, d // 2), 2, 0)
    scores = jnp.where(mask[:, None, None], jnp.einsum("bqhd,bkhd->bhqk", q, k), -jnp.inf)
    o = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v).reshape(b, s, d)
    x = x + o @ p["out"]
    x = x + jax.nn.gelu(x @ p["up"] + p["bias"]) @ p["out"]
    return x, jnp.where(mask[..., None], x, 0).sum(1) / lengths[:, None]


def loss(p, x, lengths):
    """A masked loss."""
    mask = jnp.arange(x.shape[1])[None] < lengths[:, None]
    return jnp.where(mask[..., None], (encoded(p, x, lengths)[0] - 0.5) ** 2, 0).sum() / mask.sum()


FUNCTIONS = {"encoder": encoded, "gradient": jax.value_and_grad(loss)}


def parameters(rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
    """Matrices of a layer."""
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, WIDTH), "bias": (WIDTH,)}
    return {name: (rng.standard_normal(shape) / 4).astype(np.float32) for name, shape in shapes.items()}


P = parameters(np.random.default_rng(0))
SHAPES = (jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), P), f"f32[b, s, {WIDTH}]", "i32[b]")


def compiled(name: str, threads: int) -> Any:
    """A function compiled for ragged arguments; several threads share all loops, however short."""
    return shlo_disc.compile(FUNCTIONS[name], shapes=SHAPES, ragged=RAGGED, threads=threads)


def drawn(b: int, s: int, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Elements and lengths, the greatest and the least one among them."""
    lengths = rng.integers(1, s + 1, b).astype(np.int32)
    lengths[0], lengths[-1] = s, rng.choice([1, s])
    return rng.standard_normal((b, s, WIDTH)).astype(np.float32), rng.permutation(lengths)


def beyond(x: NDArray[Any], lengths: NDArray[np.int32], value: float) -> NDArray[Any]:
    """`x` with a value beyond the lengths."""
    inside = np.arange(x.shape[1])[None] < lengths[:, None]
    return np.where(inside[..., None], x, np.float32(value))


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_the_padded_function(name: str) -> None:
    rng, one, three = np.random.default_rng(7), compiled(name, 1), compiled(name, 3)
    for b, s in SIZES:
        x, lengths = drawn(b, s, rng)
        expected = jax.tree.leaves(jax.jit(FUNCTIONS[name])(P, beyond(x, lengths, 0), lengths))
        found = [np.asarray(y) for y in jax.tree.leaves(one(P, beyond(x, lengths, np.nan), lengths))]
        others = [np.asarray(y) for y in jax.tree.leaves(three(P, x, lengths))]
        for k, (a, other, padded) in enumerate(zip(found, others, map(np.asarray, expected), strict=True)):
            want = beyond(padded, lengths, 0) if a.ndim == 3 else padded
            if a.ndim == 3:
                np.testing.assert_array_equal(a, beyond(a, lengths, 0))
            np.testing.assert_allclose(a, want, rtol=1e-4, atol=1e-4 * max(1, np.abs(want).max()), err_msg=f"{k}")
            np.testing.assert_array_equal(a, other)


def pooled(x, lengths):
    """Sums of rows, which may have no elements; and the elements."""
    inside = (jnp.arange(x.shape[1])[None] < lengths[:, None])[..., None]
    return jnp.where(inside, jnp.tanh(x), 0).sum(1), jnp.tanh(x)


def test_rows_may_be_empty() -> None:
    run: Any = shlo_disc.compile(pooled, shapes="f32[b, s, 3], i32[b]", ragged=RAGGED)
    rng = np.random.default_rng(3)
    for lengths in ([0], [0, 0], [4, 0, 2], [0, 1, 0, 4], [4, 4]):
        x, rows = rng.standard_normal((len(lengths), 4, 3)).astype(np.float32), np.array(lengths, np.int32)
        padded = beyond(np.tanh(x), rows, 0)
        total, elements = run(beyond(x, rows, np.nan), rows)
        np.testing.assert_allclose(elements, padded, rtol=1e-6)
        np.testing.assert_allclose(total, padded.sum(1), rtol=1e-5, atol=1e-6)


def test_other_lengths_are_refused_before_results_are_written() -> None:
    run: Any = shlo_disc.compile(pooled, shapes="f32[b, s, 3], i32[b]", ragged=RAGGED)
    x = np.ones((3, 4, 3), np.float32)
    for lengths, row in (([5, 4, 4], 0), ([4, -1, 4], 1), ([0, 4, 2**31 - 1], 2), ([4, -(2**31), 9], 1)):
        with pytest.raises(shlo_disc.RuntimeShapeError, match=f"lengths has a length from 0 to 4.*in row {row}"):
            run(x, np.array(lengths, np.int32))
        np.testing.assert_allclose(run(x, np.full(3, 4, np.int32))[1], np.tanh(x), rtol=1e-6)


def beside_nothing(x, lengths):
    """A product with 0, which is NaN beside NaN and infinities, within the lengths."""
    inside = (jnp.arange(x.shape[1])[None] < lengths[:, None])[..., None]
    return jnp.where(inside, jnp.tanh(x) + x * 0, 0) * jnp.where(x * 0 == 0, 1, 2)


def test_elements_within_the_lengths_may_be_nan() -> None:
    run: Any = shlo_disc.compile(beside_nothing, shapes="f32[b, s, 3], i32[b]", ragged=RAGGED)
    x, rows = np.ones((2, 4, 3), np.float32), np.array([4, 2], np.int32)
    x[0, 1], x[1, 0, 2], x[0, 3, 0] = np.nan, np.inf, -np.inf
    expected = np.asarray(beside_nothing(jnp.asarray(x), jnp.asarray(rows)))
    np.testing.assert_allclose(np.asarray(run(x, rows)), beyond(expected, rows, 0), rtol=1e-6)


def with_mask(x, mask):
    """Sums of rows by a mask that is an argument."""
    return (jnp.exp(x) * mask[..., None]).sum(1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["f32", "i1", "i32"])
def test_masks_say_lengths(kind: str) -> None:
    run: Any = shlo_disc.compile(with_mask, shapes=f"f32[b, s, 3], {kind}[b, s]", ragged={"s": "mask"})
    dtype = {"f32": np.float32, "i1": np.bool_, "i32": np.int32}[kind]
    x, rows = np.random.default_rng(1).standard_normal((4, 5, 3)).astype(np.float32), np.array([5, 1, 3, 2])
    mask = (np.arange(5)[None] < rows[:, None]).astype(dtype)
    np.testing.assert_allclose(run(x, mask), (np.exp(x) * mask[..., None].astype(np.float32)).sum(1), rtol=1e-5)
    for row, column, value in ((2, 4, 1), (0, 1, 0), *([(3, 0, 2)] if kind != "i1" else [])):
        wrong = mask.copy()
        wrong[row, column] = value
        with pytest.raises(shlo_disc.RuntimeShapeError, match=rf"mask has ones up to a length.*in row {row}"):
            run(x, wrong)


def test_files_keep_what_is_ragged(tmp_path: Path) -> None:
    run: Any = shlo_disc.compile(pooled, shapes="f32[b, s, 3], i32[b]", ragged=RAGGED)
    run.save(tmp_path / "model.shlo")
    x, rows = np.ones((2, 3, 3), np.float32), np.array([1, 3], np.int32)
    for code in ("trust", "verify"):
        loaded: Any = shlo_disc.load(tmp_path / "model.shlo", code=code)
        np.testing.assert_array_equal(loaded(x, rows)[1], run(x, rows)[1])
        assert not np.asarray(loaded(x, rows)[1])[0, 1:].any()
    assert run.explain().count("ragged: s is as long as lengths says in each row of b") == 1
    assert run.peak_memory(b=2, s=3, sum_s=4) < run.peak_memory(b=2, s=3000, sum_s=4000)
