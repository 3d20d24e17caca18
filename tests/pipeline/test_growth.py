"""Compiling a chain of ops takes work about in step with its length, however its sizes are nested in each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.expr.assumed import Assumptions
from shlo_disc.expr.dim import Data, Dim, Sym
from shlo_disc.expr.intervals import Interval
from shlo_disc.expr.prover import Prover
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.pipeline import Request, Stopwatch, compile_text

SHORT = 2
MOST_ATOMS = 8  # of a formula with two extremes


def pads(count: int) -> str:
    """Every size is a product of the one before it."""
    padding = [f"%low{k}, %high{k}, %inner{k}" for k in range(count)]
    types = "tensor<1xi64>, tensor<1xi64>, tensor<1xi64>"
    lines = [
        f"%r{k + 1} = stablehlo.dynamic_pad %r{k}, %v, {padding[k]} : (tensor<?xf32>, tensor<f32>, {types})"
        " -> tensor<?xf32>"
        for k in range(count)
    ]
    arguments = ["%r0: tensor<?xf32>", "%v: tensor<f32>"]
    arguments += [f"{name}: tensor<1xi64>" for three in padding for name in three.split(", ")]
    return function(arguments, lines, f"%r{count}")


def strides(count: int) -> str:
    """Every size is a quotient of the one before it, and ends where that ends."""
    lines = list[str]()
    for k in range(count):
        lines += [
            f"%n{k} = stablehlo.get_dimension_size %r{k}, dim = 0 : (tensor<?xf32>) -> tensor<i32>",
            f"%l{k} = stablehlo.reshape %n{k} : (tensor<i32>) -> tensor<1xi32>",
            f"%r{k + 1} = stablehlo.real_dynamic_slice %r{k}, %start, %l{k}, %stride{k}"
            " : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>",
        ]
    arguments = ["%r0: tensor<?xf32>", "%start: tensor<1xi32>", *(f"%stride{k}: tensor<1xi32>" for k in range(count))]
    return function(arguments, lines, f"%r{count}")


def broadcasts(count: int) -> str:
    """Every size is one of two, nobody knows which."""
    lines = [
        f"%r{k + 1} = chlo.broadcast_add %r{k}, %x{k} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"
        for k in range(count)
    ]
    return function(["%r0: tensor<?xf32>", *(f"%x{k}: tensor<?xf32>" for k in range(count))], lines, f"%r{count}")


def equal_broadcasts(count: int) -> str:
    """Every size is one of two, nobody knows which, and also one of two others."""
    kind = "tensor<?xf32>"
    lines = list[str]()
    for k in range(count):
        lines += [
            f"%a{k} = chlo.broadcast_add %r{k}, %x{k} : ({kind}, {kind}) -> {kind}",
            f"%b{k} = chlo.broadcast_add %r{k}, %y{k} : ({kind}, {kind}) -> {kind}",
            f"%r{k + 1} = stablehlo.subtract %a{k}, %b{k} : {kind}",
        ]
    inputs = [f"%{name}{k}: {kind}" for k in range(count) for name in "xy"]
    return function([f"%r0: {kind}", *inputs], lines, f"%r{count}")


def any_broadcasts(seed: int, count: int) -> str:
    """Sizes that are one of two, nobody knows which, some of which are demanded to be equal."""
    random, values, lines = Random(seed), [f"%x{k}" for k in range(5)], list[str]()
    for k in range(count):
        a, b = random.sample(values[-6:], 2)
        op = "stablehlo.subtract {}, {} : {}" if k % 3 == 2 else "chlo.broadcast_add {}, {} : ({t}, {t}) -> {t}"
        kind = "tensor<?xf32>"
        lines.append(f"%r{k} = {op.format(a, b, kind, t=kind)}")
        values.append(f"%r{k}")
    return function([f"%x{k}: tensor<?xf32>" for k in range(5)], lines, values[-1])


def one_size(count: int) -> str:
    """Broadcasts of pairs, which are demanded to have the size of the first value, and then that of the second ones."""
    kind = "tensor<?xf32>"
    lines = [f"%a{k} = chlo.broadcast_add %x{k}, %y{k} : ({kind}, {kind}) -> {kind}" for k in range(count)]
    lines += [f"%b{k} = stablehlo.subtract %x0, %a{k} : {kind}" for k in range(count)]
    lines += [f"%c{k} = stablehlo.subtract %b{k}, %y{k} : {kind}" for k in range(1, count)]
    return function([f"%{name}{k}: {kind}" for k in range(count) for name in "xy"], lines, "%b0")


def quotients(count: int) -> str:
    """Every size is a square of the one before it, divided."""
    lines = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>"]
    for k in range(count):
        lines += [
            f"%c{k} = stablehlo.get_dimension_size %x{k}, dim = 0 : (tensor<?xf32>) -> tensor<i32>",
            f"%n{k} = stablehlo.get_dimension_size %r{k}, dim = 0 : (tensor<?xf32>) -> tensor<i32>",
            f"%p{k} = stablehlo.add %n{k}, %c{k} : tensor<i32>",
            f"%q{k} = stablehlo.multiply %p{k}, %n{k} : tensor<i32>",
            f"%d{k} = stablehlo.divide %q{k}, %c{k} : tensor<i32>",
            f"%s{k} = stablehlo.reshape %d{k} : (tensor<i32>) -> tensor<1xi32>",
            f"%r{k + 1} = stablehlo.dynamic_broadcast_in_dim %zero, %s{k}, dims = []"
            " : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>",
        ]
    return function(["%r0: tensor<?xf32>", *(f"%x{k}: tensor<?xf32>" for k in range(count))], lines, f"%r{count}")


def windows(count: int) -> str:
    """Every size is a quotient of the one before it and of numbers that the program gets."""
    dims = "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>"
    lines = [
        f'%r{k + 1} = "stablehlo.dynamic_conv"(%r{k}, %w{k}, %p{k}) <{{batch_group_count = 1 : i64, '
        f"feature_group_count = 1 : i64, dimension_numbers = {dims}, lhs_dilation = array<i64: 2>, "
        "window_strides = array<i64: 2>}> : (tensor<1x?x1xf32>, tensor<?x1x1xf32>, tensor<1x2xi32>) -> "
        "tensor<1x?x1xf32>"
        for k in range(count)
    ]
    arguments = ["%r0: tensor<1x?x1xf32>"]
    arguments += [each for k in range(count) for each in (f"%w{k}: tensor<?x1x1xf32>", f"%p{k}: tensor<1x2xi32>")]
    return function(arguments, lines, f"%r{count}", "tensor<1x?x1xf32>")


def function(arguments: list[str], lines: list[str], result: str, kind: str = "tensor<?xf32>") -> str:
    body = "\n  ".join([*lines, f"return {result} : {kind}"])
    return f"func.func @main({', '.join(arguments)}) -> {kind} {{\n  {body}\n}}"


@dataclass
class Work:
    """How many terms proofs looked at: every step of one begins with bounds of a dim."""

    terms: int = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    counted, interval = Work(), Prover.interval

    def looked_at(prover: Prover, dim: Dim) -> Interval:
        counted.terms += len(dim.terms)
        return interval(prover, dim)

    monkeypatch.setattr(Prover, "interval", looked_at)
    return counted


@pytest.mark.parametrize("chain", [pads, strides, broadcasts, equal_broadcasts, quotients, windows])
def test_work_and_formulas_grow_with_the_length(chain: Callable[[int], str], work: Work) -> None:
    def measured(count: int) -> tuple[int, int]:
        work.terms = 0
        made = compile_text(chain(count), "<chain>", Request(), Stopwatch())
        sizes = [*made.definitions, *(side for check in made.checks for side in (check.lhs, check.rhs))]
        return work.terms, sum(len(str(size)) for size in sizes)

    short, long = measured(SHORT), measured(3 * SHORT)
    assert long[1] < 4 * short[1], "three times as long are about three times as many formulas"
    # each step of the sizes' arithmetic is proven to fit its type, too
    assert long[0] < 16 * short[0], "and there are more facts for each to be proven from"


@pytest.mark.parametrize("seed", [None, 28, "written"])
def test_equations_between_large_sizes_do_not_write_them_out(
    seed: int | str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = Random().randrange(1 << 32) if seed is None else seed
    print(f"seed {chosen}")
    text = one_size(4) if isinstance(chosen, str) else any_broadcasts(chosen, 24)
    solved = Assumptions.with_substitution

    def looked_at(given: Assumptions, atom: Sym | Data, value: Dim) -> Assumptions:
        assert len(set(value.atoms())) <= MOST_ATOMS, f"{atom} is written out"
        return solved(given, atom, value)

    monkeypatch.setattr(Assumptions, "with_substitution", looked_at)
    made = legalize(parse_module(text))
    assert all(len(str(formula)) < 200 for _, formula in made.facts.names)


def test_a_size_that_has_a_name_is_what_it_stands_for() -> None:
    made = legalize(parse_module(pads(4), "<chain>"))
    x, arguments = np.arange(3, dtype=np.float32), list[np.ndarray]()
    expected = x
    for low, high, inner in ((1, 0, 2), (0, 2, 1), (-1, 0, 3), (2, -3, 0)):
        arguments += [np.array([n]) for n in (low, high, inner)]
        spread = np.full(len(expected) + max(0, len(expected) - 1) * inner, -1, np.float32)
        spread[:: inner + 1] = expected
        padded = np.pad(spread, (max(low, 0), max(high, 0)), constant_values=-1)
        expected = padded[max(-low, 0) : len(padded) - max(-high, 0)]
    (found,) = interpret(made, [x, np.array(-1, np.float32), *arguments])
    assert made.facts.names
    np.testing.assert_array_equal(found, expected)
