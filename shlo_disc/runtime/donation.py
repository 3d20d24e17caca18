"""Donated arguments: a call overwrites their memory where it is not shared, else a copy.

Overwritten is the memory of a plain NumPy array (on a device: of an array of its library) that is writable, aligned to
16 bytes, and overlaps no other argument. Memory of JAX or by DLPack may be shared: it is copied, and so is everything
else. Results are the same in both cases.
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
    """The bytes to overwrite, by argument number; `addresses` is updated where a copy is made.

    `bound` are the `given` arrays as the program takes them.
    """
    found = dict[int, Array]()
    starts = [addresses[k] or 0 for k in range(len(bound))]
    spans = [(start, start + array.nbytes) for start, array in zip(starts, bound, strict=True)]
    for donation in donations:
        number = donation.argument
        memory = bound[number].reshape(-1).view(np.uint8)
        if not (type(given[number]) is np.ndarray and bound[number].flags.writeable and is_apart(number, spans)):
            copy = POOL.shelf(memory.size).array(memory.shape, memory.dtype)
            copy[:] = memory
            memory = copy
            addresses[number] = copy.ctypes.data
        found[number] = memory
    return found


def own(
    donations: Sequence[Donation], places: Sequence[int], given: Sequence[object], arrays: tuple[Array, ...]
) -> tuple[Array, ...]:
    """The converted arrays, with copies of donated ones that another library may share.

    `places` are the argument numbers of the arrays.
    """
    donated = {places.index(donation.argument) for donation in donations}
    lent = {k for k in donated if type(given[k]) is not np.ndarray}
    return tuple([array.copy() if k in lent else array for k, array in enumerate(arrays)]) if lent else arrays


def is_apart(number: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether an argument is aligned, and shares no byte with another."""
    start, end = spans[number]
    others = (span for other, span in enumerate(spans) if other != number)
    return not start % _ALIGNMENT and all(last <= start or end <= first for first, last in others)
