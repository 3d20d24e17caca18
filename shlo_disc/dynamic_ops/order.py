"""Ops whose work depends on the data: sort, scatter, select_and_scatter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.introsort import introsorted
from shlo_disc.dynamic_ops.opdef import Arrays, OpDef, RunBody, Template, Trait
from shlo_disc.dynamic_ops.program import Body, Op
from shlo_disc.expr.dim import Dim
from shlo_disc.records import record


@record
class SortAttrs:
    """The body computes whether the first element of each pair of arguments goes strictly before the second.

    Body arguments: a0, b0, a1, b1, … for the operands 0, 1, …. For the order of equal elements in an unstable sort
    see `introsort`. `keep`: number of leading elements of a line that are read; the others are unspecified.
    """

    dim: int
    stable: bool
    keep: Dim | None = None


@record
class ScatterAttrs:
    """The dimension numbers of StableHLO's scatter. Operands: tensors, the indices, updates.

    Body arguments: the present elements, the updates. A window that is not wholly in bounds is skipped, or moved to the
    nearest place in bounds if the scatter `clamps`.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    input_batching_dims: tuple[int, ...]
    scatter_indices_batching_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    index_vector_dim: int
    unique_indices: bool
    clamps: bool = False


@record
class SelectAndScatterAttrs:
    """Operands: tensor, source, initial value; bodies: select (keep the first?), scatter (present, update)."""

    window: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    low: tuple[Dim, ...]


