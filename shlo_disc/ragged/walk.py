"""The analysis of a whole program, op by op from its arguments to its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shlo_disc.dynamic_ops import composed, contract, control, create, elementwise, gather, move, order, reduce, slices
from shlo_disc.dynamic_ops.program import Body, Op
from shlo_disc.ragged import indexing, loops, moves, reductions
from shlo_disc.ragged.elements import element_state
from shlo_disc.ragged.forms import Atom, Iteration, Length, LinearForm, Position
from shlo_disc.ragged.states import Conditional, Known, Sign, State, tests
from shlo_disc.ragged.steps import AnalysisContext, OpAnalysis, SpaceReading, Transfer, anywhere
from shlo_disc.ragged.values import RegionValue, aligned, combined, common_dims

_ELEMENTWISE = frozenset(one.name for family in (elementwise, composed) for one in family.OPS)


def is_elementwise(op: Op[Any]) -> bool:
    """Whether each element of an op's result is a function of those of its operands at the same index."""
    is_reinterpreted = elementwise.BITCAST_CONVERT.defines(op) and op.operands[0].shape != op.results[0].shape
    return op.name in _ELEMENTWISE and not is_reinterpreted


def elementwise_step(op: Op[Any], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """An elementwise op: the function of the states of its operands, in each region."""
    dims, reads = common_dims(values)
    space = [factor for dim in dims for factor in dim]

    def element(states: Sequence[State], sign: Sign) -> State:
        return element_state(op, states, sign, context.notes)

    found = combined(dims, reads, element, context.space(space), _masks(reads))
    places = tuple([aligned(value, dims) for value in values])
    return OpAnalysis(op, (found,), SpaceReading(tuple(space), len(space), places))


def _masks(values: Sequence[RegionValue]) -> list[LinearForm]:
    """Conditions of masks among the operands that others may not have, such as `position - length >= 0`.

    A choice of two numbers needs no condition while all operands are numbers, or choices.
    """
    states = [state for value in values for state in value.states.values()]
    if all(isinstance(state, Known | Conditional) for state in states):
        return []
    forms = [form for state in states if isinstance(state, Conditional) for form in tests(state.condition)]
    found = list[LinearForm]()
    for form in forms:
        if len(form.terms) == 2 and sum(k for _, k in form.terms) == 0:
            last = max(form.terms, key=_order)
            found.append(form if last[1] > 0 else form.scaled(-1).plus(-1))
    return list(dict.fromkeys(found))


def _order(term: tuple[Atom, int]) -> tuple[int, int]:
    """Positions after lengths, so that conditions say that a position is beyond a length, or another position."""
    atom, _ = term
    match atom:
        case Length(source):
            return 0, source
        case Iteration(loop):
            return 1, loop
        case Position(factor):
            return 2, factor


_TRANSFERS: Mapping[str, Transfer] = {
    create.CONSTANT.name: moves.constant,
    create.FROM_DIMS.name: moves.from_dims,
    create.IOTA.name: moves.iota,
    move.BROADCAST.name: moves.broadcast,
    move.RESHAPE.name: moves.reshape,
    move.TRANSPOSE.name: moves.transpose,
    move.REVERSE.name: moves.reverse,
    move.CONCATENATE.name: moves.concatenate,
    move.PAD.name: moves.pad,
    slices.SLICE.name: moves.slice_,
    slices.DYNAMIC_SLICE.name: moves.dynamic_slice,
    slices.DYNAMIC_UPDATE_SLICE.name: moves.dynamic_update_slice,
    gather.GATHER.name: indexing.gather,
    order.SCATTER.name: indexing.scatter,
    order.SORT.name: indexing.sort,
    contract.DOT.name: reductions.dot,
    contract.CONVOLUTION.name: reductions.convolution,
    reduce.REDUCE.name: reductions.reduce,
    reduce.REDUCE_WINDOW.name: reductions.reduce_window,
}


def run(body: Body, arguments: Sequence[RegionValue], context: AnalysisContext) -> list[RegionValue]:
    """The values of a body's results for those of its arguments."""
    context.values.update(zip(body.arguments, arguments, strict=True))
    for op in body.ops:
        step = _step(op, [context.of(x) for x in op.operands], context)
        context.steps[op], context.iterations[op] = step, context.turns
        context.values.update(zip(op.results, step.results, strict=True))
    return [context.of(x) for x in body.results]


def _step(op: Op[Any], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    if control.WHILE.defines(op):
        return loops.while_(op, values, context, run)
    if control.CASE.defines(op):
        return loops.case(op, values, context, run)
    if is_elementwise(op):
        return elementwise_step(op, values, context)
    return _TRANSFERS.get(op.name, anywhere)(op, values, context)
