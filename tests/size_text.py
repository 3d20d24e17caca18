"""Sizes of artifacts, written as Python writes them."""

from __future__ import annotations

import ast

from shlo_disc.size_expr import SizeExpr, SizeFn, SizeOp

_OPERATORS: dict[type[ast.operator], SizeFn] = {ast.Add: "+", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}


def parsed(text: str) -> SizeExpr:
    """The tree of a formula, as it is written: nothing is simplified.

    >>> parsed("n*4 + max(m, 1)")
    SizeOp(fn='+', operands=(SizeOp(fn='*', operands=('n', 4)), SizeOp(fn='max', operands=('m', 1))))
    """
    return _read(ast.parse(text, mode="eval").body)


def _read(node: ast.expr) -> SizeExpr:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return name
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return SizeOp("*", (-1, _read(operand)))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return SizeOp("+", (_read(left), SizeOp("*", (-1, _read(right)))))
        case ast.BinOp(left=left, op=op, right=right):
            return SizeOp(_OPERATORS[type(op)], (_read(left), _read(right)))
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=args):
            return SizeOp("min" if name == "min" else "max", tuple(map(_read, args)))
        case _:
            raise AssertionError(ast.unparse(node))
