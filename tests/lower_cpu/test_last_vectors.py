"""Lanes of a vector that is not full are rounded like those of a full one, wherever a launch is cut."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc.check.running import BuildConfig
from shlo_disc.options import CompileOptions
from shlo_disc.parse.parser import parse_module
from tests.conftest import SEED
from tests.pipeline.exports import In, concrete, exported

TARGET = BuildConfig(CompileOptions(threads=8))
# Sums of products whose operands are loaded in one piece, backwards, with a step, by rows that fill no vector, from
# where a lane says, and on the side of a guard that a lane says.
SUMS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "in order": (lambda x, y, z: x * y + z, ("n,", "n,", "n,")),
    "backwards": (lambda x, y, z: x[::-1] * y + z[::-1], ("n,", "n,", "n,")),
    "with a step": (lambda x, y, z: x[::3] * y + z[::3], ("3*n,", "n,", "3*n,")),
    "short rows": (lambda x, y, z: (x - y) * z + y, ("b, w", "w,", "w,")),
    "short rows, picked": (lambda x, y, z: x[:, ::2] * y + z[:, ::-1], ("b, 2*w", "b, w", "b, w")),
    "short rows, joined": (lambda x, y, z: jnp.concatenate([x, z], 1) * y + y, ("b, w", "b, w + 3", "b, 3")),
    "short rows, padded": (
        lambda x, y, z: x * y + jnp.pad(z, ((0, 0), (0, 3))),
        ("b, w + 3", "b, w + 3", "b, w"),
    ),
    "two products": (lambda x, y, z: jnp.cos(x) * y + z * x, ("n, n", "n, n", "n, n")),
    "complex products": (lambda x, y, z: lax.complex(x, y) * lax.complex(z, x), ("n,", "n,", "n,")),
    "side by side": (
        lambda x, y, z: (
            jnp.cos(x)
            + lax.pad(jnp.cos(y) * z, np.float32(0), ((0, 0, 0), (0, 1, 0)))
            + lax.pad(y * jnp.tanh(z), np.float32(0), ((0, 0, 0), (1, 0, 0)))
        ),
        ("b, 2", "b, 1", "b, 1"),
    ),
    "moved apart": (
        lambda x, y, z: (
            jnp.cos(x)
            + lax.pad(jnp.cos(y) * z, np.float32(0), ((0, 0, 0), (0, 1, 1)))
            + lax.pad(y * jnp.tanh(z), np.float32(0), ((0, 0, 0), (1, 0, 1)))
        ),
        ("b, 16", "b, 8", "b, 8"),
    ),
    "two results of one product": (
        lambda x, y, z: (x[::-1] * y * 2 + z[::-1], jnp.sin(x[::-1] * y) + z[::-1]),
        ("n,", "n,", "n,"),
    ),
}


def _has_other_places(function: Callable[..., Any]) -> bool:
    """Functions have last places of their own, and the parts of a product of complex numbers are sums."""
    return not {"cos", "sin", "tanh", "complex"}.isdisjoint(function.__code__.co_names)


@pytest.mark.parametrize("name", SUMS)
def test_bits_do_not_depend_on_where_a_launch_is_cut(name: str) -> None:
    function, shapes = SUMS[name]
    module = parse_module(exported(function, [In(shape) for shape in shapes]).mlir_module())
    whole = replace(TARGET, options=replace(TARGET.options, threads=1)).executable(module)
    cut = TARGET.divided(module)
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        sizes = {"n": int(rng.integers(1, 200)), "b": int(rng.integers(1, 120)), "w": int(rng.integers(1, 9))}
        inputs = [rng.standard_normal(concrete(shape, sizes)).astype(np.float32) for shape in shapes]
        for one, other in zip(whole.mirror(inputs), cut.mirror(inputs), strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), sizes


@pytest.mark.parametrize("name", [name for name, (function, _) in SUMS.items() if not _has_other_places(function)])
def test_products_are_rounded_like_numpys(name: str) -> None:
    """JAX computes one op after the other where nothing is compiled, so that no product is exact in a sum."""
    function, shapes = SUMS[name]
    compiled = shlo_disc.compile(exported(function, [In(shape) for shape in shapes]))
    rng = np.random.default_rng(SEED)
    for _ in range(5):
        sizes = {"n": int(rng.integers(1, 200)), "b": int(rng.integers(1, 120)), "w": int(rng.integers(1, 9))}
        inputs = [rng.standard_normal(concrete(shape, sizes)).astype(np.float32) for shape in shapes]
        with jax.disable_jit():
            wanted = function(*map(jnp.asarray, inputs))
        np.testing.assert_array_equal(np.asarray(compiled(*inputs)), np.asarray(wanted), str(sizes))


def test_differences_and_quotients_of_equal_values_are_exact() -> None:
    """Whatever else a kernel computes of the same products."""

    def program(x: Any, y: Any) -> Any:
        z = lax.complex(x, y)
        product = x * y
        weights = jnp.exp(product - product.max(1, keepdims=True))
        return weights.max(1), product - x * y + 0 * x, z / z, (z / z, z * jnp.conj(z)), z * z

    compiled = shlo_disc.compile(exported(program, [In("b, n"), In("b, n")]))
    rng = np.random.default_rng(SEED)
    for n in (1, 7, 16, 33, 200):
        x, y = rng.standard_normal((2, 5, n)).astype(np.float32)
        largest, zeros, quotients, (others, _), _ = compiled(x, y)
        np.testing.assert_array_equal(np.asarray(largest), 1)
        np.testing.assert_array_equal(np.asarray(zeros), 0)
        np.testing.assert_array_equal(np.asarray(quotients), 1)
        np.testing.assert_array_equal(np.asarray(others), 1)


@pytest.mark.parametrize("other", ["stablehlo.multiply %z, %z", "stablehlo.negate %z"])
def test_a_complex_number_over_itself_is_one(other: str) -> None:
    """Where its square neither overflows nor vanishes: else its parts are divided by each other first."""
    kind = "tensor<?xcomplex<f64>>"
    run = shlo_disc.compile(f"""func.func @main(%z: {kind}) -> ({kind}, {kind}) {{
  %0 = stablehlo.divide %z, %z : {kind}
  %1 = {other} : {kind}
  return %0, %1 : {kind}, {kind}
}}""")
    rng = np.random.default_rng(SEED)
    for n in (1, 15, 17, 1000):
        z = rng.standard_normal((n, 2)).view(np.complex128)[:, 0]
        for scale in (1, 1e-120, 1e120):
            np.testing.assert_array_equal(np.asarray(run(z * scale)[0]), 1)


@pytest.mark.parametrize("size", [8, 1003])
def test_functions_of_indices_are_not_computed_by_the_compiler(size: int) -> None:
    """Of static sizes it could: the launch of several kernels calls them with ranges that it knows.

    It would round each product before it is added; the CPU contracts the two.
    """
    functions = ("cosine", "sine", "tanh", "exponential", "log", "logistic", "log_plus_one", "cbrt")
    kinds = ("f32", "f64")
    results = [f"tensor<{size}x{kind}>" for kind in kinds for _ in functions]
    lines = [
        f"  %0 = stablehlo.iota dim = 0 : tensor<{size}xui32>",
        f"  %c = stablehlo.constant dense<7> : tensor<{size}xui32>",
    ]
    lines.append(f"  %1 = stablehlo.multiply %0, %c : tensor<{size}xui32>")
    for kind in kinds:
        lines.append(f"  %{kind} = stablehlo.convert %1 : (tensor<{size}xui32>) -> tensor<{size}x{kind}>")
        lines += [f"  %{one}_{kind} = stablehlo.{one} %{kind} : tensor<{size}x{kind}>" for one in functions]
    lines.append("  %s = stablehlo.sine %x : tensor<f32>")
    returned = ", ".join(["%s", *[f"%{one}_{kind}" for kind in kinds for one in functions]])
    types = ", ".join(["tensor<f32>", *results])
    text = "\n".join(
        [f"func.func @main(%x: tensor<f32>) -> ({types}) {{", *lines, f"  return {returned} : {types}", "}"]
    )
    module = parse_module(text)
    whole = replace(TARGET, options=replace(TARGET.options, threads=1)).executable(module)
    cut = TARGET.divided(module)
    inputs = [np.float32(3)]
    for k, (one, other) in enumerate(zip(whole.mirror(inputs), cut.mirror(inputs), strict=True)):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), returned.split(", ")[k]
