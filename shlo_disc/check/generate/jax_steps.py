"""Steps of random JAX functions: norms, attention, joins, products, indexing, scans, on the values so far.

A step takes the values so far, the last one first, and gives a new one. A step that JAX refuses for symbolic sizes is
skipped.
"""

# JAX's functions are typed for arrays, and take tracers here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingTypeArgument=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax

from shlo_disc.check.generate.choices import Choices, chance, pick

Traced: TypeAlias = Any
Step: TypeAlias = Callable[[Choices, Sequence[Traced]], Traced]

_FUNCTIONS: Sequence[Callable[[Traced], Traced]] = (
    jnp.tanh, jnp.sin, jax.nn.gelu, lambda x: jnp.exp(-jnp.abs(x)), jax.nn.softplus, jax.nn.sigmoid, jnp.abs,
    lambda x: x * x, lambda x: jnp.sqrt(x * x + 1), lambda x: jnp.clip(x, -0.5, 1.5), jax.nn.relu, lambda x: -x,
    lambda x: 2 * x, jnp.cosh, jnp.sinh,
)  # fmt: skip
_REDUCTIONS: Mapping[str, Callable[..., Traced]] = {
    "sum": jnp.sum,
    "max": jnp.max,
    "mean": jnp.mean,
    "prod": lambda x, axis: jnp.prod(jnp.clip(jnp.tanh(x) + 0.9, 0.5, 1.5), axis),
    "logsumexp": jax.nn.logsumexp,
    "var": jnp.var,
    "min": jnp.min,
}
_CUMULATIVE: Sequence[Callable[..., Traced]] = (
    lax.cumsum, lax.cummax, lax.cumlogsumexp, lax.cummin,
    lambda x, axis, reverse: lax.cumprod(jnp.tanh(x) + 1, axis=axis, reverse=reverse),
)  # fmt: skip
_NARROW = ("int8", "uint8", "int16", "uint16", "int32")


def _of_rank(values: Sequence[Traced], least: int, most: int = 4) -> Traced:
    return next(x for x in values if least <= x.ndim <= most)


def _axis(c: Choices, x: Traced) -> int:
    return x.ndim - 1 - c.below(x.ndim)


def _like(c: Choices, values: Sequence[Traced], x: Traced) -> Traced:
    """A value of the same shape, sometimes the value itself."""
    same = [y for y in values if y.shape == x.shape]
    return pick(c, same)


def function(c: Choices, values: Sequence[Traced]) -> Traced:
    """An elementwise function."""
    return pick(c, _FUNCTIONS)(pick(c, values[:3]))


def both(c: Choices, values: Sequence[Traced]) -> Traced:
    """A binary op of values of one shape, or of shapes that broadcast."""
    x = values[0]
    y = _like(c, values, x) if chance(c, 2) else pick(c, values)
    return pick(
        c, (jnp.add, jnp.multiply, jnp.subtract, jnp.maximum, lambda a, b: jnp.where(jnp.greater(a, b), a, 2 * b))
    )(x, y)


def norm(c: Choices, values: Sequence[Traced]) -> Traced:
    """A softmax or a norm along an axis."""
    x = _of_rank(values, 1)
    axis = _axis(c, x)
    kind = c.below(5)
    if kind == 0:
        return jax.nn.softmax(x, axis)
    if kind == 1:
        return jax.nn.log_softmax(x, axis)
    mean = x.mean(axis, keepdims=True)
    if kind == 2:
        return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(axis, keepdims=True) + 1e-2)
    if kind == 3:
        return x * lax.rsqrt((x * x).mean(axis, keepdims=True) + 1e-2)
    return x - mean


def reduction(c: Choices, values: Sequence[Traced]) -> Traced:
    """A reduction along one axis, sometimes combined with its operand."""
    x = _of_rank(values, 1)
    y = pick(c, tuple(_REDUCTIONS.values()))(x, axis=_axis(c, x))
    if chance(c, 3):
        return x - jnp.expand_dims(y, 0) if x.ndim > 1 else x * y
    return y


def moved(c: Choices, values: Sequence[Traced]) -> Traced:
    """A value joined with itself, transposed, reversed, rolled, padded, repeated, merged or split."""
    x = _of_rank(values, 1)
    axis, kind = _axis(c, x), c.below(10)
    if kind <= 1:
        other = pick(c, (lambda y: y, lambda y: 2 * y, jnp.tanh, lambda y: jnp.flip(y, axis)))(x)
        return jnp.concatenate([x, other], axis)
    if kind == 2:
        return jnp.moveaxis(x, axis, 0)
    if kind == 3:
        return jnp.flip(x, axis)
    if kind == 4:
        return jnp.roll(x, 1 + c.below(3), axis)
    if kind == 5:
        return jnp.pad(x, [(c.below(3), c.below(3)) if k == axis else (0, 0) for k in range(x.ndim)])
    if kind == 6:
        return x.reshape(-1) if x.ndim > 1 else jnp.stack([x, jnp.tanh(x)], c.below(2))
    if kind == 7:
        return jnp.repeat(x, 2, axis)
    if kind == 8:
        half = x.shape[axis] // 2
        low, high = lax.slice_in_dim(x, 0, half, axis=axis), lax.slice_in_dim(x, half, 2 * half, axis=axis)
        return pick(c, (lambda: jnp.concatenate([-high, low], axis), lambda: low * high))()
    return jnp.tile(x, (2,) + (1,) * (x.ndim - 1))


