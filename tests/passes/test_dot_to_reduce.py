"""Products with one element become sums; bits of a long one do not depend on the number of threads."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes.dot_to_reduce import DOT_TO_REDUCE
from tests.pipeline.exports import In, exported

pytestmark = pytest.mark.quick


def names(function: Any, *inputs: In) -> set[str]:
    program = legalize(parse_module(exported(function, inputs).mlir_module(), "export.mlir"))
    return {op.name for op in DOT_TO_REDUCE.run(program).body.walk()}


def test_only_products_of_whole_tensors_become_sums() -> None:
    assert "d_dot" not in names(jnp.dot, In("n"), In("n"))
    assert "d_dot" not in names(jnp.vdot, In("n", np.int32), In("n", np.int32))
    assert "d_dot" in names(jnp.dot, In("m, n"), In("n"))
    assert "d_dot" in names(jnp.dot, In("n", np.float16), In("n", np.float16))
    assert "d_dot" in names(partial(jnp.einsum, "ij,ji->"), In("n, m"), In("m, n"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_inner_products_are_numpys(dtype: Any) -> None:
    text = f"""func.func @main(%x: tensor<?x{_name(dtype)}>, %y: tensor<?x{_name(dtype)}>) -> tensor<{_name(dtype)}> {{
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
        : (tensor<?x{_name(dtype)}>, tensor<?x{_name(dtype)}>) -> tensor<{_name(dtype)}>
      return %0 : tensor<{_name(dtype)}>
    }}"""
    runs = [shlo_disc.compile(text, device="cpu", threads=threads) for threads in (1, 2, 3)]
    for size in (0, 1, 2, 15, 16, 17, 97, 16383, 16384, 16385, 300_007):
        rng = np.random.default_rng(size)
        x, y = (rng.uniform(-9, 9, size).astype(dtype) for _ in range(2))
        found = [np.asarray(run(x, y)) for run in runs]
        scale = float(np.abs(x.astype(np.float64) * y).sum())
        np.testing.assert_allclose(found[0], np.dot(x.astype(np.float64), y), atol=1e-6 * scale + 1e-9)
        assert len({one.tobytes() for one in found}) == 1, f"{size} elements"


def _name(dtype: Any) -> str:
    return {np.float32: "f32", np.float64: "f64", np.int32: "i32"}[dtype]
