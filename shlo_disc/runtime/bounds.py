"""Bounds of size formulas over ranges of sizes: interval arithmetic."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TypeAlias

from shlo_disc.artifact import Formula
from shlo_disc.diagnostics import InternalError
from shlo_disc.runtime.formulas import parse_formula

Bounds: TypeAlias = tuple[float, float]  # inclusive; integers, or infinite


def bounds(formula: Formula, known: Mapping[str, Bounds]) -> Bounds:
    """Bounds of a formula's value, given those of its symbols.

    >>> bounds("64*floordiv(n + 15, 16) - m", {"n": (1, 20), "m": (0, 3)})
    (61, 128)
    """
    return _visit(parse_formula(formula), known)


def _visit(node: ast.expr, known: Mapping[str, Bounds]) -> Bounds:
    match node:
        case ast.Constant(value=int(value)):
            return value, value
        case ast.Name(id=name):
            return known[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            low, high = _visit(operand, known)
            return -high, -low
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, _visit(left, known), _visit(right, known))
        case ast.Call(func=ast.Name(id=name), args=args):
            return _call(name, [_visit(arg, known) for arg in args])
        case _:
            raise InternalError(f"found {ast.unparse(node)!r} in a size formula")


def _binary(op: ast.operator, a: Bounds, b: Bounds) -> Bounds:
    match op:
        case ast.Add():
            return a[0] + b[0], a[1] + b[1]
        case ast.Sub():
            return a[0] - b[1], a[1] - b[0]
        case ast.Mult():
            ends = [x * y for x in a for y in b]
            return min(ends), max(ends)
        case _:
            raise InternalError(f"found the operator {type(op).__name__} in a size formula")


def _call(name: str, arguments: list[Bounds]) -> Bounds:
    match name:
        case "max":
            return max(low for low, _ in arguments), max(high for _, high in arguments)
        case "min":
            return min(low for low, _ in arguments), min(high for _, high in arguments)
        case "floordiv":
            return _quotient(*arguments)
        case "mod":
            (low, high), (_, divisor) = arguments
            return (low, high) if low >= 0 and high < divisor == arguments[1][0] else (0, max(0, divisor - 1))
        case _:
            raise InternalError(f"found a call of {name!r} in a size formula")


def _quotient(a: Bounds, b: Bounds) -> Bounds:
    """By a divisor of at least 0; 0 for 0, as in all code of ours."""
    ends = [x // max(y, 1) for x in a for y in b]
    zero = [0.0] if b[0] <= 0 else []
    return min([*ends, *zero]), max([*ends, *zero])
