"""Ops that move elements: where each one comes from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from shlo_disc.dynamic_ops import create, slices
from shlo_disc.dynamic_ops.indexing import ONE, ZERO
from shlo_disc.dynamic_ops.move import BroadcastAttrs, ConcatenateAttrs, PadAttrs, ReverseAttrs, TransposeAttrs
from shlo_disc.dynamic_ops.program import Op, Shape
from shlo_disc.dynamic_ops.slices import SliceAttrs
from shlo_disc.expr.dim import Dim, const
from shlo_disc.ragged.elements import linear
from shlo_disc.ragged.forms import Atom, Iteration, LinearForm, Position, form_of, size_form
from shlo_disc.ragged.states import FREE, Known, Linear, Sign, State, cause_of, joined
from shlo_disc.ragged.steps import AnalysisContext, OpAnalysis, SpaceReading, anywhere, marked, passed, positions
from shlo_disc.ragged.values import (
    Factors,
    Places,
    RegionValue,
    combined,
    plain_dims,
    read_at,
    renamed,
    replacement,
    uniform,
    whole_state,
)
from shlo_disc.records import record

_FEW = 16  # parts of a dim of at most this size are told apart, as in the index vector of a gather


def moved_value(
    op: Op[Any], value: RegionValue, dims: tuple[Factors, ...], places: Places, context: AnalysisContext
) -> tuple[RegionValue, SpaceReading]:
    """The value of a result whose elements are those of one operand at these places."""
    read = read_at(value, places)
    signs = context.space([factor for dim in dims for factor in dim])
    found = combined(dims, [read], lambda states, _sign: passed(op, states[0], context), signs)
    found = marked(op, found, read, context)
    space = found.factors
    return found, SpaceReading(space, len(space), (places,))


def _single(
    op: Op[Any], value: RegionValue, dims: tuple[Factors, ...], places: Places, context: AnalysisContext
) -> OpAnalysis:
    found, reading = moved_value(op, value, dims, places, context)
    return OpAnalysis(op, (found,), reading)


def constant(op: Op[create.ConstantAttrs], _values: Sequence[RegionValue], _context: AnalysisContext) -> OpAnalysis:
    """A number."""
    return _leaf(op, Known(op.attrs.value.value))


def from_dims(op: Op[create.FromDimsAttrs], _values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """Sizes: one, or a vector of a few."""
    sizes = op.attrs.dims
    if not op.results[0].shape:
        return _leaf(op, Linear(size_form(sizes[0])))
    if not 0 < len(sizes) <= _FEW:
        return _leaf(op, FREE)
    dims = plain_dims(op.results[0].shape)
    parts = [uniform(dims, Linear(size_form(size))) for size in sizes]
    found = _parts(op, parts, [const(k) for k in range(len(sizes))], 0, context) if dims[0] else parts[0]
    return OpAnalysis(op, (found,), SpaceReading(found.factors, len(found.factors), ()))


def iota(op: Op[create.IotaAttrs], _values: Sequence[RegionValue], _context: AnalysisContext) -> OpAnalysis:
    """Positions along a dim."""
    dims = plain_dims(op.results[0].shape)
    if not dims[op.attrs.dim]:
        return _leaf(op, Known(0))
    number = sum(len(dim) for dim in dims[: op.attrs.dim])
    return _leaf(op, FREE if op.attrs.wraps else Linear(form_of(Position(number))))


def _leaf(op: Op[Any], state: State) -> OpAnalysis:
    found = uniform(plain_dims(op.results[0].shape), state)
    return OpAnalysis(op, (found,), SpaceReading(found.factors, len(found.factors), ()))


def broadcast(op: Op[BroadcastAttrs], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """New dims, and dims of size 1 expanded."""
    (x,), dims = values, list(plain_dims(op.results[0].shape))
    kept = dict[int, int]()
    for k, (dim, expands) in enumerate(zip(op.attrs.dims, op.attrs.expand, strict=True)):
        if expands is False and x.dims[k]:
            dims[dim], kept[dim] = x.dims[k], k
    places: list[LinearForm | None] = [None] * len(x.factors)
    first = 0
    for dim, factors in enumerate(dims):
        if dim in kept:
            for there, number in enumerate(x.numbers(kept[dim]), start=first):
                places[number] = form_of(Position(there))
        first += len(factors)
    return _single(op, x, tuple(dims), places, context)


def transpose(op: Op[TransposeAttrs], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """Dims in another order."""
    (x,) = values
    order = [number for dim in op.attrs.permutation for number in x.numbers(dim)]
    places = positions([order.index(number) for number in range(len(order))])
    return _single(op, x, tuple([x.dims[dim] for dim in op.attrs.permutation]), places, context)


def reverse(op: Op[ReverseAttrs], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """Positions counted from the end of a dim."""
    (x,) = values
    places = positions(range(len(x.factors)))
    for dim in op.attrs.dims:
        for number in x.numbers(dim):
            places[number] = size_form(x.factors[number] - 1) - form_of(Position(number))
    return _single(op, x, x.dims, places, context)


def reshape(op: Op[Any], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """Dims that are joined, which remain factors, or split."""
    (x,) = values
    found = regrouped(x, op.results[0].shape, context)
    if found is None:
        places: list[LinearForm | None] = [None] * len(x.factors)
        return _single(op, x, plain_dims(op.results[0].shape), places, context)
    return _single(op, x, *found, context)


def regrouped(
    x: RegionValue, shape: Shape, context: AnalysisContext
) -> tuple[tuple[Factors, ...], list[LinearForm | None]] | None:
    """The factors of the dims of a reshape's result, and the places of the operand's; None if they do not match."""
    used, facts = x.used(), context.signs.facts
    rest: list[tuple[int | None, Dim]] = [(k, size) for k, size in enumerate(x.factors)]
    places: list[LinearForm | None] = [None] * len(rest)
    dims, count = list[Factors](), 0
    for size in shape:
        dim, wanted = list[Dim](), facts.canonical(size)
        while wanted != ONE:
            if not rest:
                return None
            number, factor = rest.pop(0)
            factor = facts.canonical(factor)
            if _divides(factor, wanted):
                if number is not None:
                    places[number] = form_of(Position(count))
                wanted = facts.canonical(wanted // factor)
            elif number not in used and _divides(wanted, factor):
                rest.insert(0, (None, facts.canonical(factor // wanted)))
                factor, wanted = wanted, ONE
            else:
                return None
            dim.append(factor)
            count += 1
        dims.append(tuple(dim))
    return None if any(size != ONE for _, size in rest) else (tuple(dims), places)


def _divides(a: Dim, b: Dim) -> bool:
    return (b // a) * a == b


def slice_(op: Op[SliceAttrs], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """Every `stride`-th element from a start on."""
    shape = op.results[0].shape
    windows = [
        _Window(size_form(start), stride, size)
        for start, stride, size in zip(op.attrs.starts, op.attrs.strides, shape, strict=True)
    ]
    return _single(op, values[0], *_windowed(op, values[0], windows, context), context)


@record
class _Window:
    """A window along a dim: `start + stride * position`, of `size` elements; a start of None is unknown."""

    start: LinearForm | None
    stride: Dim
    size: Dim


def _windowed(
    op: Op[Any], x: RegionValue, windows: Sequence[_Window], context: AnalysisContext
) -> tuple[tuple[Factors, ...], list[LinearForm | None]]:
    """The dims of windows of a value, and the places of its factors."""
    dims, places, first = list[Factors](), list[LinearForm | None](), 0
    for k, window in enumerate(windows):
        own = x.dims[k]
        if context.same(window.size, op.operands[0].shape[k]):
            dim, made = own, positions(range(first, first + len(own)))
        else:
            dim = plain_dims((window.size,))[0]
            made: list[LinearForm | None] = [None] * len(own)
            if len(own) == 1 and window.start is not None and (step := window.stride.constant) is not None:
                made = [window.start + form_of(Position(first)).scaled(step) if dim else window.start]
        places += made
        dims.append(dim)
        first += len(dim)
    return tuple(dims), places


def pad(op: Op[PadAttrs], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """Elements beside the operand's: in each region, one of its elements or the padding value."""
    (x, value), shape, dims = values, op.results[0].shape, list[Factors]()
    places, first, is_whole = list[LinearForm | None](), 0, True
    for k, (low, interior) in enumerate(zip(op.attrs.low, op.attrs.interior, strict=True)):
        own = x.dims[k]
        if low == ZERO == interior and context.same(shape[k], op.operands[0].shape[k]):
            dim, made = own, positions(range(first, first + len(own)))
        else:
            dim, is_whole = plain_dims((shape[k],))[0], False
            made: list[LinearForm | None] = [None] * len(own)
            if len(own) == 1 and interior == ZERO:
                at = form_of(Position(first)) if dim else LinearForm()
                made = [at.plus(-low)]
        places += made
        dims.append(dim)
        first += len(dim)
    read = read_at(x, places)

    def either(states: Sequence[State], _sign: Sign) -> State:
        return passed(op, states[0] if is_whole else joined(states[0], states[1]), context)

    found = combined(tuple(dims), [read, read_at(value, ())], either, context.space(_flat(dims)))
    found = marked(op, found, read, context)
    return OpAnalysis(op, (found,), SpaceReading(found.factors, len(found.factors), (places, ())))


