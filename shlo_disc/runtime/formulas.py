"""Evaluate the size formulas of an artifact; each is compiled once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
        count = artifact.given
        super().__init__(zip(artifact.symbols[:count], raw, strict=True))
        self._definitions = dict(zip(artifact.symbols[count:], artifact.definitions, strict=True))

    def __missing__(self, name: str) -> int:
        """Compute a defined symbol."""
        if name not in self._definitions:
            raise KeyError(name)
        value = self[name] = evaluate(self._definitions[name], self)
        return value


class FormulaSet:
    """Many formulas over the same symbols, compiled once into one function. Equal formulas are evaluated once.

    >>> numbers = FormulaSet(("n", "m"))
    >>> (doubled, same, less) = map(numbers.add, ("n * 2", "n * 2", "m - 1"))
    >>> values = numbers.evaluate((5, 3))
    >>> values[doubled], values[same], values[less]
    (10, 10, 2)
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._positions: dict[Formula, int] = {}
        self._function: Callable[..., tuple[int, ...]] | None = None

    def add(self, formula: Formula) -> int:
        """The position that its value will have."""
        return self._positions.setdefault(formula.strip(), len(self._positions))

    def evaluate(self, symbols: Sequence[int]) -> tuple[int, ...]:
        """The values of all formulas."""
        if self._function is None:
            text = f"lambda {', '.join(self._names)}: ({''.join(f'{f}, ' for f in self._positions)})"
            code = compile(text, "<formulas>", "eval")
            self._function = cast("Callable[..., tuple[int, ...]]", eval(code, _FUNCTIONS))  # noqa: S307  (as above)
        return self._function(*symbols)
