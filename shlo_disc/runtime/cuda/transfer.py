"""Arrays of callers on a device, and arrays of the device on the host."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.artifact import Argument
from shlo_disc.diagnostics import ArgumentTypeError
from shlo_disc.runtime.arguments import check_type, conform_one
from shlo_disc.runtime.cuda.device import Device, DeviceArray
from shlo_disc.runtime.interop import dtype_of, kind_of

_OTHER_LIBRARIES = frozenset({"jax", "dlpack"})


def is_foreign(array: object) -> bool:
    """Whether an array is of a library whose arrays may be on a device: JAX, or one with DLPack."""
    return kind_of(array) in _OTHER_LIBRARIES


class ArrayTransfer:
    """Views and copies of arrays on one device."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def view(self, argument: Argument, dtype: np.dtype[np.generic], array: object) -> DeviceArray:
        """An array as an argument on the device: a copy only if it is elsewhere, or not C-contiguous.

        Raises `ArgumentTypeError` for a wrong dtype or rank.
        """
        if not is_foreign(array):
            return (
                array
                if isinstance(array, DeviceArray)
                else self.device.import_array(conform_one(argument, dtype, array))
            )
        try:
            found = self.device.import_array(array)
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"{argument.name}: {error}") from error
        if found.dtype != argument.dtype or len(found.shape) != len(argument.shape):
            check_type(argument, found.dtype, found.shape, same=found.dtype == argument.dtype)
        return found

    def copied(self, argument: Argument, value: Any) -> Any:
        """A copy of a caller's array on the device, converted to what an argument takes."""
        dtype = dtype_of(argument.dtype)
        found = self.view(argument, dtype, value)
        memory = self.device.copy(found.pointer, math.prod(found.shape) * dtype.itemsize)
        self.device.hold([value if found.owner is None else found.owner])
        return self.device.export_array(memory, found.shape, found.dtype)

    def upload(self, array: NDArray[Any]) -> DeviceArray:
        """A copy on the device."""
        memory = self.device.upload(array.tobytes())
        return DeviceArray(memory.pointer, array.shape, array.dtype.name, memory)

    def download(self, value: Any) -> NDArray[Any]:
        """A copy on the host."""
        found = value if isinstance(value, DeviceArray) else self.device.import_array(value)
        dtype = dtype_of(found.dtype)
        data = self.device.download(found.pointer, math.prod(found.shape) * dtype.itemsize)
        return np.frombuffer(bytearray(data), dtype).reshape(found.shape)

    def on_host(self, array: Any) -> Any:
        """An array whose elements can be read on the host; waits for one that is on the device."""
        return self.download(array) if is_foreign(array) else array

    def element(self, array: Any, number: int, found: DeviceArray, dtype: np.dtype[np.generic]) -> int:
        """An element of an integer array, which is `found` on the device; waits for it if it is only there."""
        if not isinstance(array, DeviceArray) and not is_foreign(array):
            return int(np.asarray(array).reshape(-1)[number])
        data = self.device.download(found.pointer + number * dtype.itemsize, dtype.itemsize)
        return int(np.frombuffer(data, dtype)[0])
