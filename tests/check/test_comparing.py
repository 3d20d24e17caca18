"""When two results have the same bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from shlo_disc.check.comparing import identical
from shlo_disc.check.rounding import NAN_SIGNS, perturbed_runs
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.quick

Array = np.ndarray[Any, Any]
FLOATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64, np.complex128)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: np.dtype(dtype).name)
def test_a_nan_equals_any_nan_and_a_zero_only_its_own_sign(dtype: Any) -> None:
    one: Array = np.array([0.0, 1.5, np.nan, -np.nan, np.inf], dtype)
    other: Array = np.array([0.0, 1.5, -np.nan, np.nan, np.inf], dtype)
    assert one.tobytes() != other.tobytes()
    assert identical([one], [other]) is None
    for place, number in ((0, -0.0), (1, 1.625), (1, np.nan), (2, 0.0), (4, -np.inf)):
        changed = other.copy()
        changed[place] = number
        found = identical([one], [changed])
        assert found is not None
        assert (found.index, found.count) == ((place,), 1)


def test_parts_of_complex_numbers_are_compared_one_by_one() -> None:
    one = np.array([complex(np.nan, 1.0)], np.complex64)
    assert identical([one], [np.array([complex(-np.nan, 1.0)], np.complex64)]) is None
    assert identical([one], [np.array([complex(np.nan, 2.0)], np.complex64)]) is not None
    assert identical([one], [np.array([complex(1.0, np.nan)], np.complex64)]) is not None


def test_integers_are_equal_in_every_bit() -> None:
    found = identical([np.array([1, 2, 3], np.int8)], [np.array([1, 2, -3], np.int8)])
    assert found is not None
    assert found.index == (2,)


BITS_OF_NAN = """
func.func @main(%a: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = stablehlo.subtract %a, %a : tensor<4xf32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<4xf32>) -> tensor<4xi32>
  %2 = stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4xi32>
  return %1, %2 : tensor<4xi32>, tensor<4xi32>
}
"""


def test_bits_that_are_made_of_a_nan_may_differ_and_no_others() -> None:
    """`inf - inf` is a NaN of any sign; `1 - 1` is 0, and the bits of an argument are its own."""
    inputs = (np.array([np.inf, 1.0, -np.inf, 2.0], np.float32),)
    program = legalize(parse_module(BITS_OF_NAN, "m.mlir"))
    runs = perturbed_runs(program, inputs, NAN_SIGNS, "compiled")

    def signs(result: int) -> list[Array]:
        return [run[result] for run in runs]

    of_nan = signs(0)[0]
    minus = np.int32(np.iinfo(np.int32).min)
    for result, place, same in ((0, 0, True), (0, 2, True), (0, 1, False), (1, 0, False), (1, 1, False)):
        expected = [of_nan, inputs[0].view(np.int32)]
        found = [x.copy() for x in expected]
        found[result][place] ^= minus
        assert identical(found, expected) is not None
        assert (identical(found, expected, signs) is None) is same, (result, place)
