# JAX's functions are partly untyped; nothing untyped leaves this file.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownLambdaType=false
"""Masked programs: for each, whether results within the lengths are independent of the padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

VOCABULARY = 8
LENGTHS: Mapping[str, str | int] = {"s": "lengths"}
X, IDS, W = "f32[b, s, 8]", "i32[b, s]", "f32[8, 8]"


@dataclass(frozen=True)
class Masked:
    """A program; `nan`: the padding may be NaN, as it is replaced by `select` before it is used."""

    function: Callable[..., Any]
    shapes: str
    proven: bool = True
    nan: bool = False
    ragged: Mapping[str, str | int] = field(default_factory=lambda: LENGTHS)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__


PROGRAMS: list[Masked] = []


def masked(*shapes: str, **options: Any) -> Callable[[Any], Any]:
    """Add a function, which takes the lengths last."""

    def add(function: Any) -> Any:
        PROGRAMS.append(Masked(function, ", ".join([*shapes, "i32[b]"]), **options))
        return function

    return add


def mask_of(x, lengths):
    """Whether a position is within the length."""
    return jnp.arange(x.shape[1])[None] < lengths[:, None]


# --- pooling


@masked(X, nan=True)
def mean_by_select(x, lengths):
    return jnp.where(mask_of(x, lengths)[..., None], x, 0).sum(1) / lengths[:, None]


@masked(X)
def mean_by_product(x, lengths):
    m = mask_of(x, lengths)[..., None].astype(x.dtype)
    return (x * m).sum(1) / jnp.maximum(m.sum(1), 1)


@masked(X, proven=False)
def mean_of_everything(x, lengths):
    return x.sum(1) / lengths[:, None]


@masked(X, proven=False)
def mean_of_one_too_many(x, lengths):
    m = jnp.arange(x.shape[1])[None] <= lengths[:, None]
    return jnp.where(m[..., None], x, 0).sum(1)


@masked(X, nan=True)
def mean_with_other_comparison(x, lengths):
    m = ~(lengths[:, None] - 1 < jnp.arange(x.shape[1])[None])
    return jnp.where(m[..., None], x, 0).sum(1)


@masked(X)
def mean_by_float_mask(x, lengths):
    m = 1.0 - (jnp.arange(x.shape[1], dtype=jnp.float32)[None] >= lengths.astype(jnp.float32)[:, None])
    return (x * m[..., None]).sum(1)


@masked(X, nan=True)
def largest(x, lengths):
    return jnp.where(mask_of(x, lengths)[..., None], x, -jnp.inf).max(1)


@masked(X, nan=True)
def largest_by_finite_mask(x, lengths):
    return jnp.where(mask_of(x, lengths)[..., None], x, jnp.finfo(x.dtype).min).max(1)


@masked(X, proven=False)
def largest_of_everything(x, lengths):
    return x.max(1) + lengths[:, None]


@masked(X, nan=True)
def place_of_largest(x, lengths):
    return jnp.argmax(jnp.where(mask_of(x, lengths)[..., None], x, -jnp.inf), 1)


@masked(X, nan=True)
def within_greatest_position(x, lengths):
    last = jnp.broadcast_to(jnp.arange(x.shape[1])[None], x.shape[:2]).max(1)
    m = jnp.arange(x.shape[1])[None] < jnp.minimum(last + 1, lengths)[:, None]
    return jnp.where(mask_of(x, lengths)[..., None] & m[..., None], x, 0).sum(1)


@masked(X, proven=False)
def masked_along_features(x, lengths):
    m = jnp.arange(8)[None] < lengths[:, None]
    return jnp.where(m[:, None], x, 0).sum(1)


@masked(X)
def variance(x, lengths):
    m, n = mask_of(x, lengths)[..., None], lengths[:, None].astype(x.dtype)
    mean = (x * m).sum(1) / n
    return ((x - mean[:, None]) ** 2 * m).sum(1) / n


@masked(X)
def first_element(x, lengths):
    return x[:, 0] * lengths[:, None]


@masked(X, proven=False)
def last_element(x, lengths):
    return x[:, -1] * lengths[:, None]


@masked(X)
def element_before_length(x, lengths):
    return jnp.take_along_axis(x, (lengths - 1)[:, None, None], 1)[:, 0]


@masked(X)
def element_before_length_by_index(x, lengths):
    return x[jnp.arange(x.shape[0]), lengths - 1]


@masked(X, proven=False)
def element_at_length(x, lengths):
    return jnp.take_along_axis(x, jnp.minimum(lengths, x.shape[1] - 1)[:, None, None], 1)[:, 0]


@masked(X)
def sum_with_ones(x, lengths):
    return jnp.where(mask_of(x, lengths)[..., None], jnp.tanh(x), 1).sum()


@masked(X)
def first_of_rows_that_may_be_empty(x, lengths):
    at = jnp.arange(x.shape[1], dtype=jnp.float32)[None, :, None] + lengths[:, None, None].astype(jnp.float32)
    y = jnp.tanh(jnp.where(mask_of(x, lengths)[..., None], x, 0) + jnp.cos(at))
    return y[:, 0], y


# --- along features, and along positions


@masked(X, "f32[8]", "f32[8]", nan=True)
def layer_norm(x, gain, bias, lengths):
    del lengths
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * gain + bias


@masked(X, proven=False)
def batch_norm(x, lengths):
    return x - x.mean((0, 1)) + lengths[:, None, None]


@masked(X)
def masked_batch_norm(x, lengths):
    m = mask_of(x, lengths)[..., None]
    return x - (x * m).sum((0, 1)) / m.sum((0, 1))


@masked(X, W)
def dense_of_flattened(x, w, lengths):
    b, s, _ = x.shape
    y = jnp.tanh(x.reshape(b * s, 8) @ w).reshape(b, s, 8)
    return jnp.where(mask_of(x, lengths)[..., None], y, 0).sum(1)


@masked(X, nan=True)
def sorted_features(x, lengths):
    return jnp.sort(x, -1) + lengths[:, None, None]


@masked(X, proven=False)
def sorted_positions(x, lengths):
    return jnp.sort(x, 1) + lengths[:, None, None]


@masked(X)
def running_sum(x, lengths):
    return jnp.cumsum(x, 1) + lengths[:, None, None]


@masked(X, proven=False)
def running_sum_from_the_end(x, lengths):
    return jax.lax.cumsum(x, 1, reverse=True) + lengths[:, None, None]


@masked(X, nan=True)
def masked_running_sum_from_the_end(x, lengths):
    return jax.lax.cumsum(jnp.where(mask_of(x, lengths)[..., None], x, 0), 1, reverse=True)


@masked(X, nan=True)
def shifted_later(x, lengths):
    return jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1] + lengths[:, None, None]


@masked(X, proven=False)
def shifted_earlier(x, lengths):
    return jnp.pad(x, ((0, 0), (0, 1), (0, 0)))[:, 1:] + lengths[:, None, None]


@masked(X, proven=False)
def without_first(x, lengths):
    return jax.lax.slice_in_dim(x, 1, x.shape[1], axis=1) + lengths[:, None, None]


@masked(X, nan=True)
def without_last(x, lengths):
    return jax.lax.slice_in_dim(x, 0, x.shape[1] - 1, axis=1) + lengths[:, None, None]


@masked(X, proven=False)
def reversed_positions(x, lengths):
    return x[:, ::-1] + lengths[:, None, None]


def convolution(x, w, before, after):
    """A convolution along positions."""
    return jax.lax.conv_general_dilated(x, w, (1,), [(before, after)], dimension_numbers=("NWC", "WIO", "NWC"))


@masked(X, "f32[3, 8, 8]", proven=False)
def convolution_with_halo(x, w, lengths):
    return convolution(x, w, 1, 1) + lengths[:, None, None]


@masked(X, "f32[3, 8, 8]", nan=True)
def masked_convolution_with_halo(x, w, lengths):
    return convolution(jnp.where(mask_of(x, lengths)[..., None], x, 0), w, 1, 1)


@masked(X, "f32[3, 8, 8]")
def causal_convolution(x, w, lengths):
    return convolution(x, w, 2, 0) + lengths[:, None, None]


@masked("f32[3, 8, 8]", X)
def convolution_gradient(w, x, lengths):
    m = mask_of(x, lengths)[..., None]

    def loss(w):
        return (convolution(x * m, w, 1, 1) ** 2 * m).sum()

    return jax.value_and_grad(loss)(w)
