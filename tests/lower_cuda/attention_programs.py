# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
"""Functions with attention in the ways that people write it, and functions that only look like it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shlo_disc.fusion.attention_groups import merge_attention
from shlo_disc.fusion.fuse import plan_fusion
from shlo_disc.kernels.attention.forward import AttentionKernel, build_attention
from shlo_disc.kernels.groups import FusionPlan, GroupKind
from shlo_disc.legalize.legalize import legalize
from shlo_disc.lower_cuda.kernels import CudaLowering
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from tests.pipeline.exports import Array, In, exported
from tests.pipeline.programs import context_of

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Found:
    """The groups of a program without and with attention, and the kernels of the latter."""

    before: FusionPlan
    after: FusionPlan
    kernels: tuple[AttentionKernel, ...]

    @property
    def reasons(self) -> list[str]:
        """Why candidates were refused."""
        known = set(self.before.decisions)
        return [d.reason for d in self.after.decisions if d not in known and not d.merged]


def find(function: Function, *inputs: In) -> Found:
    """Look for attention in an exported function."""
    return find_in(exported(function, inputs).mlir_module())


def find_in(text: str) -> Found:
    """Look for attention in a program's text."""
    program = legalize(parse_module(text, "export.mlir"))
    for step in PASSES:
        program = step.run(program)
    context = context_of(program, CudaLowering.abilities)
    before = plan_fusion(program.body, context)
    after = merge_attention(before, program.body, context)
    groups = [group for group in after.groups if group.kind is GroupKind.ATTENTION]
    return Found(before, after, tuple(build_attention(g, program.facts, context.producers)[0] for g in groups))


def heads(dtype: Any = np.float32, *, width: int = 16, count: int = 2) -> tuple[In, In, In]:
    """Queries, keys and values with any numbers of queries and keys, 0 included."""
    q, kv = f"b, t - 1, {count}, {width}", f"b, s - 1, {count}, {width}"
    return In(q, dtype), In(kv, dtype), In(kv, dtype)


def scores(q: Any, k: Any) -> Any:
    return jnp.einsum("bthd,bshd->bhts", q, k).astype(jnp.float32) * (q.shape[-1] ** -0.5)


def mixed(weights: Any, v: Any) -> Any:
    return jnp.einsum("bhts,bshd->bthd", weights.astype(v.dtype), v)


def plain(q: Any, k: Any, v: Any) -> Any:
    return mixed(jax.nn.softmax(scores(q, k), -1), v)


def causal(q: Any, k: Any, v: Any) -> Any:
    """The first query sees 3 keys; without keys, nothing."""
    s = scores(q, k)
    seen = jnp.arange(s.shape[-2])[:, None] + 3 > jnp.arange(s.shape[-1])[None]
    return mixed(jax.nn.softmax(jnp.where(seen, s, -jnp.inf), -1), v)


def masked(q: Any, k: Any, v: Any, mask: Any) -> Any:
    return mixed(jax.nn.softmax(jnp.where(mask[:, None], scores(q, k), -jnp.inf), -1), v)