def product(c: Choices, values: Sequence[Traced]) -> Traced:
    """A product of a value with itself or another one, over axes of equal size."""
    x = _of_rank(values, 1, 3)
    y = x if chance(c, 2) else pick(c, [y for y in values if 1 <= y.ndim <= 2])
    pairs = [(i, j) for i in range(x.ndim) for j in range(y.ndim) if x.shape[i] == y.shape[j]]
    i, j = pick(c, pairs)
    letters = "abcd"[: x.ndim]
    others = "".join(letters[i] if k == j else "wxyz"[k] for k in range(y.ndim))
    result = "".join(one for one in letters + others if (letters + others).count(one) == 1)
    return 0.25 * jnp.einsum(f"{letters},{others}->{result}", x, y)


def attention(c: Choices, values: Sequence[Traced]) -> Traced:
    """Attention whose queries, keys and values may be one value, sometimes with a mask and a residual."""
    q = _of_rank(values, 2, 3)
    rows = [y for y in values if y.ndim == q.ndim and y.shape[-1] == q.shape[-1] and y.shape[:-2] == q.shape[:-2]]
    k, v = pick(c, rows), pick(c, rows)
    if k.shape != v.shape:
        v = k
    scores = q @ jnp.swapaxes(k, -1, -2) * 0.2
    if chance(c, 3):
        places = (lax.broadcasted_iota(jnp.int32, scores.shape, scores.ndim - n) for n in (2, 1))
        scores = jnp.where(lax.ge(*places), scores, -1e4)
    found = jax.nn.softmax(scores, -1) @ v
    return q + found if chance(c, 3) else found


def indexed(c: Choices, values: Sequence[Traced]) -> Traced:
    """A gather or scatter at computed indices, a sort, an update of a slice, or a top-k."""
    x = _of_rank(values, 1)
    size, kind = x.shape[0], c.below(8)
    if kind <= 2:  # positions in narrow integers, which may wrap
        places = jnp.arange(size).astype(pick(c, _NARROW)) * pick(c, (1, 3, 50))
        if kind == 0:
            return x[places]
        if kind == 1:
            wide = places.astype(pick(c, ("int32", "int64", "float32")))
            return x + (wide * 0.125).astype(x.dtype).reshape(-1, *[1] * (x.ndim - 1))
        return x.at[places].add(x * 0.5)
    if kind == 3:
        order = jnp.argsort(x.reshape(size, -1).sum(1))
        return x[order] if chance(c, 2) else x.at[order].set(jnp.tanh(x))
    if kind == 4:
        return jnp.sort(x, _axis(c, x))
    if kind == 5:
        return jnp.take_along_axis(x, jnp.argmax(x, 0, keepdims=True), 0)
    if kind == 6:
        return lax.dynamic_update_slice_in_dim(x, 2 * x[1:], c.below(3), 0)
    return lax.top_k(x, 1 + c.below(3))[0]


def cumulative(c: Choices, values: Sequence[Traced]) -> Traced:
    """A cumulative sum, product, extreme or logsumexp."""
    x = _of_rank(values, 1)
    return pick(c, _CUMULATIVE)(x, axis=_axis(c, x), reverse=bool(c.below(2)))


def loop(c: Choices, values: Sequence[Traced]) -> Traced:
    """A scan over the first axis, with a carry, or a loop of a few iterations."""
    x = _of_rank(values, 1, 3)
    if chance(c, 2):
        return lax.fori_loop(0, 2 + c.below(3), lambda k, y: jnp.tanh(y + 0.5 * x) + k, x)
    carry, every = lax.scan(lambda h, row: (jnp.tanh(h + row), h * row), jnp.zeros_like(x[0]), x)
    return every if chance(c, 2) else carry


def convolution(c: Choices, values: Sequence[Traced]) -> Traced:
    """A convolution of one dim with a constant kernel, or a max pooling."""
    x = _of_rank(values, 2, 3)
    lines = x.reshape(-1, x.shape[-1], 1)
    width = 2 + c.below(3)
    if chance(c, 3):
        window, low = (1, width, 1), width - 1
        found = lax.reduce_window(lines, -jnp.inf, lax.max, window, (1, 1, 1), ((0, 0), (low, 0), (0, 0)))
    else:
        kernel = jnp.sin(jnp.arange(2.0 * width)).reshape(width, 1, 2).astype(x.dtype)
        padding = "SAME" if c.below(2) else [(width - 1, 0)]
        numbers = ("NWC", "WIO", "NWC")
        found = lax.conv_general_dilated(lines, kernel, (1,), padding, dimension_numbers=numbers)
    return found.reshape(*x.shape[:-1], x.shape[-1], -1)


STEPS: Sequence[Step] = (
    function, both, norm, reduction, moved, product, attention, indexed, function, both, moved, reduction, norm,
    attention, cumulative, convolution, loop, moved,
)  # fmt: skip
