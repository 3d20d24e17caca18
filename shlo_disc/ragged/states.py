"""What the analysis knows about the elements of a region of a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from shlo_disc.diagnostics import Span
from shlo_disc.ragged.forms import Atom, LinearForm
from shlo_disc.records import record

Number: TypeAlias = bool | int | float | complex
Sign: TypeAlias = Callable[[LinearForm], bool | None]  # whether a form is at least 0; None if that is unknown


@record(eq=False)
class Cause:
    """Why elements depend on padding: an op, or an argument, and the cause before it.

    `leaks`: it is where elements within the lengths read those beyond.
    """

    what: str
    span: Span
    before: Cause | None = None
    leaks: bool = False


@record
class AtLeastZero:
    """Whether a form is at least 0."""

    form: LinearForm


@record
class Both:
    """Whether two conditions hold."""

    a: Condition
    b: Condition


@record
class Not:
    """Whether a condition does not hold."""

    a: Condition


Condition: TypeAlias = AtLeastZero | Both | Not


@record(eq=False)
class Known:
    """Every element is this number; NaN is equal to NaN, and True to 1."""

    value: Number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and (self.value == other.value or repr(self.value) == repr(other.value))

    def __hash__(self) -> int:
        return hash(self.value) if self.value == self.value else 0


@record
class Linear:
    """Each element is a linear form of its position and of lengths."""

    form: LinearForm


@record
class Conditional:
    """Each element is `then` where the condition holds, else `other`."""

    condition: Condition
    then: Number
    other: Number


@record
class Free:
    """Independent of the padding. `large`: perhaps as large as a finite mask, as such a mask is among the elements."""

    large: bool = False


@record(eq=False)
class Low:
    """`least`, which is negative and large, plus numbers that are small beside it: a mask that is added.

    `cause`: why these numbers depend on the padding; None if they do not.
    """

    least: float
    cause: Cause | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Low) and self.least == other.least and (self.cause is None) == (other.cause is None)

    def __hash__(self) -> int:
        return hash(self.least)


@record(eq=False)
class Padding:
    """May depend on the padding. `large`: as for `Free`."""

    cause: Cause
    large: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Padding) and self.large == other.large

    def __hash__(self) -> int:
        return hash(self.large)


State: TypeAlias = Known | Linear | Conditional | Free | Low | Padding
FREE = Free()
# A finite number counts as a mask before a softmax if it is at most this: -1e4, rounded to bf16, is among them.
LARGEST_MASK = -9000.0


def cause_of(state: State) -> Cause | None:
    """Why a state depends on the padding; None if it does not."""
    return state.cause if isinstance(state, Padding | Low) else None


def is_number(state: State, value: Number) -> bool:
    """Whether every element is this number."""
    return isinstance(state, Known) and state.value == value


def joined(a: State, b: State) -> State:
    """The state of elements of which each is in one of two states."""
    if a == b:
        return a
    return dependent(cause_of(a) or cause_of(b), large=is_large(a) or is_large(b))


def dependent(cause: Cause | None, *, large: bool) -> State:
    """The state of elements that depend on the padding if there is a cause."""
    return Free(large) if cause is None else Padding(cause, large)


def is_large(state: State) -> bool:
    """Whether elements may be as large as a finite mask, because one was selected, added or subtracted."""
    match state:
        case Known(value):
            return isinstance(value, float) and abs(value) >= -LARGEST_MASK
        case Conditional(_, then, other):
            return is_large(Known(then)) or is_large(Known(other))
        case Free(large) | Padding(_, large):
            return large
        case Low():
            return True
        case Linear():
            return False


def holds(condition: Condition, sign: Sign) -> bool | None:
    """Whether a condition holds; None if that is unknown."""
    match condition:
        case AtLeastZero(form):
            return sign(form)
        case Both(a, b):
            first, second = holds(a, sign), holds(b, sign)
            if first is False or second is False:
                return False
            return True if first and second else None
        case Not(a):
            found = holds(a, sign)
            return None if found is None else not found


def resolved(state: State, sign: Sign) -> State:
    """The state where signs of forms are known."""
    if isinstance(state, Conditional) and (found := holds(state.condition, sign)) is not None:
        return Known(state.then if found else state.other)
    if isinstance(state, Linear) and not state.form.terms and (value := state.form.rest.constant) is not None:
        return Known(value)
    return state


def moved(state: State, places: Callable[[Atom], LinearForm | None]) -> State:
    """The state with the atoms of its forms replaced; without knowledge of its forms where one has no replacement."""
    match state:
        case Linear(form):
            found = form.replaced(places)
            return FREE if found is None else Linear(found)
        case Conditional(condition, then, other):
            changed = _moved(condition, places)
            return FREE if changed is None else Conditional(changed, then, other)
        case _:
            return state


def _moved(condition: Condition, places: Callable[[Atom], LinearForm | None]) -> Condition | None:
    match condition:
        case AtLeastZero(form):
            found = form.replaced(places)
            return None if found is None else AtLeastZero(found)
        case Both(a, b):
            first, second = _moved(a, places), _moved(b, places)
            return None if first is None or second is None else Both(first, second)
        case Not(a):
            inner = _moved(a, places)
            return None if inner is None else Not(inner)


def tests(condition: Condition) -> Iterator[LinearForm]:
    """The forms that a condition tests."""
    match condition:
        case AtLeastZero(form):
            yield form
        case Both(a, b):
            yield from tests(a)
            yield from tests(b)
        case Not(a):
            yield from tests(a)
