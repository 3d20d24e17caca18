# JAX's functions are partly untyped; nothing untyped leaves this file but arrays of any dtype.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""A small program for every template whose threads work together, at sizes where all of its loops run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from tests.pipeline.exports import In, between

BF16 = ml_dtypes.bfloat16
Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Template:
    """A program, and sizes of its symbols.

    `unneeded`: how many barriers are not needed at these sizes.
    """

    function: Callable[..., Any]
    inputs: tuple[In, ...]
    sizes: tuple[Sizes, ...]
    unneeded: int = 0


def _rows(x: Any) -> Any:
    y = x - x.mean(-1, keepdims=True)
    return y * lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-5)


def _attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bqd,bkd->bqk", q, k) * 0.125
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores, axis=-1), v)


def _convolution(x: Any, w: Any) -> Any:
    return jax.nn.relu(lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))


def _pool_gradient(x: Any) -> Any:
    def pooled(y: Any) -> Any:
        return lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()

    return jax.grad(pooled)(x)


def _product(a: Any, b: Any) -> Any:
    return jnp.tanh(jnp.matmul(a, b, preferred_element_type=jnp.float32))


def _few_rows(a: Any, b: Any) -> Any:
    return jax.nn.silu(a @ b)


def _experts(x: Any, w: Any, sizes: Any) -> Any:
    return jax.nn.silu(lax.ragged_dot(x, w, sizes))


def _of_experts(x: Any, w: Any, sizes: Any) -> Any:
    return jax.grad(lambda x, w: lax.ragged_dot(x, w, sizes).astype(jnp.float32).sum(), (0, 1))(x, w)


def _two_sorted(x: Any, y: Any) -> Any:
    return lax.sort((x, y), num_keys=1)


_X = In("b, s")
_LONG, _SHORT = {"b": 3, "s": 1501}, {"b": 37, "s": 37}

TEMPLATES: Mapping[str, Template] = {
    "rows": Template(_rows, (_X,), ({"b": 2, "s": 1300}, _SHORT)),
    "softmax in bf16": Template(
        lambda x: jax.nn.softmax(x, axis=-1), (In("b, s", BF16),), ({"b": 3, "s": 520}, _SHORT)
    ),
    # With one result, the loops over results of `join` and `whole` run once.
    "sums of all": Template(lambda x: (x * x).sum(), (_X,), ({"b": 40, "s": 1300}, _SHORT), unneeded=2),
    "columns": Template(lambda x: (x.sum(0), x.max(0)), (_X,), ({"b": 700, "s": 37}, {"b": 37, "s": 130})),
    # Ordered parts that are not there are not joined: the last barrier of `join` takes 128 parts of 2048 elements.
    "arguments of maxima": Template(lambda x: jnp.argmax(x, -1), (_X,), ({"b": 3, "s": 4200}, _SHORT), unneeded=1),
    "transposed": Template(lambda x: x.T + 1, (_X,), ({"b": 67, "s": 133}, {"b": 64, "s": 64})),
    "scan": Template(lambda x: jnp.cumsum(x, 1), (_X,), (_LONG, _SHORT)),
    "scan of columns": Template(lambda x: jnp.cumsum(x, 0), (_X,), ({"b": 700, "s": 5}, _SHORT)),
    "sort": Template(_two_sorted, (_X, In("b, s", np.int32)), ({"b": 2, "s": 4500}, _SHORT)),
    "top elements": Template(lambda x: lax.top_k(x, 5), (In("b, s + 4"),), ({"b": 2, "s": 2100}, _SHORT)),
    "scatter": Template(
        lambda x, i, u: x.at[i].add(u),
        (In("b"), In("s", np.int32, between(0, 6)), In("s")),
        ({"b": 7, "s": 1500}, {"b": 7, "s": 300}),
    ),
    "scatter of integers": Template(
        lambda x, i, u: x.at[i].max(u),
        (In("b", np.int32), In("s", np.int32, between(0, 6)), In("s", np.int32)),
        ({"b": 7, "s": 300},),
    ),
    "gradient of a pool": Template(_pool_gradient, (In("b, 2*s, 2*s, 3"),), ({"b": 2, "s": 6},)),
    "product": Template(_product, (In("b, s"), In("s, 70")), ({"b": 75, "s": 150},)),
    "product in bf16": Template(_product, (In("b, s", BF16), In("s, 72", BF16)), ({"b": 75, "s": 152},)),
    "product in f64": Template(_few_rows, (In("b, s", np.float64), In("s, 70", np.float64)), ({"b": 75, "s": 70},)),
    "product of few rows": Template(_few_rows, (In("b, s"), In("s, 96")), ({"b": 2, "s": 700}, {"b": 1, "s": 31})),
    "grouped product": Template(
        _experts,
        (In("b, s"), In("4, s, 70"), In("4", np.int32, between(-2, 40))),
        ({"b": 75, "s": 70}, {"b": 3, "s": 8}),
    ),
    "gradients of a grouped product": Template(
        _of_experts,
        (In("b, s", BF16), In("4, s, 72", BF16), In("4", np.int32, between(0, 40))),
        ({"b": 75, "s": 70}, {"b": 3, "s": 8}),
    ),
    "convolution": Template(_convolution, (In("b, s, s, 24"), In("3, 3, 24, 40")), ({"b": 1, "s": 9},)),
    "attention": Template(
        _attention,
        (In("b, q, 64"), In("b, k, 64"), In("b, k, 64")),
        ({"b": 1, "q": 33, "k": 150}, {"b": 1, "q": 1, "k": 300}),
    ),
    "attention in bf16": Template(
        _attention,
        (In("b, q, 64", BF16), In("b, k, 64", BF16), In("b, k, 64", BF16)),
        ({"b": 1, "q": 33, "k": 150}, {"b": 2, "q": 1, "k": 300}),
    ),
}


def arrays(template: Template, sizes: Sizes, kept: Sequence[int]) -> list[np.ndarray[Any, Any]]:
    """Arguments of a size."""
    rng = np.random.default_rng(0)
    drawn = [one.array(rng, sizes) for one in template.inputs]
    return [drawn[k] for k in kept]