def _sort_reference(op: Op[SortAttrs], inputs: Arrays, run: RunBody) -> Arrays:
    """Compare all pairs of a line at once; counting predecessors gives a stable order."""
    dim, n = op.attrs.dim, inputs[0].shape[op.attrs.dim]
    lines = [np.moveaxis(x, dim, -1).reshape(x.size // max(n, 1), n) for x in inputs]
    orders = np.zeros(lines[0].shape, np.int64)
    for row in range(len(orders)):
        pairs = [y for x in lines for y in (x[row, :, None], x[row, None, :])]
        (before,) = run(op.bodies[0], tuple(pairs))
        orders[row] = _order(np.broadcast_to(before, (n, n)), stable=op.attrs.stable)
    results = list[NDArray[Any]]()
    for x, line in zip(inputs, lines, strict=True):
        found = np.take_along_axis(line, orders, axis=1)
        moved = np.moveaxis(x, dim, -1).shape
        results.append(np.moveaxis(found.reshape(moved), -1, dim).copy())
    return tuple(results)


def _order(before: NDArray[Any], *, stable: bool) -> NDArray[Any]:
    """The order of positions; `before[i, j]` is true if i goes before j."""
    if not stable:
        return np.array(introsorted(len(before), lambda i, j: bool(before[i, j])), np.int64)
    ties = ~before & ~before.T
    ranks = before.sum(axis=0) + np.triu(ties, 1).sum(axis=0)
    return np.argsort(ranks, kind="stable")


def _scatter_reference(op: Op[ScatterAttrs], inputs: Arrays, run: RunBody) -> Arrays:
    attrs, half = op.attrs, len(inputs) // 2
    found, indices, updates = tuple([x.copy() for x in inputs[:half]]), inputs[half], inputs[half + 1 :]
    if attrs.index_vector_dim == indices.ndim:
        indices = indices[..., None]
    rows = np.moveaxis(indices, attrs.index_vector_dim, -1)
    shape = found[0].shape
    scatter_dims = [k for k in range(updates[0].ndim) if k not in attrs.update_window_dims]
    dropped = tuple(sorted((*attrs.inserted_window_dims, *attrs.input_batching_dims)))
    moved = [np.moveaxis(x, scatter_dims, range(len(scatter_dims))) for x in updates]
    batches = rows.shape[:-1]
    size = np.expand_dims(np.broadcast_to(False, moved[0].shape[len(batches) :]), dropped).shape
    firsts = np.zeros((*batches, len(shape)), np.int64)
    for k, dim in enumerate(attrs.scatter_dims_to_operand_dims):
        firsts[..., dim] = _capped(rows[..., k])
    for dim, k in zip(attrs.input_batching_dims, attrs.scatter_indices_batching_dims, strict=True):
        firsts[..., dim] = np.indices(batches)[k - (k > attrs.index_vector_dim)]
    last = np.array(shape, np.int64) - np.array(size, np.int64)
    if attrs.clamps:
        firsts = np.maximum(0, np.minimum(firsts, last))
    kept = ((firsts >= 0) & (firsts <= last)).all(axis=-1)
    targets = _flat(firsts[kept][:, None, :] + _points(size), shape).reshape(-1)
    return _combined(op.bodies[0], tuple(found), targets, tuple([x[kept].reshape(-1) for x in moved]), run)


def _capped(indices: NDArray[Any]) -> NDArray[Any]:
    """Indices as signed integers; those beyond these are as far out of bounds as the largest."""
    is_wide = indices.dtype == np.uint64
    return (np.minimum(indices, np.uint64(np.iinfo(np.int64).max)) if is_wide else indices).astype(np.int64)


def _points(shape: tuple[int, ...]) -> NDArray[Any]:
    """All indices of an array of a shape, row by row."""
    return np.indices(shape).reshape(len(shape), math.prod(shape)).T


def _flat(places: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The positions of indices, along the last dim, in a flattened array."""
    return places @ np.array([math.prod(shape[k + 1 :]) for k in range(len(shape))], np.int64)


def _combined(body: Body, found: Arrays, targets: NDArray[Any], updates: Arrays, run: RunBody) -> Arrays:
    """Combine the updates, in their order, with the elements at the flat positions `targets`.

    A run of the body takes one update of every element: the first ones, then the second ones, and so on.
    """
    order = np.argsort(targets, kind="stable")
    grouped = targets[order]
    starts = np.flatnonzero(np.diff(grouped, prepend=-1))
    lengths = np.diff(starts, append=len(grouped))
    flat = [x.reshape(-1) for x in found]
    for turn in range(lengths.max(initial=0)):
        at = order[starts[lengths > turn] + turn]
        combined = run(body, (*(x[targets[at]] for x in flat), *(x[at] for x in updates)))
        for x, value in zip(flat, combined, strict=True):
            x[targets[at]] = value
    return tuple([x.reshape(y.shape) for x, y in zip(flat, found, strict=True)])


def _select_and_scatter_reference(op: Op[SelectAndScatterAttrs], inputs: Arrays, run: RunBody) -> Arrays:
    x, source, init = inputs
    window, strides, low = (concrete_shape(group) for group in (op.attrs.window, op.attrs.strides, op.attrs.low))
    select, scatter = op.bodies
    corners = _points(source.shape) * np.array(strides, np.int64) - np.array(low, np.int64)
    best, flat = np.full(len(corners), -1), x.reshape(-1)
    for offset in _points(window):
        places = corners + offset
        here = np.flatnonzero(((places >= 0) & (places < x.shape)).all(axis=1))
        if len(here):
            before, other = best[here], _flat(places[here], x.shape)
            (keeps,) = run(select, (flat[before], flat[other]))
            best[here] = np.where((before >= 0) & keeps, before, other)
    taken = best >= 0
    return _combined(scatter, (np.full(x.shape, init, x.dtype),), best[taken], (source.reshape(-1)[taken],), run)


SORT = OpDef(
    name="d_sort",
    attrs=SortAttrs,
    template=Template.SORT,
    element=None,
    reference=_sort_reference,
    traits=frozenset({Trait.EXACT}),
)
SCATTER = OpDef(
    name="d_scatter",
    attrs=ScatterAttrs,
    template=Template.SCATTER,
    element=None,
    reference=_scatter_reference,
    traits=frozenset({Trait.SUM}),
)
SELECT_AND_SCATTER = OpDef(
    name="d_select_and_scatter",
    attrs=SelectAndScatterAttrs,
    template=Template.SELECT_AND_SCATTER,
    element=None,
    reference=_select_and_scatter_reference,
    traits=frozenset({Trait.SUM}),
)
OPS = (
    SORT,
    SCATTER,
    SELECT_AND_SCATTER,
)
