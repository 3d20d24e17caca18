"""Two calls with equal inputs have to give the same bits, of NaNs any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.check.calls import UnsteadyError, twice

INPUTS = (np.arange(4, dtype=np.float32),)


def giving(*results: Sequence[float]) -> Any:
    """A run that gives one of these in each call; the first is for the call that poisons."""
    left = [np.array(result, np.float32) for result in results]

    def run(_inputs: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        return [left.pop(0)]

    return twice(run)


def test_another_number_is_seen() -> None:
    with pytest.raises(UnsteadyError, match=r"arguments share memory, result 0, .* 1 of 2 elements differ"):
        giving([9, 9], [1, 2], [1, 3])(INPUTS)
    with pytest.raises(UnsteadyError, match="whose arguments share memory"):
        giving([9, 9], [1, 0.0], [1, -0.0])(INPUTS)


def test_nans_have_any_sign() -> None:
    (found,) = giving([9, 9], [1, np.nan], [1, -np.nan])(INPUTS)
    assert np.isnan(found[1])


def test_arguments_stay() -> None:
    def run(inputs: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        inputs[0][0] += 1
        return [inputs[0].copy()]

    with pytest.raises(UnsteadyError, match="argument 0 was overwritten"):
        twice(run)(INPUTS)
