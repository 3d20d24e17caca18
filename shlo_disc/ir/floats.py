"""Encode and spell floating-point numbers of every type."""

from __future__ import annotations

import math

import numpy as np

from shlo_disc.ir.dtypes import DType, numpy_dtype


def read_integer(text: str) -> int:
    """Read an integer, decimal or hexadecimal."""
    try:
        return int(text, 0) if "x" in text else int(text)
    except ValueError:
        raise ValueError(f"'{text.strip()}'") from None


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"'{text.strip()}'") from None


def encode_floats(elements: list[str], dtype: DType) -> bytes:
    """Encode numbers, spelled in decimal or as bits, into raw bytes of `dtype`."""
    patterns = {i: read_integer(text) for i, text in enumerate(elements) if "x" in text}
    values = [0.0 if i in patterns else _float(text) for i, text in enumerate(elements)]
    with np.errstate(over="ignore"):
        array = np.array(values, dtype=np.float64).astype(numpy_dtype(dtype))
    bits = array.view(f"<u{dtype.bytes}")
    for i, pattern in patterns.items():
        if not 0 <= pattern < 1 << (8 * dtype.bytes):
            raise ValueError(f"the bit pattern '{elements[i].strip()}', which does not fit")
        bits[i] = pattern
    return bits.tobytes()


def float_of_bits(text: str, dtype: DType) -> float:
    """Return the number whose bits a hexadecimal number spells."""
    return _value(encode_floats([text], dtype), dtype)


def _value(data: bytes, dtype: DType) -> float:
    value = float(np.frombuffer(data, numpy_dtype(dtype))[0])
    return math.nan if math.isnan(value) else value  # one object, so that lists with it are equal


def spell_float(value: float, dtype: DType) -> str:
    """Spell a number as MLIR does: with six decimals if they are enough, and by its bits if it is not finite.

    >>> spell_float(0.1, DType.F32), spell_float(1 / 3, DType.F64), spell_float(math.inf, DType.BF16)
    ('1.000000e-01', '0.33333333333333331', '0x7F80')
    """
    with np.errstate(over="ignore"):
        data = np.array([value]).astype(numpy_dtype(dtype)).tobytes()
    if not math.isfinite(_value(data, dtype)):
        return f"0x{data[::-1].hex().upper()}"
    short = f"{value:e}"
    if encode_floats([short], dtype) == data:
        return short
    digits = 9 if dtype.bits <= 32 else 17
    text = f"{value:.{digits}g}"
    mantissa, exponent, power = text.partition("e")
    return text if "." in mantissa else f"{mantissa}.0{exponent}{power}"
