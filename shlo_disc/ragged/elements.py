"""States of elementwise functions: what is known of f(a, b) from what is known of a and b."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from shlo_disc.dynamic_ops import elementwise
from shlo_disc.dynamic_ops.elementwise import names_of
from shlo_disc.dynamic_ops.opdef import Arrays
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.ragged.forms import LinearForm, size_form
from shlo_disc.ragged.notes import Notes
from shlo_disc.ragged.states import (
    LARGEST_MASK,
    AtLeastZero,
    Both,
    Condition,
    Conditional,
    Known,
    Linear,
    Low,
    Not,
    Number,
    Padding,
    Sign,
    State,
    cause_of,
    dependent,
    is_large,
    is_number,
    joined,
    resolved,
)

# Functions whose values are small, or 0, where their operands are as large as a mask.
_BOUNDED = names_of(
    *(UnaryFn.EXPONENTIAL, UnaryFn.EXPONENTIAL_MINUS_ONE, UnaryFn.LOGISTIC, UnaryFn.TANH, UnaryFn.SINE),
    *(UnaryFn.COSINE, UnaryFn.ERF, UnaryFn.ERFC, UnaryFn.SIGN),
)
_Rule: TypeAlias = Callable[[Op[Any], Sequence[State], Sign, Notes], State | None]


def element_state(op: Op[Any], states: Sequence[State], sign: Sign, notes: Notes) -> State:
    """The state of an elementwise op's result where its operands are in these states."""
    states = [resolved(state, sign) for state in states]
    if all(isinstance(state, Known) for state in states):
        return _computed(op, [state.value for state in states if isinstance(state, Known)])
    rule = _RULES.get(op.name)
    if rule is not None and (found := rule(op, states, sign, notes)) is not None:
        return resolved(found, sign)
    return _by_choice(op, states) or mixed(op, states, notes)


def mixed(op: Op[Any], states: Sequence[State], notes: Notes) -> State:
    """The state of a function of which nothing is known: it depends on the padding if an operand does."""
    large = op.name not in _BOUNDED and op.results[0].dtype.is_float and any(map(is_large, states))
    cause = next((cause for state in states if (cause := cause_of(state)) is not None), None)
    return dependent(None if cause is None else notes.cause(op, cause), large=large)


def product_state(op: Op[Any], states: Sequence[State], notes: Notes) -> State:
    """The state of a product. 0 times any element is 0, also if that depends on the padding."""
    for one, other in (states, states[::-1]):
        if is_number(one, 0):
            return one
        if is_number(one, 1):
            return other
        if isinstance(one, Known) and isinstance(other, Low) and _is_positive(one.value):
            return _scaled(op, other, float(one.value.real), notes)
    return mixed(op, states, notes)


def _scaled(op: Op[Any], state: Low, factor: float, notes: Notes) -> State:
    """A mask times a positive number, if it remains one."""
    least = state.least * factor
    return Low(least, state.cause) if least <= LARGEST_MASK else mixed(op, [state], notes)


def _is_positive(value: Number) -> bool:
    return not isinstance(value, complex) and value > 0


def _computed(op: Op[Any], values: Sequence[Number]) -> State:
    """The function of numbers, by the reference of the op."""
    inputs = tuple([np.asarray(value, numpy_dtype(x.dtype)) for value, x in zip(values, op.operands, strict=True)])
    with np.errstate(all="ignore"):
        (found,) = definition(op).reference(op, inputs, _no_body)
    return Known(found.item())


def _no_body(*_given: object) -> Arrays:
    raise AssertionError("an elementwise op has no body")


def _by_choice(op: Op[Any], states: Sequence[State]) -> State | None:
    """The function of one choice between two numbers, and of numbers."""
    choices = {state.condition for state in states if isinstance(state, Conditional)}
    if len(choices) != 1 or not all(isinstance(state, Conditional | Known) for state in states):
        return None
    sides = list[Number]()
    for side in range(2):
        found = _computed(op, [_side(state, side) for state in states])
        if not isinstance(found, Known):
            return None
        sides.append(found.value)
    if repr(sides[0]) == repr(sides[1]):
        return Known(sides[0])
    return Conditional(next(iter(choices)), sides[0], sides[1])


def _side(state: State, side: int) -> Number:
    match state:
        case Conditional(_, then, other):
            return other if side else then
        case Known(value):
            return value
        case _:
            raise AssertionError("a choice or a number")


# --- integers that are linear in positions and lengths


def linear(state: State) -> LinearForm | None:
    """The form of an integer state; None if it has none."""
    match state:
        case Linear(form):
            return form
        case Known(value) if not isinstance(value, complex) and abs(value) < 2**53:  # not NaN
            return size_form(int(value)) if value == int(value) else None
        case _:
            return None


