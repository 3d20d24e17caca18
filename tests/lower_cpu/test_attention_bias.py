"""Gradients of attention on a CPU whose numbers between the products others read, as the gradient of a bias."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.kernels.groups import GroupKind
from tests.lower_cpu.test_attention import plan_of, rarely_special, sized
from tests.lower_cpu.test_attention_backward import verify, with_upstream
from tests.lower_cuda.attention_programs import biased, heads, library, mixed, scores
from tests.pipeline.exports import Array, In, by_jax, check, expected, exported, flat

pytestmark = pytest.mark.slow

Function = Callable[..., Any]


def with_bias(function: Function) -> Function:
    """Gradients of queries, keys, values and of the bias, which stands after them."""
    return lambda q, k, v, bias, *rest: jax.vjp(lambda *x: function(*x, *rest[:-1]), q, k, v, bias)[1](rest[-1])


def causal_biased(q: Any, k: Any, v: Any, bias: Any) -> Any:
    """The first query sees 3 keys; without keys, nothing."""
    s = scores(q, k) + bias
    seen = jnp.arange(s.shape[-2])[:, None] + 3 > jnp.arange(s.shape[-1])[None]
    return mixed(jax.nn.softmax(jnp.where(seen, s, -jnp.inf), -1), v)


def learned(q: Any, k: Any, v: Any, table: Any, places: Any) -> Any:
    """A bias for each head that depends on how far a key is from a query."""
    return causal_biased(q, k, v, jnp.moveaxis(table[places], -1, 0))


def scaled(q: Any, k: Any, v: Any, factor: Any) -> Any:
    """The gradient of a factor is no number that a product multiplies."""
    return mixed(jax.nn.softmax(scores(q, k) * factor, -1), v)


def places(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return rng.integers(0, 5, shape).astype(dtype)


BIASES: Mapping[str, tuple[Function, Sequence[In]]] = {
    "per head": (biased, (In("2, t - 1, s - 1"),)),
    "per matrix": (biased, (In("b, 2, t - 1, s - 1"),)),
    "one": (biased, (In("1, 1, t - 1, s - 1"),)),
    "per key": (biased, (In("b, 1, 1, s - 1"),)),
    "causal": (causal_biased, (In("2, t - 1, s - 1"),)),
    "causal, per key": (causal_biased, (In("b, 1, 1, s - 1"),)),
    "causal, per matrix": (causal_biased, (In("b, 2, t - 1, s - 1"),)),
    "library": (library(is_causal=True), (In("1, 2, t - 1, s - 1"),)),
    "factor": (scaled, (In("2, t - 1, s - 1"),)),
    "learned": (learned, (In("5, 2"), In("t - 1, s - 1", np.int32, draw=places))),
}  # fmt: skip


def biased_inputs(name: str) -> list[In]:
    return [*heads(), *BIASES[name][1], In("b, t - 1, 2, 16")]


@pytest.mark.parametrize("name", BIASES)
def test_gradients_of_a_bias(name: str) -> None:
    """Beside the kernel of gradients, which stores one number per score, no product is left."""
    function, inputs = BIASES[name][0], biased_inputs(name)
    plan = plan_of(with_bias(function), *inputs)
    kinds = [g.kind for g in plan.groups]
    reasons = [d.reason for d in plan.decisions if not d.merged]
    assert kinds.count(GroupKind.ATTENTION_BACKWARD) == 1, reasons
    assert GroupKind.DOT not in kinds, reasons
    (group,) = (g for g in plan.groups if g.kind is GroupKind.ATTENTION_BACKWARD)
    assert len(group.roots) == 4
    # The gradient of a factor of one score is 0 but for rounding: exp(x * factor - max) need not be 1.
    fewest = (1, 2) if name == "factor" else (1, 1)
    sizes = [sized(t, s) for t, s in ((0, 5), (5, 0), fewest, (8, 7), (49, 128), (128, 300), (300, 77))]
    verify(with_bias(function), inputs, sizes)


@pytest.mark.parametrize("dtype", [np.float16, jnp.bfloat16])
def test_types_of_two_bytes(dtype: Any) -> None:
    """What is stored rounds where the program rounds."""
    inputs = [replace(one, dtype=dtype) for one in biased_inputs("causal")]
    run = shlo_disc.compile(exported(with_bias(causal_biased), inputs), options=CompileOptions(optimize=1, threads=1))
    assert run.kernels_source.count("shlo_attention_backward_") == 1
    draws = [
        [i.array(np.random.default_rng(0), sized(t, s)) for i in inputs] for t, s in ((1, 1), (49, 128), (300, 77))
    ]
    for arrays, wanted in expected(with_bias(causal_biased), inputs, draws):
        check(flat(run, arrays), wanted, str(arrays[0].shape), scale=8, inside=8)


def test_a_bias_and_the_result() -> None:
    """The forward pass is a kernel of its own."""
    function = lambda *x: (causal_biased(*x[:-1]), with_bias(causal_biased)(*x))  # noqa: E731
    inputs = biased_inputs("causal")
    kinds = [g.kind for g in plan_of(function, *inputs).groups if g.kind is not GroupKind.ROWS]
    assert kinds == [GroupKind.ATTENTION, GroupKind.ATTENTION_BACKWARD]
    verify(function, inputs, [sized(47, 48), sized(300, 300)])


def gradients_summed(q: Any, k: Any, v: Any, bias: Any, upstream: Any) -> Any:
    """What is made of the bias' gradient waits for that of the queries."""
    found = with_bias(biased)(q, k, v, bias, upstream)
    return *found[:3], found[3] + jnp.sum(found[0])


