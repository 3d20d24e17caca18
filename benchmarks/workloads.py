"""The programs W1-W5, their weights, the shapes they are measured at, and inputs of a shape."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from numpy.typing import NDArray

from examples.quickstart import (
    HEADS,
    LAYERS,
    VOCABULARY,
    WIDTH,
    Layer,
    Params,
    encoder,
    layer_norm,
    random_params,
)

HEAD = WIDTH // HEADS
TABLES, ROWS, DENSE = 8, 1000, 13  # of W5: embedding tables, rows of each, dense features
STREAM = 64
SEED = 20261121

Array = NDArray[Any]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """How a size is drawn for the stream: log-normal around `median`, cut to `[low, high]`."""

    median: float
    spread: float
    low: int
    high: int

    def draw(self, rng: np.random.Generator) -> int:
        drawn = round(math.exp(rng.normal(math.log(self.median), self.spread)))
        return min(max(drawn, self.low), self.high)


@dataclass(frozen=True, slots=True)
class Workload:
    """A program of (weights, *inputs) with symbolic sizes; `symbolic` has a shape per input.

    `name`: a letter and a number, which seeds the stream of `count` shapes.
    """

    name: str
    about: str
    program: Callable[..., Any]
    params: Callable[[np.random.Generator], Any]
    inputs: Callable[[np.random.Generator, Shape], tuple[Array, ...]]
    symbolic: tuple[str, ...]
    sizes: tuple[Size, ...]
    fixed: tuple[Shape, ...]
    count: int = STREAM

    def weights(self) -> Any:
        """Draw the weights: a pytree of NumPy arrays."""
        return jax.tree.map(np.asarray, self.params(np.random.default_rng(7)))

    def at(self, shape: Shape) -> tuple[Array, ...]:
        """Draw inputs of a shape."""
        return self.inputs(np.random.default_rng(1), shape)

    def stream(self) -> list[Shape]:
        """Draw the shapes of the cold stream; some may come twice."""
        rng = np.random.default_rng(SEED + int(self.name[1:]))
        return [tuple(size.draw(rng) for size in self.sizes) for _ in range(self.count)]

    def export(self, weights: Any) -> export.Exported:
        """Export the program with its symbolic sizes, for weights like these."""
        scope = export.SymbolicScope()
        dtypes = [array.dtype for array in self.at(self.fixed[0])]
        inputs = [
            jax.ShapeDtypeStruct(export.symbolic_shape(text, scope=scope), dtype)
            for text, dtype in zip(self.symbolic, dtypes, strict=True)
        ]
        return export.export(jax.jit(self.program))(jax.tree.map(_spec, weights), *inputs)

    def export_at(self, weights: Any, shape: Shape) -> export.Exported:
        """Export the program for one shape, for weights like these."""
        return export.export(jax.jit(self.program))(*jax.tree.map(_spec, (weights, *self.at(shape))))


def _spec(leaf: Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)


def _normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> Array:
    return (rng.standard_normal(shape) * scale).astype(np.float32)


# --- W1: bias, GELU, layer norm, softmax: one row kernel


class RowParams(NamedTuple):
    bias: jax.Array
    scale: jax.Array
    shift: jax.Array


def row_chain(params: RowParams, x: jax.Array) -> jax.Array:
    x = jax.nn.gelu(x + params.bias)
    return jax.nn.softmax(layer_norm(x, params.scale, params.shift), axis=-1)


def row_params(rng: np.random.Generator) -> RowParams:
    bias, scale, shift = (jnp.asarray(_normal(rng, WIDTH, scale=0.1)) for _ in range(3))
    return RowParams(bias, 1 + scale, shift)


# --- W2: softmax over a dynamic axis


def softmax(_: tuple[()], x: jax.Array) -> jax.Array:
    return jax.nn.softmax(x, axis=-1)


# --- W3: the encoder of the quickstart


def token_batch(rng: np.random.Generator, shape: Shape) -> tuple[Array, ...]:
    b, s = shape
    lengths = rng.integers(max(1, s // 2), s + 1, b, dtype=np.int32)
    lengths[0] = s
    return rng.integers(0, VOCABULARY, (b, s), dtype=np.int32), lengths


# --- W4: one step of decoding, with caches of t earlier positions


def decoding_step(
    params: Params, token: jax.Array, position: jax.Array, keys: jax.Array, values: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Attend to the caches [layer, head, t, head width] and to the new token itself."""
    x = params.embedding[token] + params.positions[position]  # [1, width]
    before = jnp.arange(keys.shape[2]) < position
    new_keys, new_values = list[jax.Array](), list[jax.Array]()
    for number, layer in enumerate(params.layers):
        x, key, value = _decode_layer(layer, x, keys[number], values[number], before)
        new_keys.append(key)
        new_values.append(value)
    return x @ params.embedding.T, jnp.stack(new_keys), jnp.stack(new_values)


