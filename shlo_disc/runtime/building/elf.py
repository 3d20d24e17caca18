"""Check that an object file or a shared object is complete: access to the missing part of a mapped one is fatal.

Only headers are read, of ELF files for 64-bit little-endian machines; elsewhere a file only must not be empty.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable
from typing import Final

from shlo_disc.records import record

OBJECT: Final = 1  # ET_REL
SHARED: Final = 3  # ET_DYN

_IDENTITY = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, version 1
_HEADER = struct.Struct("<16xHH4x8xQQ4xHHHHHH")  # type, machine, segments, sections, sizes and counts of these
_SEGMENT = struct.Struct("<I4xQ16xQ16x")  # kind, where, bytes
_SECTION = struct.Struct("<4xI16xQQI20x")  # kind, where, bytes, the section it refers to
_SYMBOL = struct.Struct("<IBxH16x")  # name, binding and kind, section
_DYNAMIC_SYMBOLS, _NO_BYTES = 11, 8  # kinds of sections


@record
class _Section:
    kind: int
    start: int
    size: int
    link: int


def fault(data: bytes, kind: int, exports: Iterable[str] = ()) -> str | None:
    """What is wrong with an object (`OBJECT`) or shared object (`SHARED`) that must export some functions, or None."""
    if sys.platform != "linux" or sys.byteorder != "little" or sys.maxsize < 1 << 32:
        return None if data else "it is empty"
    if not data.startswith(_IDENTITY) or len(data) < _HEADER.size:
        return f"it begins with {data[:8].hex(' ') or 'nothing'}, expected an ELF file"
    found, _, at_segments, at_sections, _, segment, segments, section, sections, _ = _HEADER.unpack_from(data)
    if found != kind:
        return f"it is an ELF file of type {found}, expected {kind}"
    if (segments and segment != _SEGMENT.size) or section != _SECTION.size:
        return f"its headers have {segment} and {section} bytes, expected {_SEGMENT.size} and {_SECTION.size}"
    ends = [at_segments + segments * segment, at_sections + sections * section]
    if max(ends) > len(data):
        return _short(data, max(ends))
    for _, start, size in _SEGMENT.iter_unpack(data[at_segments : ends[0]]):
        ends.append(start + size)
    listed = [_Section(*x) for x in _SECTION.iter_unpack(data[at_sections : ends[1]])]
    ends += [one.start + one.size for one in listed if one.kind != _NO_BYTES]
    if max(ends) > len(data):
        return _short(data, max(ends))
    missing = sorted(set(exports) - _exported(data, listed))
    return f"it does not export {', '.join(missing)}" if missing else None


def _short(data: bytes, end: int) -> str:
    return f"it has {len(data)} bytes, expected {end}"


def _exported(data: bytes, sections: list[_Section]) -> set[str]:
    """The names of the functions that a shared object defines."""
    names = set[str]()
    for one in sections:
        if one.kind == _DYNAMIC_SYMBOLS and one.link < len(sections):
            texts = data[sections[one.link].start :][: sections[one.link].size]
            table = data[one.start : one.start + one.size // _SYMBOL.size * _SYMBOL.size]
            for name, _, section in _SYMBOL.iter_unpack(table):
                if section:
                    names.add(texts[name : max(name, texts.find(b"\0", name))].decode("latin-1"))
    return names
