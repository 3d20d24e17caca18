"""Maps that read transposed operands in blocks: whole ones, those at both ends, elements of every width."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

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
    program("joined", joined, In("b, s"), In("s, t")),
    program("chosen", chosen, In("b, s"), In("b, s + 3")),
)  # fmt: skip


@pytest.mark.parametrize("one", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_transposed_maps_agree_with_jax(one: Program) -> None:
    verify(one)
