"""The members of a zip file in memory, by its directory: section 4.3 of PKWARE's APPNOTE.

Python's `zipfile` reads these files, too, and takes a twentieth of the time of loading a program to import.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Final, NamedTuple

_ENTRY = struct.Struct("<4s4xHH4xLLLHHH8xL")  # flags, method, CRC, sizes, lengths of name, extra, comment; place
_LOCAL = struct.Struct("<4s22xHH")  # before the bytes of a member: the lengths of its name and of its extra field
_END = struct.Struct("<4s6xHLLH")  # entries, bytes of the directory, its place, length of a comment
_END_64_PLACE = struct.Struct("<4s4xQ4x")
_END_64 = struct.Struct("<4s28xQQQ")
_FIELD = struct.Struct("<HH")  # of an extra field: number, length
_FULL_16, _FULL_32 = 0xFFFF, 0xFFFF_FFFF  # the value is in a field of ZIP64
_ZIP64: Final = 1  # number of that extra field
_ENCRYPTED: Final = 1  # of the flags
STORED, DEFLATED = 0, 8  # methods


class StoredMember(NamedTuple):
    """A member of a zip file: how it is stored, and where. `begin` is that of its header."""

    name: str
    method: int
    crc: int
    packed: int  # bytes in the file
    size: int
    begin: int


def read_directory(data: memoryview) -> Mapping[str, StoredMember]:
    """The members by name. Raises `ValueError` unless all of the directory is as a zip file's."""
    at = bytes(data[-_END.size - _FULL_16 :]).rfind(b"PK\5\6")
    if at < 0:
        raise ValueError("it has no directory")
    end = max(0, len(data) - _END.size - _FULL_16) + at
    _, count, size, begin, comment = _unpacked(_END, data, end, b"PK\5\6")
    if end + _END.size + comment != len(data):
        raise ValueError("bytes follow its directory")
    last = end - _END_64_PLACE.size
    if count == _FULL_16 or _FULL_32 in (size, begin) or bytes(data[max(0, last) : max(0, last) + 4]) == b"PK\6\7":
        _, end = _unpacked(_END_64_PLACE, data, last, b"PK\6\7")
        _, count, size, begin = _unpacked(_END_64, data, end, b"PK\6\6")
    if begin + size != end:
        raise ValueError(f"found a directory of {size} bytes from {begin} to {end}")
    found, at = dict[str, StoredMember](), begin
    for _ in range(count):
        member, at = _member(data, at)
        if member.name in found:
            raise ValueError("two members have one name")
        found[member.name] = member
    if at != end:
        raise ValueError(f"found a directory of {at - begin} bytes, expected {size}")
    return found


def _member(data: memoryview, at: int) -> tuple[StoredMember, int]:
    """A member, and where the next entry of the directory is."""
    _, flags, method, crc, packed, size, named, extra, comment, begin = _unpacked(_ENTRY, data, at, b"PK\1\2")
    start = at + _ENTRY.size
    name = bytes(data[start : start + named]).decode()
    if flags & _ENCRYPTED or method not in (STORED, DEFLATED):
        raise ValueError(f"{name} has the flags {flags} and the method {method}")
    wanted = (size, packed, begin).count(_FULL_32)
    large = iter(_zip64(data[start + named : start + named + extra], wanted))
    size, packed, begin = (next(large) if value == _FULL_32 else value for value in (size, packed, begin))
    return StoredMember(name, method, crc, packed, size, begin), start + named + extra + comment


def _zip64(fields: memoryview, wanted: int) -> tuple[int, ...]:
    """So many 64-bit values of an extra field: those of size, packed size and place that do not fit into 32 bits."""
    while wanted and len(fields) >= _FIELD.size:
        number, length = _FIELD.unpack_from(fields)
        fields = fields[_FIELD.size :]
        if number == _ZIP64 and min(length, len(fields)) >= 8 * wanted:
            return struct.unpack_from(f"<{wanted}Q", fields)
        fields = fields[length:]
    if wanted:
        raise ValueError("found sizes of 64 bits nowhere")
    return ()


def stored_bytes(data: memoryview, member: StoredMember) -> memoryview:
    """The bytes of a member as they are in the file, perhaps compressed. Raises `ValueError`."""
    _, named, extra = _unpacked(_LOCAL, data, member.begin, b"PK\3\4")
    start = member.begin + _LOCAL.size
    if bytes(data[start : start + named]) != member.name.encode():
        raise ValueError("another member is in its place")
    begin = start + named + extra
    if not 0 <= member.packed <= len(data) - begin:
        raise ValueError(f"{member.packed} bytes end behind the end of the file")
    return data[begin : begin + member.packed]


def inflated(found: memoryview, member: StoredMember) -> bytes:
    """The bytes of a compressed member. Raises `ValueError`."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = stream.decompress(found, member.size + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(data) != member.size or not stream.eof or stream.unused_data or zlib.crc32(data) != member.crc:
        raise ValueError("its bytes are not those that were compressed")
    return data


def _unpacked(form: struct.Struct, data: memoryview, at: int, signature: bytes) -> tuple[int, ...]:
    """The signature, and the numbers that follow it."""
    if not 0 <= at <= len(data) - form.size:
        raise ValueError(f"found no place at {at}")
    found = form.unpack_from(data, at)
    if found[0] != signature:
        raise ValueError(f"found other bytes at {at}")
    return found
