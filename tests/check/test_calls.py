"""Two calls with equal inputs have to give the same bits, of NaNs any."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.check.calls import UnsteadyError, guarded, twice

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


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("shape", [(3,), (1024,), (5, 1), (0, 4)])
def test_memory_around_a_guarded_array_cannot_be_accessed(shape: tuple[int, ...], at_end: bool) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    copy = guarded(x, at_end=at_end)
    np.testing.assert_array_equal(copy, x)
    if not x.size:
        return
    place = copy.ctypes.data + (copy.nbytes if at_end else -1)
    child = os.fork()
    if not child:
        faulthandler.disable()
        ctypes.string_at(place, 1)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGSEGV


def test_a_read_behind_an_argument_ends_the_process() -> None:
    def run(inputs: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        (x,) = inputs
        return [np.frombuffer(ctypes.string_at(x.ctypes.data, x.nbytes + 4), np.float32)]

    child = os.fork()
    if not child:
        faulthandler.disable()
        twice(run)(INPUTS)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGSEGV
