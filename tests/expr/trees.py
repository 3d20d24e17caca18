"""Random formulas over sizes, with a meaning of their own: plain Python integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from hypothesis import strategies as st

from shlo_disc.expr.dim import Dim, Sym, const, maximum, minimum, symbol

NAMES = ("a", "b", "s0", "s1")


@dataclass(frozen=True)
class Leaf:
    """A name, or an integer."""

    value: str | int


@dataclass(frozen=True)
class Branch:
    """`operator`: one of + - * // % min max."""

    operator: str
    left: Tree
    right: Tree


Tree: TypeAlias = Leaf | Branch


def trees(operators: str = "+ - * // % min max") -> st.SearchStrategy[Tree]:
    """Small formulas."""
    leaf = st.builds(Leaf, st.sampled_from(NAMES) | st.integers(-7, 9))
    names = st.sampled_from(operators.split())
    return st.recursive(leaf, lambda inner: st.builds(Branch, names, inner, inner), max_leaves=7)


def values() -> st.SearchStrategy[dict[str, int]]:
    """Sizes for all names."""
    return st.fixed_dictionaries({name: st.integers(-6, 12) for name in NAMES})


def evaluate(tree: Tree, env: Mapping[str, int]) -> int:
    """Compute with Python's integers. Raise ZeroDivisionError for a divisor 0."""
    match tree:
        case Leaf(value):
            return env[value] if isinstance(value, str) else value
        case Branch(operator, left, right):
            a, b = evaluate(left, env), evaluate(right, env)
            if operator in {"//", "%"}:
                return a // b if operator == "//" else a % b
            return {"+": a + b, "-": a - b, "*": a * b, "min": min(a, b), "max": max(a, b)}[operator]
        case _:
            assert_never(tree)


def dim_of(tree: Tree) -> Dim:
    """Build the dim."""
    match tree:
        case Leaf(value):
            return symbol(value) if isinstance(value, str) else const(value)
        case Branch(operator, left, right):
            return combine(operator, dim_of(left), dim_of(right))
        case _:
            assert_never(tree)


def combine(operator: str, a: Dim, b: Dim) -> Dim:
    """Apply one operator."""
    if operator in {"//", "%"}:
        return a // b if operator == "//" else a % b
    if operator in {"min", "max"}:
        return minimum(a, b) if operator == "min" else maximum(a, b)
    return {"+": a + b, "-": a - b, "*": a * b}[operator]


def by_symbol(env: Mapping[str, int]) -> dict[Sym, int]:
    """Key the sizes as `Dim.evaluate` wants them."""
    return {Sym(name): value for name, value in env.items()}
