"""Ops that read or write where data says, and sorts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shlo_disc.dynamic_ops.gather import GatherAttrs
from shlo_disc.dynamic_ops.order import ScatterAttrs, SortAttrs
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ragged.elements import linear, mixed
from shlo_disc.ragged.forms import LinearForm, Position, form_of, size_form
from shlo_disc.ragged.reductions import fold_of
from shlo_disc.ragged.states import Known, Sign, State, cause_of, dependent, is_large, is_number, joined
from shlo_disc.ragged.steps import AnalysisContext, OpAnalysis, SpaceReading, anywhere, marked, passed, positions
from shlo_disc.ragged.values import (
    RegionValue,
    combined,
    common_dims,
    plain_dims,
    read_at,
)


def gather(op: Op[GatherAttrs], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """Slices at computed places. Dims that are read whole, and those of a batch, keep their conditions."""
    (x, indices), attrs = values, op.attrs
    dims = list(plain_dims(op.results[0].shape))
    batch = [k for k in range(len(dims)) if k not in attrs.offset_dims]
    rows = [k for k in range(len(indices.dims)) if k != attrs.index_vector_dim]
    for k, row in zip(batch, rows, strict=True):
        dims[k] = indices.dims[row]
    dropped = {*attrs.collapsed_slice_dims, *attrs.operand_batching_dims}
    kept = [dim for dim in range(len(x.dims)) if dim not in dropped]
    whole = {
        dim: k
        for k, dim in zip(attrs.offset_dims, kept, strict=True)
        if context.same(attrs.slice_sizes[dim], op.operands[0].shape[dim])
    }
    for dim, k in whole.items():
        dims[k] = x.dims[dim]
    firsts = [sum(map(len, dims[:k])) for k in range(len(dims))]
    at_indices: list[LinearForm | None] = [None] * len(indices.factors)
    for k, row in zip(batch, rows, strict=True):
        _follow(at_indices, indices, row, firsts[k])
    parts = [_component(indices, at_indices, attrs.index_vector_dim, k) for k in range(len(attrs.start_index_map))]
    places: list[LinearForm | None] = [None] * len(x.factors)
    for dim, k in whole.items():
        _follow(places, x, dim, firsts[k])
    for dim, row in zip(attrs.operand_batching_dims, attrs.start_indices_batching_dims, strict=True):
        if len(x.dims[dim]) == len(indices.dims[row]):
            _follow(places, x, dim, firsts[batch[rows.index(row)]])
    signs = context.space([factor for dim in dims for factor in dim])
    starts = dict(zip(attrs.start_index_map, map(_form, parts), strict=True))
    for dim, own in enumerate(x.dims):
        start = starts.get(dim, LinearForm())
        if dim in whole or dim in attrs.operand_batching_dims or start is None or len(own) != 1:
            continue
        room = size_form(x.factors[x.first(dim)] - attrs.slice_sizes[dim]) - start
        if all(signs.never_negative(each, ()) for each in (start, room)):
            offset = attrs.offset_dims[kept.index(dim)] if dim in kept else None
            along = LinearForm() if offset is None or not dims[offset] else form_of(Position(firsts[offset]))
            places[x.first(dim)] = start + along
    read = read_at(x, places)

    def element(states: Sequence[State], _sign: Sign) -> State:
        if isinstance(states[0], Known):
            return states[0]
        return passed(op, states[0], context) if _are_clean(states[1:]) else mixed(op, states[1:], context.notes)

    found = combined(tuple(dims), [read, *parts], element, signs)
    found = marked(op, found, x, context)
    space = found.factors
    return OpAnalysis(op, (found,), SpaceReading(space, len(space), (places, at_indices)))


def _component(indices: RegionValue, places: Sequence[LinearForm | None], vector: int, k: int) -> RegionValue:
    """The indices along one dim of the operand, in terms of the result."""
    made = list(places)
    if vector < len(indices.dims) and indices.dims[vector]:
        made[indices.first(vector)] = size_form(k)
    return read_at(indices, made)


def _form(part: RegionValue) -> LinearForm | None:
    return None if part.conditions else linear(part.inside)


def _follow(places: list[LinearForm | None], value: RegionValue, dim: int, first: int) -> None:
    for there, number in enumerate(value.numbers(dim), start=first):
        places[number] = form_of(Position(there))


def _are_clean(states: Sequence[State]) -> bool:
    return all(cause_of(state) is None for state in states)


def scatter(op: Op[ScatterAttrs], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """Elements that updates change at computed places: by what is independent of the padding, or adding 0."""
    half = len(values) // 2
    if half != 1:
        return anywhere(op, values, context)
    x, indices, updates = values
    scattered = [k for k in range(len(updates.dims)) if k not in op.attrs.update_window_dims]
    rows = [k for k in range(len(indices.dims)) if k != op.attrs.index_vector_dim]
    at_indices: list[LinearForm | None] = [None] * len(indices.factors)
    for k, row in zip(scattered, rows, strict=True):
        if len(updates.dims[k]) == len(indices.dims[row]):
            _follow(at_indices, indices, row, updates.first(k))
    adds = fold_of(op.bodies[0]) is BinaryFn.ADD

    def change(states: Sequence[State], _sign: Sign) -> State:
        update, index = states
        if adds and is_number(update, 0):
            return update
        return mixed(op, (update, index), context.notes)

    places = positions(range(len(updates.factors)))
    reads = [read_at(updates, places), read_at(indices, at_indices)]
    changes = combined(updates.dims, reads, change, context.space(updates.factors))
    arrived = read_at(changes, _targets(op.attrs, x, updates, scattered, context, op))
    own = read_at(x, positions(range(len(x.factors))))

    def element(states: Sequence[State], _sign: Sign) -> State:
        present, change = states
        if adds and is_number(change, 0):
            return passed(op, present, context)
        return passed(op, joined(present, dependent(cause_of(change), large=is_large(change))), context)

    found = combined(x.dims, [own, arrived], element, context.space(x.factors))
    for before in (own, reads[0]):
        found = marked(op, found, before, context)
    space = (*x.factors, *updates.factors)
    shifted: list[list[LinearForm | None]] = [
        [None if place is None else form_of(Position(_number(place) + len(x.factors))) for place in each]
        for each in (at_indices, places)
    ]
    reading = SpaceReading(space, len(x.factors), (positions(range(len(x.factors))), *shifted))
    return OpAnalysis(op, (found,), reading)


def _targets(
    attrs: ScatterAttrs,
    x: RegionValue,
    updates: RegionValue,
    scattered: Sequence[int],
    context: AnalysisContext,
    op: Op[Any],
) -> list[LinearForm | None]:
    """Where each factor of the updates arrives in the operand: along dims of a batch, and windows that are whole."""
    found: list[LinearForm | None] = [None] * len(updates.factors)
    for dim, row in zip(attrs.input_batching_dims, attrs.scatter_indices_batching_dims, strict=True):
        k = scattered[row - (row > attrs.index_vector_dim)]
        if updates.dims[k] == x.dims[dim]:
            _follow(found, updates, k, x.first(dim))
    windows = [
        dim for dim in range(len(x.dims)) if dim not in (*attrs.inserted_window_dims, *attrs.input_batching_dims)
    ]
    for k, dim in zip(attrs.update_window_dims, windows, strict=True):
        if context.same(op.operands[2].shape[k], op.operands[0].shape[dim]) and updates.dims[k] == x.dims[dim]:
            _follow(found, updates, k, x.first(dim))
    return found


def _number(place: LinearForm) -> int:
    (atom,) = place.atoms
    return atom.factor if isinstance(atom, Position) else 0


def sort(op: Op[SortAttrs], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """Lines in order: an element may be any of its line."""
    dims, reads = common_dims(values)
    line = range(sum(map(len, dims[: op.attrs.dim])), sum(map(len, dims[: op.attrs.dim + 1])))
    places = [None if k in line else form_of(Position(k)) for k in range(sum(map(len, dims)))]
    made = [read_at(RegionValue(dims, value.conditions, value.states), places) for value in reads]

    def element(states: Sequence[State], _sign: Sign) -> State:
        return mixed(op, states, context.notes)

    space = tuple([factor for dim in dims for factor in dim])
    found = combined(dims, made, element, context.space(space))
    for before in reads:
        found = marked(op, found, before, context)
    results = tuple([found] * len(op.results))
    return OpAnalysis(op, results, SpaceReading(space, len(space), (None,) * len(values)))
