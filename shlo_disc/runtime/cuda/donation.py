"""Donated arguments on a GPU: see `runtime/donation.py`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from shlo_disc.artifact import Donation
from shlo_disc.runtime.cuda.device import Device, DeviceArray, DeviceMemory
from shlo_disc.runtime.donation import is_apart
from shlo_disc.runtime.interop import dtype_of


def take_on_device(
    device: Device, donations: Sequence[Donation], given: Sequence[object], bound: Sequence[DeviceArray]
) -> Mapping[int, DeviceMemory]:
    """The memory to overwrite, by argument number. `bound` are the `given` arrays on the device."""
    found = dict[int, DeviceMemory]()
    sizes = [math.prod(array.shape) * dtype_of(array.dtype).itemsize for array in bound]
    spans = [(array.pointer, array.pointer + size) for array, size in zip(bound, sizes, strict=True)]
    for donation in donations:
        number = donation.argument
        array = bound[number]
        memory = device.writable(given[number])
        if memory is None or memory.pointer != array.pointer or not is_apart(number, spans):
            memory = device.copy(array.pointer, sizes[number])
        found[number] = memory
    return found
