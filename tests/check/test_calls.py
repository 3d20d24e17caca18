"""Two calls with equal inputs have to give the same bits, of NaNs any."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc import parse
from shlo_disc.check.calls import UnsteadyError, guarded, repeated, twice
from shlo_disc.check.compiling import BuildConfig, compiled_ways
from shlo_disc.options import CompileOptions

INPUTS = (np.arange(4, dtype=np.float32),)


def giving(*results: Sequence[float]) -> Any:
    """A run that gives one of these in each call; the first is for the call that poisons."""
    left = [np.array(result, np.float32) for result in results]

    def run(_inputs: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        return [left.pop(0)]

    return twice(run)


def test_another_number_is_seen() -> None:
    with pytest.raises(UnsteadyError, match=r"arguments share memory, result 0, .* 1 of 2 elements differs"):
        giving([9, 9], [1, 2], [1, 3])(INPUTS)
    with pytest.raises(UnsteadyError, match="whose arguments share memory"):
        giving([9, 9], [1, 0.0], [1, -0.0])(INPUTS)


def test_nans_have_any_sign() -> None:
    (found,) = giving([9, 9], [1, np.nan], [1, -np.nan])(INPUTS)
    assert np.isnan(found[1])


BITS = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xi32> {
  %y = stablehlo.multiply %x, %x : tensor<2xf32>
  %z = stablehlo.bitcast_convert %y : (tensor<2xf32>) -> tensor<2xi32>
  return %z : tensor<2xi32>
}
"""


class Changing:
    """A program in memory of the host whose first result is xored with another number in each call."""

    is_on_host = True

    def __init__(self, *others: list[int]) -> None:
        self._left = list(others)

    def mirror(self, inputs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        return [(inputs[0] * inputs[0]).view(np.int32) ^ np.array(self._left.pop(0), np.int32)]


def test_the_bits_of_a_nan_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    sign = -(2**31)
    inputs = [np.array([3, np.nan], np.float32)]

    def called(*others: list[int]) -> list[NDArray[Any]]:
        def executable(_config: BuildConfig, _module: object) -> Changing:
            return Changing(*others)

        monkeypatch.setattr(BuildConfig, "executable", executable)
        return list(compiled_ways(BuildConfig(CompileOptions()))["compiled"](parse(BITS))(inputs))

    assert called([0, 0], [0, 0], [0, sign])[0][0] == np.float32(9).view(np.int32)
    with pytest.raises(UnsteadyError, match=r"arguments share memory, result 0, .* 1 of 2 elements differ"):
        called([0, 0], [0, 0], [sign, sign])


def test_arguments_stay() -> None:
    def run(inputs: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        inputs[0][0] += 1
        return [inputs[0].copy()]

    with pytest.raises(UnsteadyError, match="argument 0 was overwritten"):
        twice(run)(INPUTS)


def ended(program: str) -> int:
    """How a process ends that runs a program: below 0 by a signal."""
    return subprocess.run([sys.executable, "-c", program], check=False, capture_output=True).returncode


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("shape", [(3,), (1024,), (5, 1), (0, 4)])
def test_guarded_copies_are_equal(shape: tuple[int, ...], at_end: bool) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    np.testing.assert_array_equal(guarded(x, at_end=at_end), x)


@pytest.mark.parametrize("at_end", [False, True])
def test_memory_around_a_guarded_array_cannot_be_accessed(at_end: bool) -> None:
    program = f"""
import ctypes, sys
import numpy as np
from shlo_disc.check.calls import guarded
for shape in ((3,), (1024,), (5, 1)):
    copy = guarded(np.ones(shape, np.float32), at_end={at_end})
    ctypes.string_at(copy.ctypes.data, copy.nbytes)
ctypes.string_at(copy.ctypes.data + {"copy.nbytes" if at_end else "-1"}, 1)
"""
    assert ended(program) == -signal.SIGSEGV


def test_a_read_behind_an_argument_ends_the_process() -> None:
    program = """
import ctypes
import numpy as np
from shlo_disc.check.calls import twice
def run(inputs):
    return [np.frombuffer(ctypes.string_at(inputs[0].ctypes.data, inputs[0].nbytes + BEYOND), np.uint8)]
twice(run)([np.arange(4, dtype=np.float32)])
"""
    assert ended(program.replace("BEYOND", "0")) == 0
    assert ended(program.replace("BEYOND", "1")) == -signal.SIGSEGV


class OnDevice:
    """What `repeated` needs of a program on a device: its memory is the host's."""

    def __init__(self, *results: float) -> None:
        self._left = list(results)

    def __call__(self, arguments: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
        return (np.full(2, self._left.pop(0) + arguments[0].shape[0], np.float32),)

    def upload(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.copy()

    def download(self, value: NDArray[Any]) -> NDArray[Any]:
        return value


def test_calls_on_a_device_are_compared() -> None:
    (found,) = repeated(cast("Any", OnDevice(1, 1, 1)), 2)(INPUTS)
    np.testing.assert_array_equal(found, [5, 5])
    with pytest.raises(UnsteadyError, match="in call 2, result 0"):
        repeated(cast("Any", OnDevice(1, 2, 1)), 2)(INPUTS)
    with pytest.raises(UnsteadyError, match="in call 3, whose equal arguments share memory, result 0"):
        repeated(cast("Any", OnDevice(1, 1, 2)), 2)(INPUTS)
