"""What is concluded of sizes that are known at some moment of a call holds if what is checked until then does.

A program that reads sizes from what it computes checks them in its partitions. A conclusion that rests on a later check
would let kernels run on memory of unchecked size: the programs here did.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc import CompileOptions, RuntimeShapeError, parse
from shlo_disc import compile as compile_program
from shlo_disc.analysis.sizes import further_points, likely_points, points_alike, random_points
from shlo_disc.check.calls import guarded
from shlo_disc.check.generate.programs import generate_at
from shlo_disc.check.running import program_of
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.expr.dim import Dim, Sym, of
from shlo_disc.legalize.builder import OpBuilder
from shlo_disc.passes.partition_scheduling import Levels, levels_of, symbols_of_check
from shlo_disc.passes.partitions import split
from tests.soundness.programs import SEED
from tests.soundness.test_facts_hold import assert_dim, assert_truth, dims_of, divides_by_nothing

POINTS, TRIES, PAIRS = 60, 3000, 200
RANDOM_PROGRAMS = 12
MOST_INTERPRETED = 10000  # elements
VALUES = (0, 1, 2, 3, 5, 8, 63, 64, 65, 1000, 5000)

_SLICE = """
func.func @main(%x: tensor<1000xf32>, %y: tensor<?xf32>, %k: tensor<?xi32>) -> ({results}) {{
  %zero = stablehlo.constant dense<0> : tensor<1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%k init: %c) applies stablehlo.add across dimensions = [0]
    : (tensor<?xi32>, tensor<i32>) -> tensor<i32>
  %v = stablehlo.reshape %sum : (tensor<i32>) -> tensor<1xi32>
{ops}
}}
"""
_VECTOR, _INDEX = "tensor<?xf32>", "tensor<1xi32>"


def _slice(operand: str, start: str, limit: str, of_type: str = _VECTOR) -> str:
    types = f"({of_type}, {_INDEX}, {_INDEX}, {_INDEX}) -> {_VECTOR}"
    return f"stablehlo.real_dynamic_slice {operand}, {start}, {limit}, %one : {types}"


def _written(*ops: str, results: str = _VECTOR) -> str:
    return _SLICE.format(results=results, ops="\n".join(f"  {op}" for op in ops))


_AS_LONG_AS_Y = (  # the first v elements of x, and y: v is how many y has
    f"%w = {_slice('%x', '%zero', '%v', 'tensor<1000xf32>')}",
    f"%z = stablehlo.add %w, %y : {_VECTOR}",
)
_AND_AGAIN = (  # a size that is read from z, so that z is computed first
    f"%m = stablehlo.reduce(%z init: %f) applies stablehlo.add across dimensions = [0] : ({_VECTOR}, tensor<f32>) -> "
    "tensor<f32>",
    "%i = stablehlo.convert %m : (tensor<f32>) -> tensor<i32>",
    f"%n = stablehlo.reshape %i : (tensor<i32>) -> {_INDEX}",
)
PROGRAMS: Mapping[str, str] = {
    # An equation eliminates v: that the slice ends within x is said of v, and needed of the size of y.
    "a late size is that of an argument": _written(
        *_AS_LONG_AS_Y,
        *_AND_AGAIN,
        f"%r = {_slice('%x', '%zero', '%n', 'tensor<1000xf32>')}",
        f"func.return %r : {_VECTOR}",
    ),
    # From size(y) >= 2 * v + 600 and v >= 0 follows size(y) >= 600, which a partition needs that runs before.
    "a late size leaves room": _written(
        f"%z = stablehlo.sine %y : {_VECTOR}",
        *_AND_AGAIN,
        f"%two = stablehlo.add %n, %n : {_INDEX}",
        f"%c600 = stablehlo.constant dense<600> : {_INDEX}",
        f"%end = stablehlo.add %two, %c600 : {_INDEX}",
        f"%r = {_slice('%z', '%n', '%end')}",
        f"func.return %r, %z : {_VECTOR}, {_VECTOR}",
        results=f"{_VECTOR}, {_VECTOR}",
    ),
    # From max(size(y), v) <= 1000 follows size(y) <= 1000.
    "a late size is one of two": _written(
        f"%z = stablehlo.sine %y : {_VECTOR}",
        *_AND_AGAIN,
        f"%size = stablehlo.get_dimension_size %y, dim = 0 : ({_VECTOR}) -> tensor<i32>",
        f"%s = stablehlo.reshape %size : (tensor<i32>) -> {_INDEX}",
        f"%end = stablehlo.maximum %s, %n : {_INDEX}",
        f"%r = {_slice('%x', '%zero', '%end', 'tensor<1000xf32>')}",
        f"func.return %r, %z : {_VECTOR}, {_VECTOR}",
        results=f"{_VECTOR}, {_VECTOR}",
    ),
    # v is a byte, and as large as y.
    "a late size has a narrow type": _written(
        f"%b = stablehlo.convert %v : ({_INDEX}) -> tensor<1xi8>",
        f"%w = stablehlo.dynamic_iota %b, dim = 0 : (tensor<1xi8>) -> {_VECTOR}",
        f"%z = stablehlo.add %w, %y : {_VECTOR}",
        *_AND_AGAIN,
        f"%r = {_slice('%z', '%zero', '%n')}",
        f"func.return %r : {_VECTOR}",
    ),
    # size(y) * v == 12, and so on: products, quotients and remainders of late sizes.
    "a late size is a factor": _written(
        f"%c4 = stablehlo.constant dense<4> : {_INDEX}",
        f"%s = stablehlo.multiply %v, %c4 : {_INDEX}",
        f"%h = {_slice('%x', '%zero', '%s', 'tensor<1000xf32>')}",
        f"%z = stablehlo.add %h, %y : {_VECTOR}",
        *_AND_AGAIN,
        f"%q = stablehlo.divide %n, %c4 : {_INDEX}",
        f"%r = {_slice('%z', '%q', '%n')}",
        f"func.return %r : {_VECTOR}",
    ),
}


def _random_texts() -> dict[str, str]:
    found = dict[str, str]()
    for seed in itertools.count(Random(f"{SEED} late").randrange(1 << 30)):
        text = generate_at(seed, 1)
        try:
            program = program_of(parse(text))
        except ShloDiscError:
            continue
        if program.late:
            found[f"seed {seed}"] = text
        if len(found) == RANDOM_PROGRAMS:
            return found
    raise AssertionError("there is no end of seeds")


@pytest.fixture(scope="module")
def texts() -> Mapping[str, str]:
    return {**PROGRAMS, **_random_texts()}


@pytest.fixture(scope="module")
def programs(texts: Mapping[str, str]) -> Mapping[str, Program]:
    return {name: program_of(parse(text)) for name, text in texts.items()}


def test_conclusions_rest_on_what_was_checked_before(programs: Mapping[str, Program]) -> None:
    for name, program in programs.items():
        levels, random = levels_of(program), Random(f"{SEED} {name}")
        for level in range(max(levels.symbols.values(), default=0)):
            _hold_at(program, levels, level, random, name)


def test_early_checks_refuse_no_call_that_the_others_accept(
    texts: Mapping[str, str], programs: Mapping[str, Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpreter makes them too, so it cannot tell."""
    monkeypatch.setattr("shlo_disc.legalize.legalize.demand_early", _demand_nothing)
    count = 0
    for name, text in texts.items():
        without = program_of(parse(text))
        asked = {(check.lhs, check.relation, check.rhs) for check in without.checks}
        early = [check for check in programs[name].checks if (check.lhs, check.relation, check.rhs) not in asked]
        levels = levels_of(without)
        last = max(levels.symbols.values(), default=0)
        for point in _accepted(without, levels, last, Random(f"{SEED} {name}")) if early else ():
            for check in early:
                assert check.holds(point), f"{name}: {check.lhs} {check.relation.value} {check.rhs} at {point}"
        count += len(early)
    assert count, "some checks are early"


