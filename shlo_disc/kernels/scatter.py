"""Scatters: updates are combined into the results, and a sweep over these then computes the epilogue."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import cast

from shlo_disc.analysis.access import index_symbols, nodes
from shlo_disc.analysis.formula import Formulas, Producers, inline_region
from shlo_disc.dynamic_ops import elementwise, move, slices
from shlo_disc.dynamic_ops.indexing import as_dim, clamped, linear
from shlo_disc.dynamic_ops.order import ScatterAttrs
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.expr.dim import Dim, Sym, const, of, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Arg, Binary, Const, Index, InRange, Load, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.contraction import epilogue_index, holds_zeros
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import Axis, Param, ScatterKernel, Slabs, Start, Store, Sweep
from shlo_disc.kernels.simplify_kernel import merge_windows
from shlo_disc.kernels.stages import Params
from shlo_disc.kernels.templates import distinct, element_reader, epilogue_stores, pass_in_order

_CLAMPS = elementwise.names_of(BinaryFn.MAXIMUM, BinaryFn.MINIMUM) | {elementwise.CLAMP.name}
_MOVES = frozenset(
    {
        elementwise.CONVERT.name,
        *(one.name for one in (move.BROADCAST, move.CONCATENATE, move.RESHAPE, slices.SLICE, move.TRANSPOSE)),
    }
)


def accumulators(group: Group, facts: Facts, producers: Producers) -> tuple[Tensor, ...] | None:
    """The tensors that updates are combined in: the results, or an epilogue result of the same type and order.

    None if there is no such tensor.
    """
    op = group.anchor
    assert op is not None, "a scatter has its op"
    if all(t in group.roots for t in op.results):
        return op.results
    (result,) = op.results
    found = epilogue_index(result, group.roots, group.ops, facts, producers)
    if found is None or all(size.constant == 1 for size in result.shape):
        return None
    here, there = (
        found.facts.canonical(linear(index, tensor.shape))
        for index, tensor in ((found.accumulator, result), (found.root, group.roots[0]))
    )
    fitting = [t for t in group.roots if t.dtype is result.dtype]
    return (fitting[0],) if here == there and fitting else None


def _sweep(group: Group, target: Param, facts: Facts, producers: Producers, params: Params) -> Sweep:
    """The epilogue, at every element of a scatter's result; the current element is overwritten last."""
    assert group.anchor is not None, "a scatter has its op"
    shape = group.anchor.results[0].shape
    axes, index = list[Axis](), list[Dim]()
    for number, extent in enumerate(shape):
        if extent.constant == 1:
            index.append(const(0))
            continue
        axes.append(Axis(Sym(f"%e{number}"), extent))
        index.append(of(axes[-1].symbol))
        facts = facts.with_index(axes[-1].symbol, extent)
    combined = Load(target, (facts.canonical(linear(tuple(index), shape)),))
    stores = epilogue_stores(group, tuple(index), combined, facts, producers, params)
    return Sweep(tuple(axes), tuple(sorted(stores, key=lambda store: store.target == target)))


