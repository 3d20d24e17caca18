"""What a target gives, so that XLA can run its programs: the platform, and each program at fixed sizes.

The modules of a target implement `XlaProgram`; all others of this package know no target.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from shlo_disc.records import record
from shlo_disc.runtime.library import Pointers, Words

Shape = tuple[int, ...]


@record
class XlaPlatform:
    """A platform of XLA that runs programs.

    Attributes:
        name: what JAX calls it.
        registry: the name under which XLA looks for its handlers.
        calls_python: whether Python makes the calls that C cannot make. Its arrays are those of the host: elsewhere
            such calls are refused.
    """

    name: str
    registry: str
    calls_python: bool


@record
class SizedProgram:
    """A program at fixed sizes, as the handlers run it: fields of `ShloXlaCall` of xla_calls.h.

    Attributes:
        shapes: of the results.
        addresses: of all arguments, null where a call brings them; then of packed operands.
        constants: their addresses.
        symbols: the values of all symbols.
        arena_bytes: of temporaries.
        program: what only the handler of the platform reads.
        kept: what has to stay alive.
    """

    shapes: tuple[Shape, ...]
    addresses: Pointers
    constants: Pointers
    symbols: Words
    arena_bytes: int
    program: ctypes.Structure
    kept: tuple[object, ...]


class XlaProgram(Protocol):
    """A program that is loaded, as XLA calls it."""

    @property
    def platform(self) -> XlaPlatform: ...

    @property
    def refusal(self) -> str | None:
        """Why C cannot make calls, apart from what the program computes; None if it can."""
        ...

    def handlers(self, interface: str) -> Path:
        """Build the library of what XLA calls on this platform, against the text of XLA's header."""
        ...

    def result_shapes(self, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        """The shapes of the results of a call with arrays of these shapes, none of whose elements is a size.

        Raises `RuntimeShapeError` as such a call does.
        """
        ...

    def at(self, shapes: Sequence[Shape]) -> SizedProgram:
        """The program at the sizes of arrays for which `result_shapes` has found those of the results."""
        ...
