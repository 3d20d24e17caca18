"""Bytecode in files: a header of 64-bit words, and sections, all little-endian."""

from __future__ import annotations

import struct
import sys
from array import array
from dataclasses import fields
from typing import Any, Final

from shlo_disc.bytecode.code import HostCode
from shlo_disc.bytecode.verify import verify
from shlo_disc.codec import DamagedError
from shlo_disc.diagnostics import InternalError

MAGIC: Final = b"shlohost"
VERSION: Final = 1
_HEADER = struct.Struct("<8s27q")
SECTIONS = {
    "constants": "q", "bounds": "q", "sizes": "i", "checks": "i", "dims": "i", "conditions": "i", "slots": "i",
    "steps": "i",
}  # fmt: skip
NUMBERS = tuple([one.name for one in fields(HostCode) if one.name not in SECTIONS and one.name != "names"])


def to_bytes(code: HostCode) -> bytes:
    """The code as a file holds it: the magic number, version, numbers, lengths of sections and names, and these."""
    names = "\n".join(code.names).encode()
    numbers = [getattr(code, name) for name in NUMBERS]
    counts = [len(getattr(code, name)) for name in SECTIONS]
    header = _HEADER.pack(MAGIC, VERSION, *numbers, *counts, len(names), 0)
    return b"".join([header, *(_little(getattr(code, name)).tobytes() for name in SECTIONS), names])


def from_bytes(data: bytes | memoryview) -> HostCode:
    """The code in the bytes of a file. Raises `DamagedError` unless all that it names is within the program."""
    if len(data) < _HEADER.size:
        raise DamagedError(f"host program: found {len(data)} bytes, expected at least {_HEADER.size}")
    magic, version, *words = _HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION:
        raise DamagedError(f"host program: found {magic!r} of version {version}, expected {MAGIC!r} of {VERSION}")
    found: dict[str, Any] = dict(zip(NUMBERS, words, strict=False))
    counts, length, position = words[len(NUMBERS) : -2], words[-2], _HEADER.size
    for (name, typecode), count in zip(SECTIONS.items(), counts, strict=True):
        section: array[int] = array(typecode)
        end = position + count * section.itemsize
        if count < 0 or end > len(data):
            raise DamagedError(f"host program: found {count} words of {name}, more than there are bytes")
        section.frombytes(data[position:end])
        found[name] = _little(section)
        position = end
    if length < 0 or position + length != len(data) or words[-1]:
        raise DamagedError(f"host program: found {len(data)} bytes, expected {position + length}")
    try:
        names = bytes(data[position:]).decode()
    except UnicodeDecodeError as error:
        raise DamagedError(f"host program: a kernel's name is not UTF-8: {error}") from error
    code = HostCode(**found, names=tuple(names.split("\n")) if names else ())
    verify(code)
    return code


def _little(section: array[int]) -> array[int]:
    """A section in the byte order of files: a copy where the machine's is another."""
    if sys.byteorder == "little":
        return section
    swapped: array[int] = array(section.typecode, section)
    swapped.byteswap()
    return swapped


if array("i").itemsize != 4:
    raise InternalError("found another size of int than 4 bytes, on which the layout of bytecode relies")
