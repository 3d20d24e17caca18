# JAX's functions are partly untyped; nothing untyped leaves this file but arrays of any dtype.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Functions of a varying size, each with arguments that are drawn anew, to be transformed in all ways of JAX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

BF16 = ml_dtypes.bfloat16


class Draw:
    """Draws arrays; `n` is the size that varies."""

    def __init__(self, rng: np.random.Generator, n: int) -> None:
        self._rng, self.n = rng, n

    def floats(self, *shape: int, dtype: Any = np.float32) -> Any:
        return self._rng.standard_normal(shape).astype(dtype)

    def integers(self, low: int, high: int, *shape: int, dtype: Any = np.int32) -> Any:
        """In `low ..< high`; zeros where there are none."""
        return self._rng.integers(low, max(high, low + 1), shape).astype(dtype)

    def bools(self, *shape: int) -> Any:
        return self._rng.random(shape) < 0.6

    def key(self) -> Any:
        return jax.random.key(int(self._rng.integers(1 << 30)))


@dataclass(frozen=True)
class Program:
    """A function, how its arguments are drawn, and their shapes in the language of `shlo_disc.jit`.

    `differentiable`: numbers of the arguments with respect to which it can be differentiated. `forward`, `reverse`: in
    that mode. `twice`: a second time. `scale` is one of the tolerance. `narrow`: it rounds to bfloat16 on the way.
    `least`: the smallest size.
    """

    name: str
    function: Callable[..., Any]
    draw: Callable[[Draw], tuple[Any, ...]]
    shapes: Any
    differentiable: tuple[int, ...] = (0,)
    forward: bool = True
    reverse: bool = True
    twice: bool = False
    scale: float = 1.0
    narrow: bool = False
    least: int = 0


PROGRAMS = list[Program]()