def _decode_layer(
    layer: Layer, x: jax.Array, keys: jax.Array, values: jax.Array, before: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    projected = layer_norm(x, layer.scale1, layer.shift1) @ layer.qkv + layer.qkv_bias
    query, key, value = projected.reshape(3, HEADS, HEAD)
    old = jnp.einsum("hd,hkd->hk", query, keys) * HEAD**-0.5
    own = (query * key).sum(-1, keepdims=True) * HEAD**-0.5
    scores = jnp.concatenate([own, jnp.where(before, old, -jnp.inf)], axis=1)
    weights = jax.nn.softmax(scores, axis=-1)
    mixed = jnp.einsum("hk,hkd->hd", weights[:, 1:], values) + weights[:, :1] * value
    x = x + mixed.reshape(1, WIDTH) @ layer.out + layer.out_bias
    hidden = layer_norm(x, layer.scale2, layer.shift2) @ layer.up + layer.up_bias
    return x + jax.nn.gelu(hidden) @ layer.down + layer.down_bias, key, value


def caches(rng: np.random.Generator, shape: Shape) -> tuple[Array, ...]:
    (t,) = shape
    keys, values = (_normal(rng, LAYERS, HEADS, t, HEAD) for _ in range(2))
    return np.array([5], np.int32), np.array([t], np.int32), keys, values


# --- W5: recommendation: embedding tables and dense features into one MLP


class RankParams(NamedTuple):
    table: jax.Array
    bottom: tuple[tuple[jax.Array, jax.Array], ...]
    top: tuple[tuple[jax.Array, jax.Array], ...]


def rank(params: RankParams, ids: jax.Array, dense: jax.Array) -> jax.Array:
    """Score n candidates from ids [n, tables] and dense features [n, 13]."""
    rows = params.table[ids + ROWS * jnp.arange(TABLES, dtype=jnp.int32)]
    for weight, bias in params.bottom:
        dense = jax.nn.relu(dense @ weight + bias)
    x = jnp.concatenate([rows.reshape(ids.shape[0], -1), dense], axis=1)
    for weight, bias in params.top[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = params.top[-1]
    return jax.nn.sigmoid(x @ weight + bias)


def rank_params(rng: np.random.Generator) -> RankParams:
    def mlp(*widths: int) -> tuple[tuple[jax.Array, jax.Array], ...]:
        return tuple(
            (
                jnp.asarray(_normal(rng, m, n, scale=m**-0.5)),
                jnp.asarray(_normal(rng, n, scale=0.1)),
            )
            for m, n in pairwise(widths)
        )

    table = jnp.asarray(_normal(rng, TABLES * ROWS, 32, scale=0.5))
    return RankParams(table, mlp(DENSE, 64, 32), mlp(TABLES * 32 + 32, 512, 256, 1))


def candidates(rng: np.random.Generator, shape: Shape) -> tuple[Array, ...]:
    (n,) = shape
    return rng.integers(0, ROWS, (n, TABLES), dtype=np.int32), _normal(rng, n, DENSE)


WORKLOADS: Mapping[str, Workload] = {
    workload.name: workload
    for workload in (
        Workload(
            "W1",
            "bias, GELU, layer norm, softmax of [b, s, 256]",
            row_chain,
            row_params,
            lambda rng, shape: (_normal(rng, *shape, WIDTH),),
            ("b, s, 256",),
            (Size(2, 0.7, 1, 8), Size(64, 0.9, 1, 512)),
            ((1, 1), (1, 16), (1, 128), (2, 77), (4, 64), (4, 200), (8, 256), (8, 512)),
        ),
        Workload(
            "W2",
            "softmax over the last axis of [n, m]",
            softmax,
            lambda _: (),
            lambda rng, shape: (_normal(rng, *shape),),
            ("n, m",),
            (Size(64, 1.0, 1, 1024), Size(256, 1.2, 1, 4096)),
            (
                *((1, 1), (1, 64), (32, 17), (64, 128)),
                *((64, 1000), (256, 512), (128, 4096), (1024, 1024)),
            ),
        ),
        Workload(
            "W3",
            "4-layer encoder, d=256, length mask, tokens [b, s]",
            encoder,
            random_params,
            token_batch,
            ("b, s", "b"),
            (Size(2, 0.7, 1, 8), Size(48, 0.8, 8, 256)),
            ((1, 8), (1, 32), (1, 128), (2, 77), (4, 64), (4, 128), (8, 100), (8, 256)),
        ),
        Workload(
            "W4",
            "one decoding step, 4 layers, d=256, KV caches of length t",
            decoding_step,
            random_params,
            caches,
            ("1", "1", f"{LAYERS}, {HEADS}, t, {HEAD}", f"{LAYERS}, {HEADS}, t, {HEAD}"),
            (Size(96, 1.0, 1, 512),),
            tuple((t,) for t in (1, 8, 33, 64, 127, 200, 384, 512)),
        ),
        Workload(
            "W5",
            "8 embeddings and an MLP, n candidates",
            rank,
            rank_params,
            candidates,
            (f"n, {TABLES}", f"n, {DENSE}"),
            (Size(128, 1.3, 1, 4096),),
            tuple((n,) for n in (1, 7, 16, 64, 200, 512, 1500, 4096)),
        ),
    )
}
