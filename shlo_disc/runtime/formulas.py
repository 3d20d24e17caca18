"""Evaluate the size formulas of an artifact; each is compiled once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import CodeType
from typing import cast

from shlo_disc.artifact import Artifact, Formula


def _floordiv(a: int, b: int) -> int:
    return 0 if b == 0 else a // b  # as generated code does: by a size of 0 nothing is computed


def _mod(a: int, b: int) -> int:
    return 0 if b == 0 else a % b


_FUNCTIONS: dict[str, object] = {
    "floordiv": _floordiv,
    "mod": _mod,
    "min": min,
    "max": max,
    "__builtins__": {},
}


@lru_cache(maxsize=65536)
def _code(formula: Formula) -> CodeType:
    return compile(formula.strip(), "<formula>", "eval")


def evaluate(formula: Formula, symbols: Mapping[str, int]) -> int:
    """The value of a formula.

    >>> evaluate("floordiv(n + 3, 4) * max(m, 1)", {"n": 9, "m": 0})
    3
    """
    return int(cast("int", eval(_code(formula), _FUNCTIONS, symbols)))  # noqa: S307  (text of our own compiler)


class Symbols(dict[str, int]):
    """The symbols of a program by name. A defined one is computed when it is first asked for."""

    def __init__(self, artifact: Artifact, raw: tuple[int, ...]) -> None:
        count = len(artifact.raw)
        super().__init__(zip(artifact.symbols[:count], raw, strict=True))
        self._definitions = dict(zip(artifact.symbols[count:], artifact.definitions, strict=True))

    def __missing__(self, name: str) -> int:
        """Compute a defined symbol."""
        if name not in self._definitions:
            raise KeyError(name)
        value = self[name] = evaluate(self._definitions[name], self)
        return value
