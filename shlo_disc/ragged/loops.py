"""Loops and branches: what is known at the start of every iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.expr.dim import Dim
from shlo_disc.ragged.elements import is_exact, linear
from shlo_disc.ragged.forms import Atom, Iteration, LinearForm, form_of, size_form
from shlo_disc.ragged.states import (
    AtLeastZero,
    Conditional,
    Known,
    Linear,
    Padding,
    State,
    cause_of,
    dependent,
    is_large,
    resolved,
)
from shlo_disc.ragged.steps import AnalysisContext, OpAnalysis, SpaceReading, anywhere
from shlo_disc.ragged.values import RegionValue, depends, joined_values, renamed, simplified, uniform, whole_state

_ROUNDS = 12  # then, what still changes is given up

Run: TypeAlias = Callable[[Body, Sequence[RegionValue], AnalysisContext], list[RegionValue]]


def while_(op: Op[Any], values: Sequence[RegionValue], context: AnalysisContext, run: Run) -> OpAnalysis:
    """A loop: what holds before the first iteration, and after each, holds at the start of the next one."""
    context.loops += 1
    iteration, outer, turns = Iteration(context.loops), context.signs, context.turns
    heads = [_guessed(x, value, iteration) for x, value in zip(op.operands, values, strict=True)]
    for turn in range(2 * _ROUNDS):
        count = _count(op, heads, iteration, context, run)
        if count is not None:
            context.signs = outer.with_extents({iteration: count})
            context.turns = (*turns, count)
        after = run(op.bodies[1], heads, context)
        context.signs, context.turns = outer, turns
        next_heads = [
            _next(head, start, end, iteration, context) for head, start, end in zip(heads, values, after, strict=True)
        ]
        if all(_same(a, b) for a, b in zip(heads, next_heads, strict=True)):
            break
        heads = [b if turn < _ROUNDS or _same(a, b) else _given_up(b) for a, b in zip(heads, next_heads, strict=True)]
    else:
        return anywhere(op, values, context)
    decides = run(op.bodies[0], heads, context)[0]
    if depends(decides):
        return anywhere(op, [*values, decides], context)
    results = tuple([_after(head, iteration, count) for head in heads])
    return OpAnalysis(op, results, SpaceReading((), 0, (None,) * len(values)))


def _guessed(tensor: Tensor, value: RegionValue, iteration: Iteration) -> RegionValue:
    """A value at the start of an iteration: if it is a number, 1 more in each."""
    form = None if value.conditions else linear(value.inside)
    if form is None or tensor.shape or not tensor.dtype.is_integer or not is_exact(tensor.dtype):
        return value
    return uniform((), Linear(form + form_of(iteration)))


def _count(
    op: Op[Any], heads: Sequence[RegionValue], iteration: Iteration, context: AnalysisContext, run: Run
) -> Dim | None:
    """How many iterations there are; None if that is unknown."""
    (decides,) = run(op.bodies[0], heads, context)
    match decides.states.get(frozenset()):
        case Conditional(AtLeastZero(form), True, False) if (
            form.terms == frozenset([(iteration, -1)]) and not decides.conditions
        ):
            count = context.signs.facts.canonical(form.rest + 1)
            return count if context.signs.facts.at_least(count, 0).is_true else None
        case _:
            return None


def _next(
    head: RegionValue, start: RegionValue, end: RegionValue, iteration: Iteration, context: AnalysisContext
) -> RegionValue:
    """What holds at the start of every iteration, if `head` did at the start of this one, and `end` after it."""

    def earlier(atom: Atom) -> LinearForm:
        return form_of(atom).plus(-1) if atom == iteration else form_of(atom)

    def first(atom: Atom) -> LinearForm:
        return LinearForm() if atom == iteration else form_of(atom)

    after = renamed(end, earlier)
    state = head.inside
    if isinstance(state, Linear) and not head.conditions:
        found = after.states.get(frozenset())
        if not after.conditions and found is not None and linear(found) == state.form:
            return head
        if (step := _step(state, found, start)) is not None and not after.conditions:
            return uniform((), Linear(step(iteration)))
        if any(isinstance(atom, Iteration) and atom == iteration for atom in state.form.atoms):
            before = renamed(start, first)
            return joined_values(before, uniform(before.dims, _forgotten(after)), context.signs)
    return joined_values(joined_values(start, head, context.signs), after, context.signs)


def _step(state: Linear, found: State | None, start: RegionValue) -> Callable[[Iteration], LinearForm] | None:
    """A guess of another step: what one iteration adds to a number, if that is -1 and not 1."""
    form = None if found is None else linear(found)
    first = linear(start.inside)
    if form is None or first is None:
        return None
    added = (form - state.form).plus(1)
    if added.terms or added.rest.constant != -1:
        return None
    return lambda iteration: first - form_of(iteration)


def _forgotten(value: RegionValue) -> State:
    state = whole_state(value)
    return dependent(cause_of(state), large=is_large(state))


def _same(a: RegionValue, b: RegionValue) -> bool:
    return a is b or (a.dims == b.dims and frozenset(a.conditions) == frozenset(b.conditions) and a.states == b.states)


def _given_up(value: RegionValue) -> RegionValue:
    return uniform(value.dims, _forgotten(value))


def _after(head: RegionValue, iteration: Iteration, count: Dim | None) -> RegionValue:
    """A value after the loop, when `count` iterations have run."""

    def last(atom: Atom) -> LinearForm | None:
        if atom != iteration:
            return form_of(atom)
        return None if count is None else size_form(count)

    found = renamed(head, last)
    states = {region: resolved(state, lambda _form: None) for region, state in found.states.items()}
    return simplified(RegionValue(found.dims, found.conditions, states))


def case(op: Op[Any], values: Sequence[RegionValue], context: AnalysisContext, run: Run) -> OpAnalysis:
    """Branches: the result is that of any of them, or of the one that is known to be chosen."""
    chosen, last = values[0].inside, len(op.bodies) - 1
    results = [run(body, (), context) for body in op.bodies]
    if isinstance(chosen, Known) and not values[0].conditions:
        number = int(chosen.value.real)
        found = results[number if 0 <= number <= last else last]
    else:
        found = results[0]
        for other in results[1:]:
            found = [joined_values(a, b, context.signs) for a, b in zip(found, other, strict=True)]
    if (cause := cause_of(whole_state(values[0]))) is not None:
        found = [uniform(value.dims, Padding(context.notes.cause(op, cause, leaks=True))) for value in found]
    return OpAnalysis(op, tuple(found), SpaceReading((), 0, (None,)))
