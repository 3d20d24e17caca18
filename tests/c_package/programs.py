# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Programs of many kinds, and arguments at a size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 11, 13, 15, 16, 17, 31, 32, 33, 47, 64, 101, 128)
BIG = np.random.default_rng(3).standard_normal((48, 96)).astype(np.float32)
Rng = np.random.Generator


class Program(NamedTuple):
    """A function of JAX, the types of its arguments, and the arguments of a call at a size."""

    function: Callable[..., Any]
    shapes: str
    arguments: Callable[[Rng, int], list[Any]]


def _floats(rng: Rng, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def _mlp(x: Any, w: Any, b: Any, v: Any) -> Any:
    return jax.nn.gelu(x @ w + b) @ v


def _rows(x: Any, scale: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return jax.nn.softmax(x), centred * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale


def _attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.T / 4.0) @ v


def _convolution(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _scan(x: Any, start: Any) -> Any:
    return lax.scan(lambda h, row: (jnp.tanh(h * 0.5 + row), h.sum()), start, x)


def _types(i: Any, p: Any, h: Any) -> Any:
    return i // 3 + i % 5, p & (i > 0), (h * 2 + 1).astype(jnp.bfloat16), i.astype(jnp.int8), (i + 1j) * 2


def _branches(x: Any, k: Any) -> Any:
    return lax.switch(k, [lambda x: x + 1, lambda x: x * 2, lambda x: x.sum(keepdims=True) + x], x)


def _at(rng: Rng, n: int) -> list[Any]:
    return [rng.integers(-9, 99, n).astype(np.int32), rng.random(n) < 0.5, _floats(rng, n).astype(ml_dtypes.bfloat16)]


PROGRAMS = {
    "mlp": Program(
        _mlp, "f32[b, 16], f32[16, 40], f32[40], f32[40, s]",
        lambda rng, n: [_floats(rng, *shape) for shape in ((n, 16), (16, 40), (40,), (40, n // 2 + 1))],
    ),
    "softmax and layer norm": Program(
        _rows, "f32[b, s], f32[s]", lambda rng, n: [_floats(rng, n // 2 + 1, n), _floats(rng, n)],
    ),
    "attention": Program(
        _attention, "f32[s, 16], f32[t, 16], f32[t, 16]",
        lambda rng, n: [_floats(rng, n, 16), _floats(rng, n + 1, 16), _floats(rng, n + 1, 16)],
    ),
    "convolution": Program(
        _convolution, "f32[b, h, 5, 3], f32[3, 3, 3, 8]",
        lambda rng, n: [_floats(rng, 2, n, 5, 3), _floats(rng, 3, 3, 3, 8)],
    ),
    "sort": Program(
        lambda x: (jnp.sort(x), jnp.argsort(x)), "f32[n]", lambda rng, n: [_floats(rng, n).round(1)],
    ),
    "scan": Program(_scan, "f32[t, 8], f32[8]", lambda rng, n: [_floats(rng, n, 8), _floats(rng, 8)]),
    "types": Program(_types, "i32[n], bool[n], bf16[n]", _at),
    "constant": Program(lambda x: x @ BIG, "f32[b, 48]", lambda rng, n: [_floats(rng, n, 48)]),
    "scalar": Program(
        lambda a, x: (a * x, a + 1), "f32[], f32[n]", lambda rng, n: [_floats(rng), _floats(rng, n)],
    ),
    "no kernels": Program(lambda x: (x, x.shape[0] * 2), "f32[n, 3]", lambda rng, n: [_floats(rng, n, 3)]),
    "branches": Program(_branches, "f32[n], i32[]", lambda rng, n: [_floats(rng, n), np.int32(n % 4)]),
}  # fmt: skip