def build_scatter(group: Group, facts: Facts, producers: Producers) -> tuple[ScatterKernel, tuple[Tensor, ...]]:
    """Combine updates into a copy of the operands, in the order of the updates."""
    op = cast("Op[ScatterAttrs]", group.anchor)
    attrs, params = op.attrs, Params()
    half = len(op.operands) // 2
    tensors, updates = op.operands[:half], op.operands[half + 1 :]
    stored = [t for t in tensors if not holds_zeros(t, facts, producers)]
    found = accumulators(group, facts, producers)
    assert found is not None, "fusion accepted the epilogue"
    pass_in_order(params, (*distinct(stored), *found))
    starts = tuple(
        Start(params.of(x) if x in stored else None, params.of(y), product(x.shape))
        for x, y in zip(tensors, found, strict=True)
    )
    sweep = None if found == op.results else _sweep(group, params.of(found[0]), facts, producers, params)
    reads_ahead = reads_before_overwriting(group, facts, producers)
    axes, facts = _update_space(updates[0].shape, facts)
    at = tuple(of(axis.symbol) for axis in axes)
    read = element_reader(group, facts, producers, params)
    first, window = _scatter_window(op, at, read)
    target = tuple(facts.canonical(start + step) for start, (step, _) in zip(first, window, strict=True))
    offset = linear(target, tensors[0].shape)
    positions = [axis for k, axis in enumerate(axes) if k not in attrs.update_window_dims]
    inside = [axes[k] for k in attrs.update_window_dims]
    names, depends = {axis.symbol.name for axis in positions}, Dependence()
    # Along a dim where windows are one element wide, or all start at one place, they are equal or disjoint.
    apart = all(
        extent.constant == 1 or not names.intersection(depends.of(start))
        for start, (_, extent) in zip(first, window, strict=True)
    )
    carries = tuple(Arg(f"old{k}", t.dtype) for k, t in enumerate(op.results))

    def in_place(index: Index) -> Scalar | None:
        """The operand's element at the target of an update: the carry."""
        return carries[0] if index == target else None

    if reads_ahead:
        read = Formulas(facts, producers, read.inlined, {tensors[0]: in_place}, read.load, numbers=read.numbers)
    news = tuple(read.at(u, at) for u in updates)
    values = inline_region(read, op.bodies[0], (*carries, *news), facts)
    kernel = ScatterKernel(
        params=tuple(params.tensors.values()),
        starts=starts,
        axes=axes if apart else (*positions, *inside),
        window=tuple(axis.symbol for axis in inside),
        apart=apart,
        unique=_are_distinct(op, producers),
        slabs=_slabs(tensors[0].shape, first, window, axes),
        in_bounds=_in_bounds(op, first, window),
        carries=carries,
        targets=tuple(Store(params.of(t), offset, value) for t, value in zip(found, values, strict=True)),
        sweep=sweep,
        reads_ahead=reads_ahead,
    )
    return merge_windows(kernel), tuple(params.tensors)


