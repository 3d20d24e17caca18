"""Which elements of each value the results within the lengths need, from the results to the arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shlo_disc.dynamic_ops import contract, control, elementwise, reduce
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ragged.forms import (
    Atom,
    Iteration,
    Length,
    LinearForm,
    Position,
    Region,
    Signs,
    form_of,
    is_possible,
    regions_of,
)
from shlo_disc.ragged.program import ProgramAnalysis
from shlo_disc.ragged.states import Known, State, is_number, resolved
from shlo_disc.ragged.steps import AnalysisContext, OpAnalysis
from shlo_disc.ragged.values import MOST_CONDITIONS, Places, RegionValue, read_at, sign_in, single_position, whole_state
from shlo_disc.records import record

_NOWHERE = frozenset[LinearForm]()


@record
class Demand:
    """The regions of a value, or of an op's space, whose elements are needed."""

    conditions: tuple[LinearForm, ...]
    regions: frozenset[Region]

    def without(self, dropped: Iterable[LinearForm]) -> Demand:
        """The demand without some conditions: an element is needed if it is in one of the regions that become one."""
        gone = frozenset(dropped)
        kept = tuple([each for each in self.conditions if each not in gone])
        return Demand(kept, frozenset(region - gone for region in self.regions)) if gone else self

    def joined(self, other: Demand, signs: Signs) -> Demand:
        """What is needed by one of two demands."""
        conditions = tuple(dict.fromkeys((*self.conditions, *other.conditions)))
        mine, theirs = (self.without(conditions[MOST_CONDITIONS:]), other.without(conditions[MOST_CONDITIONS:]))
        kept = conditions[:MOST_CONDITIONS]
        regions = frozenset(
            region
            for region in regions_of(kept, signs)
            if region & frozenset(mine.conditions) in mine.regions
            or region & frozenset(theirs.conditions) in theirs.regions
        )
        return Demand(kept, regions).simplified(signs)

    def simplified(self, signs: Signs) -> Demand:
        """The demand without conditions that make no difference."""
        found = self
        for each in self.conditions:
            if all(
                region ^ {each} in found.regions or not is_possible(found.conditions, region ^ {each}, signs)
                for region in found.regions
            ):
                found = found.without([each])
        return found


ALL = Demand((), frozenset({_NOWHERE}))


@dataclass(slots=True)
class Demands:
    """The demands on the tensors of a program, and on the points of each op that anything is needed of.

    `loops`: the ops of bodies of loops and branches, of which all elements are taken to be needed.
    """

    tensors: dict[Tensor, Demand] = field(default_factory=dict[Tensor, Demand])
    points: dict[Op[Any], Demand] = field(default_factory=dict[Op[Any], Demand])
    loops: list[Op[Any]] = field(default_factory=list[Op[Any]])


def demands_of(analysis: ProgramAnalysis) -> Demands:
    """Find what the results within the lengths need."""
    found, context = Demands(), analysis.context
    for tensor in analysis.program.body.results:
        value = context.of(tensor)
        within = tuple([each.scaled(-1).plus(-1) for each in lengths_of_result(value, analysis)])
        signs = context.space(value.factors)
        _add(found, tensor, Demand(within, frozenset({_NOWHERE})), signs)
    for op in reversed(analysis.program.body.ops):
        if any(tensor in found.tensors for tensor in op.results):
            if control.WHILE.defines(op) or control.CASE.defines(op) or not context.steps[op].reading.places:
                _whole(op, found)
            else:
                _backwards(context.steps[op], found, context)
    return found


def lengths_of_result(value: RegionValue, analysis: ProgramAnalysis) -> Sequence[LinearForm]:
    """Forms that are at least 0 where a result is needed: its ragged sizes, by the size that it has."""
    found = list[LinearForm](analysis.within(value))
    for each in analysis.sizes:
        if each.batch in value.factors:
            row = value.factors.index(each.batch)
            found += [
                form_of(Length(each.argument, row)) - form_of(Position(k)).plus(1)
                for k, size in enumerate(value.factors)
                if size == each.size
            ]
    return list(dict.fromkeys(found))


def _add(demands: Demands, tensor: Tensor, demand: Demand, signs: Signs) -> None:
    old = demands.tensors.get(tensor)
    demands.tensors[tensor] = demand if old is None else old.joined(demand, signs)


def _whole(op: Op[Any], demands: Demands) -> None:
    """A loop or a branch, and ops that read anywhere: everything that they read is needed."""

    def visit(body: Body) -> None:
        for inner in body.ops:
            demands.loops.append(inner)
            for tensor in inner.operands:
                demands.tensors[tensor] = ALL
            for nested in inner.bodies if inner.name in (control.WHILE.name, control.CASE.name) else ():
                visit(nested)

    for tensor in op.operands:
        demands.tensors[tensor] = ALL
    if control.WHILE.defines(op) or control.CASE.defines(op):
        for body in op.bodies:
            visit(body)
            for tensor in body.results:
                demands.tensors[tensor] = ALL


