"""What devices of tests have in common: their memory is the host's, and libraries of the host stand for a GPU's."""

from __future__ import annotations

import ctypes
import time
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.linear_algebra import Routine
from shlo_disc.runtime.fourier import Transform, bind_fft
from shlo_disc.runtime.host_calls import Callee, memory_of, view_on_host
from shlo_disc.runtime.interop import as_numpy


class HostMemoryDevice:
    """That part of `shlo_disc.runtime.cuda.device.Device`."""

    def known(self, array: object) -> None:
        """Nothing is remembered."""

    def download(self, pointer: int, size: int) -> bytes:
        """Bytes of the device."""
        return ctypes.string_at(pointer, size)

    def wait(self) -> None:
        """Everything is done when it is queued."""

    def mark(self) -> object:
        """The time."""
        return time.perf_counter()

    def seconds(self, first: object, last: object) -> float:
        """Of the host's clock."""
        assert isinstance(first, float)
        assert isinstance(last, float)
        return last - first

    def occupy(self, steps: int) -> None:
        """No step waits for the host."""

    def named(self, name: str) -> nullcontext[None]:
        """There is no profiler."""
        del name
        return nullcontext()

    def view(self, pointer: int, shape: tuple[int, ...], dtype: np.dtype[Any], owner: object) -> NDArray[Any]:
        """Memory of the device as NumPy sees it."""
        return view_on_host(pointer, shape, dtype, memory_of(owner))

    def as_array(self, value: object) -> NDArray[Any]:
        """What a function of NumPy arrays returned."""
        return as_numpy(value)

    def bind_fft(self, transform: Transform, rank: int) -> Callee:
        """SciPy's transforms stand for those of cuFFT."""
        return bind_fft(transform, rank, threads=1)

    def bind_routine(self, routine: Routine) -> Callee:
        """SciPy's routines stand for those of cuSOLVER."""
        return routine.run

    def on_host(self, callee: Callee) -> Callee:
        """There is no other memory."""
        return callee
