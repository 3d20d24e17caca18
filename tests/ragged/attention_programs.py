# JAX's functions are partly untyped; nothing untyped leaves this file.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownLambdaType=false
"""Masked programs with attention, losses, gradients and loops."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from tests.ragged.programs import IDS, PROGRAMS, VOCABULARY, Masked, W, X, mask_of, masked

# --- attention


def scores(x, w):
    """Scores of one head."""
    return jnp.einsum("bqd,bkd->bqk", x @ w, x) / 8.0


def attended(a, x):
    """Values weighted by the softmax of scores."""
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(a, -1), x)


@masked(X, W)
def attention(x, w, lengths):
    return attended(jnp.where(mask_of(x, lengths)[:, None], scores(x, w), -jnp.inf), x)


@masked(X, W)
def attention_with_added_mask(x, w, lengths):
    return attended(scores(x, w) + (1.0 - mask_of(x, lengths)[:, None]) * -1e9, x)


@masked(X, W)
def attention_with_finite_mask(x, w, lengths):
    return attended(jnp.where(mask_of(x, lengths)[:, None], scores(x, w), jnp.finfo(x.dtype).min), x)


@masked(X, IDS, W)
def attention_within_segments(x, ids, w, lengths):
    a = jnp.where(ids[:, :, None] == ids[:, None], scores(x, w), -jnp.inf)
    return attended(jnp.where(mask_of(x, lengths)[:, None], a, -jnp.inf), x)


@masked(X, W)
def weighted_mean_by_finite_mask(x, w, lengths):
    a = jnp.where(mask_of(x, lengths), (x @ w).sum(-1), -1e9)
    return jnp.einsum("bk,bkd->bd", jax.nn.softmax(a, -1), x)


@masked(X, W, proven=False)
def weighted_mean_of_one_less(x, w, lengths):
    a = jnp.where(mask_of(x, lengths - 1), (x @ w).sum(-1), -1e9)
    return jnp.einsum("bk,bkd->bd", jax.nn.softmax(a, -1), x)


@masked(X, W, proven=False)
def weighted_by_distance_from_least(x, w, lengths):
    a = jnp.where(mask_of(x, lengths), (x @ w).sum(-1), -1e9)
    return jnp.einsum("bk,bkd->bd", jnp.exp(jnp.minimum(a - a.min(-1, keepdims=True), 1)), x)


@masked(X, W, proven=False)
def attention_without_mask(x, w, lengths):
    return attended(scores(x, w), x) + lengths[:, None, None]


@masked(X, W, proven=False)
def attention_with_small_mask(x, w, lengths):
    return attended(scores(x, w) + (1.0 - mask_of(x, lengths)[:, None]) * -1.0, x)


@masked(X, W, proven=False)
def attention_masked_along_queries(x, w, lengths):
    return attended(jnp.where(mask_of(x, lengths)[:, :, None], scores(x, w), -jnp.inf), x)


@masked(X, W)
def causal_attention(x, w, lengths):
    at = jnp.arange(x.shape[1])
    return attended(jnp.where(at[:, None] >= at[None], scores(x, w), -jnp.inf), x) + lengths[:, None, None]


@masked(X, W)
def causal_attention_with_mask(x, w, lengths):
    m = jnp.tri(x.shape[1], dtype=bool)[None] & mask_of(x, lengths)[:, None]
    return attended(jnp.where(m, scores(x, w), -1e9), x)


@masked(X, W, proven=False)
def attention_to_later_positions(x, w, lengths):
    at = jnp.arange(x.shape[1])
    return attended(jnp.where(at[:, None] <= at[None], scores(x, w), -jnp.inf), x) + lengths[:, None, None]


@masked(X)
def heads_in_the_batch(x, lengths):
    b, s, _ = x.shape
    q = x.reshape(b, s, 2, 4).transpose(0, 2, 1, 3).reshape(b * 2, s, 4)
    a = jnp.einsum("bqd,bkd->bqk", q, q).reshape(b, 2, s, s)
    a = jnp.where(mask_of(x, lengths)[:, None, None], a, -jnp.inf)
    o = jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(a, -1).reshape(b * 2, s, s), q)
    return o.reshape(b, 2, s, 4).transpose(0, 2, 1, 3).reshape(b, s, 8)


@masked(X, proven=False)
def exponential_before_mask(x, lengths):
    e = jnp.exp(x - x.max(1, keepdims=True)) * mask_of(x, lengths)[..., None]
    return e / e.sum(1, keepdims=True)


def cross_attention(x, y, lengths, others):
    a = jnp.where(mask_of(y, others)[:, None], jnp.einsum("bqd,bkd->bqk", x, y), -jnp.inf)
    o = attended(a, y)
    return jnp.where(mask_of(x, lengths)[..., None], o, 0).sum(1)


def mask_of_arguments(x, w, mask):
    a = scores(x, w) + (1.0 - mask[:, None]) * -1e9
    return (attended(a, x) * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)


PROGRAMS.extend(
    [
        Masked(
            cross_attention,
            "f32[b, s, 8], f32[b, t, 8], i32[b], i32[b]",
            ragged={"s": "lengths", "t": "others"},
        ),
        Masked(mask_of_arguments, "f32[b, s, 8], f32[8, 8], f32[b, s]", ragged={"s": "mask"}),
    ]
)


# --- losses and gradients


def cross_entropy(x, labels, lengths):
    """The mean loss of the tokens within the lengths."""
    losses = -jnp.take_along_axis(jax.nn.log_softmax(x, -1), labels[..., None], -1)[..., 0]
    m = mask_of(labels, lengths)
    return jnp.where(m, losses, 0).sum() / m.sum()


@masked(W, X, IDS)
def loss_and_gradient(w, x, labels, lengths):
    return jax.value_and_grad(lambda w: cross_entropy(jnp.tanh(x @ w), labels, lengths))(w)


@masked(X, IDS, proven=False)
def loss_of_everything(x, labels, lengths):
    return -jnp.take_along_axis(jax.nn.log_softmax(x, -1), labels[..., None], -1).mean() + lengths.sum()


@masked(W, X, proven=False)
def gradient_of_everything(w, x, lengths):
    return jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).sum() / lengths.sum())(w)


def next_token_loss(x, labels, lengths, last):
    losses = -(jax.nn.log_softmax(x[:, :-1], -1) * jax.nn.one_hot(labels[:, 1:], VOCABULARY)).sum(-1)
    m = jnp.arange(x.shape[1] - 1)[None] < (lengths - last)[:, None]
    return jnp.where(m, losses, 0).sum() / m.sum()


@masked(X, IDS)
def loss_of_next_tokens(x, labels, lengths):
    return next_token_loss(x, labels, lengths, 1)


@masked(X, IDS, proven=False)
def loss_of_one_next_token_too_many(x, labels, lengths):
    return next_token_loss(x, labels, lengths, 0)


@masked("f32[8, 8]", W, IDS)
def encoder_and_gradient(table, w, ids, lengths):
    def loss(table, w):
        x, m = table[ids], mask_of(ids, lengths)
        o = attended(jnp.where(m[:, None], scores(x, w), -1e9), x)
        return (jnp.tanh(o) ** 2 * m[..., None]).sum() / m.sum()

    return jax.value_and_grad(loss, (0, 1))(table, w)


@masked(X, W)
def mean_of_attention(x, w, lengths):
    m = mask_of(x, lengths)
    o = attended(jnp.where(m[:, None], scores(x, w), -jnp.inf), x)
    return (o * m[..., None]).sum(1) / lengths[:, None]


@masked(X, W)
def weights_read_in_a_loop(x, w, lengths):
    m = mask_of(x, lengths)
    a = jax.nn.softmax(jnp.where(m[:, None], scores(x, w), -jnp.inf), -1)

    def step(k, total):
        return total + (a * jnp.where(m, k, 0)[..., None]).sum(1)

    return jax.lax.fori_loop(0, x.shape[1], step, jnp.zeros(m.shape, x.dtype)), attended(jnp.log(a), x)


@masked(X, W)
def attention_by_many_ways(x, w, lengths):
    m = mask_of(x, lengths)
    a = jax.nn.softmax(jnp.where(m[:, None], scores(x, w), -jnp.inf), -1)
    for _ in range(24):  # each with two ways from the scores to the product
        a = a + a * a * 1e-3
    return jnp.einsum("bqk,bkd->bqd", a, x)


@masked(X, W)
def class_of_first(x, w, lengths):
    m = mask_of(x, lengths)
    o = attended(jnp.where(m[:, None], scores(x, w), -jnp.inf), x)
    return jnp.tanh(o @ w)[:, 0]


@masked(X, W)
def product_of_last(x, w, lengths):
    return jnp.take_along_axis(jnp.tanh(x @ w), (lengths - 1)[:, None, None], 1)[:, 0]


# --- loops


def states(x, h, w):
    """All states of a recurrent layer [b, s, 8]."""

    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, h

    return jax.lax.scan(step, h, x.swapaxes(0, 1))[1].swapaxes(0, 1)


@masked(X, "f32[b, 8]", W)
def recurrent_states(x, h, w, lengths):
    return states(x, h, w) + lengths[:, None, None]


@masked(X, "f32[b, 8]", W, proven=False)
def last_state(x, h, w, lengths):
    return states(x, h, w)[:, -1] + lengths[:, None]


@masked(X, "f32[b, 8]", W)
def state_at_length(x, h, w, lengths):
    def step(h, at):
        x, t = at
        return jnp.where((t < lengths)[:, None], jnp.tanh(h @ w + x), h), None

    return jax.lax.scan(step, h, (x.swapaxes(0, 1), jnp.arange(x.shape[1])))[0]


@masked(W, X, "f32[b, 8]")
def recurrent_gradient(w, x, h, lengths):
    m = mask_of(x, lengths)[..., None]
    return jax.value_and_grad(lambda w: (jnp.where(m, states(x, h, w), 0) ** 2).sum() / m.sum())(w)


@masked(X, "f32[b, 8]", W, proven=False)
def recurrent_from_the_end(x, h, w, lengths):
    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, h

    return jax.lax.scan(step, h, x.swapaxes(0, 1), reverse=True)[1].swapaxes(0, 1) + lengths[:, None, None]
