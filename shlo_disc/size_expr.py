"""Sizes in an artifact: integer formulas of symbols, as a small frozen tree.

The compiler computes with `expr.dim.Dim`, which is canonical. The runtime gets these: plain data that is written to
files, evaluated and printed without a parser, and never evaluated as Python.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Literal, NamedTuple, TypeAlias

SizeFn: TypeAlias = Literal["+", "*", "//", "%", "min", "max"]
_LARGEST, _DIGIT = (1 << 63) - 1, 1 << 62
SizeRange: TypeAlias = tuple[float, float]  # inclusive; integers, or infinite


class _Fields(NamedTuple):
    fn: SizeFn
    operands: tuple[SizeExpr, ...]


class SizeOp(_Fields):
    """A function of sizes: of two for `//` and `%`, which round down and give 0 for a divisor 0, else of one or more.

    Raises `ValueError` for another number of operands. (A tuple: it is hashed and compared for each launch.)

    >>> str(SizeOp("+", (SizeOp("*", (64, SizeOp("//", (SizeOp("+", ("n", 15)), 16)))), SizeOp("*", (-1, "m")))))
    '64*((n + 15) // 16) - m'
    """

    __slots__ = ()

    def __new__(cls, fn: SizeFn, operands: tuple[SizeExpr, ...]) -> SizeOp:
        if len(operands) != 2 and (fn in ("//", "%") or not operands):
            raise ValueError(f"found {len(operands)} operands of {fn!r}, expected {'2' if operands else '1 or more'}")
        return super().__new__(cls, fn, operands)

    def __str__(self) -> str:
        match self.fn:
            case "+":
                terms = list(map(str, self.operands))
                return "".join([terms[0], *(f" - {t[1:]}" if t[0] == "-" else f" + {t}" for t in terms[1:])])
            case "*":
                first, *rest = self.operands
                sign = "-" if first == -1 else ""
                return sign + "*".join(map(_factor, rest if sign else self.operands))
            case "//" | "%":
                return f" {self.fn} ".join(map(_factor, self.operands))
            case "min" | "max":
                return f"{self.fn}({', '.join(map(str, self.operands))})"


SizeExpr: TypeAlias = int | str | SizeOp  # a number, a symbol, or a function of such


def _factor(size: SizeExpr) -> str:
    return f"({size})" if isinstance(size, SizeOp) and size.fn in ("+", "*", "//", "%") else str(size)


def number(value: int) -> SizeExpr:
    """An integer; beyond 64 bits a sum of products of shorter ones, as files hold at most 64 bits.

    >>> str(number(5 * 2**62 + 7))
    '4611686018427387904*5 + 7'
    """
    if -_LARGEST <= value <= _LARGEST:
        return value
    high, low = divmod(value, _DIGIT)
    return total([product([_DIGIT, number(high)]), low])


def total(sizes: Iterable[SizeExpr]) -> SizeExpr:
    """The sum of any number of sizes, in their order."""
    found = tuple(sizes)
    return found[0] if len(found) == 1 else SizeOp("+", found) if found else 0


def product(sizes: Iterable[SizeExpr]) -> SizeExpr:
    """The product of any number of sizes, in their order."""
    found = tuple(sizes)
    return found[0] if len(found) == 1 else SizeOp("*", found) if found else 1


def quotient(a: int, b: int) -> int:
    """The quotient, rounded down; by 0 it is 0, as in generated code: where a size is 0, nothing is computed."""
    return 0 if b == 0 else a // b


def remainder(a: int, b: int) -> int:
    """The remainder of that quotient; by 0 it is 0."""
    return 0 if b == 0 else a % b


_VALUES: Mapping[SizeFn, Callable[[Sequence[int]], int]] = {
    "+": sum,
    "*": prod,
    "//": lambda values: quotient(*values),
    "%": lambda values: remainder(*values),
    "min": min,
    "max": max,
}


_OF_TWO: Mapping[SizeFn, Callable[[int, int], int]] = {
    "+": operator.add, "*": operator.mul, "//": quotient, "%": remainder, "min": min, "max": max,
}  # fmt: skip
SIZE_FNS = frozenset(_OF_TWO)


def evaluate(size: SizeExpr, symbols: Mapping[str, int]) -> int:
    """The value of a size. Raises `KeyError` for a symbol without a value.

    >>> evaluate(SizeOp("*", (SizeOp("//", (SizeOp("+", ("n", 3)), 4)), SizeOp("max", ("m", 1)))), {"n": 9, "m": 0})
    3
    """
    if isinstance(size, int):
        return size
    if isinstance(size, str):
        return symbols[size]
    return _VALUES[size.fn]([evaluate(operand, symbols) for operand in size.operands])


def symbols_of(*sizes: SizeExpr) -> Iterator[str]:
    """The symbols of sizes in their order, as often as they occur."""
    for size in sizes:
        if isinstance(size, str):
            yield size
        elif isinstance(size, SizeOp):
            yield from symbols_of(*size.operands)


def substitute(size: SizeExpr, known: Mapping[str, SizeExpr]) -> SizeExpr:
    """Replace symbols by sizes, simultaneously.

    >>> str(substitute(SizeOp("*", (2, "q")), {"q": SizeOp("+", ("n", 1))}))
    '2*(n + 1)'
    """
    if isinstance(size, SizeOp):
        return SizeOp(size.fn, tuple([substitute(operand, known) for operand in size.operands]))
    return known.get(size, size) if isinstance(size, str) else size


def bounds(size: SizeExpr, known: Mapping[str, SizeRange]) -> SizeRange:
    """Bounds of a size, given those of its symbols: interval arithmetic.

    >>> bounds(SizeOp("+", (SizeOp("//", ("n", 16)), SizeOp("*", (-1, "m")))), {"n": (16, 35), "m": (0, 3)})
    (-2, 2)
    """
    if isinstance(size, int):
        return size, size
    if isinstance(size, str):
        return known[size]
    operands = [bounds(operand, known) for operand in size.operands]
    match size.fn:
        case "+":
            return sum(low for low, _ in operands), sum(high for _, high in operands)
        case "*":
            found = operands[0]
            for one in operands[1:]:
                ends = [x * y for x in found for y in one]
                found = min(ends), max(ends)
            return found
        case "max":
            return max(low for low, _ in operands), max(high for _, high in operands)
        case "min":
            return min(low for low, _ in operands), min(high for _, high in operands)
        case "//":
            return _quotient_bounds(*operands)
        case "%":
            (low, high), (least, divisor) = operands
            return (low, high) if low >= 0 and high < divisor == least else (0, max(0, divisor - 1))


def _quotient_bounds(a: SizeRange, b: SizeRange) -> SizeRange:
    """Bounds of a quotient by a divisor of at least 0; by 0 it is 0, as in generated code."""
    ends = [x // max(y, 1) for x in a for y in b]
    zero = [0.0] if b[0] <= 0 else []
    return min([*ends, *zero]), max([*ends, *zero])


class SizeTable:
    """Many sizes of the same symbols, evaluated together: common subexpressions are computed once.

    >>> table = SizeTable(("n", "m"))
    >>> doubled, same, less = map(table.add, (SizeOp("*", ("n", 2)), SizeOp("*", ("n", 2)), SizeOp("+", ("m", -1))))
    >>> values = table.evaluate((5, 3))
    >>> values[doubled], values[same], values[less]
    (10, 10, 2)
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._positions: dict[SizeExpr, int] = {name: k for k, name in enumerate(names)}
        self._given = len(names)
        self._steps = list[int | tuple[Callable[[int, int], int], int, int]]()  # a number, or function and operands

    def add(self, size: SizeExpr) -> int:
        """Add a size; the position of its value. Raises `KeyError` for an unknown symbol."""
        if (found := self._positions.get(size)) is not None:
            return found
        if isinstance(size, str):
            raise KeyError(size)
        if isinstance(size, int):
            found = self._append(size)
        else:
            found, *others = [self.add(operand) for operand in size.operands]
            for other in others:
                found = self._append((_OF_TWO[size.fn], found, other))
        self._positions[size] = found
        return found

    def _append(self, step: int | tuple[Callable[[int, int], int], int, int]) -> int:
        self._steps.append(step)
        return self._given + len(self._steps) - 1

    def evaluate(self, symbols: Sequence[int]) -> Sequence[int]:
        """The values of the symbols, then of all sizes, at their positions."""
        values = list(symbols)
        for step in self._steps:
            values.append(step if isinstance(step, int) else step[0](values[step[1]], values[step[2]]))
        return values
