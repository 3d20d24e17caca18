"""Read the DLPack capsule (version 0) of an array whose memory NumPy cannot access.

The struct is that of dlpack.h. The capsule is never consumed: a reference to it keeps the memory alive.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from shlo_disc.diagnostics import ArgumentTypeError
from shlo_disc.records import record

CUDA = 2  # DLDeviceType
_KINDS: Mapping[int, str] = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}  # DLDataTypeCode
_BOOL = 6
_TENSOR = struct.Struct("=QiiiBBHQQQ")  # DLTensor: data, device's type and number, rank, dtype, shape, strides, offset
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_SMALL_FLOATS: Mapping[int, str] = {
    7: "e3m4", 8: "e4m3", 9: "e4m3b11fnuz", 10: "e4m3fn", 11: "e4m3fnuz", 12: "e5m2", 13: "e5m2fnuz", 14: "e8m0fnu",
}  # fmt: skip


@record
class ArrayView:
    """The memory of an array, while `capsule` lives."""

    pointer: int
    shape: tuple[int, ...]
    dtype: str  # NumPy's or ml_dtypes' name
    contiguous: bool  # row-major, without gaps
    capsule: object


def read(array: object, stream: int | None) -> ArrayView:
    """View the memory of `array`, ready for work on `stream` (DLPack's number: 1 is CUDA's default stream)."""
    capsule: object = cast("Any", array).__dlpack__(stream=stream)
    data, _, _, rank, code, bits, lanes, dims, steps, offset = _TENSOR.unpack(
        ctypes.string_at(_pointer(capsule, b"dltensor"), _TENSOR.size)
    )
    shape = _integers(dims, rank)
    plain = _row_major(shape)
    contiguous = (
        not steps
        or (strides := _integers(steps, rank)) == plain
        or math.prod(shape) == 0
        or all(size == 1 or a == b for size, a, b in zip(shape, strides, plain, strict=True))
    )
    return ArrayView(data + offset, shape, dtype_name(code, bits, lanes), contiguous, capsule)


def _integers(address: int, count: int) -> tuple[int, ...]:
    return struct.unpack(f"={count}q", ctypes.string_at(address, 8 * count)) if count else ()


@lru_cache(maxsize=256)
def dtype_name(code: int, bits: int, lanes: int) -> str:
    """NumPy's or ml_dtypes' name of a DLDataType.

    Types of fewer than 8 bits are refused: DLPack packs them, here each element has a byte.

    >>> dtype_name(2, 32, 1), dtype_name(4, 16, 1), dtype_name(6, 8, 1), dtype_name(12, 8, 1)
    ('float32', 'bfloat16', 'bool', 'float8_e5m2')
    """
    if lanes == 1 and code == _BOOL:
        return "bool"
    if lanes == 1 and bits == 8 and code in _SMALL_FLOATS:
        return f"float8_{_SMALL_FLOATS[code]}"
    if lanes != 1 or bits < 8 or code not in _KINDS:
        raise ArgumentTypeError(
            f"found a DLPack dtype of code {code}, {bits} bits and {lanes} lanes, expected a plain one"
        )
    return f"{_KINDS[code]}{bits}"


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous array, in elements.

    >>> _row_major((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