def is_exact(dtype: DType) -> bool:
    """Whether a type holds sums and differences of positions: signed, and at least 32 bits wide.

    (f32 holds integers up to 2^24, which are more positions than a dim of a program has.)
    """
    return dtype.bits >= 32 and ((dtype.is_integer and dtype.is_signed) or dtype.is_float)


def _linear(op: Op[Any], states: Sequence[State], factors: Sequence[int]) -> State | None:
    """The sum of linear operands, each times a factor."""
    total = LinearForm()
    for state, factor in zip(states, factors, strict=True):
        form = linear(state)
        if form is None:
            return None
        total += form.scaled(factor)
    return Linear(total) if is_exact(op.results[0].dtype) else None


def _compare(op: Op[Any], states: Sequence[State], _sign: Sign, _notes: Notes) -> State | None:
    a, b = (linear(state) for state in states)
    if a is None or b is None:
        return None
    return Conditional(_relation(op.attrs.direction, b - a), True, False)


def _relation(direction: Direction, more: LinearForm) -> Condition:
    """The relation of two integers; `more` is the second one minus the first."""
    match direction:
        case Direction.LE:
            return AtLeastZero(more)
        case Direction.LT:
            return AtLeastZero(more.plus(-1))
        case Direction.GE:
            return AtLeastZero(more.scaled(-1))
        case Direction.GT:
            return AtLeastZero(more.scaled(-1).plus(-1))
        case Direction.EQ:
            return Both(AtLeastZero(more), AtLeastZero(more.scaled(-1)))
        case Direction.NE:
            return Not(Both(AtLeastZero(more), AtLeastZero(more.scaled(-1))))


def _convert(op: Op[Any], states: Sequence[State], _sign: Sign, _notes: Notes) -> State | None:
    (state,), source, target = states, op.operands[0].dtype, op.results[0].dtype
    if isinstance(state, Low) and source.is_float and target.is_float:
        return state
    if isinstance(state, Linear):
        if is_exact(target):
            return state
        is_position = len(state.form.terms) == 1 and state.form.rest.constant == 0
        return state if is_position and target.bits >= 32 and target.is_integer else None
    return None


# --- masks that are added, and softmax


def _least(state: State) -> float | None:
    """The number that masks; None if there is none."""
    match state:
        case Low(least):
            return least
        case Known(float() as value) if value <= LARGEST_MASK:
            return value
        case _:
            return None


def _masked(op: Op[Any], mask: State, other: State, notes: Notes) -> State | None:
    """The sum of a mask and of an element that is small beside it."""
    least = _least(mask)
    if least is None or not op.results[0].dtype.is_float:
        return None
    if least == -np.inf:  # where the other element is infinite, too, the sum is NaN for every padding
        return mask
    if _least(other) is None and is_large(other):
        return None
    cause = cause_of(mask) or cause_of(other)
    return Low(least, None if cause is None else notes.cause(op, cause))


def _add(op: Op[Any], states: Sequence[State], _sign: Sign, notes: Notes) -> State | None:
    a, b = states
    if is_number(a, 0) or is_number(b, 0):
        return b if is_number(a, 0) else a
    if (found := _linear(op, states, (1, 1))) is not None:
        return found
    return _masked(op, a, b, notes) or _masked(op, b, a, notes)


def _subtract(op: Op[Any], states: Sequence[State], _sign: Sign, notes: Notes) -> State | None:
    a, b = states
    if is_number(b, 0):
        return a
    if (found := _linear(op, states, (1, -1))) is not None:
        return found
    if isinstance(b, Known) and isinstance(b.value, float) and is_large(b):
        return _masked(op, Known(-b.value), a, notes)
    return None if _least(b) is not None else _masked(op, a, b, notes)


def _negate(op: Op[Any], states: Sequence[State], _sign: Sign, _notes: Notes) -> State | None:
    return _linear(op, states, (-1,))


def _multiply(op: Op[Any], states: Sequence[State], _sign: Sign, notes: Notes) -> State | None:
    for one, other in (states, states[::-1]):
        if isinstance(one, Known) and one.value in (1, -1) and isinstance(other, Linear):
            return _linear(op, [other], (int(one.value.real),))
    if any(isinstance(state, Conditional) for state in states) and _by_choice(op, states) is not None:
        return None
    return product_state(op, states, notes)


def _divide(op: Op[Any], states: Sequence[State], _sign: Sign, notes: Notes) -> State | None:
    a, b = states
    if is_number(a, 0) or is_number(b, 1):
        return a
    if isinstance(a, Low) and isinstance(b, Known) and _is_positive(b.value):
        return _scaled(op, a, 1 / float(b.value.real), notes)
    return None


