"""The inside of string literals, as MLIR escapes it."""

from __future__ import annotations

import re

_ESCAPE = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_NAMED = {b"n": b"\n", b"t": b"\t"}


def unescape(text: str) -> str:
    r"""Decode the inside of a string literal.

    >>> unescape(r"a\22b\\c\n")
    'a"b\\c\n'
    """
    if "\\" not in text:
        return text

    def decoded(match: re.Match[bytes]) -> bytes:
        return bytes([int(match[1], 16)]) if match[1] else _NAMED.get(match[2], match[2])

    raw = _ESCAPE.sub(decoded, text.encode("utf-8", "surrogateescape"))
    return raw.decode("utf-8", "surrogateescape")


def escape(text: str) -> str:
    r"""Encode text for the inside of a string literal.

    >>> escape('a"b\\c\n')
    'a\\22b\\\\c\\0A'
    """
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    parts: list[str] = []
    for byte in text.encode("utf-8", "surrogateescape"):
        char = chr(byte)
        if char == "\\":
            parts.append("\\\\")
        elif 0x20 <= byte < 0x7F and char != '"':
            parts.append(char)
        else:
            parts.append(f"\\{byte:02X}")
    return "".join(parts)


def is_unicode(text: str) -> bool:
    """Whether text has no lone surrogates, apart from those that encode single bytes."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True
