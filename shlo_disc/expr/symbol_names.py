"""Decides which user-given names may be names of symbols."""

from __future__ import annotations

import unicodedata
from keyword import iskeyword

# Functions that formulas call, which no symbol may shadow.
_FUNCTIONS = frozenset({"floordiv", "mod", "min", "max", "data", "non_negative"})
_LONGEST = 100


def is_symbol_name(name: str) -> bool:
    """Whether formulas over a symbol of that name can be written as Python, C and JavaScript.

    An identifier that Python reads as it is written, no keyword, and no name that has a meaning in formulas.

    >>> [is_symbol_name(name) for name in ("batch", "\N{GREEK SMALL LETTER BETA}", "max", "if", "a-b", "__debug__")]
    [True, True, False, False, False, False]
    """
    return (
        len(name) <= _LONGEST
        and name.isidentifier()
        and unicodedata.normalize("NFKC", name) == name  # Python reads any other name as the normalized one
        and not iskeyword(name)
        and not name.startswith("__")
        and name not in _FUNCTIONS
    )
