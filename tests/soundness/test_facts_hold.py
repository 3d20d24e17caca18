"""Every conclusion about the sizes of a corpus program holds in calls with random sizes.

The sizes are what the checks let pass, whatever the facts say: a fact that no check guards is found too. One run looks
at a sample of the programs; `--exhaustive` at all of them, at more points.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from numpy.typing import NDArray

from shlo_disc.analysis.access import index_symbols
from shlo_disc.analysis.formula import Formulas, producers_of
from shlo_disc.analysis.reads import ReadTable, Space
from shlo_disc.analysis.sizes import Point, accepted_point, random_points
from shlo_disc.analysis.structure import Structures
from shlo_disc.diagnostics import RuntimeShapeError
from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.program import Body, Op, Program, Tensor
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import Data, Dim, FloorDiv, Mod, of, product
from shlo_disc.expr.facts import Facts, Truth
from shlo_disc.kernels.op_graph import is_control
from tests.soundness.programs import SEED, parametrize_names, random_inputs, read_program

pytestmark = pytest.mark.slow

POINTS, MANY_POINTS = 4, 40
RUNS, MANY_RUNS = 1, 6
PAIRS = 300  # of dims that are compared per program; all of them in an exhaustive run
LARGEST = 12  # sizes of what the reference runs
LARGEST_OF_A_MODEL = 4
OPS = 4000  # after which a run is stopped: loops of random data may not end


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize_names(metafunc)


def calls(program: Program, random: Random, count: int, largest: int = 40) -> Iterator[Point]:
    """Sizes of accepted calls: points of the facts, and what else the checks let pass near them."""
    found = list(itertools.islice(random_points(program, random, largest), count))
    assert len(found) == count, "some sizes pass the checks"
    for point in found:
        yield point
        raw = {dim.symbol: point[dim.symbol] for dim in program.raw_dims}
        for symbol, size in raw.items():
            moved = accepted_point(program, {**raw, symbol: max(0, size + random.choice((-1, 1, 2)))})
            if moved is not None:
                yield moved


def sized_bodies(body: Body) -> Iterator[Body]:
    """The bodies that run on tensors of the program, and not on scalars of another op."""
    yield body
    for op in body.ops:
        if is_control(op):
            for inner in op.bodies:
                yield from sized_bodies(inner)


def dims_of(program: Program) -> list[Dim]:
    """Every dim of a shape, the checks' sides, and what facts make of them."""
    shapes = [t.shape for body in sized_bodies(program.body) for op in body.ops for t in op.results]
    shapes += [p.raw_shape for p in program.parameters]
    found = dict.fromkeys(dim for shape in shapes for dim in shape if not dim.data())
    found.update(dict.fromkeys(side for c in program.checks for side in (c.lhs, c.rhs) if not side.data()))
    found.update(dict.fromkeys(count for shape in dict.fromkeys(shapes) if not (count := product(shape)).data()))
    return list(found)


def divides_by_nothing(dim: Dim, point: Point) -> bool:
    """Whether no divisor is 0: there canonical forms may differ, as no element is ever asked for."""
    divisors = [atom.denominator for atom in dim.atoms() if isinstance(atom, FloorDiv | Mod)]
    return all(divisor.evaluate(point) for divisor in divisors)


def assert_truth(truth: Truth, holds: bool, claim: str) -> None:
    assert truth is not (Truth.FALSE if holds else Truth.TRUE), f"{claim}: {truth.value} was concluded"


def assert_dim(facts: Facts, dim: Dim, point: Point) -> None:
    """Canonical form, bounds and divisor."""
    value = dim.evaluate(point)
    canonical = facts.canonical(dim)
    assert canonical.evaluate(point) == value, f"{dim} is written {canonical} at {point}"
    low, high = facts.interval(dim)
    assert low is None or low <= value, f"{low} <= {dim} at {point}"
    assert high is None or value <= high, f"{dim} <= {high} at {point}"
    divisor = facts.divisor(dim)
    assert value % divisor == 0 if divisor else value == 0, f"{divisor} divides {dim} at {point}"


def test_conclusions_about_sizes_hold(program_name: str, corpus: Path, exhaustive: bool) -> None:
    program = read_program(corpus, program_name, rewritten=False)
    random, facts = Random(f"{SEED} {program_name}"), program.facts
    dims = dims_of(program)
    pairs = list(itertools.combinations(dims, 2))
    if not exhaustive and len(pairs) > PAIRS:
        pairs = random.sample(pairs, PAIRS)
    decided = [(a, b, facts.equal(a, b), facts.at_least(a, b), facts.greater(a, b)) for a, b in pairs]
    for point in calls(program, random, MANY_POINTS if exhaustive else POINTS):
        usable = {dim for dim in dims if divides_by_nothing(dim, point)}
        for dim in usable:
            assert_dim(facts, dim, point)
        for a, b, equal, at_least, greater in decided:
            if a in usable and b in usable:
                x, y, where = a.evaluate(point), b.evaluate(point), f"{a} and {b} at {point}"
                assert_truth(equal, x == y, f"equality of {where}")
                assert_truth(at_least, x >= y, f"order of {where}")
                assert_truth(greater, x > y, f"strict order of {where}")
        for fact in facts.facts:
            assert_fact_text(fact.text, point)