def _backwards(step: OpAnalysis, demands: Demands, context: AnalysisContext) -> None:
    op, reading = step.op, step.reading
    signs = context.space(reading.space)
    wanted = _of_results(step, demands, context)
    values = [context.of(tensor) for tensor in op.operands]
    reads = [
        read_at(value, places if places is not None else [None] * len(value.factors))
        for value, places in zip(values, reading.places, strict=True)
    ]
    own = dict.fromkeys([*wanted.conditions, *(each for read in reads for each in read.conditions)])
    conditions = tuple(own)[: MOST_CONDITIONS + 1]
    wanted = wanted.without(wanted.conditions[MOST_CONDITIONS + 1 :])
    points, needs = set[Region](), [set[Region]() for _ in reads]
    for region in regions_of(conditions, signs):
        if region & frozenset(wanted.conditions) not in wanted.regions:
            continue
        sign = sign_in(conditions, region, signs)
        states = [resolved(_state(read, region), sign) for read in reads]
        if _is_computed(op, states):
            points.add(region)
        for k, needed in enumerate(needs):
            if _is_read(op, k, states):
                needed.add(region)
    demands.points[op] = Demand(conditions, frozenset(points)).simplified(signs)
    for tensor, value, places, needed in zip(op.operands, values, reading.places, needs, strict=True):
        if needed:
            demand = _at_operand(Demand(conditions, frozenset(needed)), places)
            _add(demands, tensor, demand.simplified(context.space(value.factors)), context.space(value.factors))


def _of_results(step: OpAnalysis, demands: Demands, context: AnalysisContext) -> Demand:
    found: Demand | None = None
    for tensor, value in zip(step.op.results, step.results, strict=True):
        if (each := demands.tensors.get(tensor)) is not None:
            found = each if found is None else found.joined(each, context.space(value.factors))
    return found or ALL


def _state(read: RegionValue, region: Region) -> State:
    found = read.states.get(region & frozenset(read.conditions))
    return whole_state(read) if found is None else found


def _is_computed(op: Op[Any], states: Sequence[State]) -> bool:
    """Whether an op has to be computed where its operands are in these states: not where its result is a constant."""
    if all(isinstance(state, Known) for state in states):
        return False
    if op.name in _PRODUCTS:
        return not any(is_number(state, 0) for state in states)
    if elementwise.SELECT.defines(op) and isinstance(states[0], Known):
        return not isinstance(states[1] if states[0].value else states[2], Known)
    return not isinstance(states[0], Known) if op.name in _SUMS else True


_PRODUCTS = frozenset({contract.DOT.name, contract.CONVOLUTION.name, BinaryFn.MULTIPLY.value.name})
_SUMS = frozenset({reduce.REDUCE.name, reduce.REDUCE_WINDOW.name})


def _is_read(op: Op[Any], k: int, states: Sequence[State]) -> bool:
    """Whether operand `k` is needed where the operands are in these states. A constant is known without it."""
    if isinstance(states[k], Known):
        return False
    if op.name in _PRODUCTS:
        return not any(is_number(state, 0) for state in states)
    if elementwise.SELECT.defines(op) and isinstance(states[0], Known):
        return k == (1 if states[0].value else 2)
    return True


def _at_operand(demand: Demand, places: Places | None) -> Demand:
    """A demand on points of an op's space as one on elements of an operand."""
    if places is None:
        return ALL
    back = _inverse(places)
    forms = {each: each.replaced(back) for each in demand.conditions}
    demand = demand.without([each for each, form in forms.items() if form is None])
    made = {each: form for each, form in forms.items() if form is not None}
    conditions = tuple(dict.fromkeys(made[each] for each in demand.conditions))
    found = Demand(conditions, frozenset(frozenset(made[each] for each in region) for region in demand.regions))
    for factor, place in enumerate(places):
        if (at := None if place is None else _single_place(place, back)) is not None:
            found = _only_at(found, form_of(Position(factor)) - at)
    return found


def _single_place(place: LinearForm, back: Callable[[Atom], LinearForm | None]) -> LinearForm | None:
    """The only place that is read along a factor, such as 0 or the last one of a row; None if there are several."""
    if any(isinstance(atom, Position | Iteration) for atom in place.atoms):
        return None
    return place.replaced(back)


def _only_at(demand: Demand, distance: LinearForm) -> Demand:
    """The demand where a distance is 0."""
    conditions = tuple(dict.fromkeys((*demand.conditions, distance, distance.plus(-1))))
    return Demand(conditions, frozenset(region | {distance} for region in demand.regions))


def _inverse(places: Places) -> Callable[[Atom], LinearForm | None]:
    """For a position of an op's space: the factor of the operand that is read along it."""
    known = dict[int, LinearForm]()
    for factor, place in enumerate(places):
        if place is None or len(place.terms) != 1:
            continue
        ((atom, k),) = place.terms
        if isinstance(atom, Position) and k == 1:
            known[atom.factor] = form_of(Position(factor)).plus(-place.rest)

    def back(atom: Atom) -> LinearForm | None:
        match atom:
            case Position(factor):
                return known.get(factor)
            case Length(source, batch):
                row = None if (form := known.get(batch)) is None else single_position(form)
                return None if row is None else form_of(Length(source, row))
            case _:
                return form_of(atom)

    return back
