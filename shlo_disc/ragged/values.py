"""What the analysis knows about a value: its dims in factors, and the states of its regions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import TypeAlias

from shlo_disc.dynamic_ops.indexing import ONE
from shlo_disc.dynamic_ops.program import Shape
from shlo_disc.expr.dim import Dim
from shlo_disc.ragged.forms import Atom, Length, LinearForm, Position, Region, Signs, form_of, known_in, regions_of
from shlo_disc.ragged.states import Sign, State, cause_of, joined, moved
from shlo_disc.records import record

MOST_CONDITIONS = 5  # regions are their subsets
Factors: TypeAlias = tuple[Dim, ...]
Places: TypeAlias = Sequence[LinearForm | None]  # of each factor of an operand: where an op reads it; None: anywhere


@record(eq=False)
class RegionValue:
    """A value: `factors` of each dim (none for a dim of size 1), and the state of its elements in each region.

    A region is where some of the `conditions` hold (a form is at least 0) and the others do not, such as
    `i1 - length(i0) >= 0`: beyond the length. Dims that a reshape joins, and that have conditions, remain factors.
    """

    dims: tuple[Factors, ...]
    conditions: tuple[LinearForm, ...]
    states: Mapping[Region, State]

    @property
    def factors(self) -> Factors:
        """The factors of all dims."""
        return tuple([factor for dim in self.dims for factor in dim])

    def first(self, dim: int) -> int:
        """The number of the first factor of a dim."""
        return sum(len(each) for each in self.dims[:dim])

    def numbers(self, dim: int) -> range:
        """The numbers of the factors of a dim."""
        start = self.first(dim)
        return range(start, start + len(self.dims[dim]))

    @property
    def inside(self) -> State:
        """The state where no condition holds."""
        return self.states[frozenset()]

    @property
    def extents(self) -> Mapping[Atom, Dim]:
        """The extents of the positions."""
        return {Position(k): size for k, size in enumerate(self.factors)}

    def used(self) -> frozenset[int]:
        """The factors that conditions mention."""
        return frozenset(_factors(atom for each in self.conditions for atom in each.atoms))


def _factors(atoms: Iterable[Atom]) -> Iterable[int]:
    for atom in atoms:
        if isinstance(atom, Position):
            yield atom.factor
        elif isinstance(atom, Length):
            yield atom.batch


def plain_dims(shape: Shape) -> tuple[Factors, ...]:
    """Dims that are one factor each."""
    return tuple([() if size == ONE else (size,) for size in shape])


def uniform(dims: tuple[Factors, ...], state: State) -> RegionValue:
    """A value whose elements are all in one state."""
    return RegionValue(dims, (), {frozenset(): state})


def whole_state(value: RegionValue) -> State:
    """The state of all elements together."""
    return reduce(joined, value.states.values())


def without(value: RegionValue, dropped: Iterable[LinearForm]) -> RegionValue:
    """The value without some conditions: regions that differ in these only become one."""
    gone = frozenset(dropped)
    if not gone:
        return value
    states = dict[Region, State]()
    for region, state in value.states.items():
        kept = region - gone
        states[kept] = joined(states[kept], state) if kept in states else state
    return RegionValue(value.dims, tuple([each for each in value.conditions if each not in gone]), states)


def completed(value: RegionValue) -> RegionValue:
    """The value with a state where no condition holds, also if there are no such elements."""
    if frozenset[LinearForm]() in value.states:
        return value
    return RegionValue(value.dims, value.conditions, {frozenset(): whole_state(value), **value.states})


def simplified(value: RegionValue) -> RegionValue:
    """The value without conditions that make no difference, and with at most `MOST_CONDITIONS`."""
    for each in value.conditions:
        if all(state == value.states.get(region ^ {each}, state) for region, state in value.states.items()):
            value = without(value, [each])
    return without(value, value.conditions[MOST_CONDITIONS:])


def replacement(places: Places) -> Callable[[Atom], LinearForm | None]:
    """Replace the positions of an operand by places in an op's space, and the rows of lengths by theirs."""

    def place(atom: Atom) -> LinearForm | None:
        match atom:
            case Position(factor):
                return places[factor]
            case Length(source, batch):
                form = places[batch]
                row = None if form is None else single_position(form)
                return None if row is None else form_of(Length(source, row))
            case _:
                return form_of(atom)

    return place


def single_position(form: LinearForm) -> int | None:
    """The factor of which a form is the position; None for other forms."""
    if len(form.terms) == 1 and form.rest.constant == 0:
        ((atom, k),) = form.terms
        if k == 1 and isinstance(atom, Position):
            return atom.factor
    return None