def _flat(dims: Sequence[Factors]) -> list[Dim]:
    return [factor for dim in dims for factor in dim]


def concatenate(op: Op[ConcatenateAttrs], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """Operands one after the other."""
    along, starts, end = op.attrs.dim, list[Dim](), ZERO
    for x in op.operands:
        starts.append(end)
        end = end + x.shape[along]
    dims = list(max((value.dims for value in values), key=lambda dims: sum(map(len, dims))))
    dims[along] = plain_dims((op.results[0].shape[along],))[0]
    number, places = sum(map(len, dims[:along])), list[list[LinearForm | None]]()
    for value, start in zip(values, starts, strict=True):
        made, first = list[LinearForm | None](), 0
        for k, dim in enumerate(dims):
            own = value.dims[k]
            if k == along:
                made += [form_of(Position(number)).plus(-start)] if len(own) == 1 else [None] * len(own)
            else:
                made += positions(range(first, first + len(own))) if own == dim else [None] * len(own)
            first += len(dim)
        places.append(made)
    reads = [read_at(value, each) for value, each in zip(values, places, strict=True)]
    found = _of_parts(op, tuple(dims), reads, starts, along, context)
    for read in reads:
        found = marked(op, found, read, context)
    return OpAnalysis(op, (found,), SpaceReading(found.factors, len(found.factors), tuple(places)))


def _parts(
    op: Op[Any], parts: Sequence[RegionValue], starts: Sequence[Dim], along: int, context: AnalysisContext
) -> RegionValue:
    return _of_parts(op, parts[0].dims, parts, starts, along, context)


def _of_parts(
    op: Op[Any],
    dims: tuple[Factors, ...],
    parts: Sequence[RegionValue],
    starts: Sequence[Dim],
    along: int,
    context: AnalysisContext,
) -> RegionValue:
    """Parts along a dim, told apart where the dim is small and they differ."""
    first = sum(map(len, dims[:along]))
    bounds = [form_of(Position(first)).plus(-start) for start in starts[1:]]
    size = op.results[0].shape[along].constant
    is_few = size is not None and size <= _FEW

    def part(states: Sequence[State], sign: Sign) -> State:
        kept = list(states)
        for k, bound in enumerate(bounds if is_few else ()):
            match sign(bound):
                case True:
                    kept[: k + 1] = [states[k + 1]] * (k + 1)
                case False:
                    return passed(op, reduce(joined, kept[: k + 1]), context)
                case None:
                    pass
        return passed(op, reduce(joined, kept), context)

    return combined(dims, parts, part, context.space(_flat(dims)), bounds if is_few else ())


def start_forms(
    op: Op[Any], operands: Sequence[int], values: Sequence[RegionValue], context: AnalysisContext
) -> list[LinearForm | None]:
    """The start indices of a window as forms; None for those that are not known, or that may be clamped."""
    x = op.operands[0].shape
    window = op.operands[1].shape if slices.DYNAMIC_UPDATE_SLICE.defines(op) else op.results[0].shape
    found = list[LinearForm | None]()
    for k, number in enumerate(operands):
        form = linear(whole_state(values[number]))
        if form is not None:
            room = size_form(x[k] - window[k]) - form
            inside = all(context.signs.never_negative(each, ()) for each in (form, room))
            form = form if inside else None
        found.append(form)
    return found


def dynamic_slice(op: Op[Any], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """A window whose start is computed."""
    if any(cause_of(whole_state(value)) is not None for value in values[1:]):
        return anywhere(op, values, context)
    starts = start_forms(op, range(1, len(values)), values, context)
    windows = [_Window(start, ONE, size) for start, size in zip(starts, op.results[0].shape, strict=True)]
    dims, places = _windowed(op, values[0], windows, context)
    found, reading = moved_value(op, values[0], dims, places, context)
    others = tuple([()] * (len(values) - 1))
    return OpAnalysis(op, (found,), SpaceReading(reading.space, reading.kept, (places, *others)))


def dynamic_update_slice(op: Op[Any], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """A window that is replaced: each element is the operand's or the update's."""
    x, update = values[:2]
    if any(cause_of(whole_state(value)) is not None for value in values[2:]):
        return anywhere(op, values, context)
    starts = start_forms(op, range(2, len(values)), values, context)
    places, turns = list[LinearForm | None](), dict[Atom, LinearForm]()
    for k, start in enumerate(starts):
        numbers, own = x.numbers(k), update.dims[k]
        if context.same(op.operands[0].shape[k], op.operands[1].shape[k]):
            places += positions(numbers) if len(own) == len(numbers) else [None] * len(own)
        elif start is None or len(numbers) != 1:
            places += [None] * len(own)
        elif own:
            places += [form_of(Position(numbers[0])) - start]
        else:
            turns |= _turns(start, numbers[0])
    place, own = replacement(places), read_at(x, positions(range(len(x.factors))))
    read = renamed(update, lambda atom: turns.get(atom) or place(atom))
    covers = all(context.same(a, b) for a, b in zip(op.operands[0].shape, op.operands[1].shape, strict=True))

    def either(states: Sequence[State], _sign: Sign) -> State:
        return passed(op, states[1] if covers else joined(states[0], states[1]), context)

    found = combined(x.dims, [own, read], either, context.space(x.factors))
    for each in (own, read):
        found = marked(op, found, each, context)
    whole: tuple[Places | None, ...] = (positions(range(len(x.factors))), None if turns else places)
    return OpAnalysis(op, (found,), SpaceReading(x.factors, len(x.factors), (*whole, *([()] * len(starts)))))


def _turns(start: LinearForm, factor: int) -> dict[Atom, LinearForm]:
    """The iteration that writes at a position: `start` is the position along `factor`, solved for its iteration."""
    for atom, k in start.terms:
        if isinstance(atom, Iteration) and abs(k) == 1:
            others = start - form_of(atom).scaled(k)
            return {atom: (form_of(Position(factor)) - others).scaled(k)}
    return {}
