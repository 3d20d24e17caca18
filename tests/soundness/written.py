"""Programs as a JAX user writes them with symbolic sizes, each resting on some fact that no other states."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax


@dataclass(frozen=True, slots=True)
class Written:
    """A function, the shapes of its arguments (those after `floats` are of integers), and what JAX is told of sizes."""

    function: Callable[..., Any]
    shapes: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    floats: int = 2


@cache
def export_written(program: Written) -> str:
    """StableHLO as JAX exports it."""
    jax_export = cast("Any", export)
    scope = jax_export.SymbolicScope(program.constraints)
    arguments = [
        jax.ShapeDtypeStruct(
            jax_export.symbolic_shape(shape, scope=scope), np.float32 if k < program.floats else np.int32
        )
        for k, shape in enumerate(program.shapes)
    ]
    return jax_export.export(jax.jit(program.function))(*arguments).mlir_module()


def _joined_and_cut(x: Any, y: Any) -> Any:
    both = jnp.tanh(jnp.concatenate([x, y], axis=1))
    return both[:, : x.shape[1]] + x, both[:, x.shape[1] :] * y


def _padded_to_eight(x: Any) -> Any:
    size = x.shape[0]
    padded = jnp.pad(jnp.exp(x), ((0, -size % 8), (0, 0)))
    return (jax.nn.softmax(padded, axis=1) * 2)[:size] + x


def _rows_of_eight(x: Any) -> Any:
    size = x.shape[0]
    count = (size + 7) // 8
    rows = jnp.pad(x, (0, 8 * count - size)).reshape(count, 8)
    return (rows / (1 + jnp.sum(jnp.abs(rows), axis=1, keepdims=True))).reshape(-1)[:size] + x


def _flattened(x: Any, w: Any) -> Any:
    b, s, d = x.shape
    flat = jnp.tanh(x.reshape(b * s, d)) @ w
    return jax.nn.gelu(flat).reshape(b, s, d) + x


def _flattened_rows(x: Any) -> Any:
    b, s, d = x.shape
    rows = jnp.exp(x).reshape(b * s, d)
    return (rows / jnp.sum(rows, axis=1, keepdims=True)).reshape(b, s, d) - x


def _split_in_rows(x: Any) -> Any:
    s = x.shape[0] // 4
    rows = jnp.exp(x).reshape(4, s)
    return (rows - jnp.max(rows, axis=1, keepdims=True)).reshape(-1) + x


def _windows(x: Any) -> Any:
    pooled = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 2), "VALID")
    return jnp.exp(pooled) - x[:, : 2 * pooled.shape[1] : 2]


def _pooled_same(x: Any) -> Any:
    pooled = lax.reduce_window(x, 0.0, lax.add, (1, 3), (1, 1), "SAME")
    return jnp.tanh(pooled) + x


def _strided(x: Any) -> Any:
    return jnp.tanh(x[::2]) + jnp.exp(x)[::2]


def _causal(x: Any) -> Any:
    s = x.shape[-1]
    seen = jnp.arange(s)[:, None] >= jnp.arange(s)[None, :]
    return jax.nn.softmax(jnp.where(seen, x, -1e9), axis=-1) * x


def _mask_of_lengths(x: Any, lengths: Any) -> Any:
    valid = jnp.arange(x.shape[1])[None, :] < lengths[:, None]
    return jnp.sum(jnp.where(valid[..., None], jnp.exp(x), 0), axis=1)


def _mapped(x: Any, y: Any) -> Any:
    return jax.vmap(lambda u, v: jax.nn.softmax(u @ v.T, axis=-1) @ v)(x, y) + x


def _mapped_outer(x: Any, y: Any) -> Any:
    return jax.vmap(lambda u: jnp.sum(jnp.exp(u[None, :] - y), axis=1))(x)


def _scanned(x: Any, h: Any) -> Any:
    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        new = jnp.tanh(carry + row)
        return new, jnp.concatenate([new, row], axis=-1)

    last, rows = lax.scan(step, h, x)
    return last * 2, rows[..., : h.shape[-1]] + x


def _looped(x: Any) -> Any:
    def body(_: Any, carry: Any) -> Any:
        return jnp.tanh(jnp.pad(carry[1:], (0, 1)) + x)

    return lax.fori_loop(0, 3, body, x) * x


def _chunked_attention(q: Any, k: Any) -> Any:
    b, s, d = q.shape
    chunks = q.reshape(b, s // 64, 64, d)
    weights = jax.nn.softmax(jnp.einsum("bcqd,bkd->bcqk", chunks, k), axis=-1)
    return jnp.einsum("bcqk,bkd->bcqd", weights, k).reshape(b, s, d) + q


def _banded_attention(q: Any, k: Any) -> Any:
    b, s, d = q.shape
    queries, keys = (x.reshape(b, s // 8, 8, d) for x in (q, k))
    weights = jax.nn.softmax(jnp.einsum("bcqd,bckd->bcqk", queries, keys) / 4, axis=-1)
    return jnp.einsum("bcqk,bckd->bcqd", weights, keys).reshape(b, s, d) * q


def _heads(x: Any, w: Any) -> Any:
    b, s, _ = x.shape
    q = (x @ w).reshape(b, s, 4, 8).transpose(0, 2, 1, 3)
    weights = jax.nn.softmax(q @ q.swapaxes(-1, -2), axis=-1)
    return (weights @ q).transpose(0, 2, 1, 3).reshape(b, s, 32) + x


def _halved_image(x: Any, w: Any) -> Any:
    small = lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    shortcut = x[:, : 2 * small.shape[1] - 1 : 2, : 2 * small.shape[2] - 1 : 2]
    return jax.nn.relu(small) + jnp.tanh(shortcut)


def _doubled_image(x: Any, w: Any) -> Any:
    twice = jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)
    same = lax.conv_general_dilated(twice, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jnp.tanh(same) * twice


def _halved_and_doubled(x: Any) -> Any:
    small = lax.reduce_window(x, 0.0, lax.add, (2,), (2,), "VALID")
    return jnp.repeat(jnp.tanh(small), 2) + x[: 2 * small.shape[0]]


def _interleaved(x: Any) -> Any:
    pairs = x.reshape(x.shape[0] // 2, 2)
    even, odd = pairs[:, 0], pairs[:, 1]
    return jnp.stack([jnp.exp(odd), jnp.tanh(even)], axis=1).reshape(-1) + x


def _rotary(x: Any) -> Any:
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[0])[:, None] * jnp.exp(-jnp.arange(half) / 8.0)[None, :]
    a, b = x[:, :half], x[:, half:]
    return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), b * jnp.cos(angle) + a * jnp.sin(angle)], axis=1)


def _einsums(x: Any, y: Any) -> Any:
    xy = jnp.einsum("bij,bjk->bik", jnp.exp(x), y)
    return jnp.einsum("bik,bjk->bij", jnp.tanh(xy), y) + x


def _split(x: Any) -> Any:
    a, b, c = jnp.split(x, 3, axis=1)
    return jnp.concatenate([jax.nn.sigmoid(a) * b, jnp.tanh(c)], axis=1)


def _gated(x: Any) -> Any:
    half = x.shape[1] // 2
    return jax.nn.gelu(x[:, :half]) * x[:, half:]


def _stacked(x: Any, y: Any) -> Any:
    both = jnp.stack([x, y])
    return jnp.sum(jnp.exp(both - jnp.max(both, axis=0)), axis=0) + x


def _rolled(x: Any) -> Any:
    return jnp.roll(jnp.exp(x), 1, axis=0) + jnp.roll(x, -1, axis=0)


def _rolled_by_half(x: Any) -> Any:
    return jnp.tanh(jnp.roll(x, x.shape[0] // 2)) * x


def _repeated(x: Any) -> Any:
    many = jnp.repeat(jnp.exp(x), 3, axis=0)
    return many.reshape(x.shape[0], 3, x.shape[1]) + x[:, None, :]


def _tiled(x: Any) -> Any:
    return jnp.tile(jnp.tanh(x), (2, 1)).reshape(2, *x.shape) * x


def _shifted(x: Any) -> Any:
    return jnp.tanh(x[1:] - x[:-1]) * x[1:]


def _sums_of_prefixes(x: Any) -> Any:
    total = jnp.cumsum(x, axis=1)
    return (total[:, 2:] - total[:, :-2]) * x[:, 2:]


def _patches(x: Any, w: Any) -> Any:
    b, h, width, c = x.shape
    grid = x.reshape(b, h // 4, 4, width // 4, 4, c).transpose(0, 1, 3, 2, 4, 5)
    flat = grid.reshape(b, (h // 4) * (width // 4), 16 * c)
    return jax.nn.gelu(flat @ w) + jnp.mean(flat, axis=-1, keepdims=True)


def _pixels(x: Any) -> Any:
    b, h, w, _ = x.shape
    large = jnp.tanh(x).reshape(b, h, w, 2, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(b, 2 * h, 2 * w, 3)
    return large / (1 + jnp.sum(large, axis=-1, keepdims=True))


def _grouped(x: Any) -> Any:
    b, s, d = x.shape
    grouped = x.reshape(b, s, 4, d // 4)
    centered = grouped - jnp.mean(grouped, axis=-1, keepdims=True)
    return centered.reshape(b, s, d) * x


def _crossed(x: Any, y: Any) -> Any:
    both = jnp.concatenate([x, y], axis=0)
    scores = jax.nn.softmax(both @ both.T, axis=-1)
    return (scores @ both)[x.shape[0] :] + y


def _cached(x: Any, cache: Any) -> Any:
    new = lax.dynamic_update_slice(cache, jnp.tanh(x), (cache.shape[0] - x.shape[0], 0))
    return new[cache.shape[0] - x.shape[0] :] + x


def _reversed(x: Any) -> Any:
    return jnp.exp(x[::-1]) + jnp.flip(jnp.tanh(x))


def _triangle(x: Any) -> Any:
    return jnp.tril(jnp.exp(x)) / (1 + jnp.sum(jnp.tril(x), axis=1, keepdims=True))


def _gathered(table: Any, x: Any) -> Any:
    last = table[-1]
    return jnp.exp(x) * table[: x.shape[0]] + last


def _normalized(x: Any) -> Any:
    flat = x.reshape(x.shape[0], -1)
    scaled = (flat - flat.mean(axis=1, keepdims=True)) * lax.rsqrt(flat.var(axis=1, keepdims=True) + 1e-5)
    return scaled.reshape(x.shape) + x


WRITTEN: Mapping[str, Written] = {
    "joined_and_cut": Written(_joined_and_cut, ("b, s", "b, t")),
    "padded_to_eight": Written(_padded_to_eight, ("b, 16",)),
    "rows_of_eight": Written(_rows_of_eight, ("b",)),
    "flattened": Written(_flattened, ("b, s, 16", "16, 16")),
    "flattened_rows": Written(_flattened_rows, ("b, s, d",)),
    "split_in_rows": Written(_split_in_rows, ("s",), ("mod(s, 4) == 0",)),
    "split_in_rows_of_a_product": Written(_split_in_rows, ("4*s",)),
    "windows": Written(_windows, ("b, s",), ("s >= 2",)),
    "pooled_same": Written(_pooled_same, ("b, s",)),
    "strided": Written(_strided, ("b, 16",)),
    "causal": Written(_causal, ("b, s, s",)),
    "mask_of_lengths": Written(_mask_of_lengths, ("b, s, 8", "b"), floats=1),
    "mapped": Written(_mapped, ("b, s, 8", "b, s, 8")),
    "mapped_outer": Written(_mapped_outer, ("b, d", "s, d")),
    "scanned": Written(_scanned, ("t, b, d", "b, d")),
    "looped": Written(_looped, ("s",)),
    "chunked_attention": Written(_chunked_attention, ("b, s, 16", "b, s, 16"), ("mod(s, 64) == 0",)),
    "chunked_attention_of_others": Written(_chunked_attention, ("b, s, 16", "b, t, 16"), ("mod(s, 64) == 0",)),
    "banded_attention": Written(_banded_attention, ("b, s, 16", "b, s, 16"), ("mod(s, 8) == 0",)),
    "heads": Written(_heads, ("b, s, 32", "32, 32")),
    "halved_image": Written(_halved_image, ("b, h, w, 4", "3, 3, 4, 4")),
    "doubled_image": Written(_doubled_image, ("b, h, w, 4", "3, 3, 4, 4")),
    "halved_and_doubled": Written(_halved_and_doubled, ("s",), ("s >= 2",)),
    "interleaved": Written(_interleaved, ("s",), ("mod(s, 2) == 0",)),
    "interleaved_of_a_product": Written(_interleaved, ("2*s",)),
    "rotary": Written(_rotary, ("s, d",), ("mod(d, 2) == 0",)),
    "einsums": Written(_einsums, ("b, i, j", "b, j, k")),
    "split": Written(_split, ("b, 3*s",)),
    "gated": Written(_gated, ("b, s",), ("mod(s, 2) == 0",)),
    "stacked": Written(_stacked, ("b, s", "b, s")),
    "rolled": Written(_rolled, ("b, 8",)),
    "rolled_by_half": Written(_rolled_by_half, ("b",)),
    "repeated": Written(_repeated, ("b, s",)),
    "tiled": Written(_tiled, ("b, s",)),
    "shifted": Written(_shifted, ("b, 8",), ("b >= 2",)),
    "sums_of_prefixes": Written(_sums_of_prefixes, ("b, s",), ("s >= 3",)),
    "patches": Written(_patches, ("b, h, w, 3", "48, 8"), ("mod(h, 4) == 0", "mod(w, 4) == 0")),
    "pixels": Written(_pixels, ("b, h, w, 12",)),
    "grouped": Written(_grouped, ("b, s, d",), ("mod(d, 4) == 0",)),
    "crossed": Written(_crossed, ("s, 8", "t, 8")),
    "cached": Written(_cached, ("s, 8", "t, 8"), ("s <= t",)),
    "reversed": Written(_reversed, ("s",)),
    "triangle": Written(_triangle, ("s, s",)),
    "gathered": Written(_gathered, ("t, 8", "s, 8"), ("s <= t",)),
    "normalized": Written(_normalized, ("b, h, w, 4",)),
}