def masked_twice(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """As transformers' BERT in JAX has it: rows without keys are 0."""
    weights = jax.nn.softmax(jnp.where(mask[:, None], scores(q, k), -jnp.inf), -1)
    return mixed(jnp.where(mask[:, None], weights, 0), v)


def biased(q: Any, k: Any, v: Any, bias: Any) -> Any:
    return mixed(jax.nn.softmax(scores(q, k) + bias, -1), v)


def dropped(q: Any, k: Any, v: Any, keep: Any) -> Any:
    return mixed(jax.nn.softmax(scores(q, k), -1) * keep / 0.9, v)


def capped(q: Any, k: Any, v: Any) -> Any:
    return mixed(jax.nn.softmax(30 * jnp.tanh(scores(q * 4, k) / 30), -1), v)


def with_epilogue(q: Any, k: Any, v: Any) -> Any:
    return q + jnp.tanh(plain(q, k, v) * 2)


def grouped(q: Any, k: Any, v: Any) -> Any:
    """Four heads of queries for two of keys and values."""
    return plain(q, jnp.repeat(k, 2, axis=2), jnp.repeat(v, 2, axis=2))


def library(**options: Any) -> Function:
    """JAX's own."""
    return lambda q, k, v, *rest: jax.nn.dot_product_attention(q, k, v, *rest, **options)


def matrices(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.T, -1) @ v


def keys_across(q: Any, k: Any, v: Any) -> Any:
    """Keys lie in columns, and the weights are on the right."""
    weights = jax.nn.softmax(jnp.einsum("bhtd,bhds->bhts", q, k), -1)
    return jnp.einsum("bhds,bhts->bhdt", v, weights)


def rows_reversed(q: Any, k: Any, v: Any) -> Any:
    return mixed(jnp.flip(jax.nn.softmax(scores(q, k), -1), -2), v)


def own_softmax(q: Any, k: Any, v: Any) -> Any:
    s = scores(q, k)
    e = jnp.exp(s - s.max(-1, keepdims=True, initial=-jnp.inf))
    return mixed(e / e.sum(-1, keepdims=True), v)


def few_keys(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Most keys are masked: of some queries all, of some all but the last ones."""
    del dtype
    mask = rng.random(shape) < 0.5
    mask[:, ::3] = False
    mask[:, 1::3, :-2] = False
    return mask


MASK = In("b, t - 1, s - 1", np.bool_)
FEW_KEYS = replace(MASK, draw=few_keys)
ONE_QUERY = (In("b, 1, 2, 16"), *heads()[1:])

ATTENTION: Mapping[str, tuple[Function, Sequence[In]]] = {
    "plain": (plain, heads()),
    "causal": (causal, heads()),
    "mask": (masked, (*heads(), MASK)),
    "mask before and after": (masked_twice, (*heads(), MASK)),
    "bias": (biased, (*heads(), In("2, t - 1, s - 1"))),
    "dropout": (dropped, (*heads(), In("b, 2, t - 1, s - 1"))),
    "soft cap": (capped, heads()),
    "epilogue": (with_epilogue, heads()),
    "fewer heads of keys": (grouped, (In("b, t - 1, 4, 16"), *heads()[1:])),
    "library": (library(), heads()),
    "library, causal": (library(is_causal=True), heads()),
    "library, fewer heads of keys": (library(scale=1.0), (In("b, t - 1, 4, 16"), *heads()[1:])),
    "library, bias": (library(is_causal=True), (*heads(), In("b, 2, t - 1, s - 1"))),
    "one query": (plain, ONE_QUERY),
    "one query, fewer heads of keys": (library(), (In("b, 1, 4, 16"), *heads()[1:])),
    "matrices": (matrices, (In("t - 1, 20"), In("s - 1, 20"), In("s - 1, 40"))),
    "keys across": (keys_across, (In("b, 3, t - 1, 16"), In("b, 3, 16, s - 1"), In("b, 3, 8, s - 1"))),
    "rows reversed": (rows_reversed, heads()),
    "own softmax": (own_softmax, heads()),
    "f16": (causal, heads(np.float16)),
    "bf16": (causal, heads(jnp.bfloat16)),
    "wide": (plain, heads(width=128)),
    "width of one": (matrices, (In("t - 1, 1"), In("s - 1, 1"), In("s - 1, 1"))),
}


def _weights_too(q: Any, k: Any, v: Any) -> Any:
    weights = jax.nn.softmax(scores(q, k), -1)
    return mixed(weights, v), weights


def _scores_too(q: Any, k: Any, v: Any) -> Any:
    s = scores(q, k)
    return mixed(jax.nn.softmax(s, -1), v), s.sum(-1)


def _other_axis(q: Any, k: Any, v: Any) -> Any:
    return mixed(jax.nn.softmax(scores(q, k), -2), v)


def _two_shifts(q: Any, k: Any, v: Any) -> Any:
    s = scores(q, k)
    e = jnp.exp(s - (2 * s).max(-1, keepdims=True, initial=-jnp.inf))
    return mixed(e / e.sum(-1, keepdims=True), v)


def _other_sum(q: Any, k: Any, v: Any) -> Any:
    s = scores(q, k)
    top = s.max(-1, keepdims=True, initial=-jnp.inf)
    e = jnp.exp(s - top)
    return mixed(e / jnp.exp(2 * (s - top)).sum(-1, keepdims=True), v)


def _squared(q: Any, k: Any, v: Any) -> Any:
    return mixed(jnp.square(jax.nn.softmax(scores(q, k), -1)), v)


def _plus(q: Any, k: Any, v: Any) -> Any:
    return mixed(jax.nn.softmax(scores(q, k), -1) + 0.5, v)


def _logarithm(q: Any, k: Any, v: Any) -> Any:
    return mixed(jax.nn.log_softmax(scores(q, k), -1), v)


def _keys_reversed(q: Any, k: Any, v: Any) -> Any:
    return mixed(jnp.flip(jax.nn.softmax(scores(q, k), -1), -1), v)


def _values_of_scores(q: Any, k: Any, v: Any) -> Any:
    weights = jax.nn.softmax(scores(q, k), -1)
    return jnp.einsum("bhts,bhus->bhtu", weights, jnp.tanh(weights)) + v.sum()


# What is refused, and a word of the reason; None where there is not even a candidate.
REFUSED: Mapping[str, tuple[Function, Sequence[In], str | None]] = {
    "weights are a result": (_weights_too, heads(), "result of the program"),
    "scores are read elsewhere": (_scores_too, heads(), None),
    "softmax over queries": (_other_axis, heads(), "not taken over all keys"),
    "maximum of other scores": (_two_shifts, heads(), "maximum"),
    "sum of other exponentials": (_other_sum, heads(), "not subtracted"),
    "squares of weights": (_squared, heads(), "divided"),
    "something added to weights": (_plus, heads(), "divided"),
    "logarithms": (_logarithm, heads(), "divided"),
    "weights of other keys": (_keys_reversed, heads(), "several elements"),
    "values depend on scores": (_values_of_scores, heads(), "both operands"),
    "too wide": (plain, heads(width=136), "136 wide"),
    "unknown width": (matrices, (In("t, d"), In("s, d"), In("s, d")), "wide"),
    "unknown width of queries": (matrices, (In("t, d"), In("s, d"), In("s, 16")), "wide"),
}
