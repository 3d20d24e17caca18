"""Arguments whose memory a call may overwrite: taken where nobody else can see it, else copied first.

Taken is the memory of a plain NumPy array that is writable, starts at 16 bytes as NumPy's own do, and overlaps no
other argument. What JAX or DLPack lend may be shared: it is copied, and so is everything else. A call computes the same
in both cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shlo_disc.artifact import Donation
from shlo_disc.runtime.interop import Array
from shlo_disc.runtime.library import Pointers
from shlo_disc.runtime.memory import POOL

_ALIGNMENT = 16  # bytes: enough for an element of any dtype


def take(
    donations: Sequence[Donation], given: Sequence[object], bound: Sequence[Array], addresses: Pointers
) -> Mapping[int, Array]:
    """The bytes to overwrite, by the number of the argument; `addresses` become those of copies where one is needed.

    `bound` are the arrays that a call was `given`, as the program takes them.
    """
    found = dict[int, Array]()
    spans = [(array.ctypes.data, array.ctypes.data + array.nbytes) for array in bound]
    for donation in donations:
        number = donation.argument
        memory = bound[number].reshape(-1).view(np.uint8)
        if not (type(given[number]) is np.ndarray and _is_alone(bound[number], number, spans)):
            copy = POOL.shelf(memory.size).array(memory.shape, memory.dtype)
            copy[:] = memory
            memory = copy
            addresses[number] = copy.ctypes.data
        found[number] = memory
    return found


def _is_alone(array: Array, number: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether an array may be written, and shares no byte with another argument."""
    start, end = spans[number]
    if not array.flags.writeable or start % _ALIGNMENT:
        return False
    return all(other == number or last <= start or end <= first for other, (first, last) in enumerate(spans))
