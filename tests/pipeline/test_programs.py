"""Normalisations, activations, reductions, contractions: compiled once, right at every size."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.pipeline.exports import BF16, F16, OPTIMIZED, In, Program, between, infinite, program, special, verify

F64, I8, I32, U8 = np.float64, np.int8, np.int32, np.uint8


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def rms_norm(x: Any, scale: Any) -> Any:
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale


def chain(x: Any, scale: Any, shift: Any) -> Any:
    return jax.nn.softmax(layer_norm(jax.nn.gelu(x), scale, shift), axis=-1)


def attention(q: Any, k: Any, v: Any, lengths: Any) -> Any:
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.5
    mask = jnp.arange(k.shape[2])[None, :] < lengths[:, None]
    weights = jax.nn.softmax(jnp.where(mask[:, None, None, :], scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhqk,bhkd->bqhd", weights, v)


def variadic(x: Any, y: Any) -> Any:
    """Largest x of each row, and the y next to it (the first one of equals)."""

    def larger(a: Any, b: Any) -> Any:
        keep = a[0] >= b[0]
        return tuple(lax.select(keep, p, q) for p, q in zip(a, b, strict=True))

    return lax.reduce((x, y), (np.float32(-np.inf), np.int32(0)), larger, (1,))


def many_reductions(x: Any) -> Any:
    return x.sum(), x.max(0), x.min(1), x.prod(2), x.sum((0, 2)), x.mean((1, 2)), (x > 0).any(0), (x > 0).all((1, 2))


def residual(x: Any, w1: Any, b1: Any, w2: Any) -> Any:
    h = x + jax.nn.gelu(x @ w1 + b1) @ w2
    return h, h * 2, rms_norm(h, b1[: h.shape[-1]])


def einsums(*forms: str) -> Any:
    def run(*operands: Any) -> Any:
        return tuple(jnp.einsum(form, *operands) for form in forms)

    return run


X = In("b, s")
PROGRAMS = (
    program("softmax, last axis", lambda x: jax.nn.softmax(x, -1), In("b, s, d")),
    program("softmax, first axis", lambda x: jax.nn.softmax(x, 0), X),
    program("softmax, middle axis", lambda x: jax.nn.softmax(x, 1), In("b, s, d")),
    program("softmax, two axes", lambda x: jax.nn.softmax(x, (1, 2)), In("b, s, d")),
    program("softmax of -inf", lambda x: jax.nn.softmax(x, -1), In("b, s", draw=infinite)),
    program("log_softmax and logsumexp", lambda x: (jax.nn.log_softmax(x), jax.nn.logsumexp(x, 0)), X),
    program("layer norm", layer_norm, In("b, s, d"), In("d"), In("d")),
    program("rms norm", rms_norm, X, In("s")),
    program("rms norm, bf16", rms_norm, In("b, s", BF16), In("s", BF16)),
    program("gelu, layer norm, softmax", chain, In("b, s, d"), In("d"), In("d")),
    program("attention", attention, In("b, 2, q, 8"), In("b, 2, k, 8"), In("b, 2, k, 8"), In("b", I32, between(1, 9))),
    program(
        "activations",
        lambda x: (
            jax.nn.gelu(x, approximate=False),
            jax.nn.silu(x),
            jax.nn.softplus(x),
            jax.nn.elu(x),
            jax.nn.relu(x),
        ),
        X,
    ),
    program(
        "functions",
        lambda x: (
            jnp.sin(x),
            jnp.cos(x),
            jnp.tan(x),
            jnp.exp(x),
            jnp.expm1(x),
            jnp.cbrt(x),
            jnp.floor(x),
            jnp.ceil(x),
        ),
        X,
    ),
    program(
        "functions of positive numbers",
        lambda x: (
            jnp.log(x),
            jnp.log1p(x),
            jnp.sqrt(x),
            lax.rsqrt(x),
            x**2.5,
            jnp.arctan2(x, 1 - x),
            lax.erf_inv(x / 4),
        ),
        In("b, s", draw=between(0, 3)),
    ),
    program(
        "functions of specials",
        lambda x: (jnp.exp(x), jnp.log(x), jnp.sqrt(x), jnp.tanh(x), jnp.sign(x), lax.round(x), jnp.isfinite(x), 1 / x),
        In("b, s", draw=special),
    ),
    program(
        "comparisons of specials",
        lambda x, y: (x < y, x >= y, x == y, x != y, jnp.maximum(x, y), jnp.minimum(x, y), jnp.clip(x, -2, 2), x % y),
        In("b, s", draw=special),
        In("b, s", draw=special),
    ),
    program(
        "argmax and argmin of NaN",
        lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.argmax(x)),
        In("b, s", draw=special),
    ),
    program("max and min of NaN", lambda x: (x.max(1), x.min(0), x.max(), jnp.nanmax(x, 1)), In("b, s", draw=special)),
    program("variadic reduce", variadic, In("b, s", draw=between(0, 3)), In("b, s", I32)),
    program("many reductions", many_reductions, In("b, s, d", draw=between(0, 1))),
    program("reduce of a transpose", lambda x: (x.T.sum(1), (x.T * 2).max(0), x.T.sum((0, 1))), X),
    program("variance and standard deviation", lambda x: (x.var(0), x.std(1), x.var()), X),
    program("cumulative", lambda x: (jnp.cumsum(x, 1), jnp.cumsum(x, 0), lax.cummax(x, 1), lax.cumprod(x, 0, True)), X),
    program("reduce f16", lambda x: (x.sum(1), x.mean(0), jax.nn.softmax(x)), In("b, s", F16)),
    program("reduce bf16", lambda x: (x.sum(1), x.mean(0), jax.nn.softmax(x)), In("b, s", BF16)),
    program("reduce i8 and u8", lambda x, y: (x.sum(1), y.sum(0), x.max(1), y.min(1)), In("b, s", I8), In("b, s", U8)),
    program(
        "residual of two layers", residual, In("b, s, 16"), In("16, h"), In("h"), In("h, 16"), constraints=("h >= 16",)
    ),
    program("einsum, plain", einsums("ij,jk->ik", "ij,jk->ki", "ij,jk->i"), In("i, j"), In("j, k")),
    program("einsum, transposed", einsums("ji,kj->ik", "ji,kj->ki"), In("j, i"), In("k, j")),
    program("einsum, batched", einsums("bij,bjk->bik", "bij,bjk->ibk", "bij,bjk->bki"), In("b, i, j"), In("b, j, k")),
    program("einsum, batch in the middle", einsums("ibj,jbk->bik", "ibj,jbk->ikb"), In("i, b, j"), In("j, b, k")),
    program("einsum, two contracted", einsums("bijk,jkl->bil", "bijk,jkl->ilb"), In("b, i, j, 4"), In("j, 4, l")),
    program("einsum, contracted apart", einsums("jbk,kjl->bl"), In("j, b, k"), In("k, j, l")),
    program("einsum, outer and inner", einsums("i,j->ij", "i,j->ji"), In("i"), In("j")),
    program("einsum, vectors", einsums("i,i->", "i,i->i"), In("i"), In("i")),
    program("einsum, matrix and vector", einsums("ij,j->i"), In("i, j"), In("j")),
    program("einsum, vector and matrix", einsums("j,jk->k", "j,jk->kj"), In("j"), In("j, k")),
    program("einsum, two batches", einsums("abij,abkj->abik", "abij,abkj->aibk"), In("a, 3, i, j"), In("a, 3, k, j")),
    program("einsum of three", einsums("ij,jk,kl->il"), In("i, j"), In("j, k"), In("k, l")),
    program("dot of f64", einsums("ij,jk->ik"), In("i, j", F64), In("j, k", F64), wide=True),
    program("dot of bf16", einsums("ij,jk->ik"), In("i, j", BF16), In("j, k", BF16)),
    program("dot of f16", einsums("ij,jk->ik"), In("i, j", F16), In("j, k", F16)),
    program("dot of i32", einsums("ij,jk->ik"), In("i, j", I32), In("j, k", I32)),
    program(
        "dot of i8 into i32",
        lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32),
        In("i, j", I8),
        In("j, k", I8),
    ),
    program(
        "dot of bf16 into f32",
        lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32),
        In("i, j", BF16),
        In("j, k", BF16),
    ),
    program("dot of complex", einsums("ij,jk->ik"), In("i, j", np.complex64), In("j, k", np.complex64)),
    program("dot of NaN", einsums("ij,jk->ik"), In("i, j", draw=special), In("j, k", draw=special)),
    program("dot of bools", lambda x, y: x.astype(jnp.int32) @ y.astype(jnp.int32), In("i, j", bool), In("j, k", bool)),
    program("gradient of a dot", jax.grad(lambda w, x: jnp.tanh(x @ w).sum()), In("s, d"), In("b, s")),
    program("gradient of softmax", jax.grad(lambda x, y: (jax.nn.log_softmax(x) * y).sum(), (0, 1)), X, X),
    program(
        "gradient of layer norm",
        jax.grad(lambda x, g, h: (layer_norm(x, g, h) ** 2).sum(), (0, 1, 2)),
        X,
        In("s"),
        In("s"),
        scale=5,
    ),
)


@pytest.mark.parametrize("one", PROGRAMS, ids=lambda one: one.name)
def test_program_computes_what_jax_computes(one: Program) -> None:
    verify(one, OPTIMIZED)
