"""Sizes that are read from arrays may be any 64-bit numbers: results are right, or the call is refused."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.compiled import Compiled
from shlo_disc.diagnostics import RuntimeShapeError
from tests.runtime.test_size_limits import DRIVERS, LARGEST, SURE, Driver, options

SLICE = """
func.func @main(%a: tensor<?xf32>, %s: tensor<1xi64>, %l: tensor<1xi64>, %d: tensor<1xi64>) -> tensor<?xf32> {
  %0 = stablehlo.real_dynamic_slice %a, %s, %l, %d
    : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""
DYNAMIC_PAD = """
func.func @main(%a: tensor<?xf32>, %l: tensor<1xi64>, %h: tensor<1xi64>, %i: tensor<1xi64>) -> tensor<?xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dynamic_pad %a, %z, %l, %h, %i
    : (tensor<?xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""
RESHAPE = """
func.func @main(%a: tensor<?xf32>, %s: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %1 = stablehlo.add %0, %0 : tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}
"""
IOTA = """
func.func @main(%s: tensor<2xi64>) -> tensor<?x?xi64> {
  %0 = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi64>
  return %0 : tensor<?x?xi64>
}
"""
GATHER = """
func.func @main(%a: tensor<?xf32>, %i: tensor<2xi64>, %s: tensor<1xi64>) -> tensor<2x?xf32> {
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    start_index_map = [0], index_vector_dim = 1>}> : (tensor<?xf32>, tensor<2xi64>, tensor<1xi64>) -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}
"""
INTEGERS = st.sampled_from([0, 1, 2, 3, 2**31, 2**32, 2**40, 2**60, 2**62, LARGEST]).flatmap(
    lambda edge: st.sampled_from([edge, -edge, min(edge + 1, LARGEST), edge - 1, -edge - 1])
)
ERRORS = (RuntimeShapeError, MemoryError)


@lru_cache
def compiled(text: str, driver: Driver) -> Compiled:
    return shlo_disc.compile(text, device="cpu", options=options(driver))


def called(text: str, *arrays: NDArray[np.generic]) -> NDArray[np.generic] | None:
    """The result of both drivers; None if they refuse the call."""
    found = list[NDArray[np.generic] | None]()
    for driver in DRIVERS:
        try:
            found.append(compiled(text, driver)(*arrays)[0])
        except ERRORS:
            found.append(None)
    one, other = found
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        np.testing.assert_array_equal(one, other)
    return one


def is_real(elements: int) -> bool:
    """Whether a machine may have so many, and take long."""
    return 2**16 < elements < 2**45


def one(*values: int) -> list[NDArray[np.int64]]:
    return [np.array([value]) for value in values]


@settings(max_examples=120)
@given(n=st.integers(0, 5), start=INTEGERS, limit=INTEGERS, step=INTEGERS)
def test_slices_at_run_time(n: int, start: int, limit: int, step: int) -> None:
    x = np.arange(n, dtype=np.float32)
    found = called(SLICE, x, *one(start, limit, step))
    if 0 <= start <= limit <= n and step >= 1:
        assert found is not None or step > 2**59
        if found is not None:
            np.testing.assert_array_equal(found, x[start:limit:step])
    else:
        assert found is None


@settings(max_examples=120)
@given(n=st.integers(0, 5), low=INTEGERS, high=INTEGERS, interior=INTEGERS)
def test_padding_at_run_time(n: int, low: int, high: int, interior: int) -> None:
    x = np.arange(1, n + 1, dtype=np.float32)
    size = low + n + max(n - 1, 0) * interior + high
    assume(not is_real(size))
    found = called(DYNAMIC_PAD, x, *one(low, high, interior))
    if size < 0 or interior < 0 or size > 2**40:
        assert found is None
    elif max(abs(low), abs(high), interior) < 2**30:
        assert found is not None
    if found is not None:
        wanted = np.zeros(size, np.float32)
        for k, value in enumerate(x.tolist()):
            if 0 <= low + k * (interior + 1) < size:
                wanted[low + k * (interior + 1)] = value
        np.testing.assert_array_equal(found, wanted)


@settings(max_examples=80)
@given(n=st.sampled_from([0, 1, 4, 6]), a=INTEGERS, b=INTEGERS)
def test_reshapes_at_run_time(n: int, a: int, b: int) -> None:
    found = called(RESHAPE, np.ones(n, np.float32), np.array([a, b]))
    if a >= 0 and b >= 0 and a * b == n and max(a, 1) * max(b, 1) <= SURE:
        assert found is not None
        assert found.shape == (a, b)
    elif min(a, b) < 0 or a * b != n:
        assert found is None


@settings(max_examples=80)
@given(a=INTEGERS, b=INTEGERS)
def test_iota_at_run_time(a: int, b: int) -> None:
    assume(not is_real(a * b))
    found = called(IOTA, np.array([a, b]))
    if a >= 0 and b >= 0 and max(a, 1) * max(b, 1) <= SURE and a * b < 100:
        assert found is not None
        assert found.shape == (a, b)
    elif min(a, b) < 0 or a * b > 2**45 or max(a, 1) * max(b, 1) > LARGEST // 8:
        assert found is None


@settings(max_examples=40)
@given(n=st.integers(0, 5), size=INTEGERS)
def test_gathers_at_run_time(n: int, size: int) -> None:
    x = np.arange(n, dtype=np.float32)
    found = called(GATHER, x, np.array([0, 0]), np.array([size]))
    assert (found is not None) == (0 <= size <= n)
    if found is not None:
        np.testing.assert_array_equal(found, np.stack([x[:size]] * 2))
