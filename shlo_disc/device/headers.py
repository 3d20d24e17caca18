"""The text of headers, by their names below this folder: what `#include "gemm/gemm.h"` finds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent  # the one folder that `-I` names

_INCLUDE = re.compile(r'^#include "([\w./]+)"', re.MULTILINE)
_INTEGER_MACRO = re.compile(r"^#define\s+(SHLO_\w+)\s+\(?(\d+)\)?", re.MULTILINE)


def names(*suffixes: str) -> tuple[str, ...]:
    """The names of all files with one of the suffixes (`.h`, `.cuh`), sorted."""
    return tuple(sorted(p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*.*") if p.suffix in suffixes))


@cache
def text(name: str) -> str:
    """The text of a file."""
    return (ROOT / name).read_text()


@cache
def integer_macros(name: str) -> Mapping[str, int]:
    """The integers that a header defines as macros: one place for what both C++ and the host program use."""
    return {name: int(value) for name, value in _INTEGER_MACRO.findall(text(name))}


@cache
def _included_by(name: str) -> tuple[str, ...]:
    """The names that a header includes itself."""
    return tuple(_INCLUDE.findall(text(name)))


def included(source: str) -> Mapping[str, str]:
    """All headers that a source includes, be it through others, and their texts; sorted by name."""
    found = set[str]()
    waiting = _INCLUDE.findall(source)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _included_by(name)
    return {name: text(name) for name in sorted(found)}
