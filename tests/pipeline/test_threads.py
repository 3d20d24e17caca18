"""The same results from one core and from two, and from several threads that call at once."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc.options import CompileOptions
from tests.pipeline.exports import OPTIMIZED, Array, In, between, by_jax, check, exported, flat
from tests.pipeline.programs import LAYER, chain, dense, layers, softmax


def overlapping(x: Any, i: Any, u: Any) -> Any:
    """Windows of three rows are added, from the rows `i` on."""
    return jax.lax.scatter_add(x, i, u, jax.lax.ScatterDimensionNumbers((1, 2), (), (0,)))


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[In, ...], dict[str, int]]] = {
    "softmax": (softmax, (In("b, s"),), {"b": 1001, "s": 333}),
    "few long rows": (softmax, (In("b, s"),), {"b": 3, "s": 200_001}),
    "chain": (chain, (In("b, s"), In("s"), In("s")), {"b": 777, "s": 257}),
    "dense": (dense, (In("b, s"), In("s, n"), In("n")), {"b": 301, "s": 97, "n": 523}),
    "batched products": (
        lambda x, y: jnp.einsum("bij,bkj->bik", x, y) * 2,
        (In("b, i, 32"), In("b, k, 32")),
        {"b": 33, "i": 65, "k": 70},
    ),
    "three layers": (layers(3), (In("b, t, 16"), *LAYER * 3), {"b": 31, "t": 129}),
    "elementwise": (lambda x, y: jnp.tanh(x) * y.T, (In("b, s"), In("s, b")), {"b": 999, "s": 1001}),
    "columns": (lambda x: (x.sum(0), x.max(0), x.sum()), (In("b, s"),), {"b": 2001, "s": 301}),
    "sort": (lambda x: (jnp.sort(x, 1), jnp.argsort(x, 0)), (In("b, s"),), {"b": 501, "s": 301}),
    "scatter": (
        lambda x, i: x.at[i].add(1.5),
        (In("b, s"), In("n", np.int32, between(-300, 300))),
        {"b": 201, "s": 401, "n": 5001},
    ),
    "scatter of columns": (
        lambda x, i, u: x.at[:, i].add(u),
        (In("b, s"), In("n", np.int32, between(-450, 450)), In("b, n")),
        {"b": 201, "s": 401, "n": 301},
    ),
    "scatter of elements": (
        lambda i, u: jnp.zeros(700_001).at[i].add(u),
        (In("n", np.int32, between(-9, 9)), In("n")),
        {"n": 1001},
    ),
    "scatter of windows that overlap": (
        overlapping,
        (In("b + 2, 2"), In("n, 1", np.int32, between(-5, 99)), In("n, 3, 2")),
        {"b": 200_001, "n": 501},
    ),
    "gather": (
        lambda x, i: jnp.tanh(x[i]),
        (In("b, s"), In("n", np.int32, between(0, 200))),
        {"b": 201, "s": 401, "n": 3001},
    ),
    "running sums": (lambda x: jnp.cumsum(x, 0), (In("b, s"),), {"b": 301, "s": 701}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_two_threads_give_what_one_gives(name: str) -> None:
    function, inputs, sizes = PROGRAMS[name]
    text = exported(function, inputs)
    rng = np.random.default_rng(0)
    arrays = [i.array(rng, sizes) for i in inputs]
    one, two, five = (flat(shlo_disc.compile(text, options=replace(OPTIMIZED, threads=n)), arrays) for n in (1, 2, 5))
    check(one, by_jax(function, arrays), name, scale=5)
    for other in (two, five):
        for a, b in zip(one, other, strict=True):
            assert a.tobytes() == b.tobytes(), "tasks do not depend on who does them"


SUMS_OF_SQUARES = """
func.func @main(%x: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.multiply %x, %x : tensor<1x2x2x2xf32>
  %r = "stablehlo.reduce_window"(%y, %zero) <{
    padding = dense<[[0, 0], [0, 0], [2, 0], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 1, 3, 1>
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  return %r : tensor<1x2x2x2xf32>
}
"""


def test_both_host_programs_run_the_same_code() -> None:
    compiled = [shlo_disc.compile(SUMS_OF_SQUARES, options=CompileOptions(driver=one)) for one in ("c", "vm")]
    rng = np.random.default_rng(0)
    for _ in range(50):  # a product may be exact in a sum: which one is, must not depend on who launches
        x = rng.standard_normal((1, 2, 2, 2)).astype(np.float32)
        by_c, by_vm = (one(x)[0] for one in compiled)
        assert by_c.tobytes() == by_vm.tobytes()


def test_several_callers_at_once() -> None:
    compiled = shlo_disc.compile(
        exported(layers(2), (In("b, t, 16"), *LAYER * 2)), options=replace(OPTIMIZED, threads=2)
    )

    def inputs_of(seed: int) -> list[Array]:
        rng = np.random.default_rng(seed)
        sizes = {"b": 1 + seed % 5, "t": 1 + 37 * seed % 200}
        return [i.array(rng, sizes) for i in (In("b, t, 16"), *LAYER * 2)]

    calls = [inputs_of(seed) for seed in range(12)]
    alone = [flat(compiled, arrays) for arrays in calls]
    order = [k for _ in range(20) for k in range(len(calls))]
    with ThreadPoolExecutor(6) as pool:
        for k, found in zip(order, pool.map(lambda k: flat(compiled, calls[k]), order), strict=True):
            assert [x.tobytes() for x in found] == [x.tobytes() for x in alone[k]]
