"""Kernels that read transposed operands in blocks: whole ones, those at both ends, elements of every width."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.pipeline.exports import BF16, F16, In, Program, program, special, verify

DTYPES = (np.float64, np.int8, np.uint16, np.int64, F16, BF16, np.bool_, np.complex64)


def joined(x: Any, y: Any) -> Any:
    return jnp.concatenate([x.T, y], 1) * 2


def chosen(x: Any, y: Any) -> Any:
    """A transposed operand that only some rows read."""
    return jnp.pad(x.T, ((2, 1), (0, 0)), constant_values=1) + y.T


def normalized(x: Any, gain: Any) -> Any:
    y = x.T
    return (y - y.mean(1, keepdims=True)) / jnp.sqrt(y.var(1, keepdims=True) + 1e-5) * gain


def causal(x: Any) -> Any:
    """Its loops are cut at seams that move, or not: some stages read the operand to the diagonal alone."""
    mask = jnp.arange(x.shape[0])[None, :] <= jnp.arange(x.shape[1])[:, None]
    return jax.nn.softmax(jnp.where(mask, x.T, -1e30), 1)


def partly(x: Any, y: Any) -> Any:
    """Two stages read the operand over loops of different lengths."""
    return jnp.concatenate([x.T, y], 1).sum(1), (x.T * 2).max(1), (x.T[:, 1:] * 3).min(1)


PROGRAMS = (
    program("transpose", lambda x: x.T * 2, In("b, s", draw=special), draws=4),
    program("no rows", lambda x: x.T * 2, In("b, t - 1"), fixed={"t": 1}),
    program("no columns", lambda x: x.T * 2, In("t - 1, b"), fixed={"t": 1}),
    *(program(f"of {np.dtype(d).name}", lambda x: jnp.where(x.T == 0, x.T, x.T + x.T), In("b, s", d), wide=True)
      for d in DTYPES),
    program("with what is not", lambda x, y, z: jnp.tanh(x.T + y) * z + z.sum(), In("b, s"), In("s, b"), In("b")),
    program("two of them", lambda x, y: x.T * y.T + x.T, In("b, s"), In("b, s")),
    program("with its own", lambda x: x + x.T, In("b, b")),
    program("two ways", lambda x, y: x.transpose(2, 0, 1) + y.transpose(1, 2, 0), In("b, s, d"), In("s, d, b")),
    program("batches", lambda x: x.transpose(0, 2, 1) + 1, In("b, s, d")),
    program("all dims", lambda x: x.transpose(2, 1, 0) * x.shape[0], In("b, s, d")),
    program("a cycle", lambda x: x.transpose(1, 2, 0) * 2, In("b, s, d")),
    program("heads", lambda x: x.transpose(0, 2, 3, 1) * 2, In("b, s, 3, d")),
    program("of a slice", lambda x: x[1:, 2:].T * 2, In("b + 1, s + 2")),
    program("of every other", lambda x: x[:, ::2].T * 2, In("b, s")),
    *(program(f"sums of {np.dtype(d).name}", lambda x: ((x.T * 2).sum(1), x.T.max(1, keepdims=True)), In("b, s", d),
              wide=True) for d in (np.float64, np.int8, np.int64, F16, BF16)),
    program("softmax", lambda x: jax.nn.softmax(x.T, 1), In("b, s"), draws=4),
    program("softmax of batches", lambda x: jax.nn.softmax(x.transpose(0, 2, 1), 2), In("b, s, d"), draws=4),
    program("softmax of none", lambda x: jax.nn.softmax(x.T, 1), In("b, t - 1"), fixed={"t": 1}),
    program("sums of none", lambda x: (x.T * 2).sum(1), In("t - 1, b"), fixed={"t": 1}),
    program("normalized", normalized, In("b, s"), In("b"), draws=4),
    program("of two and one", lambda x, y, z: jax.nn.softmax(x.T * y.T + z, 1), In("b, s"), In("b, s"), In("s, b")),
    program("causal", causal, In("b, s")),
    program("partly", partly, In("b + 1, s"), In("s, t")),
    program("any", lambda x: (x.T.any(1), jnp.argmax(x.T, 1)), In("b, s", np.bool_)),
    program("joined", joined, In("b, s"), In("s, t")),
    program("chosen", chosen, In("b, s"), In("b, s + 3")),
)  # fmt: skip


@pytest.mark.parametrize("one", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_transposed_operands_agree_with_jax(one: Program) -> None:
    verify(one)
