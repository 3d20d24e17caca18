"""Whole programs: what JAX exports with symbolic shapes, legalized, rewritten and interpreted, is what JAX computes."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax
from numpy.typing import NDArray

from shlo_disc.diagnostics import RuntimeShapeError
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES

Array = NDArray[Any]


def legalized(function: Callable[..., Any], *specs: tuple[str, Any], constraints: Sequence[str] = ()) -> Program:
    """Export a function for symbolic shapes such as `"b, 2*s"`, and legalize it."""
    scope = export.SymbolicScope(constraints)
    shapes = [jax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), dtype) for shape, dtype in specs]
    text = export.export(jax.jit(function))(*shapes).mlir_module()
    return legalize(parse_module(text, "export.mlir"))


def softmax(x: Any) -> Any:
    return jax.nn.softmax(x, axis=-1)


def layer_norm(x: Any, scale: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / np.float32(2)
    mask = jnp.arange(q.shape[1])[:, None] >= jnp.arange(k.shape[1])[None, :]
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)), v)


def halves(x: Any) -> Any:
    middle = x.shape[0] // 2
    return jnp.concatenate([x[middle:], x[:middle]])[:: 2 if x.ndim else 1]


def pairs(x: Any) -> Any:
    b, n = x.shape
    return x.reshape(b, n // 2, 2).sum(-1), x.reshape(-1)


def scan(x: Any) -> Any:
    total, each = lax.scan(lambda c, row: (c * np.float32(0.5) + row, c.sum()), jnp.zeros_like(x[0]), x)
    return total, each


def branches(x: Any, k: Any) -> Any:
    return lax.switch(k[0], [lambda y: y + 1, lambda y: y * 2, lambda y: -y], x)


def convolution(x: Any, kernel: Any) -> Any:
    return lax.conv_general_dilated(x, kernel, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pool(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def embedding(table: Any, ids: Any) -> Any:
    return table[ids], jnp.take(table, ids, axis=0, mode="clip")


def segment(x: Any, ids: Any) -> Any:
    return jax.ops.segment_sum(x, ids, num_segments=4), x.at[0].add(2.0)


def shifted(x: Any) -> Any:
    n = x.shape[0]
    return x[(n - 1) // 2 : n], (n + 3) % 4 + jnp.zeros(2), x[::-1], jnp.pad(x, ((1, 2),))


@dataclass(frozen=True, slots=True)
class Case:
    function: Callable[..., Any]
    specs: tuple[tuple[str, Any], ...]
    shapes: tuple[tuple[tuple[int, ...], ...], ...]
    constraints: tuple[str, ...] = ()


F, WHOLE = np.float32, np.int32
CASES = (
    Case(softmax, (("b, s", F),), (((2, 5),), ((1, 1),), ((3, 17),))),
    Case(layer_norm, (("b, s, 8", F), ("8,", F)), (((2, 5, 8), (8,)), ((1, 1, 8), (8,)))),
    Case(
        attention,
        (("b, s, 4", F), ("b, t, 4", F), ("b, t, 4", F)),
        (((2, 3, 4), (2, 5, 4), (2, 5, 4)), ((1, 1, 4), (1, 1, 4), (1, 1, 4))),
    ),
    Case(halves, (("n,", F),), (((7,),), ((8,),), ((1,),))),
    Case(pairs, (("b, 2*n", F),), (((3, 4),), ((1, 2),))),
    Case(scan, (("n, d", F),), (((5, 3),), ((1, 1),))),
    Case(branches, (("n,", F), ("1,", WHOLE)), (((5,), (1,)), ((1,), (1,)))),
    Case(convolution, (("b, h, w, 2", F), ("3, 3, 2, 4", F)), (((2, 5, 6, 2), (3, 3, 2, 4)),)),
    Case(pool, (("b, 2*h, w, 2", F),), (((2, 4, 5, 2),), ((1, 2, 2, 2),))),
    Case(embedding, (("11, d", F), ("b, s", WHOLE)), (((11, 3), (2, 4)), ((11, 1), (1, 1)))),
    Case(segment, (("n, d", F), ("n,", WHOLE)), (((6, 2), (6,)), ((1, 1), (1,)))),
    Case(lambda x: (jnp.argmax(x, 1), jnp.sort(x, 0), jnp.argsort(x, 1)), (("b, s", F),), (((3, 7),), ((1, 1),))),
    Case(lambda x: lax.top_k(x, 2), (("b, 5", F),), (((3, 5),),)),
    Case(shifted, (("n,", F),), (((5,),), ((8,),), ((2,),))),
    Case(lambda x: jnp.linspace(0, 1, x.shape[0]) + jnp.cumsum(x), (("n,", F),), (((6,),), ((2,),)), ("n >= 2",)),
    Case(
        lambda x, i: lax.dynamic_slice(x, (i[0], 0), (2, x.shape[1])),
        (("n, s", F), ("1,", WHOLE)), (((7, 3), (1,)),), ("n >= 2",),
    ),
    Case(jax.grad(lambda x: jnp.tanh(x @ x.T).sum()), (("b, s", F),), (((3, 5),), ((1, 1),))),
)  # fmt: skip


def arrays(case: Case, shapes: tuple[tuple[int, ...], ...]) -> list[Array]:
    rng = np.random.default_rng(0)
    return [
        rng.normal(size=shape).astype(dtype) if dtype is F else rng.integers(0, 4, shape).astype(dtype)
        for shape, (_, dtype) in zip(shapes, case.specs, strict=True)
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.function.__name__)
def test_programs_compute_what_jax_computes(case: Case) -> None:
    program = legalized(case.function, *case.specs, constraints=case.constraints)
    rewritten = program
    for one in PASSES:
        rewritten = one.run(rewritten)
    for shapes in case.shapes:
        inputs = arrays(case, shapes)
        wanted = [np.asarray(x) for x in jax.tree.leaves(jax.jit(case.function)(*inputs))]
        for variant in (program, rewritten):
            found = interpret(variant, inputs)
            assert [x.shape for x in found] == [x.shape for x in wanted]
            for a, b in zip(found, wanted, strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_checks_say_what_jax_says() -> None:
    program = legalized(lambda x, y: x + y[:, : x.shape[1]], ("b, s", F), ("b, 2*s", F), constraints=["s <= 5"])
    rng = np.random.default_rng(0)

    def call(first: tuple[int, int], second: tuple[int, int]) -> list[Array]:
        return interpret(program, [rng.normal(size=shape).astype(F) for shape in (first, second)])

    assert call((2, 3), (2, 6))[0].shape == (2, 3)
    with pytest.raises(RuntimeShapeError, match=r"dimension size args\[1\].shape\[0\] \(= 3\).* 'b' \(= 2\)"):
        call((2, 3), (3, 6))
    with pytest.raises(RuntimeShapeError, match=r"'- s \+ 5'.*but found -1"):
        call((2, 6), (2, 12))


def test_a_weight_of_zero_keeps_infinity() -> None:
    text = (
        "func.func @main(%x: tensor<1x?x1xf32>, %w: tensor<2x1x1xf32>) -> tensor<1x?x1xf32> {\n"
        "%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 0]]} "
        "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
        "(tensor<1x?x1xf32>, tensor<2x1x1xf32>) -> tensor<1x?x1xf32>\n"
        "return %0 : tensor<1x?x1xf32>\n}"
    )
    x = np.array([0, 0, np.inf, 0, 0], np.float32).reshape(1, 5, 1)
    (found,) = interpret(legalize(parse_module(text, "m.mlir")), [x, np.zeros((2, 1, 1), np.float32)])
    assert np.isnan(found.reshape(-1)).tolist() == [False, False, True, True, False]
