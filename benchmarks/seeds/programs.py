"""The programs of the seeds that are no workloads: an encoder as large as BERT-base, an LSTM, and a Tree-LSTM."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.workloads import Array, Shape, Size, Workload
from examples.quickstart import layer_norm

BATCHES = 10
WORDS = 30_522  # the vocabulary of BERT


class Block(NamedTuple):
    """The weights of an encoder layer, whose width and heads follow from their shapes."""

    qkv: jax.Array  # [width, 3, heads, width of a head]
    qkv_bias: jax.Array
    out: jax.Array
    norms: jax.Array  # [2, 2, width]: scales and shifts
    up: jax.Array
    up_bias: jax.Array
    down: jax.Array


class BertParams(NamedTuple):
    """Embeddings of tokens and places, and the layers."""

    tokens: jax.Array
    places: jax.Array
    blocks: tuple[Block, ...]


def _normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, np.float32) * np.float32(shape[0] ** -0.5)


def _weights(rng: np.random.Generator, *shape: int) -> jax.Array:
    return jnp.asarray(_normal(rng, *shape))


def block_params(rng: np.random.Generator, width: int, heads: int) -> Block:
    """Draw the weights of a layer, whose hidden width is four times its width."""
    qkv = _weights(rng, width, 3, heads, width // heads)
    norms = jnp.stack([jnp.ones((2, width)), jnp.zeros((2, width))], 1)
    attention = qkv, _weights(rng, *qkv.shape[1:]), _weights(rng, width, width), norms
    hidden = 4 * width
    return Block(*attention, _weights(rng, width, hidden), _weights(rng, hidden), _weights(rng, hidden, width))


def bert_params(rng: np.random.Generator, layers: int, width: int, heads: int) -> BertParams:
    """Draw weights; layers share none of them."""
    embeddings = _weights(rng, WORDS, width), _weights(rng, 512, width)
    return BertParams(*embeddings, tuple(block_params(rng, width, heads) for _ in range(layers)))


def attend(q: jax.Array, k: jax.Array, v: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """Attention of [b, s, heads, width of a head]. `mask` [b, s]: the keys that are read; None for all."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = jnp.where(mask[:, None, None, :], scores, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)


