"""Dims as SymPy expressions, for display and solving: the one module that touches SymPy."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add, mul
from typing import Protocol, assert_never

import sympy  # pyright: ignore[reportMissingTypeStubs]  # `Formula` says what we use of it

from shlo_disc.expr.dim import Atom, Data, Dim, FloorDiv, Max, Min, Mod, Sym


class Formula(Protocol):
    """The part of `sympy.Expr` that others may rely on (SymPy itself is untyped)."""

    def __add__(self, other: Formula, /) -> Formula: ...
    def __mul__(self, other: Formula, /) -> Formula: ...
    def __truediv__(self, other: Formula, /) -> Formula: ...
    def subs(self, values: dict[Formula, int], /) -> Formula: ...
    def expand(self) -> Formula: ...


def _function(name: str) -> Callable[..., Formula]:
    return getattr(sympy, name)


_integer = _function("Integer")
_symbol = _function("Symbol")
_latex: Callable[[Formula], str] = getattr(sympy, "latex")  # noqa: B009  # untyped otherwise
_solve: Callable[..., list[Formula]] = getattr(sympy, "solve")  # noqa: B009  # untyped otherwise


def sympy_symbol(sym: Sym) -> Formula:
    """Write one symbol: an integer of unknown sign."""
    return _symbol(sym.name, integer=True)


def to_sympy(dim: Dim) -> Formula:
    """Write a dim with SymPy; data become symbols named by their text.

    >>> from shlo_disc.expr.dim import symbol
    >>> to_sympy((symbol("s") + 1) // 2 * symbol("b"))
    b*floor(s/2 + 1/2)
    """
    return reduce(
        add,
        (reduce(mul, map(_atom, factors), _integer(weight)) for factors, weight in dim.terms),
        _integer(0),
    )


def to_latex(dim: Dim) -> str:
    """Typeset a dim.

    >>> from shlo_disc.expr.dim import symbol
    >>> to_latex(symbol("b") * symbol("s") + 1)
    'b s + 1'
    """
    return _latex(to_sympy(dim))


def solutions(dim: Dim, sym: Sym) -> tuple[Formula, ...]:
    """Solve `dim == 0` for a symbol, over the integers where SymPy can tell.

    >>> from shlo_disc.expr.dim import symbol
    >>> solutions(2 * symbol("s") - 4 * symbol("t") - 6, Sym("s"))
    (2*t + 3,)
    """
    return tuple(_solve(to_sympy(dim), sympy_symbol(sym)))


def _atom(atom: Atom) -> Formula:
    match atom:
        case Sym():
            return sympy_symbol(atom)
        case Data():
            return _symbol(str(atom), integer=True)
        case FloorDiv(numerator, denominator):
            return _function("floor")(to_sympy(numerator) / to_sympy(denominator))
        case Mod(numerator, denominator):
            return _function("Mod")(to_sympy(numerator), to_sympy(denominator))
        case Min(members):
            return _function("Min")(*map(to_sympy, members))
        case Max(members):
            return _function("Max")(*map(to_sympy, members))
        case _:
            assert_never(atom)


def formula_to_sympy(text: str, known: Mapping[str, str]) -> Formula:
    """Write a size formula of an artifact; `known` gives symbols as formulas of others, a symbol of itself stays.

    >>> formula_to_sympy("64*max(n, m)", {"n": "2*k", "k": "k"})
    64*Max(2*k, m)
    """
    return _Text(known).formula(text)


class _Text:
    """Reads formulas of Python; each symbol is written once."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = known
        self._symbols = dict[str, Formula]()

    def formula(self, text: str) -> Formula:
        return self._visit(ast.parse(text.strip(), mode="eval").body)

    def _name(self, name: str) -> Formula:
        if name not in self._symbols:
            text = self._known.get(name, name)
            self._symbols[name] = sympy_symbol(Sym(name)) if text == name else self.formula(text)
        return self._symbols[name]

    def _visit(self, node: ast.expr) -> Formula:
        match node:
            case ast.Constant(value=int(value)):
                return _integer(value)
            case ast.Name(id=name):
                return self._name(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _integer(-1) * self._visit(operand)
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self._visit(left), self._visit(right)
                match op:
                    case ast.Add():
                        return a + b
                    case ast.Sub():
                        return a + _integer(-1) * b
                    case ast.Mult():
                        return a * b
                    case _:
                        raise AssertionError(f"size formulas have no {type(op).__name__}")
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(name, [self._visit(arg) for arg in args])
            case _:
                raise AssertionError(f"size formulas have no {type(node).__name__}")

    @staticmethod
    def _call(name: str, arguments: Sequence[Formula]) -> Formula:
        if name == "floordiv":
            return _function("floor")(arguments[0] / arguments[1])
        if name == "mod":
            return _function("Mod")(*arguments)
        # As it is: which of many sums is the largest takes SymPy minutes to ask.
        return _function({"min": "Min", "max": "Max"}[name])(*arguments, evaluate=False)
