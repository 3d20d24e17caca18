"""Arithmetic of every dtype: integer corner cases, bools, complex numbers, small and wide floats, at every size."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.pipeline.exports import BF16, F16, In, Program, corners, program, special, verify


def integers(x: Any, y: Any) -> Any:
    safe = jnp.where(y == 0, jnp.ones_like(y), y)
    one = jnp.ones_like(x)
    return (
        x + y, x - y, x * y, lax.div(x, safe), lax.rem(x, safe), x // safe, x % safe,
        x & y, x | y, x ^ y, ~x, lax.max(x, y), lax.min(x, y), x < y, x == y,
        lax.shift_left(x, y & 7), lax.shift_right_logical(x, y & 7), lax.shift_right_arithmetic(x, y & 7),
        lax.population_count(x), lax.clz(x), lax.sign(x), x**3,
        lax.clamp(-one if x.dtype.kind == "i" else one, x, one * 9),
    )  # fmt: skip


def division_by_zero(x: Any, y: Any) -> Any:
    return lax.div(x, y), lax.rem(x, y)


def wide_shifts(x: Any, y: Any) -> Any:
    return lax.shift_left(x, y), lax.shift_right_logical(x, y), lax.shift_right_arithmetic(x, y)


def booleans(x: Any, y: Any) -> Any:
    return (
        x & y, x | y, x ^ y, ~x, x.any(0), x.all(1), x.sum(1), x.astype(jnp.float32) * 2, jnp.where(x, 1, 2),
        x == y, x < y, jnp.argmax(x, 1), jnp.sort(x, 1),
    )  # fmt: skip


def complexes(x: Any, y: Any) -> Any:
    return (
        x + y, x * y, x / (y + 3), jnp.conj(x), x.real, jnp.imag(y), jnp.abs(x), jnp.exp(x), x.sum(0), x.T @ y,
        lax.complex(x.real, y.real), x == y, -x, jnp.sqrt(x), jnp.tanh(y), jnp.log(x), jnp.angle(x),
    )  # fmt: skip


def floats(x: Any, y: Any) -> Any:
    return (
        x + y, x * y, x / (jnp.abs(y) + 1), jnp.exp(x), jnp.tanh(x), jnp.sqrt(jnp.abs(x)), jnp.maximum(x, y),
        x.sum(1), x < y, jnp.sin(x), jnp.log1p(jnp.abs(x)), x.max(0) * 2, jnp.floor(x * 4), lax.rsqrt(jnp.abs(y) + 1),
    )  # fmt: skip


def conversions(*dtypes: Any) -> Any:
    return lambda x: tuple(x.astype(dtype) for dtype in dtypes)


SMALL = (np.int8, np.uint8, np.int16, np.uint16)
DTYPES = (*SMALL, np.int32, np.uint32, np.float32, F16, BF16, np.bool_)
WIDE = (*DTYPES, np.int64, np.uint64, np.float64)
PAIR = ("b, s", "b, s")


def both(dtype: Any, **options: Any) -> tuple[In, In]:
    return In("b, s", dtype, **options), In("b, s", dtype, **options)


PROGRAMS = (
    *(
        program(f"integers, {np.dtype(t).name}", integers, *both(t, draw=corners))
        for t in (*SMALL, np.int32, np.uint32)
    ),
    *(
        program(f"integers, {np.dtype(t).name}", integers, *both(t, draw=corners), wide=True)
        for t in (np.int64, np.uint64)
    ),
    *(
        program(f"division by zero, {np.dtype(t).name}", division_by_zero, *both(t, draw=corners))
        for t in (np.int8, np.int32, np.uint32)
    ),
    *(
        program(f"wide shifts, {np.dtype(t).name}", wide_shifts, *both(t, draw=corners))
        for t in (np.int8, np.int32, np.uint32)
    ),
    program("booleans", booleans, *both(bool)),
    program("complex64", complexes, *both(np.complex64), scale=4),
    program("complex128", complexes, *both(np.complex128), wide=True, scale=20),
    program("floats, f64", floats, *both(np.float64), wide=True),
    program("floats, f16", floats, *both(F16)),
    program("floats, bf16", floats, *both(BF16)),
    # XLA's f64 maximum loses NaNs when it reduces rows; ours does not, so it is left out here.
    program(
        "floats, f64 specials",
        lambda x, y: [r for k, r in enumerate(floats(x, y)) if k != 11],
        *both(np.float64, draw=special),
        wide=True,
    ),
    program("conversions of i32", conversions(*DTYPES), In("n", np.int32, corners)),
    program("conversions of u8", conversions(*DTYPES), In("n", np.uint8, corners)),
    program("conversions of i64", conversions(*WIDE), In("n", np.int64, corners), wide=True),
    program("conversions of f32", conversions(np.int32, np.float32, F16, BF16, np.bool_), In("n")),
    program(
        "conversions of f64", conversions(np.int64, np.int32, np.float32, F16, BF16), In("n", np.float64), wide=True
    ),
    program("conversions of bf16", conversions(np.float32, F16, np.int32), In("n", BF16)),
    program(
        "conversions of specials",
        conversions(np.int32, np.int8, np.uint8, np.uint32, F16, BF16, np.bool_),
        In("n", draw=special),
    ),
    program(
        "bitcasts",
        lambda x: (lax.bitcast_convert_type(x, jnp.int32), lax.bitcast_convert_type(x, jnp.uint8)),
        In("n", draw=special),
    ),
    program(
        "next after and precision",
        lambda x: (lax.nextafter(x, x + 1), lax.reduce_precision(x, 5, 10)),
        In("n", draw=special),
    ),
    program(
        "mixed precision",
        lambda x, w: (x.astype(jnp.float32) @ w.astype(jnp.float32)).astype(BF16).sum(1),
        *both(BF16)[:1],
        In("s, d", F16),
    ),
    program("integer means", lambda x: (x.mean(1), x.sum() // x.shape[0], x.var(0)), In("b, s", np.int32)),
)


@pytest.mark.parametrize("one", PROGRAMS, ids=lambda one: one.name)
def test_arithmetic_is_that_of_jax(one: Program) -> None:
    verify(one)
