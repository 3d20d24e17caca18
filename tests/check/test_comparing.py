"""When two results have the same bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.check.comparing import Tolerance, compare, identical
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


def chosen(seed: int, of: int = 400) -> NDArray[np.float64]:
    """The gradient of the least of equal averages: 3, or nearly so, at one place, and rounding errors elsewhere."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(of) * 1e-15
    found[rng.integers(of // 2)] = 3 + 1e-12 * rng.standard_normal()
    return found


def differs(found: NDArray[np.float64], runs: list[NDArray[np.float64]], rounds: tuple[int, ...] = (2, 8, 128)) -> bool:
    def samples(_result: int, numbers: range) -> list[NDArray[np.float64]]:
        return runs[1:][numbers.start : numbers.stop]

    return compare([found], [runs[0]], samples, Tolerance(), frozenset(), rounds) is not None


def test_a_value_whose_place_rounding_decides_may_be_at_a_place_of_its_own() -> None:
    """128 runs choose few of 400 places; one more choice is legal, and all else is not."""
    runs = [chosen(seed) for seed in range(129)]
    free = [k for k in range(200) if all(run[k] < 1 for run in runs)]
    found = np.zeros(400)
    found[free[0]] = 3
    assert not differs(found, runs)
    for place, value in [(free[0], 2.0), (free[0], -3.0), (free[1], 3.0), (300, 1e-9), (300, 3e-14), (300, np.nan)]:
        wrong = found.copy()
        wrong[place] = value
        assert differs(wrong, runs), (place, value)


@pytest.mark.slow
def test_places_of_a_large_result_are_decided_by_as_many_runs_as_memory_holds() -> None:
    """All of them together have more elements than are held."""
    size = 40_000
    runs = [chosen(seed, size) for seed in range(433)]
    found = np.zeros(size)
    found[next(k for k in range(size // 2) if all(run[k] < 1 for run in runs))] = 3
    assert not differs(found, runs, (2, 8, 432))
    assert differs(-found, runs, (2, 8, 432))


def test_a_value_at_another_place_is_wrong_where_rounding_does_not_decide() -> None:
    runs = [chosen(7) + 1e-15 * np.random.default_rng(seed).standard_normal(400) for seed in range(129)]
    assert not differs(runs[0] + 1e-16, runs)
    assert differs(np.roll(runs[0], 1), runs)


def test_the_tails_of_noise_are_no_places() -> None:
    """In a large result some element of most runs is a little outside the range of all others."""
    exact = np.random.default_rng(0).standard_normal(4096)
    runs = [exact + 1e-14 * np.random.default_rng(seed).standard_normal(4096) for seed in range(129)]
    for count in (1, 2, 4):
        found = runs[0].copy()
        found[-count:] = found[:count]
        assert differs(found, runs), count


def test_a_value_that_few_runs_have_elsewhere_is_wrong() -> None:
    """One in 16 runs has to differ from all others, or an error would be hidden by a single strange run."""
    rng = np.random.default_rng(3)
    runs = [rng.standard_normal(400) * 1e-15 for _ in range(129)]
    for number in range(4):
        runs[number][number] = 3
    found = np.zeros(400)
    found[300] = 3
    assert differs(found, runs)


def is_right(dtype: str, found: float, runs: list[float]) -> bool:
    arrays = [np.array([x]).astype(np.dtype(dtype)) for x in runs]

    def samples(_result: int, numbers: range) -> list[NDArray[Any]]:
        return [arrays[k % len(arrays)] for k in numbers]

    return compare([np.array([found]).astype(dtype)], arrays[:1], samples, Tolerance(), frozenset()) is None


def test_a_number_beyond_the_largest_of_a_type_without_infinities_is_nan() -> None:
    """Of either sign, so that a few runs of which some are NaN bound nothing."""
    for dtype in ("float8_e4m3b11fnuz", "float8_e4m3fn"):
        assert is_right(dtype, -28, [np.nan, 1])
        assert is_right(dtype, -28, [1, np.nan])
        assert not is_right(dtype, -28, [np.nan, np.nan])
        assert not is_right(dtype, np.nan, [1, 8])
        assert not is_right(dtype, -28, [1, 8])


def test_an_element_of_which_rounding_decides_most_may_be_well_outside_the_range() -> None:
    """Of bf16 as of f32: 1024 units are a ten-thousandth of an f32, but eight times a bf16."""
    for dtype, found in (("bfloat16", 38), ("float16", 38), ("float32", 33.505)):
        low = 0.324 if dtype != "float32" else 33.49
        assert is_right(dtype, found, [33.5, low])
        assert not is_right(dtype, found, [33.5, 33.5 - (33.5 - low) / 5])
        assert not is_right(dtype, 33.5 + 1.2 * (33.5 - low), [33.5, low])
