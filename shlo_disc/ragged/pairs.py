"""Pairs: which dims of a value are rows and the positions in them, so that it may be computed within the lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shlo_disc.dynamic_ops.program import Program, Tensor
from shlo_disc.expr.dim import Dim, product
from shlo_disc.ragged.demand import ALL, Demand, Demands
from shlo_disc.ragged.forms import Length, LinearForm, Position, Signs, form_of, known_in
from shlo_disc.ragged.program import ProgramAnalysis
from shlo_disc.ragged.states import Free, Known, Number, Padding, Sign, State, resolved
from shlo_disc.ragged.values import RegionValue
from shlo_disc.records import record


@record
class Pair:
    """The factor of a value that counts rows, the factor of positions in them, and the argument with the lengths."""

    source: int
    row: int
    position: int

    @property
    def within(self) -> LinearForm:
        """At least 0 where a position is within the length."""
        return form_of(Length(self.source, self.row)) - form_of(Position(self.position)).plus(1)

    @property
    def beyond(self) -> LinearForm:
        """At least 0 where a position is beyond the length."""
        return self.within.scaled(-1).plus(-1)


@record
class PackedLayout:
    """The dims of a value whose rows are joined without their padding.

    The factor that counts rows is dropped, and that of positions becomes the axis of all rows' positions, as long as
    the lengths' sum (`total`). `numbers`: the factors of each dim, without the dropped one; a dim that is that factor
    alone has no entry. `dims`: the number of each of these dims in the value. `shape`: of the packed tensor.
    """

    pair: Pair
    total: Dim
    factors: tuple[Dim, ...]
    numbers: tuple[tuple[int, ...], ...]
    dims: tuple[int, ...]
    shape: tuple[Dim, ...]

    @property
    def axes(self) -> dict[int, int]:
        """The packed tensor's dim for each dim of the value that it has."""
        return {dim: k for k, dim in enumerate(self.dims)}

    @property
    def kept(self) -> tuple[int, ...]:
        """The factors that the packed tensor has, in order."""
        return tuple([number for dim in self.numbers for number in dim])

    @property
    def rows(self) -> int:
        """The dim of the value's positions, as a number of the packed tensor's dims."""
        return next(k for k, dim in enumerate(self.numbers) if self.pair.position in dim)


def layout_of(tensor: Tensor, value: RegionValue, pair: Pair, total: Dim) -> PackedLayout:
    """The layout of a packed tensor."""
    numbers, dims, shape = list[tuple[int, ...]](), list[int](), list[Dim]()
    factors = value.factors
    for dim, whole in enumerate(tensor.shape):
        own = tuple(value.numbers(dim))
        if own == (pair.row,):
            continue
        kept = tuple([number for number in own if number != pair.row])
        numbers.append(kept)
        dims.append(dim)
        parts = [total if number == pair.position else factors[number] for number in kept]
        shape.append(product(parts) if pair.row in own or pair.position in own else whole)
    return PackedLayout(pair, total, factors, tuple(numbers), tuple(dims), tuple(shape))


class Pairs:
    """The pairs of a program's values, by its analysis."""

    def __init__(self, analysis: ProgramAnalysis, demands: Demands) -> None:
        self._analysis, self._demands = analysis, demands
        self._sizes = {each.argument: each for each in analysis.sizes}
        self._of_floats = _of_floats(analysis.program)

    def of(self, tensor: Tensor) -> Pair | None:
        """The pair along which a value may be computed within the lengths alone; None if there is none, or several."""
        demand = self._demands.tensors.get(tensor)
        if demand is None:
            return None
        value = self._analysis.context.of(tensor)
        found = self.mentioned(value, demand)
        if len(found) != 1:
            return None
        signs = self._analysis.context.space(value.factors)
        (pair,) = found
        if not self._is_whole(pair, value.factors) or not is_within(pair, demand, signs):
            return None
        beyond = list(_states(value, signs, pair.beyond))
        return pair if _is_replaceable(beyond) else None

    def mentioned(self, value: RegionValue, demand: Demand = ALL) -> list[Pair]:
        """All pairs that a value's conditions, or those of a demand on it, mention."""
        forms = dict.fromkeys([*value.conditions, *demand.conditions])
        return list(dict.fromkeys(pair for form in forms if (pair := _pair_of(form)) is not None))

    def _is_whole(self, pair: Pair, factors: Sequence[Dim]) -> bool:
        """Whether the factors are the whole of a ragged size and its rows, not parts of them."""
        size, same = self._sizes[pair.source], self._analysis.context.same
        return same(factors[pair.position], size.size) and same(factors[pair.row], size.batch)

    def fill(self, tensor: Tensor, pair: Pair) -> Number | None:
        """The number that all elements beyond the lengths are; None if they may be any."""
        value = self._analysis.context.of(tensor)
        states = list(_states(value, self._analysis.context.space(value.factors), pair.beyond))
        return states[0].value if states and isinstance(states[0], Known) else None

    def known(self, tensor: Tensor, pair: Pair) -> Number | None:
        """The number that all elements within the lengths are; None if they are not known to be one.

        Nothing is known of what is computed from floats: the analysis takes 0 times an element for 0, which is right
        for padding alone.
        """
        if tensor in self._of_floats:
            return None
        value = self._analysis.context.of(tensor)
        states = list(_states(value, self._analysis.context.space(value.factors), pair.within))
        first = states[0] if states else None
        return first.value if isinstance(first, Known) and all(state == first for state in states) else None


def _of_floats(program: Program) -> set[Tensor]:
    """The arguments that are no integers, and all that is computed from them."""
    arguments = [each.tensor for each in program.parameters]
    found = {x for x in arguments if not (x.dtype.is_integer or x.dtype.is_bool)}
    for op in program.body.ops:
        if op.bodies or not found.isdisjoint(op.operands):
            found.update(op.results)
    return found


def is_within(pair: Pair, demand: Demand, signs: Signs) -> bool:
    """Whether nothing beyond the lengths is needed."""
    return all(signs.never_negative(pair.within, known_in(demand.conditions, region)) for region in demand.regions)


def _pair_of(form: LinearForm) -> Pair | None:
    """The pair of a form that compares a position with the length of a row."""
    if len(form.terms) != 2:
        return None
    (a, k), (b, n) = sorted(form.terms, key=lambda term: isinstance(term[0], Length))
    if isinstance(a, Position) and isinstance(b, Length) and abs(k) == 1 and k == -n:
        return Pair(b.source, b.batch, a.factor)
    return None


def _states(value: RegionValue, signs: Signs, given: LinearForm) -> Iterator[State]:
    """The states of a value's elements where a form is at least 0."""
    for region, state in value.states.items():
        known = (*known_in(value.conditions, region), given)
        if not signs.never_negative(given.scaled(-1).plus(-1), known[:-1]):
            yield resolved(state, _sign(signs, known))


def _sign(signs: Signs, known: Sequence[LinearForm]) -> Sign:
    def sign(form: LinearForm) -> bool | None:
        if signs.never_negative(form, known):
            return True
        return False if signs.never_negative(form.scaled(-1).plus(-1), known) else None

    return sign


def _is_replaceable(states: Sequence[State]) -> bool:
    """Whether elements may be replaced by any numbers, or are all one number."""
    if all(isinstance(state, Padding | Free) for state in states):
        return True
    return all(isinstance(state, Known) and state == states[0] for state in states)