def _exponential(limit: Number) -> _Rule:
    """exp(x) of a mask minus the greatest element of its row is 0, and other functions have a limit there, too."""

    def rule(op: Op[Any], states: Sequence[State], _sign: Sign, notes: Notes) -> State | None:
        (state,) = states
        if not isinstance(state, Low):
            return None
        notes.assume_small(op, state.least)
        return Known(limit)

    return rule


def _maximum(op: Op[Any], states: Sequence[State], _sign: Sign, notes: Notes) -> State | None:
    for one, other in (states, states[::-1]):
        if is_number(one, -np.inf):
            return other
        if isinstance(one, Low) and isinstance(other, Known) and other.value.real >= one.least / 4:
            notes.assume_small(op, one.least)
            return other
    return None


def _minimum(_op: Op[Any], states: Sequence[State], _sign: Sign, _notes: Notes) -> State | None:
    for one, other in (states, states[::-1]):
        if is_number(one, np.inf):
            return other
    return None


# --- conditions


def _condition(state: State) -> Condition | None:
    match state:
        case Conditional(condition, then, other) if then is True and other is False:
            return condition
        case Conditional(condition, then, other) if then is False and other is True:
            return Not(condition)
        case _:
            return None


def _logical(absorbing: bool) -> _Rule:
    """`and`, whose absorbing element is false, and `or`, whose is true."""

    def rule(op: Op[Any], states: Sequence[State], _sign: Sign, _notes: Notes) -> State | None:
        is_bool = op.results[0].dtype.is_bool
        for one, other in (states, states[::-1]):
            if is_bool and isinstance(one, Known):
                return one if bool(one.value) is absorbing else other
            if not absorbing and is_number(one, 0):
                return one
        a, b = map(_condition, states)
        if a is None or b is None:
            return None
        return Conditional(Not(Both(Not(a), Not(b))) if absorbing else Both(a, b), True, False)

    return rule


def _not(op: Op[Any], states: Sequence[State], _sign: Sign, _notes: Notes) -> State | None:
    condition = _condition(states[0])
    return Conditional(Not(condition), True, False) if condition is not None and op.results[0].dtype.is_bool else None


def _select(op: Op[Any], states: Sequence[State], _sign: Sign, notes: Notes) -> State | None:
    condition, then, other = states
    if isinstance(condition, Known):
        return then if condition.value else other
    either = joined(then, other)
    if isinstance(either, Known):
        return either
    if (test := _condition(condition)) is not None:
        if isinstance(then, Known) and isinstance(other, Known):
            return Conditional(test, then.value, other.value)
        return _carried(op, either, notes)
    if (cause := cause_of(condition)) is not None:
        return Padding(notes.cause(op, cause))
    return _carried(op, either, notes)


def _carried(op: Op[Any], state: State, notes: Notes) -> State:
    """The state of elements that an op passes on, with the op in the chain of causes."""
    cause = cause_of(state)
    return Padding(notes.cause(op, cause), is_large(state)) if cause is not None else state


def _clamp(op: Op[Any], states: Sequence[State], sign: Sign, notes: Notes) -> State | None:
    low, x, high = states
    forms = [linear(state) for state in states]
    if forms[0] is not None and forms[1] is not None and forms[2] is not None:
        inside = sign(forms[1] - forms[0]), sign(forms[2] - forms[1])
        return x if inside == (True, True) else None
    if isinstance(x, Low) and isinstance(low, Known) and isinstance(high, Known) and low.value.real >= x.least / 4:
        notes.assume_small(op, x.least)
        return low
    return None


_RULES: Mapping[str, _Rule] = {
    **{
        fn.value.name: rule
        for fn, rule in {
            BinaryFn.ADD: _add,
            BinaryFn.SUBTRACT: _subtract,
            BinaryFn.MULTIPLY: _multiply,
            BinaryFn.DIVIDE: _divide,
            BinaryFn.MAXIMUM: _maximum,
            BinaryFn.MINIMUM: _minimum,
            BinaryFn.AND: _logical(absorbing=False),
            BinaryFn.OR: _logical(absorbing=True),
        }.items()
    },
    **{
        fn.value.name: rule
        for fn, rule in {
            UnaryFn.NEGATE: _negate,
            UnaryFn.EXPONENTIAL: _exponential(0.0),
            UnaryFn.EXPONENTIAL_MINUS_ONE: _exponential(-1.0),
            UnaryFn.LOGISTIC: _exponential(0.0),
            UnaryFn.NOT: _not,
        }.items()
    },
    elementwise.SELECT.name: _select,
    elementwise.CLAMP.name: _clamp,
    elementwise.COMPARE.name: _compare,
    elementwise.CONVERT.name: _convert,
}
