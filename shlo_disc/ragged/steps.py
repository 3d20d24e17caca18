"""What the analysis of an op takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.expr.dim import Dim
from shlo_disc.ragged.forms import LinearForm, Position, Signs, form_of
from shlo_disc.ragged.notes import Notes
from shlo_disc.ragged.states import Padding, State, cause_of, dependent, is_large
from shlo_disc.ragged.values import Factors, Places, RegionValue, plain_dims, uniform
from shlo_disc.records import record


@record(eq=False)
class SpaceReading:
    """Which elements an op reads: at each point of `space`, one element of each operand, at its place.

    The factors of the space are those of the result, `kept` many, and then those that are summed over. An operand whose
    places are None is read anywhere.
    """

    space: Factors
    kept: int
    places: tuple[Places | None, ...]


@record(eq=False)
class OpAnalysis:
    """The analysis of one op: its results' values, and what it reads."""

    op: Op[Any]
    results: tuple[RegionValue, ...]
    reading: SpaceReading


@dataclass(slots=True)
class AnalysisContext:
    """What the analysis of an op needs beside its operands.

    `loops`: the number of loops so far. `turns`: how often the body that is analysed runs, for each loop around it;
    `iterations`: the same for each op in a loop.
    """

    signs: Signs
    notes: Notes
    values: dict[Tensor, RegionValue] = field(default_factory=dict[Tensor, RegionValue])
    steps: dict[Op[Any], OpAnalysis] = field(default_factory=dict[Op[Any], OpAnalysis])
    loops: int = 0
    turns: tuple[Dim, ...] = ()
    iterations: dict[Op[Any], tuple[Dim, ...]] = field(default_factory=dict[Op[Any], tuple[Dim, ...]])

    def of(self, tensor: Tensor) -> RegionValue:
        """The value of a tensor."""
        return self.values[tensor]

    def space(self, factors: Sequence[Dim]) -> Signs:
        """Proofs in a space of these factors."""
        return self.signs.with_extents({Position(k): size for k, size in enumerate(factors)})

    def same(self, a: Dim, b: Dim) -> bool:
        """Whether two sizes are equal in every call."""
        return a == b or self.signs.facts.equal(a, b).is_true


def read_in_bodies(op: Op[Any]) -> Iterator[Tensor]:
    """What the bodies of an op read, and return: tensors of their own, and those of the bodies around them."""
    for body in op.bodies:
        yield from body.results
        for inner in body.ops:
            yield from inner.operands
            yield from read_in_bodies(inner)


Transfer: TypeAlias = Callable[[Op[Any], Sequence[RegionValue], AnalysisContext], OpAnalysis]


def positions(numbers: Sequence[int]) -> list[LinearForm | None]:
    """The places that are positions along these factors."""
    return [form_of(Position(number)) for number in numbers]


def anywhere(op: Op[Any], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """An op of which nothing is known: each element of its results may depend on every element of its operands."""
    states = [state for value in values for state in value.states.values()]
    cause = next((cause for state in states if (cause := cause_of(state)) is not None), None)
    leak = None if cause is None else context.notes.cause(op, cause, leaks=True)
    found = dependent(leak, large=any(map(is_large, states)))
    results = tuple([uniform(plain_dims(x.shape), found) for x in op.results])
    space = results[0].factors if results else ()
    return OpAnalysis(op, results, SpaceReading(space, len(space), (None,) * len(values)))


def passed(op: Op[Any], state: State, context: AnalysisContext) -> State:
    """The state of elements that an op passes on, with the op in the chain of causes."""
    return Padding(context.notes.cause(op, state.cause), state.large) if isinstance(state, Padding) else state


def marked(op: Op[Any], found: RegionValue, read: RegionValue, context: AnalysisContext) -> RegionValue:
    """The value of a result, with the op as the one that leaks where it merges elements within and beyond lengths."""
    inside = frozenset[LinearForm]()
    state = found.states.get(inside)
    if not isinstance(state, Padding) or isinstance(read.states.get(inside), Padding):
        return found
    leak = Padding(context.notes.cause(op, state.cause, leaks=True), state.large)
    return RegionValue(found.dims, found.conditions, {**found.states, inside: leak})
