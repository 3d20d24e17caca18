"""Chains of convolutions with features first are computed with features last; what would not pay stays as it is."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.dynamic_ops.contract import ConvAttrs
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes.layouts import LAYOUTS
from tests.pipeline.exports import In, exported

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(7)
IMAGE, KERNEL, POINT = In("b, 3, h, w"), In("3, 3, 3, 3"), In("3, 3, 1, 1")


def conv(x: Any, k: Any, layout: str = "NCHW", **options: Any) -> Any:
    numbers = (layout, "OIHW" if layout == "NCHW" else "HWIO", layout)
    return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=numbers, **options)


def window(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 3), (1, 1, 1, 1), ((0, 0), (0, 0), (0, 1), (1, 1)))


def with_bias(x: Any, k: Any, p: Any) -> Any:
    return conv(jax.nn.relu(conv(x, k) + jnp.arange(3.0)[:, None, None]), p)


def residual(x: Any, k: Any, p: Any) -> Any:
    y = conv(x, k)
    return conv(jnp.clip(conv(y, p) + y, -2, 2), k)


def pooled(x: Any, k: Any, p: Any) -> Any:
    y = window(conv(x, k))
    return conv(y, p).mean((2, 3))


def joined(x: Any, k: Any, p: Any) -> Any:
    y = jnp.concatenate([conv(x, k), conv(x, p)], 1)[:, :, :, :]
    return conv(lax.pad(y, 1.0, ((0, 0, 0), (0, 0, 0), (1, 0, 1), (0, 2, 0))), jnp.concatenate([k, k], 1))


def normalized(x: Any, k: Any, p: Any) -> Any:
    y = conv(x, k)
    return conv((y - y.mean((0, 2, 3), keepdims=True)) * lax.rsqrt(y.var((0, 2, 3), keepdims=True) + 1), p)


def turned(x: Any, k: Any, _: Any) -> Any:
    return conv(conv(x, k).transpose(0, 2, 3, 1), k.transpose(2, 3, 1, 0), "NHWC")


def gradient(x: Any, k: Any, p: Any) -> Any:
    return jax.grad(lambda k, p: (jnp.tanh(with_bias(x, k, p)) ** 2).sum(), (0, 1))(k, p)


CHAINS = (with_bias, residual, pooled, joined, normalized, turned, gradient)


def programs(function: Callable[..., Any], *inputs: In) -> tuple[Program, Program]:
    before = legalize(parse_module(exported(function, inputs).mlir_module(), "export.mlir"))
    return before, LAYOUTS.run(before)


def features_last(program: Program) -> list[bool]:
    attrs = [op.attrs for op in program.body.walk()]
    return [a.output.feature == len(a.strides) + 1 for a in attrs if isinstance(a, ConvAttrs)]


@pytest.mark.parametrize("function", CHAINS, ids=lambda f: f.__name__)
def test_a_chain_is_computed_with_features_last(function: Callable[..., Any]) -> None:
    before, after = programs(function, IMAGE, KERNEL, POINT)
    assert not all(features_last(before))
    assert all(features_last(after))
    (note,) = after.notes
    assert "computed with features last" in note
    for b, h, w in ((2, 4, 5), (1, 1, 1), (3, 2, 7)):
        inputs = [RNG.standard_normal(shape).astype(np.float32) for shape in ((b, 3, h, w), (3, 3, 3, 3), (3, 3, 1, 1))]
        for expected, found in zip(interpret(before, inputs), interpret(after, inputs), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_transposes_between_convolutions_cancel() -> None:
    _, after = programs(with_bias, IMAGE, KERNEL, POINT)
    transposes = [op for op in after.body.walk() if op.name == "d_transpose"]
    assert [op.results for op in transposes] == [after.body.results], "only the result has its features first"


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (conv, "0 transposes would cancel, 0 be kernels of their own"),
        (lambda x, k: jnp.sin(conv(x, k)) * x, "0 transposes would cancel, 0 be kernels of their own"),
        (lambda x, k: (y := conv(x, k), conv(y, k)), "1 transposes would cancel, 1 be kernels of their own"),
    ],
    ids=["alone", "beside an argument", "returned too"],
)
def test_what_does_not_pay_stays(function: Callable[..., Any], reason: str) -> None:
    before, after = programs(function, IMAGE, KERNEL)
    assert features_last(after) == features_last(before)
    (note,) = after.notes
    assert note.endswith(f"computed as they are: {reason}")


def test_features_that_are_last_are_left_alone() -> None:
    before, after = programs(lambda x, k: conv(conv(x, k, "NHWC"), k, "NHWC"), In("b, h, w, 3"), KERNEL)
    assert [op.name for op in after.body.walk()] == [op.name for op in before.body.walk()]
    assert after.notes == ()