def read_at(value: RegionValue, places: Places) -> RegionValue:
    """The value with its conditions and states in terms of an op's space. Its dims remain the operand's."""
    return renamed(value, replacement(places))


def renamed(value: RegionValue, place: Callable[[Atom], LinearForm | None]) -> RegionValue:
    """The value with the atoms of its conditions and states replaced; conditions without replacement are dropped."""
    changed = {each: each.replaced(place) for each in value.conditions}
    value = without(value, [each for each, form in changed.items() if form is None])
    forms = {each: form for each, form in changed.items() if form is not None}
    states = dict[Region, State]()
    for region, state in value.states.items():
        if any(_is_settled(forms[each], holds=each not in region) for each in value.conditions):
            continue
        there = frozenset(forms[each] for each in region if _is_open(forms[each]))
        found = moved(state, place)
        states[there] = joined(states[there], found) if there in states else found
    conditions = tuple(dict.fromkeys(form for form in forms.values() if _is_open(form)))
    return completed(RegionValue(value.dims, conditions, states))


def _is_open(form: LinearForm) -> bool:
    return bool(form.terms) or form.rest.constant is None


def _is_settled(form: LinearForm, *, holds: bool) -> bool:
    """Whether a condition is a number, and holds or not."""
    return not _is_open(form) and ((form.rest.constant or 0) >= 0) is holds


Combine: TypeAlias = Callable[[Sequence[State], Sign], State]


def sign_in(conditions: Sequence[LinearForm], region: Region, signs: Signs) -> Sign:
    """The signs of forms in a region."""
    given = known_in(conditions, region)

    def sign(form: LinearForm) -> bool | None:
        if signs.never_negative(form, given):
            return True
        return False if signs.never_negative(form.scaled(-1).plus(-1), given) else None

    return sign


def combined(
    dims: tuple[Factors, ...],
    operands: Sequence[RegionValue],
    combine: Combine,
    signs: Signs,
    more: Sequence[LinearForm] = (),
) -> RegionValue:
    """Combine the states of operands, which are in terms of one space, region by region; with `more` conditions."""
    conditions = tuple(dict.fromkeys([*(each for value in operands for each in value.conditions), *more]))
    if len(conditions) > MOST_CONDITIONS:
        gone = conditions[MOST_CONDITIONS:]
        operands, conditions = [without(value, gone) for value in operands], conditions[:MOST_CONDITIONS]
    states = dict[Region, State]()
    kinds = [frozenset(value.conditions) for value in operands]
    for region in regions_of(conditions, signs):
        found = [_state(value, region & kind) for value, kind in zip(operands, kinds, strict=True)]
        states[region] = combine(found, sign_in(conditions, region, signs))
    return simplified(completed(RegionValue(dims, conditions, states)))


def _state(value: RegionValue, region: Region) -> State:
    """The state of a region; of all elements together, if the value does not know the region."""
    found = value.states.get(region)
    return whole_state(value) if found is None else found


def joined_values(a: RegionValue, b: RegionValue, signs: Signs) -> RegionValue:
    """What is known of elements that are of one of two values of the same shape."""
    dims, (first, second) = common_dims([a, b])
    either = signs.with_extents(RegionValue(dims, (), {}).extents)
    return combined(dims, [first, second], lambda states, _sign: joined(states[0], states[1]), either)


def common_dims(values: Sequence[RegionValue]) -> tuple[tuple[Factors, ...], list[RegionValue]]:
    """The factors of dims that values of one shape have together, and the values in terms of these.

    A dim that is one factor without conditions in one value may be several factors in another.
    """
    rank = max(len(value.dims) for value in values)  # an operand of rank 0 has no dims of its own
    dims = tuple([max((value.dims[k] for value in values if value.dims), key=len) for k in range(rank)])
    return dims, [read_at(value, aligned(value, dims)) for value in values]


def aligned(value: RegionValue, dims: tuple[Factors, ...]) -> list[LinearForm | None]:
    """The places of a value's factors in dims of one shape with it; () for a value of rank 0."""
    places, first = list[LinearForm | None](), 0
    for own, other in zip(value.dims, dims, strict=False):
        if own == other or len(own) == len(other) == 1:
            places += [form_of(Position(first + k)) for k in range(len(own))]
        else:
            places += [None] * len(own)
        first += len(other)
    return places


def depends(value: RegionValue) -> bool:
    """Whether any element may depend on the padding."""
    return any(cause_of(state) is not None for state in value.states.values())


def is_clean(state: State) -> bool:
    """Whether a state is independent of the padding."""
    return cause_of(state) is None
