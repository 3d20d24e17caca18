"""Facts: every conclusion holds for all sizes that satisfy the assumptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import assume, given, note
from hypothesis import strategies as st

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.expr.dim import (
    ZERO,
    Dim,
    FloorDiv,
    Mod,
    Sym,
    maximum,
    minimum,
    of,
    symbol,
)
from shlo_disc.expr.facts import Facts, Truth
from tests.expr.trees import Tree, by_symbol, dim_of, evaluate, trees, values

S = symbol("s")


def divisors_are_not_zero(dim: Dim, env: Mapping[Sym, int]) -> bool:
    """Whether this is a point that simplification must respect (see `expr.dim`)."""
    return all(atom.denominator.evaluate(env) != 0 for atom in dim.atoms() if isinstance(atom, FloorDiv | Mod))


@dataclass(frozen=True)
class World:
    """Facts, and one point at which all of them hold."""

    facts: Facts
    env: dict[Sym, int]

    def complete(self) -> dict[Sym, int]:
        """Add the values of the fresh symbols."""
        values = dict(self.env)
        for sym, definition in self.facts.definitions:
            values[sym] = definition.evaluate(self.env)
        return values


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw a point first, then assumptions that hold there."""
    env = by_symbol(draw(values()))
    facts = Facts.empty()
    for number in range(draw(st.integers(0, 5))):
        tree = draw(trees("+ - * // %"))
        try:
            value = evaluate(tree, {sym.name: each for sym, each in env.items()})
        except ZeroDivisionError:
            continue
        zero = dim_of(tree) - value
        if draw(st.booleans()):
            zero = _shared(draw, dim_of(tree), env)
        facts = _assumption(draw, facts, env, zero, number)
    return World(facts, env)


def _shared(draw: st.DrawFn, dim: Dim, env: dict[Sym, int]) -> Dim:
    """A dim that is 0 here, in which a quotient, a remainder or an extreme stands alone and in a product."""
    atom = draw(st.sampled_from([dim // 2, (dim + 1) // 2, dim % 3, minimum(dim, 2 * S), maximum(dim, S - 1)]))
    atom = atom.substitute({Sym("s"): symbol("s0")})
    factor, weights = of(draw(st.sampled_from(sorted(env, key=str)))), st.sampled_from([-2, -1, 1, 2])
    found = draw(weights) * atom + draw(weights) * atom * factor + draw(st.sampled_from([0, 1])) * dim
    return found - found.evaluate(env)


def _assumption(draw: st.DrawFn, facts: Facts, env: dict[Sym, int], zero: Dim, number: int) -> Facts:
    """Assume something true, given a dim that is 0 here."""
    match draw(st.sampled_from(["equal", "at least", "size", "divides", "index"])):
        case "equal":
            return facts.assume_equal(zero, 0, "drawn", NOWHERE)
        case "at least":
            return facts.assume_at_least(zero, -draw(st.integers(0, 2)), "drawn", NOWHERE)
        case "size":
            sym = draw(st.sampled_from(sorted(env, key=str)))
            bound = env[sym] - draw(st.integers(0, 1))
            return facts.assume_at_least(of(sym), bound, "drawn", NOWHERE)
        case "divides":
            k = draw(st.integers(1, 6))
            return facts.assume_divides(k, zero + k * draw(st.integers(0, 2)), "drawn", NOWHERE)
        case _:
            index = Sym(f"i{number}")
            extent = draw(st.integers(1, 4))
            env[index] = draw(st.integers(0, extent - 1))
            return facts.with_index(index, zero + extent)


@st.composite
def worlds_and_dims(draw: st.DrawFn) -> tuple[World, Dim]:
    """Draw a world and a dim over its symbols that divides by nothing that is 0 there."""
    world = draw(worlds())
    dim = dim_of(draw(trees()))
    for sym in sorted(world.env, key=str):
        if sym.name.startswith("i"):
            dim += draw(st.sampled_from([ZERO, of(sym), -2 * of(sym), of(sym) * S]))
    dim = dim.substitute({Sym("s"): symbol("s0")})
    if draw(st.booleans()):
        k = draw(st.integers(1, 6))
        dim = draw(st.sampled_from([dim // k, dim % k]))
    assume(divisors_are_not_zero(dim, world.env))
    return world, dim


@given(worlds_and_dims())
def test_canonical_keeps_the_value(drawn: tuple[World, Dim]) -> None:
    world, dim = drawn
    simple = world.facts.canonical(dim)
    note(f"{world.facts.facts} at {world.env}: {dim} -> {simple}")
    assert simple.evaluate(world.complete()) == dim.evaluate(world.env)
    assert world.facts.canonical(simple) == simple
    assert world.facts.readable(simple).evaluate(world.complete()) == dim.evaluate(world.env)


@given(worlds())
def test_each_size_is_within_its_bounds(world: World) -> None:
    for sym, value in world.env.items():
        low, high = world.facts.interval(of(sym))
        assert low is None or low <= value, f"{world.facts.facts} of {sym}"
        assert high is None or value <= high, f"{world.facts.facts} of {sym}"


@given(worlds_and_dims())
def test_bounds_and_divisors_hold(drawn: tuple[World, Dim]) -> None:
    world, dim = drawn
    value = dim.evaluate(world.env)
    low, high = world.facts.interval(dim)
    assert low is None or low <= value
    assert high is None or value <= high
    divisor = world.facts.divisor(dim)
    assert value == 0 if divisor == 0 else value % divisor == 0


@given(worlds_and_dims(), trees("+ - *"), st.integers(-1, 1))
def test_decided_comparisons_hold(drawn: tuple[World, Dim], tree: Tree, offset: int) -> None:
    world, a = drawn
    b = dim_of(tree)
    b += offset + a.evaluate(world.env) - b.evaluate(world.env)  # close to a, or equal
    x, y = a.evaluate(world.env), b.evaluate(world.env)
    for truth, holds in (
        (world.facts.equal(a, b), x == y),
        (world.facts.at_least(a, b), x >= y),
        (world.facts.greater(a, b), x > y),
    ):
        assert truth is not (Truth.FALSE if holds else Truth.TRUE)
