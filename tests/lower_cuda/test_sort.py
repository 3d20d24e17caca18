# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
"""Sorting on a GPU: every variant at sizes around a warp, a block and several tiles, against JAX and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.runtime.cuda.device import IndexType
from tests.emulator.device import EmulatedDevice, Schedule
from tests.emulator.run import compiled
from tests.lower_cuda.forced import Array, forced
from tests.pipeline.exports import BF16, F16, In, exported, special

I8, I32 = np.int8, np.int32
SIZES = (0, 1, 2, 31, 32, 33, 127, 128, 129, 1023, 1025, 2047, 2048, 2049, 5000)
LABELS = ("warp", "block", "merge")
SCHEDULES: dict[str, Schedule] = {"warp": "random", "block": "lifo", "merge": "random"}


def lines(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    """Few different values, so that there are ties; NaN, infinities and zeros of both signs among floats."""
    kind = np.dtype(dtype)
    if kind.kind in "iub":
        return rng.integers(0, 2 if kind.kind == "b" else 50, shape).astype(kind)
    return special(rng, shape, kind)


def by_key(keys: Any, values: Any) -> Any:
    return lax.sort((keys, values), num_keys=1, is_stable=True)


@pytest.mark.parametrize("index", ["int32_t", "int64_t"])
@pytest.mark.parametrize("label", LABELS)
def test_moves_values_with_their_keys(label: str, index: IndexType) -> None:
    """Equal keys keep their order: the values say where each came from."""
    source = exported(by_key, [In("b, s - 1"), In("b, s - 1", I32)])
    run, rng, ran = forced(source, label, schedule=SCHEDULES[label], index=index), np.random.default_rng(0), set[int]()
    for size in SIZES:
        keys = lines(rng, (3, size), np.float32)
        values = np.arange(keys.size, dtype=I32).reshape(keys.shape)
        (first, second), taken = run([keys, values])
        order = np.argsort(keys, axis=1, kind="stable")
        np.testing.assert_array_equal(first, np.take_along_axis(keys, order, 1))
        np.testing.assert_array_equal(second, np.take_along_axis(values, order, 1))
        ran.update({size} if taken else ())
    assert ran == {size for size in SIZES if size <= {"warp": 128, "block": 1024, "merge": 1 << 40}[label]}


def lexicographic(x: Any) -> Any:
    return lax.sort((x, x[:, ::-1], x * 2), num_keys=3, dimension=1)


def leading(x: Any) -> Any:
    return lax.top_k(jnp.concatenate([x] * 8, 1), 5)


PROGRAMS: dict[str, tuple[Callable[..., Any], Any, int]] = {
    "argsort": (lambda x: jnp.argsort(x, axis=1), np.float32, 1),
    "argsort downwards": (lambda x: jnp.argsort(x, axis=-1, descending=True), BF16, 1),
    "columns": (lambda x: jnp.sort(x, axis=0), np.float32, 0),
    "argsort of columns": (lambda x: jnp.argsort(x, axis=0), I8, 0),
    "half": (lambda x: jnp.sort(x, axis=1), F16, 1),
    "bool": (lambda x: jnp.argsort(x, axis=1), np.bool_, 1),
    "complex": (lambda x: lax.sort(x, dimension=1), np.complex64, 1),
    "three keys": (lexicographic, I32, 1),
    "largest": (leading, np.float32, 1),
}


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_jax(name: str, label: str) -> None:
    function, dtype, axis = PROGRAMS[name]
    run, rng = forced(exported(function, [In("b, s", dtype)]), label), np.random.default_rng(1)
    for size in (1, 33, 500, 2500):
        x = lines(rng, (2, size) if axis else (size, 2), dtype)
        wanted = [np.asarray(y) for y in jax.tree.leaves(jax.jit(function)(x))]
        for result, expected in zip(run([x])[0], wanted, strict=True):
            np.testing.assert_array_equal(result, expected)


def test_only_leading_elements_that_are_read_are_sorted() -> None:
    text = compiled(exported(leading, [In("b, s")]), EmulatedDevice()).kernels_source
    assert "keep = min_(extent, 5)" in text
    text = compiled(exported(by_key, [In("b, s"), In("b, s", I32)]), EmulatedDevice()).kernels_source
    assert "keep = min_(extent, n_s)" in text


CONTRADICTORY = """
func.func public @main(%x: tensor<?xi32>, %y: tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>) {
  %0:2 = "stablehlo.sort"(%x, %y) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
      %m = stablehlo.multiply %a, %b : tensor<i32>
      %n = stablehlo.add %m, %a : tensor<i32>
      %z = stablehlo.constant dense<7> : tensor<i32>
      %r = stablehlo.remainder %n, %z : tensor<i32>
      %k = stablehlo.constant dense<3> : tensor<i32>
      %t = stablehlo.compare LT, %r, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<?xi32>, tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>)
  return %0#0, %0#1 : tensor<?xi32>, tensor<?xi32>
}
"""


@pytest.mark.parametrize("label", LABELS)
def test_an_order_that_contradicts_itself_ends(label: str) -> None:
    """Every element of the result is one of the line, and nothing is read or written outside of it."""
    run, rng = forced(CONTRADICTORY, label), np.random.default_rng(2)
    for size in (2, 100, 2000, 7000):
        keys = rng.integers(0, 50, size).astype(I32)
        (first, second), _ = run([keys, np.arange(size, dtype=I32)])
        assert second.min() >= 0
        assert second.max() < size
        np.testing.assert_array_equal(first, keys[second])


def test_large_items_have_smaller_tiles() -> None:
    """Twelve keys of 16 bytes each: a tile of 256 items would not fit into shared memory."""

    def sort(*keys: Any) -> Any:
        return lax.sort(keys, num_keys=12)

    with jax.enable_x64(True):
        source = exported(sort, [In("s", np.complex128)] * 12)
    rng = np.random.default_rng(3)
    keys = [rng.integers(0, 2, 700).astype(np.complex128) for _ in range(12)]
    order = np.lexsort([k.real for k in reversed(keys)])
    for label in LABELS:
        results, _ = forced(source, label)(keys)
        for result, key in zip(results, keys, strict=True):
            np.testing.assert_array_equal(result, key[order])
