# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
"""Scans: a reduce_window over everything before an element is one pass, on both targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc.kernels.groups import GroupKind
from tests.lower_cuda.forced import Array, forced
from tests.pipeline.exports import F16, FAST, In, exported, special
from tests.pipeline.programs import planned

I32 = np.int32
SIZES = (1, 2, 31, 33, 127, 129, 1023, 1025, 4097, 9000)
LABELS = ("thread", "warp", "block", "split")


def affine(x: Any, y: Any) -> Any:
    """Composed affine maps: associative, but not commutative."""

    def compose(f: tuple[Any, Any], g: tuple[Any, Any]) -> tuple[Any, Any]:
        return f[0] * g[0], f[1] * g[0] + g[1]

    size = x.shape[1]
    return lax.reduce_window((x, y), (np.int32(1), np.int32(0)), compose, (1, size), (1, 1), ((0, 0), (size - 1, 0)))


def backwards(accumulate: Callable[..., Any], axis: int) -> Callable[[Array], Array]:
    return lambda x: np.flip(accumulate(np.flip(x, axis), axis), axis)


# the function, its dtype and axis, and NumPy's
PROGRAMS: dict[str, tuple[Callable[..., Any], Any, int, Callable[[Array], Array]]] = {
    "sums": (lambda x: jnp.cumsum(x, 1), np.float32, 1, lambda x: np.cumsum(x, 1, np.float64)),
    "sums from the end": (lambda x: lax.cumsum(x, 1, reverse=True), I32, 1, backwards(np.add.accumulate, 1)),
    "sums of columns": (lambda x: jnp.cumsum(x, 0), np.float32, 0, lambda x: np.cumsum(x, 0, np.float64)),
    "products of columns from the end": (
        lambda x: lax.cumprod(x, 0, reverse=True), I32, 0, backwards(np.multiply.accumulate, 0),
    ),
    "maxima": (lambda x: lax.cummax(x, 1), np.float32, 1, lambda x: np.maximum.accumulate(x, 1)),
    "minima": (lambda x: lax.cummin(x, 0), F16, 0, lambda x: np.minimum.accumulate(x, 0)),
    "logsumexp": (lambda x: lax.cumlogsumexp(x, 1), np.float32, 1, lambda x: np.logaddexp.accumulate(x, 1)),
    "complex": (lambda x: lax.cumsum(x, 1), np.complex64, 1, lambda x: np.cumsum(x, 1, np.complex128)),
}  # fmt: skip


def elements(name: str, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    kind = np.dtype(PROGRAMS[name][1])
    if kind.kind == "i":
        return rng.integers(-9, 10, shape).astype(kind)
    if name in ("maxima", "minima"):
        return special(rng, shape, kind)
    found = rng.standard_normal(shape)
    return (found + 1j * rng.standard_normal(shape) if kind.kind == "c" else found).astype(kind)


def check(name: str, found: Array, x: Array) -> None:
    expected = PROGRAMS[name][3](x)
    if x.dtype.kind == "i" or name in ("maxima", "minima"):
        np.testing.assert_array_equal(found, expected.astype(x.dtype))
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * max(1.0, float(np.abs(expected).max())))


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_on_a_gpu(name: str, label: str) -> None:
    function, dtype, axis, _ = PROGRAMS[name]
    run, rng = forced(exported(function, [In("b, s", dtype)]), label, schedule="random"), np.random.default_rng(0)
    for size in SIZES:
        for count in (1, 3) if size < 4000 else (2,):
            x = elements(name, rng, (count, size) if axis else (size, count))
            (result,), taken = run([x])
            assert taken
            check(name, result, x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_a_cpu(name: str) -> None:
    function, dtype, axis, _ = PROGRAMS[name]
    source, rng = exported(function, [In("b, s", dtype)]), np.random.default_rng(1)
    assert [g.kind for g in planned(function, In("b, s", dtype)).plan.groups] == [GroupKind.SCAN]
    run = shlo_disc.compile(source, device="cpu", options=FAST)
    for size in (1, 2, 17, 64, 65, 1000):
        for count in (1, 3, 70):
            x = elements(name, rng, (count, size) if axis else (size, count))
            check(name, np.asarray(run(x)), x)


@pytest.mark.parametrize("label", ["cpu", *LABELS])
def test_several_arrays_in_order(label: str) -> None:
    """Elements meet in their order, and several arrays together."""
    source, rng = exported(affine, [In("b, s", I32), In("b, s", I32)]), np.random.default_rng(2)
    assert GroupKind.SCAN in {g.kind for g in planned(affine, In("b, s", I32), In("b, s", I32)).plan.groups}
    for size in (1, 40, 700, 5000):
        x, y = (rng.integers(-3, 4, (2, size)).astype(I32) for _ in range(2))
        expected = [np.ones(2, I32)], [np.zeros(2, I32)]
        for a, b in zip(x.T, y.T, strict=True):
            expected[1].append(expected[1][-1] * a + b)
            expected[0].append(expected[0][-1] * a)
        if label == "cpu":
            results = [np.asarray(r) for r in shlo_disc.compile(source, device="cpu", options=FAST)(x, y)]
        else:
            results, _ = forced(source, label)([x, y])
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, np.stack(wanted[1:], 1))


def test_an_initial_value_counts_once_in_each_window() -> None:
    """Windows that begin with 3 are no scan: its parts would each begin so."""

    def sums(x: Any) -> Any:
        size = x.shape[1]
        return lax.reduce_window(x, np.int32(3), lax.add, (1, size), (1, 1), ((0, 0), (size - 1, 0)))

    source, rng = exported(sums, [In("b, s", I32)]), np.random.default_rng(3)
    assert GroupKind.SCAN not in {g.kind for g in planned(sums, In("b, s", I32)).plan.groups}
    run = shlo_disc.compile(source, device="cpu", options=FAST)
    for size in (1, 40, 700):
        x = rng.integers(-9, 9, (2, size)).astype(I32)
        np.testing.assert_array_equal(np.asarray(run(x)), np.cumsum(x, 1) + 3)


def window(x: Any, size: int, low: int, high: int, start: float = 0.0) -> Any:
    return lax.reduce_window(x, np.float32(start), lax.add, (size,), (1,), ((low, high),))


NOT_SCANS: dict[str, Callable[..., Any]] = {
    "a window of a part": lambda x: window(x, 7, 6, 0),
    "padding at both ends": lambda x: window(x, 9, 4, 4),
    "an initial value that is not neutral": lambda x: window(x, 9, 8, 0, 1.0),
    "a short axis": lambda x: window(x[:4], 4, 3, 0),
}


@pytest.mark.parametrize("name", NOT_SCANS)
def test_other_windows_are_not_scans(name: str) -> None:
    function, x = NOT_SCANS[name], np.arange(9, dtype=np.float32)
    assert all(g.kind is not GroupKind.SCAN for g in planned(function, In("9")).plan.groups)
    result = shlo_disc.compile(exported(function, [In("9")]), device="cpu", options=FAST)(x)
    if "neutral" not in name:  # how often that enters is left open
        np.testing.assert_allclose(np.asarray(result), np.asarray(jax.jit(function)(x)), rtol=1e-6)