def _demand_nothing(_build: OpBuilder) -> None:
    """In the place of `demand_early`."""


def _hold_at(program: Program, levels: Levels, level: int, random: Random, name: str) -> None:
    known = {symbol for symbol, each in levels.symbols.items() if each <= level}
    dims = [
        dim for dim in [*map(of, sorted(known, key=lambda s: s.order)), *dims_of(program)] if dim.symbols() <= known
    ]
    pairs = list(itertools.combinations(dims, 2))
    pairs = random.sample(pairs, PAIRS) if len(pairs) > PAIRS else pairs
    decided = [(a, b, program.facts.equal(a, b), program.facts.at_least(a, b)) for a, b in pairs]
    for point in _accepted(program, levels, level, random):
        usable = {dim for dim in dims if divides_by_nothing(dim, point)}
        where = f"{name}, level {level}, {point}"
        for dim in usable:
            _assert_canonical(program, dim, point, where)
        for a, b, equal, at_least in decided:
            if a in usable and b in usable:
                x, y = a.evaluate(point), b.evaluate(point)
                assert_truth(equal, x == y, f"{a} == {b} ({where})")
                assert_truth(at_least, x >= y, f"{a} >= {b} ({where})")


def _assert_canonical(program: Program, dim: Dim, point: Mapping[Sym, int], where: str) -> None:
    if program.facts.canonical(dim).symbols() <= point.keys():
        try:
            assert_dim(program.facts, dim, point)
        except AssertionError as error:
            raise AssertionError(f"{where}: {error}") from None


