"""Dims: equal formulas are equal objects, and simplification keeps values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shlo_disc import size_expr
from shlo_disc.expr.assumed import Assumptions
from shlo_disc.expr.dim import (
    ZERO,
    Data,
    Dim,
    Sym,
    as_dim,
    const,
    maximum,
    minimum,
    of,
    product,
    symbol,
    total,
)
from shlo_disc.expr.naming import extremes, is_huge, is_large
from shlo_disc.expr.prover import Prover
from shlo_disc.expr.scalar import Arg, Binary, Const, FromDim, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.size_expr import SizeExpr, SizeOp
from tests.expr.trees import NAMES, Tree, by_symbol, dim_of, evaluate, trees, values

A, B, S, T = (symbol(name) for name in ("a", "b", "s", "t"))


def floordiv(x: int, d: int) -> int:
    return x // d if d else 0


def mod(x: int, d: int) -> int:
    return x % d if d else 0


def value_of(tree: Tree, env: Mapping[str, int]) -> int:
    """The meaning of a formula; skips examples that divide by zero, which dims leave open."""
    try:
        return evaluate(tree, env)
    except ZeroDivisionError:
        assume(False)
        raise


@given(trees(), values())
def test_construction_keeps_the_value(tree: Tree, env: Mapping[str, int]) -> None:
    assert dim_of(tree).evaluate(by_symbol(env)) == value_of(tree, env)


@given(trees(), trees(), values())
def test_substitution_commutes_with_evaluation(tree: Tree, inner: Tree, env: Mapping[str, int]) -> None:
    wanted = value_of(tree, {**env, "a": value_of(inner, env)})
    assert dim_of(tree).substitute({Sym("a"): dim_of(inner)}).evaluate(by_symbol(env)) == wanted


@given(trees())
def test_substituting_nothing_and_rebuilding_change_nothing(tree: Tree) -> None:
    dim = dim_of(tree)
    assert dim.substitute({Sym("unused"): A}) is dim
    assert dim.map_atoms(of) == dim
    assert dim.substitute({Sym(name): symbol(name) for name in NAMES}) == dim


@given(trees(), trees())
def test_equal_dims_hash_alike_and_print_alike(left: Tree, right: Tree) -> None:
    a, b = dim_of(left), dim_of(right)
    assert (a + b, a * b) == (b + a, b * a)
    assert hash(a + b) == hash(b + a)
    assert str(a + b) == str(b + a)
    assert (a == b) == (str(a) == str(b))
    assert a - a == ZERO
    assert (a + b) * (a - b) == a * a - b * b


@given(trees(), values())
def test_linear_splits_or_refuses(tree: Tree, env: Mapping[str, int]) -> None:
    dim, sym = dim_of(tree), Sym("a")
    split = dim.linear(sym)
    if split is None:
        assert sym in dim.symbols()
        return
    assert all(sym not in part.symbols() for part in split)
    coefficient, rest = (part.evaluate(by_symbol(env)) for part in split)
    assert coefficient * env["a"] + rest == dim.evaluate(by_symbol(env))


@given(trees(), values())
def test_the_size_of_an_artifact_computes_the_value(tree: Tree, env: Mapping[str, int]) -> None:
    dim = dim_of(tree)
    assert size_expr.evaluate(dim.size_expr(), env) == dim.evaluate(by_symbol(env))
    functions: dict[str, object] = {"__builtins__": {}, "min": min, "max": max, **env}
    divisors = [size_expr.evaluate(one, env) for one in _divisors(dim.size_expr())]
    if all(divisors):  # Python raises for 0
        assert eval(str(dim.size_expr()), functions) == dim.evaluate(by_symbol(env))  # noqa: S307  # our own text


def _divisors(size: SizeExpr) -> Iterator[SizeExpr]:
    if isinstance(size, SizeOp):
        if size.fn in ("//", "%"):
            yield size.operands[1]
        for operand in size.operands:
            yield from _divisors(operand)


@given(trees(), st.integers(1, 12), values())
def test_quotient_and_remainder_by_a_constant_belong_together(tree: Tree, k: int, env: Mapping[str, int]) -> None:
    dim, at = dim_of(tree), by_symbol(env)
    assert (dim // k * k + dim % k).evaluate(at) == dim.evaluate(at)
    assert 0 <= (dim % k).evaluate(at) < k


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (2 * B * S + 1, "2*b*s + 1"),
        (S // 2, "s // 2"),
        (minimum(A, B), "min(a, b)"),
        (-(S // 2) - 1, "-(s // 2) - 1"),
        ((A + 1) // (B * S) * 3, "3*((a + 1) // (b*s))"),
        (B * (S % 2), "b*(s % 2)"),
        (S * S - S, "s*s - s"),
        (S // (S + 1), "s // (s + 1)"),
        (ZERO, "0"),
        (symbol("s10") + symbol("s2"), "s2 + s10"),
        (1 - S, "-s + 1"),
    ],
)
def test_dims_read_well(dim: Dim, text: str) -> None:
    assert str(dim) == text


@pytest.mark.parametrize(
    ("dim", "wanted"),
    [
        (4 * A // 4, A),
        ((4 * A + 3) // 4, A),
        ((2 * A + 1) // 4, A // 2),
        ((2 * A + 1) % 4, 2 * (A % 2) + 1),
        ((2 * A + 3) % 4, 2 * ((A + 1) % 2) + 1),
        ((S - 1) // 2 + 1, (S + 1) // 2),
        (S // 2 // 3, S // 6),
        ((S // 2 + 1) // 3, (S + 2) // 6),
        (S // T // 3, S // (3 * T)),
        (S % 12 // 4, S // 4 % 3),
        (S % 6 % 3, S % 3),
        (S % 1, ZERO),
        (S // 1, S),
        (S // -1, -S),
        (S // -2, -S // 2),
        (S // 0, ZERO),
        (S % 0, ZERO),
        (B * S // S, B),
        ((B * S + T) // S, B + T // S),
        (B * S % S, ZERO),
        ((B * S + B) // (S + 1), B),
        ((B * S + B + T) % (S + 1), T % (S + 1)),
        (2 * S // (2 * T), S // T),
        (0 // S, ZERO),
        (minimum(A, A + 1, 7, minimum(B, 9)), minimum(A, B, 7)),
        (maximum(A, A + 1, 7, maximum(B, 9)), maximum(A + 1, B, 9)),
        (minimum(A), A),
        (total([]), ZERO),
        (product([]), as_dim(1)),
    ],
)
def test_what_holds_for_all_integers_is_simplified(dim: Dim, wanted: Dim) -> None:
    assert dim == wanted


def test_data_are_atoms_that_substitution_leaves_alone() -> None:
    data = Data(Arg("n", DType.I32))
    dim = (of(data) * S + of(data)) // (T + of(data))
    assert dim.data() == (data,)
    assert dim.symbols() == {Sym("s"), Sym("t")}
    assert dim.substitute({Sym("s"): const(3)}).data() == (data,)
    with pytest.raises(KeyError):
        dim.evaluate({Sym("s"): 1, Sym("t"): 1})
    assert dim.map_atoms(lambda atom: const(2) if atom == data else of(atom)) == (2 * S + 2) // (T + 2)


def test_unknown_symbols_are_key_errors() -> None:
    with pytest.raises(KeyError):
        (A + B).evaluate({Sym("a"): 1})


def test_division_by_zero_evaluates_to_zero() -> None:
    assert (A // S).evaluate({Sym("a"): 5, Sym("s"): 0}) == 0
    assert (A % S).evaluate({Sym("a"): 5, Sym("s"): 0}) == 0


def test_data_of_formulas_with_much_sharing_are_ordered_by_their_structure() -> None:
    """The text of such a formula is that of a tree: of 300 doublings, longer than any memory."""

    def doubled(times: int, last: int) -> Dim:
        formula: Scalar = Const(last, DType.I32)
        for _ in range(times):
            formula = Binary(BinaryFn.ADD, formula, formula, DType.I32)
        return of(Data(formula))

    one, other = doubled(300, 1), doubled(300, 2)
    assert one == doubled(300, 1)
    assert one * other == other * one
    assert str(one) == str(doubled(300, 1)) != str(other)
    assert len(str(one)) < 50
    assert "Const" in str(doubled(2, 1)), "short formulas are spelled"
    deep = doubled(0, 1)
    for _ in range(200):  # each is read at the place that the one before it gives
        deep = of(Data(Binary(BinaryFn.ADD, FromDim(deep, DType.I32), FromDim(deep, DType.I32), DType.I32)))
    assert len(str(deep)) < 50


def test_extremes_with_much_sharing_are_met_once() -> None:
    """Their text is that of a tree: 40 turns of these two lines have 2**40 ways to `a`."""

    def turned(first: str) -> Dim:
        dim, b = symbol(first), symbol("b")
        for k in range(40):
            dim = maximum(minimum(dim, b + k), minimum(dim + b, symbol("c") + k))
        return dim

    one = turned("a")
    assert one == turned("a") != turned("d")
    assert len(list(one.atoms())) == len(set(one.atoms())) < 200
    assert one.linear(Sym("a")) is None
    assert one.atom is not None
    assert (one + symbol("z")).linear(one.atom) == (const(1), symbol("z"))
    assert extremes(one) > 2**40
    assert is_large(one)
    assert is_huge(one)
    assert Prover(Assumptions()).divisor(one * 6) == 6
