"""A static library of one object file, in the format of `ar` with the index of symbols that linkers read."""

from __future__ import annotations

import struct
from collections.abc import Sequence

_MAGIC = b"!<arch>\n"
_LONGEST_NAME = 15


def archive(name: str, data: bytes, symbols: Sequence[str]) -> bytes:
    r"""The bytes of a static library: an object file of a short name, which defines these symbols.

    >>> archive("a.o", b"data", ["f"])[:24]
    b'!<arch>\n/               '
    """
    assert len(name) <= _LONGEST_NAME, f"{name} is longer than a member's name may be"
    texts = b"".join([symbol.encode("ascii") + b"\0" for symbol in symbols])
    position = len(_MAGIC) + len(_member("/", _index(0, symbols, texts)))
    return _MAGIC + _member("/", _index(position, symbols, texts)) + _member(f"{name}/", data)


def _index(position: int, symbols: Sequence[str], texts: bytes) -> bytes:
    return struct.pack(f">{len(symbols) + 1}I", len(symbols), *[position] * len(symbols)) + texts


def _member(name: str, data: bytes) -> bytes:
    """A member of the archive, of no time and no owner, so that equal programs are equal bytes."""
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n"
    return header.encode("ascii") + data + b"\n" * (len(data) % 2)