def _are_distinct(op: Op[ScatterAttrs], producers: Producers) -> bool:
    """Whether no two updates have the same target: each batch has one window, or the program promises it.

    A promise about indices that the program clamps is not relied on: JAX's `mode="clip"` passes on the user's promise
    about the unclamped indices, and two that are out of bounds are clamped to the same edge.
    """
    attrs, (indices, updates) = op.attrs, op.operands[len(op.operands) // 2 :][:2]
    positions = [size for k, size in enumerate(updates.shape) if k not in attrs.update_window_dims]
    axes = [k for k in range(len(indices.shape)) if k != attrs.index_vector_dim]
    apart = [size for k, size in zip(axes, positions, strict=True) if k not in attrs.scatter_indices_batching_dims]
    return product(apart).constant == 1 or (attrs.unique_indices and not _is_clamped(indices, producers))


def _is_clamped(indices: Tensor, producers: Producers) -> bool:
    """Whether indices were clamped before they were brought into the scatter's layout."""
    waiting, seen = [indices], set[Tensor]()
    while waiting:
        found = producers.get(waiting.pop())
        if found is None or found[0].results[0] in seen:
            continue
        op = found[0]
        seen.add(op.results[0])
        if op.name in _CLAMPS:
            return True
        if op.name in _MOVES:
            waiting += op.operands
    return False


def _in_bounds(op: Op[ScatterAttrs], first: Sequence[Dim], window: Sequence[tuple[Dim, Dim]]) -> Scalar:
    """Whether a window lies in the operand."""
    bounds = [
        InRange(start, const(0), size - extent + 1)
        for start, (_, extent), size in zip(first, window, op.operands[0].shape, strict=True)
        if not op.attrs.clamps and (start.constant != 0 or size != extent)
    ]
    true: Scalar = Const(True, DType.I1)
    return reduce(lambda a, b: Binary(BinaryFn.AND, a, b, DType.I1), bounds, true)


def _slabs(shape: Shape, first: Sequence[Dim], window: Sequence[tuple[Dim, Dim]], axes: Sequence[Axis]) -> Slabs | None:
    """Where updates go along the outermost dim of a scatter's operand; None if it has one element."""
    by_point = {of(axis.symbol): axis for axis in axes}
    for dim, size in enumerate(shape):
        if size.constant != 1:
            return Slabs(first[dim], by_point.get(window[dim][0]), const(1), size, product(shape[dim + 1 :]))
    return None


def _update_space(updates: Shape, facts: Facts) -> tuple[tuple[Axis, ...], Facts]:
    """The loops over all updates, and the facts with their ranges."""
    symbols, facts = index_symbols(updates, facts, "u")
    return tuple(map(Axis, symbols, updates)), facts


def reads_before_overwriting(group: Group, facts: Facts, producers: Producers) -> bool:
    """Whether a scatter reads each element of its operand, if at all, before overwriting it.

    If so, it may run in place. The targets of updates must not depend on the operand. The value of an update may depend
    on it: if targets differ, on the element at its own target; in a single window, whose elements go to `start + step`,
    on any element whose index equals the target's along all dims where the window has several steps. That element is
    overwritten by the update that reads it, or not at all.
    """
    op = cast("Op[ScatterAttrs]", group.anchor)
    if len(op.results) > 1:
        return False
    operand, _, updates = op.operands
    axes, facts = _update_space(updates.shape, facts)
    at = tuple(of(axis.symbol) for axis in axes)
    read = element_reader(group, facts, producers, None)
    first, window = _scatter_window(op, at, read)
    lone = product(updates.shape[k] for k in range(len(axes)) if k not in op.attrs.update_window_dims).constant == 1
    places = [data.formula for start in first for data in start.data()]
    if not _are_distinct(op, producers) or any(_loads_of(operand, place) for place in places):
        return False
    (value,) = inline_region(read, op.bodies[0], (Arg("old", operand.dtype), read.at(updates, at)), facts)
    targets = [  # clamped starts count as well: an out-of-bounds window makes no update
        {facts.canonical(x + step) for x in (start, clamped(start, size, extent))}
        for start, (step, extent), size in zip(first, window, operand.shape, strict=True)
    ]
    return all(
        (lone and extent.constant == 1) or place in target
        for load in _loads_of(operand, value)
        for place, target, (_, extent) in zip(load.index, targets, window, strict=True)
    )


def _loads_of(tensor: Tensor, root: Node) -> list[Load]:
    return [node for node in nodes(root) if isinstance(node, Load) and node.source == tensor]


def _scatter_window(op: Op[ScatterAttrs], at: Index, read: Formulas) -> tuple[list[Dim], list[tuple[Dim, Dim]]]:
    """Per dim of the operand: where the window starts, and the position in and extent of the window."""
    attrs, half = op.attrs, len(op.operands) // 2
    tensor, indices, updates = op.operands[0], op.operands[half], op.operands[half + 1].shape
    batch = [at[k] for k in range(len(updates)) if k not in attrs.update_window_dims]
    rank = len(tensor.shape)
    first = [const(0)] * rank
    for position, dim in enumerate(attrs.scatter_dims_to_operand_dims):
        where = list(batch)
        if attrs.index_vector_dim < len(indices.shape):
            where.insert(attrs.index_vector_dim, const(position))
        first[dim] = as_dim(read.at(indices, tuple(where)))
    pairs = zip(attrs.input_batching_dims, attrs.scatter_indices_batching_dims, strict=True)
    for dim, k in pairs:
        first[dim] = batch[k - (k > attrs.index_vector_dim)]
    dropped = {*attrs.inserted_window_dims, *attrs.input_batching_dims}
    window_dims = iter(attrs.update_window_dims)
    window = list[tuple[Dim, Dim]]()
    for dim in range(rank):
        if dim in dropped:
            window.append((const(0), const(1)))
        else:
            k = next(window_dims)
            window.append((at[k], updates[k]))
    if attrs.clamps:
        first = [clamped(start, n, w) for start, (_, w), n in zip(first, window, tensor.shape, strict=True)]
    return first, window
