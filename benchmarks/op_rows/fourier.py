"""Fourier transforms. JAX cannot export their lengths as symbols."""

# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from benchmarks.op_rows.row import Row, normal

LINES = ((64,), (4_096,), (1 << 20,), (65_537,))  # powers of two, and a prime
BATCHES = ((8, 8), (64, 64), (4_096, 64), (20_000, 17))
SQUARES = ((8, 8), (64, 64), (1_024, 1_024), (331, 101))

ROWS_OF_FAMILY = (
    Row("fft", "line", jnp.fft.fft, (normal("n", np.complex64),), LINES, static=True),
    Row("fft", "line, back", jnp.fft.ifft, (normal("n", np.complex64),), LINES, static=True),
    Row("fft", "line, real", jnp.fft.rfft, (normal("n"),), LINES, static=True),
    Row("fft", "line, to real", jnp.fft.irfft, (normal("n", np.complex64),), LINES, static=True),
    Row("fft", "rows", jnp.fft.fft, (normal("b, n", np.complex64),), BATCHES, static=True),
    Row("fft", "rows, real", jnp.fft.rfft, (normal("b, n"),), BATCHES, static=True),
    Row("fft", "matrix", jnp.fft.fft2, (normal("m, n", np.complex64),), SQUARES, static=True),
    Row("fft", "matrix, real", jnp.fft.rfft2, (normal("m, n"),), SQUARES, static=True),
)
