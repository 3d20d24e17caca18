"""Rows that do not fill a vector, of lengths that only the call knows: NumPy is the oracle."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import shlo_disc
from shlo_disc.kernels.kernel import RowKernel
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.lower_cpu.rows import SEAMS
from shlo_disc.lower_cpu.short_maps import FEWEST, RUN, ShortMaps, short_maps
from shlo_disc.lower_cpu.short_maps import SEAMS as WHOLE_ROWS
from shlo_disc.lower_cpu.short_rows import LONGEST, LONGEST_SCALAR, short_rows
from shlo_disc.lower_cpu.spelling import LANES
from tests.pipeline.exports import BF16, FAST, Array, In, check, exported, special
from tests.pipeline.guarded import guarded
from tests.pipeline.programs import planned, softmax

HEIGHTS = (1, 15, 16, 37)
LENGTHS = (*range(1, LONGEST + 2), LANES - 1, 17, LONGEST_SCALAR, LONGEST_SCALAR + 1)


def reductions(x: Any, wide: Any, half: Any, small: Any, flags: Any) -> tuple[Any, ...]:
    """Of every width of elements; of one carry and of two; of one stage and of several."""
    return (
        jnp.argmax(x, 1), jnp.argmin(small, 1), x.max(1), wide.max(1), half.max(1), small.sum(1, np.int8), flags.all(1),
        flags.any(1), jax.nn.logsumexp(wide, 1), softmax(wide.astype(jnp.float32)), wide.var(1), x[:, ::-1].min(1),
    )  # fmt: skip


def shares(x: Array) -> Array:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def by_numpy(x: Array, wide: Array, half: Array, small: Array, flags: Array) -> list[Array]:
    found: list[Any] = [
        np.argmax(x, 1), np.argmin(small, 1), x.max(1), wide.max(1), half.max(1), small.sum(1, np.int8),
        np.all(flags, 1), np.any(flags, 1), np.logaddexp.reduce(wide, 1), shares(wide).astype(np.float32),
        wide.var(1), x.min(1),
    ]  # fmt: skip
    return found


INPUTS = (In("b, s"), In("b, s", np.float64), In("b, s", BF16), In("b, s", np.int8), In("b, s", bool))


def test_reductions() -> None:
    with jax.enable_x64(True):
        program = exported(reductions, INPUTS)
    run = guarded(shlo_disc.compile(program, options=replace(FAST, driver="vm")))
    rng = np.random.default_rng(5)
    for height in HEIGHTS:
        for length in LENGTHS:
            shape = (height, length)
            x, half = special(rng, shape, np.dtype(np.float32)), special(rng, shape, np.dtype(BF16))
            wide, flags = rng.standard_normal(shape), rng.random(shape) < 0.7
            given = x, wide, half, rng.integers(-100, 100, shape, np.int8), flags
            with np.errstate(invalid="ignore"):
                wanted = by_numpy(*given)
            check(list(run(list(given))), wanted, str(shape))


def maps(*inputs: Any) -> tuple[Any, ...]:
    """Places that are linear in row and column, or read from a table; results whose rows are cut in several pieces."""
    x, wide, half, small, flags, at, rows = inputs
    steps = jnp.arange(x.shape[1], dtype=jnp.int32)
    return (
        x[:, ::-1], small[:, ::-1], wide[:, ::-1], half[:, at], flags[:, at], jnp.take_along_axis(x, rows, 0),
        jnp.concatenate([small, small * 2], 1), jnp.concatenate([wide, wide[:, ::-1]], 1),
        jnp.concatenate([flags, ~flags], 1), steps < small[:, :1], x * 2 + steps, jnp.roll(half, 1, 1), x[1:, 1:],
        (wide + 2j)[:, ::-1], jnp.concatenate([wide * 1j, wide + 0j], 1), (wide * 1j)[:, ::-1].astype(jnp.complex64),
        jnp.take_along_axis(wide + 1j, rows, 0), x[:, at, None],
    )  # fmt: skip


def maps_by_numpy(*inputs: Array) -> list[Array]:
    x, wide, half, small, flags, at, rows = inputs
    steps = np.arange(x.shape[1], dtype=np.int32)
    found: list[Any] = [
        x[:, ::-1], small[:, ::-1], wide[:, ::-1], half[:, at], flags[:, at], np.take_along_axis(x, rows, 0),
        np.concatenate([small, small * np.int8(2)], 1), np.concatenate([wide, wide[:, ::-1]], 1),
        np.concatenate([flags, ~flags], 1), steps < small[:, :1], x * np.float32(2) + steps.astype(np.float32),
        np.roll(half, 1, 1), x[1:, 1:],
        (wide + 2j)[:, ::-1], np.concatenate([wide * 1j, wide + 0j], 1), (wide * 1j)[:, ::-1].astype(np.complex64),
        np.take_along_axis(wide + 1j, rows, 0), x[:, at, None],
    ]  # fmt: skip
    return found


def test_maps() -> None:
    with jax.enable_x64(True):
        program = exported(maps, (*INPUTS, In("t", np.int32), In("b, s", np.int32)))
    run = guarded(shlo_disc.compile(program, options=replace(FAST, driver="vm")))
    rng = np.random.default_rng(6)
    for height in (1, FEWEST, 2 * FEWEST + 37, LANES * RUN + 2 * FEWEST + 5):
        for length in LENGTHS:
            shape, at = (height, length), rng.integers(0, length, 1 + length // 2, np.int32)
            x, half = special(rng, shape, np.dtype(np.float32)), special(rng, shape, np.dtype(BF16))
            wide, small, flags = (
                rng.standard_normal(shape),
                rng.integers(-9, 9, shape, np.int8),
                rng.random(shape) < 0.7,
            )
            given = x, wide, half, small, flags, at, rng.integers(0, height, shape, np.int32)
            check(list(run(list(given))), maps_by_numpy(*given), str(shape))


def test_rows_that_were_joined_are_longer_than_their_parts() -> None:
    """Scratch holds all of a row, a stage computes a part of it."""

    def weighted(x: Any) -> Any:
        """Every stage reads the joined rows, so that each is cut into two."""
        rows = jnp.concatenate([x, -x], 1)
        return softmax(rows) * rows

    program = exported(weighted, [In("b, s")])
    run = guarded(shlo_disc.compile(program, options=replace(FAST, driver="vm")))
    rng = np.random.default_rng(7)
    for height in HEIGHTS:
        for length in LENGTHS:
            x = rng.standard_normal((height, length)).astype(np.float32)
            rows = np.concatenate([x, -x], 1)
            check(list(run([x])), [shares(rows) * rows], str(x.shape))


PADS = (((1, 1, 1), (0, 0, 1)), ((0, -1, 2), (3, 2, 0)), ((2, 0, 0), (-1, 3, 3)), ((0, 0, 0), (1, -1, 2)))


def composed(x: Any, wide: Any, half: Any, small: Any, flags: Any) -> tuple[Any, ...]:
    """Rows that are put together, and guards that change from element to element, and from row to row."""
    zero = np.float32(0)
    return (
        *(jax.lax.pad(x, zero, pad) for pad in PADS),
        jax.lax.pad(wide, 1.0, PADS[0]), jax.lax.pad(flags, True, PADS[3]),
        jnp.concatenate([x[:, :1], x * 2, x[:, ::-1]], 1), jnp.concatenate([half, half[:, :1]], 1), jnp.repeat(x, 3, 1),
        jnp.concatenate([jax.lax.pad(small, np.int8(7), PADS[3]), small], 1) + np.int8(1),
    )  # fmt: skip


def padded(x: Array, value: Any, amounts: Sequence[Sequence[int]]) -> Array:
    """Interior padding first, then at the edges, where a negative amount cuts off."""
    for axis, (low, high, interior) in enumerate(amounts):
        x = np.moveaxis(x, axis, 0)
        between = np.full((max(0, len(x) * (interior + 1) - interior), *x.shape[1:]), value, x.dtype)
        between[:: interior + 1] = x
        ends = [np.full((max(0, end), *x.shape[1:]), value, x.dtype) for end in (low, high)]
        x = np.concatenate([ends[0], between[max(0, -low) : max(0, len(between) - max(0, -high))], ends[1]])
        x = np.moveaxis(x, 0, axis)
    return x


def composed_by_numpy(x: Array, wide: Array, half: Array, small: Array, flags: Array) -> list[Array]:
    found: list[Any] = [
        *(padded(x, 0, pad) for pad in PADS), padded(wide, 1, PADS[0]), padded(flags, True, PADS[3]),
        np.concatenate([x[:, :1], x * np.float32(2), x[:, ::-1]], 1),
        np.concatenate([half, half[:, :1]], 1), np.repeat(x, 3, 1),
        np.concatenate([padded(small, 7, PADS[3]), small], 1) + np.int8(1),
    ]  # fmt: skip
    return found


def test_rows_put_together() -> None:
    with jax.enable_x64(True):
        program = exported(composed, INPUTS)
    run = guarded(shlo_disc.compile(program, options=replace(FAST, driver="vm")))
    rng = np.random.default_rng(8)
    for height in (1, FEWEST, LANES * RUN + 2 * FEWEST + 5):
        for length in LENGTHS:
            shape = (height, length)
            x, half = special(rng, shape, np.dtype(np.float32)), special(rng, shape, np.dtype(BF16))
            given = x, rng.standard_normal(shape), half, rng.integers(-9, 9, shape, np.int8), rng.random(shape) < 0.7
            check(list(run(list(given))), composed_by_numpy(*given), str(shape))


def recurrences(x: Any, wide: Any, half: Any, small: Any, flags: Any) -> tuple[Any, ...]:
    """Results that interleave even and odd columns, on several levels: each column has a formula of its own."""
    return (
        jax.lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (x, x + 1), axis=1)[1],
        jax.lax.associative_scan(jnp.maximum, half, axis=1), jax.lax.associative_scan(jnp.add, small, axis=1),
        jax.lax.associative_scan(jnp.maximum, wide, axis=1), jax.lax.associative_scan(jnp.logical_xor, flags, axis=1),
    )  # fmt: skip


def recurrences_by_numpy(x: Array, wide: Array, half: Array, small: Array, flags: Array) -> list[Array]:
    steps = [x[:, 0] + 1]
    for column in x.T[1:]:
        steps.append(steps[-1] * column + (column + 1))
    return [
        np.stack(steps, 1), np.maximum.accumulate(half, 1), np.add.accumulate(small, 1, np.int8),
        np.maximum.accumulate(wide, 1), np.logical_xor.accumulate(flags, 1),
    ]  # fmt: skip


def test_columns_with_formulas_of_their_own() -> None:
    with jax.enable_x64(True):
        program = exported(recurrences, [replace(each, shape="b, 21") for each in INPUTS])
    compiled = shlo_disc.compile(program, options=replace(FAST, driver="vm"))
    assert "c0 % 21 == 0" in compiled.kernels_source
    run, rng = guarded(compiled), np.random.default_rng(9)
    for height in (1, LANES - 1, LANES, LANES + 1, 5 * LANES + 3):
        shape = (height, 21)
        x, half = rng.uniform(0.5, 1, shape).astype(np.float32), rng.standard_normal(shape).astype(BF16)
        given = x, rng.standard_normal(shape), half, rng.integers(-9, 9, shape, np.int8), rng.random(shape) < 0.7
        check(list(run(list(given))), recurrences_by_numpy(*given), str(shape))


def test_only_rows_that_may_be_short_have_a_form() -> None:
    def form(*inputs: In) -> RowKernel | None:
        found = planned(softmax, *inputs)
        (group,) = found.plan.groups
        return short_rows(build_row_kernel(group, found.program.facts, found.producers, SEAMS)[0])

    assert form(In("b, s")) is not None
    assert form(In("b, 8")) is not None
    assert form(In("b, 9")) is None

    def joined(*inputs: In) -> ShortMaps | None:
        def twice(x: Any) -> Any:
            return jnp.concatenate([x, x], 1)

        found = planned(twice, *inputs)
        (group,) = found.plan.groups
        return short_maps(build_row_kernel(group, found.program.facts, found.producers, WHOLE_ROWS)[0])

    assert joined(In("b, s")) is not None
    assert joined(In(f"{FEWEST}, 8")) is not None
    assert joined(In(f"{FEWEST - 1}, 8")) is None
    assert joined(In("b, 9")) is None


def picked(x: Any, start: Any) -> tuple[Any, ...]:
    """What a row found is where to look; and rows whose length an element says."""
    best = jnp.argmax(x, 1)
    return x[jnp.arange(x.shape[0]), best], x[best % x.shape[0]], jax.lax.dynamic_update_slice(x, -x[:, :1], (0, start))


def test_what_is_read_is_an_index() -> None:
    run = shlo_disc.compile(exported(picked, (In("b, s"), In("", np.int32))), options=FAST)
    rng = np.random.default_rng(7)
    for height, length in ((1, 1), (16, 3), (37, 8), (FEWEST + 3, 2), (70, 9), (70, LONGEST_SCALAR + 1)):
        x = rng.standard_normal((height, length)).astype(np.float32)
        best, moved = x.argmax(1), x.copy()
        moved[:, length - 1] = -x[:, 0]
        found = run(x, np.int32(length))
        for one, wanted in zip(found, (x[np.arange(height), best], x[best % height], moved), strict=True):
            np.testing.assert_array_equal(one, wanted)
