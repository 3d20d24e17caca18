# JAX's functions are partly untyped; nothing untyped leaves this file.
# pyright: reportUnknownMemberType=false
"""Sizes as values: a kernel with 32-bit indices computes with numbers that need 64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shlo_disc.runtime.cuda.device import IndexType
from tests.emulator.run import emulate
from tests.pipeline.exports import In, exported

MANY = 50_000  # its square needs 32 bits, which an int32_t has not


@pytest.mark.parametrize("index", ["int32_t", "int64_t"])
def test_products_of_sizes(index: IndexType) -> None:
    def scaled(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        square = x.shape[0] * x.shape[0]
        return x / square, x.astype(jnp.int64) + square

    with jax.enable_x64(True):
        source = exported(scaled, [In("n")])
    x = np.arange(MANY, dtype=np.float32)
    ratio, total = emulate(source, [x], index=index)
    np.testing.assert_allclose(ratio, x / np.float32(MANY**2), rtol=1e-6)
    np.testing.assert_array_equal(total, np.arange(MANY) + MANY**2)


def test_products_of_counters() -> None:
    def grid(x: jax.Array) -> jax.Array:
        row = jax.lax.iota(jnp.int64, x.shape[0])
        return x + row * row

    with jax.enable_x64(True):
        source = exported(grid, [In("n", dtype="int64")])
    (found,) = emulate(source, [np.zeros(MANY, np.int64)], index="int32_t")
    np.testing.assert_array_equal(found, np.arange(MANY) ** 2)
