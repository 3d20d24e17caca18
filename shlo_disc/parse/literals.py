"""Decode the inside of `dense<…>` into raw little-endian bytes."""

from __future__ import annotations

import math
import re
from binascii import unhexlify
from itertools import groupby

import numpy as np

from shlo_disc.diagnostics import ParseError, Span
from shlo_disc.ir.attributes import DenseAttr, TensorType
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.floats import encode_floats, read_integer

_PAIR = re.compile(r"\(([^(),]*),([^(),]*)\)")
_NO_STRUCTURE = re.compile(r"[^\[\],]+")
_COMMENT = re.compile(r"//[^\n]*")
_ODD = re.compile(r"[^-0-9A-Fa-fx.+,\s]")  # Python accepts more numbers: `1_000`, `nan`
_CHUNK = 1 << 20  # digits that are decoded at a time, an even number


def decode_dense(spelling: str, type_: TensorType, span: Span) -> DenseAttr:
    """Decode `spelling`, the text between the angle brackets of a literal of `type_`."""
    text = spelling.strip()
    if text.startswith('"'):
        if not text.startswith('"0x') or not text.endswith('"'):
            raise ParseError('expected a hexadecimal string "0x…" as the literal\'s elements', span)
        return decode_digits(text, (3, len(text) - 1), type_, span)
    count = _count(type_, span)
    if "//" in text:
        spelling = text = _COMMENT.sub("", text).strip()
    if not text:
        if count:
            raise ParseError(f"expected {count} elements, found an empty literal", span)
        return DenseAttr(type_, b"", splat=False, spelling="")
    splat = not text.startswith("[")
    elements = _elements(text, type_, splat=splat, span=span)
    data = encode_elements(elements, type_.dtype, span)
    wanted, found = 1 if splat else count, len(data) / type_.dtype.bytes
    if found != wanted:  # half a complex number, or no element at all
        raise ParseError(f"expected {wanted} elements of type {type_.dtype.value}, found {found:g}", span)
    is_exact = not type_.dtype.part.is_float or all("." in text or "x" in text for text in elements)
    return DenseAttr(type_, data, splat, spelling if data and is_exact else "")  # MLIR requires the point


def decode_digits(text: str, digits: tuple[int, int], type_: TensorType, span: Span) -> DenseAttr:
    """Decode a literal of hexadecimal digits that stand in `text` from `digits[0]` to `digits[1]`, without copies."""
    count, size = _count(type_, span), type_.dtype.bytes
    start, end = digits
    found = (end - start) // 2
    if found not in (size * count, size):
        raise ParseError(f"expected {count} elements of {size} bytes, found {found} bytes", span)
    if not count:  # MLIR permits the bytes of one element here
        return DenseAttr(type_, b"", splat=False)
    try:
        chunks = [unhexlify(text[at : min(at + _CHUNK, end)]) for at in range(start, end, _CHUNK)]
    except ValueError:
        raise ParseError("expected pairs of hexadecimal digits in the literal, found something else", span) from None
    data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    if type_.dtype.bits < 8:
        data = data.translate(_narrowed(type_.dtype))
    return DenseAttr(type_, data, found == size)


def _count(type_: TensorType, span: Span) -> int:
    if any(size is None for size in type_.shape):
        raise ParseError("expected a static shape for a literal, found a '?' size", span)
    return math.prod(size for size in type_.shape if size is not None)


def _narrowed(dtype: DType) -> bytes:
    """Return the table from bytes to elements of a type of less than 8 bits."""
    if dtype.is_bool:
        return bytes([0] + [1] * 255)
    low_bits = [byte & ((1 << dtype.bits) - 1) for byte in range(256)]
    if not dtype.is_signed:
        return bytes(low_bits)
    half = 1 << (dtype.bits - 1)
    return bytes([(bits ^ half) - half & 0xFF for bits in low_bits])


def _elements(text: str, type_: TensorType, *, splat: bool, span: Span) -> list[str]:
    """Split a literal into its numbers (two for a complex element), if its nesting is the shape."""
    structure = _PAIR.sub("", text) if type_.dtype.is_complex else text
    if not splat:
        shape = tuple(size for size in type_.shape if size is not None)
        if _NO_STRUCTURE.sub("", structure) != _nesting(shape, len(structure)):
            sizes = "x".join(map(str, shape))
            raise ParseError(f"expected lists nested as {sizes or 'a scalar'}, found others", span)
        if 0 in shape:
            return []
    flat = text.replace("[", "").replace("]", "")
    if type_.dtype.is_complex:
        flat = _PAIR.sub(r"\1,\2", flat)
    if not type_.dtype.is_bool and (odd := _ODD.search(flat)) is not None:
        raise ParseError(f"expected elements of type {type_.dtype.value}, found '{odd[0]}'", span)
    return flat.split(",") if flat.strip() else []


def _nesting(shape: tuple[int, ...], limit: int) -> str | None:
    """Return brackets and commas of a nested list, or None if they alone are longer than `limit`.

    >>> _nesting((2, 3), 100)
    '[[,,],[,,]]'
    """
    text = ""
    for size, equal in groupby(reversed(shape)):
        count = sum(1 for _ in equal)
        if size == 1:  # all at once: there may be very many
            text = f"{'[' * count}{text}{']' * count}"
            continue
        for _ in range(count):
            if size * (len(text) + 1) > limit + 1:
                return None
            text = f"[{','.join([text] * size)}]"
    return text


def encode_elements(elements: list[str], dtype: DType, span: Span) -> bytes:
    """Encode numbers, as the text spells them, into raw bytes of `dtype`."""
    try:
        if dtype.is_bool:
            return bytes(map(_boolean, elements))
        if dtype.is_float or dtype.is_complex:
            return encode_floats(elements, dtype.part)
        return _encode_integers(elements, dtype)
    except ValueError as error:
        raise ParseError(f"expected elements of type {dtype.value}, found {error}", span) from None


def _boolean(text: str) -> int:
    match text.strip():
        case "true" | "1":
            return 1
        case "false" | "0":
            return 0
        case other:
            raise ValueError(f"'{other}'")


def _encode_integers(elements: list[str], dtype: DType) -> bytes:
    values = list(map(read_integer, elements))
    bits = dtype.bits
    # a signless integer may be spelled as its unsigned or as its signed value
    low = -(1 << (bits - 1)) if dtype is DType.INDEX or dtype.is_signed else 0
    high = (1 << bits) - 1
    if values and not (low <= min(values) and max(values) <= high):
        culprit = next(value for value in values if not low <= value <= high)
        raise ValueError(f"'{culprit}', which does not fit")
    if low:
        half = 1 << (bits - 1)
        values = [value - (half << 1) if value >= half else value for value in values]
    kind = "i" if low else "u"
    return np.array(values, dtype=f"<{kind}{dtype.bytes}").tobytes()