def test_what_waits_for_another_gradient() -> None:
    verify(gradients_summed, biased_inputs("per matrix"), [sized(47, 48), sized(130, 70)])


@pytest.mark.parametrize("position", [0, 3, 4])
def test_nans_and_infinities_beside_a_bias(position: int) -> None:
    """Also in what hidden pairs store."""
    inputs = biased_inputs("causal")
    inputs[position] = replace(inputs[position], draw=rarely_special)
    verify(with_bias(causal_biased), inputs, [sized(20, 70), sized(130, 300)])


@pytest.mark.parametrize("name", ["per head", "per key", "learned"])
def test_threads_and_a_bias(name: str) -> None:
    function, inputs = BIASES[name][0], biased_inputs(name)
    source = exported(with_bias(function), inputs)
    arrays = [i.array(np.random.default_rng(1), sized(200, 300)) for i in inputs]
    one, two = (flat(shlo_disc.compile(source, options=CompileOptions(optimize=1, threads=n)), arrays) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def weights_and_gradients(q: Any, k: Any, v: Any, upstream: Any) -> Any:
    """Weights are a result, too."""
    weights, transposed = jax.vjp(lambda q, k: jax.nn.softmax(scores(q, k), -1), q, k)
    return (
        weights,
        *transposed(jnp.einsum("bthd,bshd->bhts", upstream, v)),
        jnp.einsum("bhts,bthd->bshd", weights, upstream),
    )


def test_weights_that_are_results() -> None:
    verify(weights_and_gradients, with_upstream(heads()), [sized(37, 19), sized(70, 300)])


def layers_with_a_bias(x: Any, bias: Any, *weights: Any) -> Any:
    """Layers share a learned bias, whose gradient is the sum of theirs."""
    for n in range(0, len(weights), 3):
        q, k, v = (x @ w for w in weights[n : n + 3])
        seen = jnp.arange(x.shape[0])[:, None] >= jnp.arange(x.shape[0])[None]
        x = x + jax.nn.softmax(jnp.where(seen, q @ k.T + bias, -jnp.inf), -1) @ v
    return jnp.sum(x**2)


def test_layers_that_share_a_bias() -> None:
    inputs = (In("s, 16"), In("s, s"), *[In("16, 16")] * 6)
    function = jax.grad(layers_with_a_bias, tuple(range(1, 8)))
    plan = plan_of(function, *inputs)
    assert [g.kind for g in plan.groups].count(GroupKind.ATTENTION_BACKWARD) == 2
    run = shlo_disc.compile(exported(function, inputs), options=CompileOptions(optimize=1, threads=1))
    arrays = [i.array(np.random.default_rng(0), {"s": 70}) * 0.2 for i in inputs]
    check(flat(run, arrays), by_jax(function, arrays), "layers", scale=20, inside=8)
