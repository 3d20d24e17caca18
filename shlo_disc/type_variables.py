"""Type variables with defaults, which Python has from 3.13 on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

__all__ = ["TypeVar"]

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # type checkers know it
elif sys.version_info >= (3, 13):
    from typing import TypeVar
else:
    import typing

    def TypeVar(name: str, *, default: object) -> typing.TypeVar:  # noqa: N802
        """A type variable that keeps its default as `typing_extensions` does, which takes long to import."""
        found = typing.TypeVar(name)
        found.__default__ = default
        return found