def encode(blocks: tuple[Block, ...], x: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """Encode x [b, s, width], with the norms after the sums as in BERT. `mask`: as of `attend`."""
    for block in blocks:
        q, k, v = jnp.moveaxis(jnp.einsum("bsw,wphd->bsphd", x, block.qkv) + block.qkv_bias, 2, 0)
        mixed = attend(q, k, v, mask).reshape(x.shape)
        x = layer_norm(x + mixed @ block.out, *block.norms[0])
        x = layer_norm(x + jax.nn.gelu(x @ block.up + block.up_bias) @ block.down, *block.norms[1])
    return x


def bert(params: BertParams, tokens: jax.Array) -> jax.Array:
    """Encode tokens [b, s]."""
    return encode(params.blocks, params.tokens[tokens] + params.places[jnp.arange(tokens.shape[1])])


def _sentences(rng: np.random.Generator, shape: Shape) -> tuple[Array, ...]:
    return (rng.integers(0, WORDS, shape, dtype=np.int32),)


def bert_workload(*, quick: bool) -> Workload:
    """BERT-base's sizes (12 layers, width 768, 12 heads); or, to be quick, two layers of width 64."""
    layers, width, heads = (2, 64, 2) if quick else (12, 768, 12)
    return Workload(
        "B1",
        f"encoder of {layers} layers, width {width}, {heads} heads, tokens [b, s]",
        bert,
        partial(bert_params, layers=layers, width=width, heads=heads),
        _sentences,
        ("b, s",),
        (Size(2, 0.7, 1, 4), Size(48, 0.6, 8, 128)),
        ((1, 16), (1, 64), (2, 77)),
        2 if quick else BATCHES,
    )


# --- recurrent networks: the time of an LSTM and the nodes of a Tree-LSTM are dynamic


class Cell(NamedTuple):
    """Weights of inputs and of states, for all gates at once, and their bias."""

    inputs: jax.Array
    states: jax.Array
    bias: jax.Array


def _cell(rng: np.random.Generator, inputs: int, states: int, gates: int) -> Cell:
    bias = jnp.zeros(gates * states, jnp.float32)
    return Cell(_weights(rng, inputs, gates * states), _weights(rng, states, gates * states), bias)


def lstm(cell: Cell, xs: jax.Array) -> jax.Array:
    """Run over xs [T, inputs]; the last state [states]."""
    states = cell.states.shape[0]

    def step(carried: tuple[jax.Array, jax.Array], x: jax.Array) -> tuple[tuple[jax.Array, jax.Array], None]:
        h, c = carried
        i, f, g, o = jnp.split(x @ cell.inputs + h @ cell.states + cell.bias, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros(states, jnp.float32)
    return lax.scan(step, (zeros, zeros), xs)[0][0]


def tree_lstm(cell: Cell, xs: jax.Array, children: jax.Array) -> jax.Array:
    """The state [states] of the root of a binary tree.

    `xs` [n, inputs]; `children` [n, 2]: numbers of nodes from 1 on, each less than the node's own, or 0 for none. The
    root is the last node.
    """
    n, states = xs.shape[0], cell.states.shape[0]
    zeros = jnp.zeros((n + 1, states), jnp.float32)

    def node(k: jax.Array, carried: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        hs, cs = carried
        of_children = hs[children[k]]  # [2, states]
        mine, own = xs[k] @ cell.inputs + cell.bias, of_children @ cell.states
        i, o, u, _ = jnp.split(mine + own.sum(0), 4)
        f = jax.nn.sigmoid(mine[3 * states :] + own[:, 3 * states :])
        c = jax.nn.sigmoid(i) * jnp.tanh(u) + (f * cs[children[k]]).sum(0)
        return hs.at[k + 1].set(jax.nn.sigmoid(o) * jnp.tanh(c)), cs.at[k + 1].set(c)

    return lax.fori_loop(0, n, node, (zeros, zeros))[0][-1]


def _tree(n: int) -> Array:
    """Children of n nodes, an odd number: leaves first, then each node takes the next two that have no parent yet."""
    leaves = (n + 1) // 2
    inner = [(2 * k + 1, 2 * k + 2) for k in range(n - leaves)]
    return np.array([(0, 0)] * leaves + inner, np.int32)


def recurrent(*, quick: bool) -> tuple[Workload, Workload]:
    """An LSTM and a Tree-LSTM, with inputs and states of the sizes that follow."""
    inputs, states, nodes = (16, 8, 5) if quick else (300, 512, 31)
    cells: Callable[[np.random.Generator], Cell] = partial(_cell, inputs=inputs, states=states, gates=4)
    small: Callable[[np.random.Generator], Cell] = partial(_cell, inputs=inputs, states=max(8, inputs // 2), gates=4)
    along_time = Workload(
        "L1", f"LSTM, inputs {inputs}, states {states}", lstm, cells,
        lambda rng, shape: (_normal(rng, *shape, inputs),), (f"T, {inputs}",), (Size(24, 0.5, 1, 128),),
        ((5,),) if quick else ((8,), (24,), (60,)),
    )  # fmt: skip
    over_trees = Workload(
        "T1", f"Tree-LSTM, inputs {inputs}, states {max(8, inputs // 2)}", tree_lstm, small,
        lambda rng, shape: (_normal(rng, *shape, inputs), _tree(shape[0])), (f"n, {inputs}", "n, 2"),
        (Size(31, 0.5, 1, 127),), ((nodes,),) if quick else ((15,), (nodes,), (75,)),
    )  # fmt: skip
    return along_time, over_trees
