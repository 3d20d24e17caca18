"""Dims as SymPy expressions, for display and solving: the one module that touches SymPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add, mul
from typing import Protocol, assert_never

import sympy  # pyright: ignore[reportMissingTypeStubs]  # `Formula` says what we use of it

from shlo_disc.expr.dim import Atom, Data, Dim, FloorDiv, Max, Min, Mod, Sym
from shlo_disc.size_expr import SizeExpr


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


def size_to_sympy(size: SizeExpr, known: Mapping[str, SizeExpr]) -> Formula:
    """Write a size of an artifact; `known` gives symbols in terms of others, and one given as itself stays.

    >>> from shlo_disc.size_expr import SizeOp
    >>> size_to_sympy(SizeOp("*", (64, SizeOp("max", ("n", "m")))), {"n": SizeOp("*", (2, "k")), "k": "k"})
    64*Max(2*k, m)
    """
    return _SizeWriter(known).of(size)


class _SizeWriter:
    """Writes sizes; each symbol is written once."""

    def __init__(self, known: Mapping[str, SizeExpr]) -> None:
        self._known = known
        self._symbols = dict[str, Formula]()

    def of(self, size: SizeExpr) -> Formula:
        if isinstance(size, int):
            return _integer(size)
        if isinstance(size, str):
            return self._symbol(size)
        operands = [self.of(operand) for operand in size.operands]
        match size.fn:
            case "+":
                return reduce(add, operands)
            case "*":
                return reduce(mul, operands)
            case "//":
                return _function("floor")(operands[0] / operands[1])
            case "%":
                return _function("Mod")(*operands)
            case "min" | "max":  # unevaluated: SymPy may take minutes to compare many sums
                return _function(size.fn.capitalize())(*operands, evaluate=False)

    def _symbol(self, name: str) -> Formula:
        if name not in self._symbols:
            size = self._known.get(name, name)
            self._symbols[name] = sympy_symbol(Sym(name)) if size == name else self.of(size)
        return self._symbols[name]
