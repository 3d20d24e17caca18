"""The whole compiler, in the order it runs: `compilation.py` is the sequence, read it first.

In: a program in any form, options and hints. Out: an artifact, or that loaded on a device of this machine. A step may
be added where `compile_unit` names it. What a step does is in its own package: a module here only calls it and measures
its time.
"""

from typing import TYPE_CHECKING

from shlo_disc.pipeline.cached import compile_for, compile_program, origin_of_text
from shlo_disc.pipeline.request import Request
from shlo_disc.pipeline.source import read_source
from shlo_disc.pipeline.stopwatch import Stopwatch

if TYPE_CHECKING:
    from shlo_disc.pipeline.compilation import compile_module, compile_text

__all__ = [
    "Request",
    "Stopwatch",
    "compile_for",
    "compile_module",
    "compile_program",
    "compile_text",
    "origin_of_text",
    "read_source",
]


def _compiler(name: str) -> object:
    """What compiles: its module is loaded when it is first used, as programs in the cache do not need it."""
    if name not in ("compile_module", "compile_text"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shlo_disc.pipeline import compilation  # noqa: PLC0415

    return getattr(compilation, name)


if not TYPE_CHECKING:  # as in `shlo_disc`
    __getattr__ = _compiler
