"""Arrays in the format of safetensors, each at an aligned address.

The format is a length of 8 bytes, a JSON object of that length, and the bytes of all arrays without gaps. For arrays to
begin at multiples of 64 bytes, arrays of bytes named `padding.<number>` stand between them.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from functools import reduce
from typing import Any, Final, NamedTuple, cast

_ALIGNMENT: Final = 64
_PADDING: Final = "padding."
CHECKSUM: Final = "crc32"  # in the metadata, of all that is behind the header
_NAMES: Mapping[str, str] = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32",
    "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
    "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}  # fmt: skip


_DTYPES = {kind: dtype for dtype, kind in _NAMES.items()}


class StoredTensor(NamedTuple):
    """An array: the name of its element type (NumPy's), its shape, and its bytes (row-major, little-endian)."""

    dtype: str
    shape: tuple[int, ...]
    data: memoryview | bytes


def write_tensors(tensors: Mapping[str, StoredTensor], *, checked: bool = False) -> bytes:
    """The bytes of a file. Element types that the format does not have are bytes there, named in its metadata.

    `checked`: with a checksum in the metadata, which `read_tensors` ignores.
    """
    others = {name: f"{one.dtype}{list(one.shape)}" for name, one in tensors.items() if one.dtype not in _NAMES}
    header = dict[str, object]({"__metadata__": others} if others or checked else {})
    pieces, at = list[bytes | memoryview](), 0
    for number, (name, one) in enumerate(tensors.items()):
        if pad := -at % _ALIGNMENT:
            header[f"{_PADDING}{number}"] = {"dtype": "U8", "shape": [pad], "data_offsets": [at, at + pad]}
            pieces.append(bytes(pad))
            at += pad
        size = len(one.data)
        kind, shape = (_NAMES[one.dtype], list(one.shape)) if one.dtype in _NAMES else ("U8", [size])
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + size]}
        pieces.append(one.data)
        at += size
    if checked:
        others[CHECKSUM] = f"{reduce(lambda found, piece: zlib.crc32(piece, found), pieces, 0):08x}"
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    return b"".join([len(text).to_bytes(8, "little"), text, *pieces])


def read_tensors(data: memoryview | bytes) -> Mapping[str, StoredTensor]:
    """The arrays in a file, by name; their bytes are those of `data`.

    Raises `ValueError` if they are not all within it, or have an element type that is not known.
    """
    whole = memoryview(data)
    length = int.from_bytes(whole[:8], "little")
    if not 8 + length <= len(whole):
        raise ValueError(f"found a header of {length} bytes, expected at most {len(whole) - 8}")
    header = json.loads(bytes(whole[8 : 8 + length]))
    if not isinstance(header, dict):
        raise ValueError("found no object of arrays")  # noqa: TRY004 - the file is wrong, not a caller
    body, found = whole[8 + length :], dict[str, StoredTensor]()
    arrays = cast("dict[str, Any]", header)
    others = arrays.get("__metadata__", {})
    if not isinstance(others, dict):
        raise ValueError("found no object as __metadata__")  # noqa: TRY004 - the file is wrong, not a caller
    for name, one in arrays.items():
        if name == "__metadata__" or name.startswith(_PADDING):
            continue
        match one:
            case {"dtype": kind, "shape": [*shape], "data_offsets": [int(begin), int(end)]} if (
                kind in _DTYPES and 0 <= begin <= end <= len(body)
            ):
                if not all(isinstance(size, int) and size >= 0 for size in shape) or math.prod(shape) > end - begin:
                    raise ValueError(f"found shape {shape} for {name} of {end - begin} bytes")
                found[name] = _tensor(_DTYPES[kind], shape, body[begin:end], cast("dict[str, Any]", others).get(name))
            case _:
                raise ValueError(f"found no place of {name} within {len(body)} bytes")
    return found


def _tensor(dtype: str, shape: list[int], data: memoryview, other: object) -> StoredTensor:
    """An array; `other` is the type and shape of one whose type the format does not have, such as `int4[3, 2]`."""
    if other is None:
        return StoredTensor(dtype, tuple(shape), data)
    name, _, sizes = str(other).partition("[")
    try:
        return StoredTensor(name, tuple(json.loads(f"[{sizes}")), data)
    except (ValueError, TypeError):
        raise ValueError(f"found the type {other!r} of an array") from None
