"""The parts of an encoding beside its JSON text, and the errors for damaged or unsuitable data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from shlo_disc.size_expr import SizeOp

class_of: Callable[[Any], type] = type  # type checkers do not narrow `Any` by it
_END = 1 << 63  # of integers


class DamagedError(ValueError):
    """Found bytes that `encode` has not written for this type."""


class Sink:
    """The values of type `bytes`, and the numbers of the functions of sizes, in the order in which they are written."""

    def __init__(self) -> None:
        self.blobs = list[bytes]()
        self.sizes = dict[SizeOp, int]()


class StreamTables:
    """The values of type `bytes`, and the functions of sizes, in the order in which they are read.

    Each function is stored with the count of the numbers, names and functions that it is made of.
    """

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self.left = len(data)
        self.sizes = list[tuple[SizeOp, int]]()

    def take(self, count: int) -> bytes:
        if not 0 <= count <= self.left:
            raise DamagedError(f"found a length of {count} bytes, expected at most {self.left}")
        start = len(self._data) - self.left
        self.left -= count
        return bytes(self._data[start : start + count])


def damaged(found: object, wanted: str) -> NoReturn:
    raise DamagedError(f"found {repr(found)[:80]}, expected {wanted}")


def unsuitable(value: object, wanted: str) -> NoReturn:
    raise TypeError(f"cannot encode {repr(value)[:80]} of type {type(value).__name__}, expected {wanted}")


def has_64_bits(found: int) -> bool:
    """Whether an integer is one of 64 bits, with a sign."""
    return -_END <= found < _END
