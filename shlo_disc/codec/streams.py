"""What an encoding consists of beside its JSON text, and what is said of one that is damaged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from shlo_disc.size_expr import SizeOp

class_of: Callable[[Any], type] = type  # which type checkers do not narrow `Any` by
_END = 1 << 63  # of integers


class DamagedError(ValueError):
    """Found bytes that `encode` has not written for this type."""


class Sink:
    """What is written beside the JSON text, and the functions of sizes that were written: by number, in their order."""

    def __init__(self) -> None:
        self.blobs = list[bytes]()
        self.sizes = dict[SizeOp, int]()


class StreamTables:
    """The values of type `bytes`, and the functions of sizes, in the order in which they are met.

    Of the latter with how many numbers, names and functions each is made of.
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
