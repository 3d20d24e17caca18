"""When two results have the same bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from shlo_disc.check.comparing import identical

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