def _accepted(program: Program, levels: Levels, level: int, random: Random) -> Iterator[Mapping[Sym, int]]:
    """Sizes at which all that is checked until then lets a call pass; what is checked later may refuse it."""
    checks = [check for check in program.checks if levels.of(symbols_of_check(check)) <= level]
    given = [symbol for symbol in program.given if levels.symbols[symbol] <= level]
    sizes = {dim.symbol for dim in program.raw_dims}
    base = list(itertools.islice(random_points(program, random, 1200), 6)) or [dict.fromkeys(given, 1)]
    found = 0
    for _ in range(TRIES):
        start = random.choice(base)
        raw = {symbol: start[symbol] for symbol in given}
        for symbol in random.sample(given, random.randint(0, len(given))):
            raw[symbol] = random.choice((*VALUES, *raw.values(), raw[symbol] + 1, raw[symbol] - 1))
        point = dict(raw)
        for symbol, definition in program.definitions:
            if definition.symbols() <= point.keys():
                point[symbol] = definition.evaluate(point)
        if all(raw[symbol] >= 0 for symbol in sizes & raw.keys()) and all(check.holds(point) for check in checks):
            yield point
            found += 1
            if found == POINTS:
                return
    assert found, "some sizes pass the checks"


@pytest.mark.parametrize("count", [0, 1, 3, 599, 5000, 1 << 24])
@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_that_a_later_check_refuses_touch_nothing_else(name: str, count: int) -> None:
    run = compile_program(PROGRAMS[name], options=CompileOptions(optimize=0, threads=1))
    program = program_of(parse(PROGRAMS[name]))
    x, y = np.zeros(1000, np.float32), np.zeros(count, np.float32)
    for total in (0, 3, 127, 5000):
        k = np.array([total], np.int32)
        results = _results(run, *[guarded(each, at_end=True) for each in (x, y, k)])
        wanted = None if count > MOST_INTERPRETED else _results(lambda *arrays: interpret(program, arrays), x, y, k)
        if wanted is not None:
            assert results is not None, f"{total} was refused"
            for found, expected in zip(results, wanted, strict=True):
                np.testing.assert_array_equal(found, expected)


def _results(run: Callable[..., Sequence[Any]], *arrays: NDArray[Any]) -> Sequence[NDArray[Any]] | None:
    """What a program computes, or None if it refuses these sizes."""
    try:
        return [np.asarray(x) for x in run(*arrays)]
    except RuntimeShapeError:
        return None


def test_points_of_partitions_are_points_of_the_whole(programs: Mapping[str, Program]) -> None:
    """A partition has few checks of its own, and facts of those before it: the points of its sizes keep these."""
    for name, program in programs.items():
        for partition in split(program).partitions:
            if not isinstance(partition.runs, Program):
                continue
            part = partition.runs
            for point in (*likely_points(part, {}), *points_alike(part), *further_points(part)):
                for symbol in part.given:
                    low, high = part.facts.interval(of(symbol))
                    assert low is None or low <= point[symbol], name
                    assert high is None or point[symbol] <= high, name


def test_sizes_of_partitions_may_be_larger_than_those_of_a_slice() -> None:
    """An array that is large enough for one whose size was checked in an earlier partition lends its memory."""
    text = _written(
        "%e = stablehlo.multiply %x, %x : tensor<1000xf32>",
        f"%z = {_slice('%x', '%zero', '%v', 'tensor<1000xf32>')}",
        *_AND_AGAIN,
        f"%r = {_slice('%z', '%zero', '%n')}",
        "func.return %e, %r : tensor<1000xf32>, tensor<?xf32>",
        results="tensor<1000xf32>, tensor<?xf32>",
    )
    run = compile_program(text, options=CompileOptions(optimize=0, threads=1))
    x = np.zeros(1000, np.float32)
    x[0] = 2
    _, r = run(x, np.zeros(0, np.float32), np.array([3], np.int32))
    np.testing.assert_array_equal(r, [2, 0])
