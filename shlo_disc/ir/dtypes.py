"""Element types, spelled as StableHLO spells them."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.diagnostics import ShloDiscError

Array: TypeAlias = NDArray[Any]


class DType(Enum):
    """An element type. The value is its spelling in StableHLO text."""

    I1 = "i1"
    I2 = "i2"
    I4 = "i4"
    I8 = "i8"
    I16 = "i16"
    I32 = "i32"
    I64 = "i64"
    UI2 = "ui2"
    UI4 = "ui4"
    UI8 = "ui8"
    UI16 = "ui16"
    UI32 = "ui32"
    UI64 = "ui64"
    INDEX = "index"
    F4E2M1FN = "f4E2M1FN"
    F6E2M3FN = "f6E2M3FN"
    F6E3M2FN = "f6E3M2FN"
    F8E3M4 = "f8E3M4"
    F8E4M3 = "f8E4M3"
    F8E4M3B11FNUZ = "f8E4M3B11FNUZ"
    F8E4M3FN = "f8E4M3FN"
    F8E4M3FNUZ = "f8E4M3FNUZ"
    F8E5M2 = "f8E5M2"
    F8E5M2FNUZ = "f8E5M2FNUZ"
    F8E8M0FNU = "f8E8M0FNU"
    BF16 = "bf16"
    F16 = "f16"
    F32 = "f32"
    F64 = "f64"
    C64 = "complex<f32>"
    C128 = "complex<f64>"

    __hash__ = object.__hash__  # members are singletons, so look-ups need not hash their names

    @property
    def bits(self) -> int:
        """Width of one element in bits; i1 counts as 1 (it is stored in one byte)."""
        return _BITS[self]

    @property
    def bytes(self) -> int:
        """Size of one element in memory, in bytes; sub-byte types take one byte each."""
        return max(1, _BITS[self] // 8)

    @property
    def is_bool(self) -> bool:
        return self is DType.I1

    @property
    def is_integer(self) -> bool:
        """Whether this is a signed or unsigned integer (i1 is not)."""
        return self in _INTEGERS

    @property
    def is_signed(self) -> bool:
        return self in _INTEGERS and self.value[0] == "i"

    @property
    def is_float(self) -> bool:
        return self.value[0] in "fb"

    @property
    def is_narrow_float(self) -> bool:
        """Whether this is a float of fewer bits than f32: it is computed in f32, rounding after every operation."""
        return self in _NARROW_FLOATS

    @property
    def is_narrow_integer(self) -> bool:
        """Whether this is an integer of fewer than 8 bits: it is computed in 8 bits, wrapping after every operation."""
        return self in _NARROW_INTEGERS

    @property
    def is_encoded(self) -> bool:
        """Whether this type is stored in another form than it is computed in (i1 has rules of its own)."""
        return self in _NARROW_FLOATS or self in _NARROW_INTEGERS

    @property
    def is_complex(self) -> bool:
        return self.value[0] == "c"

    @property
    def integer_bounds(self) -> tuple[int, int]:
        """The least and the greatest value of an integer type."""
        return (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1) if self.is_signed else (0, (1 << self.bits) - 1)

    def holds(self, other: DType) -> bool:
        """Whether this integer type can represent every value of another integer type."""
        (least, greatest), (low, high) = self.integer_bounds, other.integer_bounds
        return least <= low and high <= greatest

    def wrapped(self, value: int) -> int:
        """The value of this integer type that a number wraps around to."""
        least = self.integer_bounds[0]
        return least + (value - least) % (1 << self.bits)

    @property
    def part(self) -> DType:
        """The type of the real and imaginary parts of a complex type; otherwise the type itself."""
        return {DType.C64: DType.F32, DType.C128: DType.F64}.get(self, self)

    @property
    def numpy(self) -> str:
        """The name NumPy (or ml_dtypes, for types that NumPy lacks) gives this type."""
        return _NUMPY.get(self, self.value.lower())


def _bits(spelling: str) -> int:
    """Read the width off the spelling: the first number in it; complex has two parts.

    >>> _bits("ui16"), _bits("f8E4M3B11FNUZ"), _bits("complex<f64>"), _bits("index")
    (16, 8, 128, 64)
    """
    found = re.search(r"\d+", spelling)
    width = int(found[0]) if found else 64
    return 2 * width if spelling.startswith("complex") else width


_BITS = {dtype: _bits(dtype.value) for dtype in DType}
_INTEGERS = frozenset(dtype for dtype in DType if dtype.value[0] in "ui") - {DType.I1}
_NARROW_INTEGERS = frozenset(dtype for dtype in _INTEGERS if _BITS[dtype] < 8)
_NARROW_FLOATS = frozenset(dtype for dtype in DType if dtype.is_float and _BITS[dtype] < 32)

_NUMPY = {
    DType.I1: "bool",
    DType.I2: "int2",
    DType.I4: "int4",
    DType.I8: "int8",
    DType.I16: "int16",
    DType.I32: "int32",
    DType.I64: "int64",
    DType.UI2: "uint2",
    DType.UI4: "uint4",
    DType.UI8: "uint8",
    DType.UI16: "uint16",
    DType.UI32: "uint32",
    DType.UI64: "uint64",
    DType.INDEX: "int64",
    DType.F16: "float16",
    DType.F32: "float32",
    DType.F64: "float64",
    DType.BF16: "bfloat16",
    DType.C64: "complex64",
    DType.C128: "complex128",
    DType.F4E2M1FN: "float4_e2m1fn",
    DType.F6E2M3FN: "float6_e2m3fn",
    DType.F6E3M2FN: "float6_e3m2fn",
    DType.F8E3M4: "float8_e3m4",
    DType.F8E4M3: "float8_e4m3",
    DType.F8E4M3B11FNUZ: "float8_e4m3b11fnuz",
    DType.F8E4M3FN: "float8_e4m3fn",
    DType.F8E4M3FNUZ: "float8_e4m3fnuz",
    DType.F8E5M2: "float8_e5m2",
    DType.F8E5M2FNUZ: "float8_e5m2fnuz",
    DType.F8E8M0FNU: "float8_e8m0fnu",
}
_BY_NUMPY = {dtype.numpy: dtype for dtype in DType if dtype is not DType.INDEX}


def by_numpy_name(name: str) -> DType:
    """The type with this name in NumPy (or ml_dtypes).

    >>> by_numpy_name("bfloat16")
    <DType.BF16: 'bf16'>
    """
    return _BY_NUMPY[name]


def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy type of an element type; types that NumPy lacks come from ml_dtypes.

    Raises `ShloDiscError` if that is not installed.
    """
    try:
        return np.dtype(dtype.numpy)
    except TypeError:
        try:
            import ml_dtypes  # noqa: PLC0415  # needed for rare types only
        except ImportError as error:
            message = f"numbers of type {dtype.value} need the package ml_dtypes: pip install ml_dtypes"
            raise ShloDiscError(message) from error
        return np.dtype(getattr(ml_dtypes, dtype.numpy))
