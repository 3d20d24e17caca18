"""Evaluate the size formulas of an artifact; each is compiled once.

A formula may come from a file. So what Python is given to evaluate is never its text: it is its syntax tree, of which
every node was found to be a number, a symbol, a sum, a difference, a product, or a call of one of four functions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import cast

from shlo_disc.artifact import Artifact, Formula
from shlo_disc.diagnostics import InternalError


def quotient(a: int, b: int) -> int:
    """Rounded down. By 0 it is 0, as in generated code: by a size of 0 nothing is computed."""
    return 0 if b == 0 else a // b


def remainder(a: int, b: int) -> int:
    """What that quotient leaves; by 0 it is 0."""
    return 0 if b == 0 else a % b


_FUNCTIONS: dict[str, object] = {
    "floordiv": quotient,
    "mod": remainder,
    "min": min,
    "max": max,
    "__builtins__": {},
}


_CALLED = frozenset(_FUNCTIONS) - {"__builtins__"}
_OPERATORS = (ast.Add, ast.Sub, ast.Mult)


@lru_cache(maxsize=4096)
def parse_formula(formula: Formula) -> ast.expr:
    """The syntax tree of a formula. Raises `InternalError` for any other text.

    >>> parse_formula("n.bit_length()")
    Traceback (most recent call last):
    shlo_disc.diagnostics.InternalError: found n.bit_length in the size formula 'n.bit_length()'
    """
    try:
        tree = ast.parse(formula.strip(), "<formula>", "eval").body
        _check(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InternalError(f"found {str(error) or 'deep nesting'} in the size formula {formula[:80]!r}") from error
    return tree


def _check(node: ast.expr) -> None:
    match node:
        case ast.Constant(value=value) if type(value) is int:
            pass
        case ast.Name(id=name) if name not in _FUNCTIONS:
            pass
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(operand)
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OPERATORS):
            _check(left)
            _check(right)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLED:
            for argument in args:
                _check(argument)
        case ast.Call(func=found) | found:
            raise ValueError(ast.unparse(found))


@lru_cache(maxsize=65536)
def _code(formula: Formula) -> CodeType:
    return compile(ast.Expression(parse_formula(formula)), "<formula>", "eval")


def evaluate(formula: Formula, symbols: Mapping[str, int]) -> int:
    """The value of a formula.

    >>> evaluate("floordiv(n + 3, 4) * max(m, 1)", {"n": 9, "m": 0})
    3
    """
    return int(cast("int", eval(_code(formula), _FUNCTIONS, symbols)))  # noqa: S307  (a checked tree)


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
            names = ast.arguments([], [ast.arg(name) for name in self._names], None, [], [], None, [])
            values = ast.Tuple([parse_formula(formula) for formula in self._positions], ast.Load())
            tree = ast.fix_missing_locations(ast.Expression(ast.Lambda(names, values)))
            code = compile(tree, "<formulas>", "eval")
            self._function = cast("Callable[..., tuple[int, ...]]", eval(code, _FUNCTIONS))  # noqa: S307  (as above)
        return self._function(*symbols)
