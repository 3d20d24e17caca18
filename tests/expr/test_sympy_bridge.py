"""SymPy is the second opinion on canonical forms."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shlo_disc.expr.dim import Dim, Sym, symbol
from shlo_disc.expr.sympy_bridge import solutions, sympy_symbol, to_latex, to_sympy
from tests.expr.trees import Tree, by_symbol, dim_of, evaluate, trees, values


def same(a: Dim, b: Dim) -> bool:
    """Whether SymPy expands both to the same polynomial."""
    return to_sympy(a).expand() == to_sympy(b).expand()


@settings(max_examples=60)
@given(trees("+ - *"), trees("+ - *"))
def test_equal_polynomials_are_equal_dims(left: Tree, right: Tree) -> None:
    a, b = dim_of(left), dim_of(right)
    assert (a == b) == same(a, b)
    assert same((a + b) * (a - b), a * a - b * b)
    assert to_sympy(a * b).expand() == (to_sympy(a) * to_sympy(b)).expand()


@settings(max_examples=60)
@given(trees("+ - * // % min max"), values())
def test_the_translation_has_the_same_value(tree: Tree, env: dict[str, int]) -> None:
    try:
        wanted = evaluate(tree, env)
    except ZeroDivisionError:
        assume(False)
        raise
    formula = to_sympy(dim_of(tree))
    found = formula.subs({sympy_symbol(sym): each for sym, each in by_symbol(env).items()})
    assert found == wanted


@given(st.integers(-9, 9), st.integers(1, 9))
def test_quotients_by_a_constant_agree(offset: int, k: int) -> None:
    s = symbol("s")
    dim = (6 * s + offset) // k
    at = to_sympy(dim).subs({sympy_symbol(Sym("s")): 5})
    assert at == (30 + offset) // k


def test_formulas_are_typeset_and_solved() -> None:
    b, s = symbol("b"), symbol("s")
    assert to_latex(b * s + 1) == "b s + 1"
    assert solutions(b * s - 2 * b, Sym("s")) == (2,)