def program(draw: Callable[[Draw], tuple[Any, ...]], shapes: Any, **options: Any) -> Callable[..., Any]:
    """Add a function to `PROGRAMS`."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Program(function.__name__, function, draw, shapes, **options))
        return function

    return add


def _rows(width: int) -> Callable[[Draw], tuple[Any, ...]]:
    return lambda d: (d.floats(d.n, width),)


# --- elements and reductions ------------------------------------------------------------------------------------------


@program(_rows(3), "n 3", twice=True)
def elementwise(x: Any) -> Any:
    return jnp.tanh(x) * jnp.exp(-x * x) + jnp.log1p(jnp.abs(x))


@program(_rows(4), "n 4")
def special_functions(x: Any) -> Any:
    return jax.nn.gelu(x, approximate=False) + jax.nn.silu(x), lax.erf(x) * jax.nn.softplus(x)


@program(_rows(4), "n 4", twice=True)
def reductions(x: Any) -> Any:
    return x.sum(0), x.max(1), jnp.prod(x, 1), jnp.sqrt(1 + (x * x).mean(1)), jnp.linalg.norm(x + 5, axis=1)


@program(_rows(6), "n 6", twice=True)
def softmax(x: Any) -> Any:
    return jax.nn.softmax(x), jax.nn.logsumexp(x, axis=1)


@program(lambda d: (d.floats(d.n, 8), d.floats(8), d.floats(8)), "n 8, 8, 8", differentiable=(0, 1, 2), scale=4)
def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    return centered * lax.rsqrt((centered * centered).mean(-1, keepdims=True) + 1e-3) * scale + shift


@program(_rows(3), "n 3", scale=8)
def mean_and_variance(x: Any) -> Any:
    return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 0.1), jnp.std(x + 1, axis=1)


@program(lambda d: (d.floats(d.n, 4), d.bools(d.n, 4)), "n 4, n 4")
def masked_mean(x: Any, mask: Any) -> Any:
    count = jnp.maximum(mask.sum(1), 1)
    return jnp.where(mask, x, 0).sum(1) / count, jnp.where(mask, x, -1e9).max(1), mask.any(1)


@program(_rows(3), "n 3", scale=8, least=1)
def mapped_axis(x: Any) -> Any:
    """Sums over an axis that `vmap` names, as layers do that normalize over a batch."""

    def row(x: Any) -> Any:
        largest = lax.pmax(lax.stop_gradient(x), "rows") - lax.pmin(lax.stop_gradient(x), "rows")
        return jnp.tanh(x - lax.pmean(x, "rows")) * lax.psum(x * x, "rows"), largest

    return jax.vmap(row, axis_name="rows")(x)


@program(_rows(4), "n 4")
def cumulative(x: Any) -> Any:
    return jnp.cumsum(x, 0), jnp.cumprod(x, 1), lax.cummax(x, axis=0)


# --- products ---------------------------------------------------------------------------------------------------------


@program(lambda d: (d.floats(d.n, 6), d.floats(6, 3)), "n 6, 6 3", differentiable=(0, 1), twice=True)
def matmul(x: Any, w: Any) -> Any:
    return jnp.tanh(x @ w)


@program(lambda d: (d.floats(d.n, 4, 5), d.floats(d.n, 5, 3)), "n 4 5, n 5 3", differentiable=(0, 1))
def batched_matmul(x: Any, y: Any) -> Any:
    return x @ y


@program(lambda d: (d.floats(d.n, 2, 3), d.floats(d.n, 3, 4), d.floats(4)), "n 2 3, n 3 4, 4", differentiable=(0, 1, 2))
def einsum(x: Any, y: Any, z: Any) -> Any:
    return jnp.einsum("bij,bjk,k->bi", x, y, z)


@program(
    lambda d: tuple(d.floats(2, d.n, 4) for _ in range(3)), "2 s 4, 2 s 4, 2 s 4", differentiable=(0, 1, 2), scale=2
)
def attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / 2
    length = q.shape[1]
    causal = jnp.arange(length)[:, None] >= jnp.arange(length)[None]
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(jnp.where(causal, scores, -1e9)), v)


@program(lambda d: (d.floats(d.n, 3), d.floats(d.n + 2, 3)), "n 3, n+2 3", differentiable=(0, 1), twice=True)
def distances(x: Any, y: Any) -> Any:
    return jnp.square(x[:, None] - y[None]).sum(-1)


@program(lambda d: (d.floats(d.n, 5, 5, 2), d.floats(3, 3, 2, 3)), "n 5 5 2, 3 3 2 3", differentiable=(0, 1), scale=2)
def convolution(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (2, 2), ((1, 1), (0, 1)), dimension_numbers=("NHWC", "HWIO", "NHWC"))


@program(  # at 0 the gradient of the weights is wrong: `test_windows_without_elements`
    lambda d: (d.floats(2, d.n, 3), d.floats(3, 3, 4)), "2 n 3, 3 3 4", differentiable=(0, 1), scale=2, least=1
)
def convolution_along(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (1,), ((1, 1),), dimension_numbers=("NWC", "WIO", "NWC"))


# --- control flow -----------------------------------------------------------------------------------------------------


@program(lambda d: (d.floats(d.n, 5, 3), d.floats(3, 4), d.floats(4, 4)), "n 5 3, 3 4, 4 4", differentiable=(0, 1, 2))
def rnn(x: Any, w: Any, u: Any) -> Any:
    def step(state: Any, now: Any) -> Any:
        state = jnp.tanh(now @ w + state @ u)
        return state, state.sum(-1)

    return lax.scan(step, jnp.zeros((x.shape[0], 4), x.dtype), x.swapaxes(0, 1))


@program(_rows(3), "n 3")
def scan_along(x: Any) -> Any:
    return lax.scan(lambda state, now: (jnp.sin(state) + now, state * now), jnp.zeros(3, x.dtype), x)


@program(lambda d: (np.abs(d.floats(d.n)) + 1,), "n", reverse=False)
def newton_roots(x: Any) -> Any:
    def step(state: Any) -> Any:
        k, y = state
        return k + 1, (y + x / y) / 2

    return lax.while_loop(lambda state: state[0] < 6, step, (0, x))[1]


@program(_rows(3), "n 3", twice=True)
def branches(x: Any) -> Any:
    return lax.cond(x.sum() > 0, jnp.sin, lambda y: y * y, x), lax.fori_loop(0, 3, lambda k, y: y * 0.5 + k, x)


@program(lambda d: (d.floats(d.n, 3), d.integers(0, 3)), "n 3, ")
def switch(x: Any, which: Any) -> Any:
    return lax.switch(which, [jnp.sin, jnp.cos, lambda y: y * y * y], x)


# --- indices and order ------------------------------------------------------------------------------------------------


@program(lambda d: (d.floats(10, 3), d.integers(0, 10, d.n)), "10 3, n")
def embedding(table: Any, ids: Any) -> Any:
    return table[ids] * 2, jnp.take(table, ids, axis=0).sum(1)


@program(  # at 0 JAX's own gradient is an error
    lambda d: (d.floats(d.n, 3), d.integers(0, d.n, 4), d.floats(4, 3)), "n 3, 4, 4 3", differentiable=(0, 2), least=1
)
def scatter(x: Any, ids: Any, updates: Any) -> Any:
    return x.at[ids].add(updates)


@program(lambda d: (d.floats(d.n, 3), d.integers(0, 4, d.n)), "n 3, n")
def segments(x: Any, ids: Any) -> Any:
    return jax.ops.segment_sum(x, ids, num_segments=4)


@program(lambda d: (d.floats(5, 4), d.integers(0, 5, d.n)), "5 4, n")
def one_hot(w: Any, ids: Any) -> Any:
    return jax.nn.one_hot(ids, 5) @ w


@program(_rows(5), "n 5")
def sort(x: Any) -> Any:
    return jnp.sort(x, 0), jnp.argsort(x, axis=1), -jnp.sort(-x, 1)


@program(_rows(6), "n 6")
def top_k(x: Any) -> Any:
    return lax.top_k(x, 3)


@program(_rows(6), "n 6")
def extremes(x: Any) -> Any:
    return jnp.argmax(x, 1), jnp.argmin(x, axis=1), x.max(1) - x.min(1)


@program(lambda d: (d.floats(8, d.n), d.integers(0, 7), d.floats(2, d.n)), "8 n, , 2 n", differentiable=(0, 2))
def dynamic_slices(x: Any, start: Any, update: Any) -> Any:
    found = lax.dynamic_slice_in_dim(x, start, 3)
    return found, lax.dynamic_update_slice_in_dim(x, update, start, axis=0)


@program(lambda d: (d.floats(d.n, 3), d.floats(2, 3)), "n 3, 2 3", differentiable=(0, 1), twice=True)
def pieces(x: Any, y: Any) -> Any:
    whole = jnp.concatenate([x, y * y])
    return whole[1:-1], jnp.pad(whole, ((2, 1), (0, 0)), constant_values=3), whole[::-1], jnp.stack([x, x + 1])


@program(_rows(3), "n 3")
def positions(x: Any) -> Any:
    steps = jnp.arange(x.shape[0], dtype=x.dtype)[:, None]
    return x + jnp.sin(steps / 10), jnp.tile(x, (2, 1)), jnp.broadcast_to(x, (2, *x.shape)), x.reshape(-1)


# --- rules of one's own, random numbers, other types ------------------------------------------------------------------


@jax.custom_jvp
def _soft(x: Any) -> Any:
    return jnp.log1p(jnp.exp(x))


_soft.defjvp(lambda primals, tangents: (_soft(*primals), tangents[0] * jax.nn.sigmoid(primals[0]) * 2))


@program(_rows(3), "n 3", twice=True)
def custom_jvp(x: Any) -> Any:
    return _soft(x * 2) + x


@jax.custom_vjp
def _clipped(x: Any, limit: Any) -> Any:
    del limit
    return x * 3


_clipped.defvjp(
    lambda x, limit: (x * 3, (x, limit)),
    lambda kept, received: (jnp.clip(received * kept[0], -kept[1], kept[1]), jnp.zeros_like(kept[1])),
)


@program(lambda d: (d.floats(d.n, 3), np.float32(0.5)), "n 3, ", differentiable=(0, 1), forward=False)
def custom_vjp(x: Any, limit: Any) -> Any:
    return _clipped(jnp.sin(x), limit) * 2


@program(lambda d: (d.floats(d.n, 3), d.floats(3, 3)), "n 3, 3 3", differentiable=(0, 1))
def rematerialized(x: Any, w: Any) -> Any:
    return jax.checkpoint(lambda y: jnp.sin(jnp.sin(y @ w) @ w))(x)


@program(lambda d: (d.floats(d.n, 3), d.key()), "n 3, ")
def random_numbers(x: Any, key: Any) -> Any:
    first, second = jax.random.split(key)
    kept = jax.random.bernoulli(first, 0.7, x.shape)
    return jnp.where(kept, x / 0.7, 0) + jax.random.normal(second, x.shape), jax.random.uniform(key, (3,))


@program(_rows(8), "n 8")
def spectrum(x: Any) -> Any:
    found = jnp.fft.fft(x)
    return jnp.abs(found[:, :3]) + 1, found * (1 + 2j), jnp.fft.irfft(found[:, :5])


@program(lambda d: (d.floats(d.n, 4, dtype=BF16), d.floats(4, 3)), "n 4, 4 3", differentiable=(0, 1), narrow=True)
def mixed_types(x: Any, w: Any) -> Any:
    return jnp.tanh(x) * jnp.bfloat16(1.5), x.astype(jnp.float32) @ w, (x.sum(1) * 2).astype(jnp.float16)


@program(
    lambda d: (d.integers(-50, 50, d.n, 4), d.integers(0, 9, d.n, 4, dtype=np.uint8)), "n 4, n 4", differentiable=()
)
def integers(x: Any, y: Any) -> Any:
    wide = y.astype(jnp.int32)
    return x // 3, x % 7, (x << 2) ^ wide, lax.population_count(y), jnp.cumsum(x, 0), jnp.clip(x, -3, 3).sum(), y > 4


@program(lambda d: (d.floats(d.n, 3, 3), d.floats(d.n, 3, 1)), "n 3 3, n 3 1", differentiable=(0, 1), scale=64)
def solve(a: Any, b: Any) -> Any:
    return jnp.linalg.solve(a @ a.swapaxes(1, 2) + 2 * jnp.eye(3), b)


@program(_rows(9), "n 9", scale=64)
def cholesky(x: Any) -> Any:
    a = x.reshape(-1, 3, 3)
    return jnp.linalg.cholesky(a @ a.swapaxes(1, 2) + 2 * jnp.eye(3))


@program(
    lambda d: ({"w": d.floats(3, 2), "layers": [d.floats(2), None]}, (d.floats(d.n, 3), d.floats(d.n))),
    {"params": None, "batch": ("n 3", "n")},
    differentiable=(0, 1),
)
def pytrees(params: Any, batch: Any) -> Any:
    x, y = batch
    found = x @ params["w"] + params["layers"][0]
    return {"loss": ((found.sum(1) - y) ** 2).sum(), "aux": (found, None, [y * 2])}