def assert_fact_text(text: str, point: Point) -> None:
    """The fact as users read it: an expression of Python over the sizes."""
    names = {symbol.name: value for symbol, value in point.items()}
    if "data(" not in text:
        holds = eval(text, {"min": min, "max": max}, names)  # noqa: S307 - a text of ours
        assert holds, f"{text} at {point}"


# -- against the reference interpreter


class Stop(Exception):  # noqa: N818
    """A run has taken long enough."""


class Watched:
    """Compares what a run computes with what the program says of it."""

    def __init__(self, program: Program, point: Point) -> None:
        self.facts, self.point, self.steps = program.facts, point, 0
        self.sized = {op for body in sized_bodies(program.body) for op in body.ops}
        self.formulas = Formulas(program.facts, producers_of(program.body), lambda _: False)

    def __call__(self, op: Op[object], results: tuple[NDArray[Any], ...]) -> None:
        self.steps += 1
        if self.steps > OPS:
            raise Stop
        if op in self.sized:
            for tensor, array in zip(op.results, results, strict=True):
                shape = tuple(dim.evaluate(self.point) for dim in tensor.shape)
                assert array.shape == shape, f"{op.name} at {op.span.where()}: {tensor!r} at {self.point}"
                if tensor.dtype.is_integer and array.size:
                    self._check_elements(tensor, array)

    def _check_elements(self, tensor: Tensor, array: NDArray[Any]) -> None:
        """What is concluded of any element holds for the least and the largest one."""
        symbols, facts = index_symbols(tensor.shape, self.facts)
        least, greatest = (None if end is None else end.evaluate(self.point) for end in tensor.bounds)
        assert least is None or least <= int(array.min()), f"{tensor!r} is at least {tensor.bounds[0]}"
        assert greatest is None or int(array.max()) <= greatest, f"{tensor!r} is at most {tensor.bounds[1]}"
        low, high = facts.interval(of(Data(self.formulas.at(tensor, tuple(map(of, symbols))))))
        assert low is None or low <= int(array.min()), f"elements of {tensor!r} are at least {low}"
        assert high is None or int(array.max()) <= high, f"elements of {tensor!r} are at most {high}"


def test_shapes_and_elements_are_what_the_reference_computes(
    program_name: str,
    corpus: Path,
    exhaustive: bool,
) -> None:
    model = program_name.startswith("models/")
    program = read_program(corpus, program_name, rewritten=True)
    largest = LARGEST_OF_A_MODEL if model else LARGEST
    random = Random(f"{SEED} {program_name}")
    count = MANY_RUNS if exhaustive and not model else RUNS
    for number, point in enumerate(calls(program, random, count, largest)):
        watched = Watched(program, point)
        try:
            interpret(program, random_inputs(program, point, number), watched)
        except Stop:
            pass
        except RuntimeShapeError as error:
            raise AssertionError(f"refused at {point}") from error


# -- indices


def test_conclusions_about_indices_hold(program_name: str, corpus: Path, exhaustive: bool) -> None:
    """Where an element is read: the index in its canonical form, and whether it lies within the operand."""
    program = read_program(corpus, program_name, rewritten=True)
    random = Random(f"{SEED} {program_name}")
    points = list(calls(program, random, 2 if exhaustive else 1))
    table = ReadTable(Structures(program.facts, producers_of(program.body)))
    ops = [op for body in sized_bodies(program.body) for op in body.ops]
    ops = [op for op in ops if definition(op).template is Template.ELEMENT and op.results[0].shape]
    for op in ops if exhaustive or len(ops) < MANY_POINTS else random.sample(ops, MANY_POINTS):
        reads = table.of(op)[0]
        places = [place for point in points for place in places_of(reads.space, point, random)]
        for access in reads.accesses:
            for index, size in zip(access.index, access.tensor.shape, strict=True):
                if not index.data() and places and index.symbols() <= places[0].keys():
                    assert_index(reads.space.facts, index, size, places)


def places_of(space: Space, point: Point, random: Random) -> Iterator[Point]:
    """The first, the last and any element of an op's result; none of an empty one."""
    extents = [dim.evaluate(point) for dim in space.shape]
    if 0 not in extents:
        for index in ([0] * len(extents), [n - 1 for n in extents], [random.randrange(n) for n in extents]):
            where = {s: at for dim, at in zip(space.index, index, strict=True) for s in dim.symbols()}
            yield {**point, **where}


def assert_index(facts: Facts, index: Dim, size: Dim, places: Iterable[Point]) -> None:
    within, below = facts.at_least(index, 0), facts.greater(size, index)
    for place in places:
        if divides_by_nothing(index, place) and divides_by_nothing(size, place):
            at, end = index.evaluate(place), size.evaluate(place)
            assert_truth(within, at >= 0, f"{index} >= 0 at {place}")
            assert_truth(below, end > at, f"{size} > {index} at {place}")
            assert_dim(facts, index, place)
