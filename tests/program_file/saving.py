# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Programs to save, each with arguments of several sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import shlo_disc
from tests.pipeline.exports import FAST

SIZES = (1, 2, 7, 17, 64)
F32, KEY = jnp.float32, jax.random.key(0).dtype
BIG = np.random.default_rng(3).standard_normal((96, 80)).astype(np.float32)


class State(NamedTuple):
    weights: Any
    step: Any


class Case(NamedTuple):
    """A program, and the positional and keyword arguments of a call at a size."""

    compiled: Callable[[], shlo_disc.Compiled]
    call: Callable[[np.random.Generator, int], tuple[tuple[Any, ...], dict[str, Any]]]


def _floats(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def _of(function: Callable[..., Any], *types: tuple[str, Any], **options: Any) -> Callable[[], shlo_disc.Compiled]:
    def compile_it() -> shlo_disc.Compiled:
        return shlo_disc.compile(jax.export.export(jax.jit(function))(*_specs(*types)), options=FAST, **options)

    return compile_it


def _specs(*types: tuple[str, Any]) -> list[jax.ShapeDtypeStruct]:
    scope = jax.export.SymbolicScope()
    return [jax.ShapeDtypeStruct(jax.export.symbolic_shape(shape, scope=scope), dtype) for shape, dtype in types]


def _pytrees(state: State, batch: dict[str, Any], *, scale: Any, rest: None = None) -> Any:
    y = jnp.tanh(batch["x"] @ state.weights["w"] + state.weights["b"]) * scale
    return State({"w": y.T @ batch["x"]}, state.step + 1), [y, (y.sum(), rest)]


def _compile_pytrees() -> shlo_disc.Compiled:
    w, b, step, x, scale = _specs(("8, 4", F32), ("4", F32), ("", "int32"), ("n, 8", F32), ("", F32))
    exported = jax.export.export(jax.jit(_pytrees))(State({"w": w, "b": b}, step), {"x": x}, scale=scale, rest=None)
    return shlo_disc.compile(exported, options=FAST)


def _call_pytrees(rng: np.random.Generator, n: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    state = State({"w": _floats(rng, 8, 4), "b": _floats(rng, 4)}, np.int32(n))
    return (state, {"x": _floats(rng, n, 8)}), {"scale": np.float32(0.5), "rest": None}


def _control(x: Any) -> Any:
    y = lax.fori_loop(0, 5, lambda k, y: y * 0.5 + k, x)
    return lax.cond(x[0] > 0, jnp.sort, lambda y: y[::-1], y)


LATE = """func.func @main(%n: tensor<3xi32>, %y: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
  %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
  %2 = stablehlo.dynamic_iota %1, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  %3 = stablehlo.sine %y : tensor<?xf32>
  %4 = stablehlo.exponential %2 : tensor<?xf32>
  return %4, %3 : tensor<?xf32>, tensor<?xf32>
}"""


def _narrow(a: Any, b: Any, c: Any, d: Any) -> Any:
    return a @ a.T, b.astype(jnp.int32).sum(0) + b, c * jnp.conj(c), ~d, a.astype(jnp.float16)


def _call_narrow(rng: np.random.Generator, n: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    a = np.asarray(jnp.asarray(_floats(rng, n, 5)).astype(jnp.bfloat16))
    b = rng.integers(-9, 9, (n, 3)).astype(np.int8)
    return (a, b, _floats(rng, n) + 1j * _floats(rng, n), rng.random(n) < 0.5), {}


CASES = {
    "pytrees": Case(_compile_pytrees, _call_pytrees),
    "literals": Case(
        _of(lambda x: jnp.tanh(x @ BIG) + BIG[0, :80], ("n, 96", F32)), lambda r, n: ((_floats(r, n, 96),), {})
    ),
    "control": Case(_of(_control, ("n", F32)), lambda r, n: ((_floats(r, n),), {})),
    "sizes of data": Case(
        lambda: shlo_disc.compile(LATE, options=FAST),
        lambda r, n: ((np.array([n, 1, 2], np.int32), _floats(r, n)), {}),
    ),
    "transform": Case(_of(jnp.fft.rfft, ("n, 12", F32)), lambda r, n: ((_floats(r, n, 12),), {})),
    "factor": Case(
        _of(lambda x: jnp.linalg.cholesky(x @ x.mT + 5 * jnp.eye(4)), ("n, 4, 4", F32)),
        lambda r, n: ((_floats(r, n, 4, 4),), {}),
    ),
    "donated": Case(
        _of(lambda x, y: (x + y, y * 2), ("n", F32), ("n", F32), donate=[0]),
        lambda r, n: ((_floats(r, n), _floats(r, n)), {}),
    ),
    "types": Case(
        _of(_narrow, ("n, 5", jnp.bfloat16), ("n, 3", jnp.int8), ("n", jnp.complex64), ("n", bool)), _call_narrow
    ),
    "keys": Case(
        _of(lambda key, x: (jax.random.split(key), jax.random.normal(key, x.shape)), ("", KEY), ("n", F32)),
        lambda r, n: ((jax.random.key(n), _floats(r, n)), {}),
    ),
}


def weighted() -> shlo_disc.Compiled:
    """A program that packs its first argument."""

    def function(w: Any, x: Any) -> Any:
        return jnp.tanh(x @ w)

    shapes = ((96, 80), jax.export.symbolic_shape("n, 96"))
    specs = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    return shlo_disc.compile(jax.export.export(jax.jit(function))(*specs), options=FAST)
