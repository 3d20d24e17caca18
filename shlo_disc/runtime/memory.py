"""A pool of aligned memory for results and temporaries.

A page fault on fresh memory costs more than most kernels, and similar sizes recur.
"""

from __future__ import annotations

from ctypes import c_void_p
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64
POISON = 0xFF
_FREE_LIMIT = 512 << 20  # bytes that may be free
_MADE_BEFORE_TRIM = 64

Array = NDArray[Any]


class Anchor(np.ndarray[tuple[int], np.dtype[np.uint8]]):
    """The bytes of a cell, of a type that ends chains of bases.

    NumPy replaces an array's base by the base's own base as long as that is of the array's type.
    This type stops it, so that an ndarray made on a `Lent` has the `Lent` as its base.
    """

    __slots__ = ()


class Cell:
    """A piece of memory, in use or free on its shelf."""

    __slots__ = ("data", "free", "pointer", "room")

    def __init__(self, shelf: Shelf) -> None:
        data = aligned(shelf.size)
        self.data = data.view(Anchor)
        self.pointer = c_void_p(data.ctypes.data)
        self.free = shelf.free
        self.room = shelf.room

    def lend(self) -> Lent:
        """Its bytes as an array: the cell returns to its shelf when nothing refers to them any more."""
        lent = self.data.view(Lent)
        lent.cell = self
        return lent

    def give_back(self) -> None:
        """Return it to its shelf, unless enough of this size is free already."""
        if len(self.free) < self.room:
            self.free.append(self)


class Lent(np.ndarray[tuple[int], np.dtype[np.uint8]]):
    """The bytes of a cell, which returns to its shelf when no view and no other library refers to them.

    A plain ndarray made on a `Lent` keeps it as its base; views of that ndarray keep the ndarray.
    """

    __slots__ = ("cell",)
    cell: Cell

    def __del__(self) -> None:
        """Give the cell back."""
        try:
            cell = self.cell
        except AttributeError:  # a view of a `Lent`
            return
        cell.give_back()


class Shelf:
    """Free memory of one size. Needs no lock: list operations are atomic, and a lost race costs a cell."""

    __slots__ = ("_pool", "free", "room", "size")

    def __init__(self, pool: MemoryPool, size: int) -> None:
        self._pool = pool
        self.size = size
        self.free: list[Cell] = []
        self.room = pool.limit // size

    def take(self) -> Cell:
        """`size` aligned, uninitialized bytes, to be returned by `Cell.give_back`. Raises `MemoryError`."""
        try:
            cell = self.free.pop()
        except IndexError:
            self._pool.make_room(self.size)
            cell = self._fresh()
        if self._pool.poisons:
            cell.data.fill(POISON)
        return cell

    def _fresh(self) -> Cell:
        try:
            return Cell(self)
        except MemoryError:
            self._pool.drop_unused()
            return Cell(self)

    def array(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        """An aligned array; its memory returns to the shelf when nothing refers to it any more."""
        return np.ndarray(shape, dtype, self.take().lend())


class MemoryPool:
    """Shelves by size.

    `poisons` is for tests: all memory that calls take is filled with bytes 0xFF, NaNs in floats. Set on `POOL`, it
    applies to the generated entry, the VM, scratch memory of threads and a GPU, from the next program that is loaded
    on.
    """

    def __init__(self, limit: int = _FREE_LIMIT) -> None:
        self.limit = limit
        self.poisons = False
        self._shelves: dict[int, Shelf] = {}
        self._made = 0

    def shelf(self, size: int) -> Shelf:
        """The shelf of memory of at least `size` bytes."""
        size = size_class(size)
        found = self._shelves.get(size)
        return self._shelves.setdefault(size, Shelf(self, size)) if found is None else found

    def free_bytes(self) -> int:
        """Bytes of free memory."""
        return sum(shelf.size * len(shelf.free) for shelf in list(self._shelves.values()))

    def drop_unused(self) -> None:
        """Release all free memory."""
        for shelf in list(self._shelves.values()):
            shelf.free.clear()

    def make_room(self, size: int) -> None:
        """Release all free memory before an allocation, if it exceeds the limit."""
        self._made += 1
        if self._made >= _MADE_BEFORE_TRIM or size >= self.limit // _MADE_BEFORE_TRIM:
            self._made = 0
            if self.free_bytes() > self.limit:
                self.drop_unused()


def aligned(size: int) -> NDArray[np.uint8]:
    """Fresh bytes at an aligned address."""
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    if POOL.poisons:
        raw.fill(POISON)
    return raw[start : start + size]


def size_class(size: int) -> int:
    """Round up to one of four steps per power of two, so that nearby sizes share memory.

    >>> [size_class(n) for n in (0, 64, 65, 256, 257, 1000, 1025)]
    [64, 64, 128, 256, 320, 1024, 1280]
    """
    if size <= ALIGNMENT:
        return ALIGNMENT
    step = max(ALIGNMENT, 1 << ((size - 1).bit_length() - 3))
    return (size + step - 1) // step * step


POOL = MemoryPool()
