"""Ops whose work depends on the data: sort, scatter, select_and_scatter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.introsort import introsorted
from shlo_disc.dynamic_ops.opdef import Arrays, OpDef, RunBody, Template, Trait
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.expr.dim import Dim


@dataclass(frozen=True, slots=True)
class SortAttrs:
    """The body computes whether the first element of each pair of arguments goes strictly before the second.

    Body arguments: a0, b0, a1, b1, … for the operands 0, 1, …. For the order of equal elements in an unstable sort
    see `introsort`. `keep`: number of leading elements of a line that are read; the others are unspecified.
    """

    dim: int
    stable: bool
    keep: Dim | None = None


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
    found, indices, updates = [x.copy() for x in inputs[:half]], inputs[half], inputs[half + 1 :]
    if attrs.index_vector_dim == indices.ndim:
        indices = indices[..., None]
    rows = np.moveaxis(indices, attrs.index_vector_dim, -1)
    rank, shape = found[0].ndim, found[0].shape
    scatter_dims = [k for k in range(updates[0].ndim) if k not in attrs.update_window_dims]
    dropped = tuple(sorted((*attrs.inserted_window_dims, *attrs.input_batching_dims)))
    moved = [np.moveaxis(x, scatter_dims, range(len(scatter_dims))) for x in updates]
    for batch in np.ndindex(rows.shape[:-1]):
        first = [0] * rank
        for dim, value in zip(attrs.scatter_dims_to_operand_dims, rows[batch], strict=True):
            first[dim] = int(value)
        for dim, k in zip(attrs.input_batching_dims, attrs.scatter_indices_batching_dims, strict=True):
            first[dim] = batch[k - (k > attrs.index_vector_dim)]
        pieces = [np.expand_dims(x[batch], dropped) for x in moved]
        size = pieces[0].shape
        if attrs.clamps:
            first = [max(0, min(a, n - w)) for a, w, n in zip(first, size, shape, strict=True)]
        if all(a >= 0 and a + w <= n for a, w, n in zip(first, size, shape, strict=True)):
            window = tuple(slice(a, a + w) for a, w in zip(first, size, strict=True))
            combined = run(op.bodies[0], (*(x[window] for x in found), *pieces))
            for x, value in zip(found, combined, strict=True):
                x[window] = value
    return tuple(found)


def _select_and_scatter_reference(op: Op[SelectAndScatterAttrs], inputs: Arrays, run: RunBody) -> Arrays:
    x, source, init = inputs
    window, strides, low = (concrete_shape(group) for group in (op.attrs.window, op.attrs.strides, op.attrs.low))
    select, scatter = op.bodies
    found = np.full(x.shape, init, x.dtype)
    for at in np.ndindex(source.shape):
        best: tuple[int, ...] | None = None
        for offset in np.ndindex(window):
            place = tuple(i * s + o - a for i, s, o, a in zip(at, strides, offset, low, strict=True))
            if not all(0 <= p < n for p, n in zip(place, x.shape, strict=True)):
                continue
            if best is None or not bool(run(select, (x[best], x[place]))[0]):
                best = place
        if best is not None:
            (found[best],) = run(scatter, (found[best], source[at]))
    return (found,)


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
