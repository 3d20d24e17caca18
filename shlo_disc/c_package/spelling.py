"""Text and numbers as C: the only way of a user's text into generated C."""

from __future__ import annotations

import re
from collections.abc import Iterable

from shlo_disc.diagnostics import ShloDiscError, printable

_PLAIN = frozenset(map(ord, " !#$%&'()*+,-./0123456789:;<=>@[]^_`{|}~")) | frozenset(
    code for code in range(128) if chr(code).isalnum()
)  # no quote, backslash or question mark, of which trigraphs are made
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_WORDS = """\
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const
consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do
double dynamic_cast else enum explicit export extern false float for friend goto if inline int long main
mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch
template this thread_local throw true try typedef typeid typename typeof union unsigned using virtual void
volatile wchar_t while xor xor_eq linux unix
"""
_RESERVED = frozenset(_WORDS.split())  # of C and C++, and macros of compilers


def check_package_name(name: object) -> str:
    """The name of a package, as an identifier of C that is no word of C or C++. Raises `ShloDiscError` for others."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None or name in _RESERVED or name.endswith("_t"):
        raise ShloDiscError(
            f"found the name {name!r} for a package, expected lower-case letters, digits and _, a letter first, "
            "and no word of C: all functions of the package begin with it"
        )
    return name


def utf8(text: str) -> bytes:
    """The bytes of a text in C: escaped for terminals, as texts of errors are in Python."""
    return printable(text).encode(errors="backslashreplace")


def c_string(text: str) -> str:
    r"""A text as a string literal of C.

    >>> print(c_string('a "b"?\n'))
    "a \042b\042\077\012"
    """
    return '"' + "".join([chr(code) if code in _PLAIN else f"\\{code:03o}" for code in utf8(text)]) + '"'


def c_numbers(values: Iterable[int]) -> str:
    """The members of an array of integers of 64 bits or fewer; never none."""
    words = [_number(value) for value in values] or ["0"]
    lines = [", ".join(words[at : at + 16]) for at in range(0, len(words), 16)]
    return ",\n    ".join(lines)


def _number(value: int) -> str:
    return "INT64_MIN" if value == -(1 << 63) else str(value)
