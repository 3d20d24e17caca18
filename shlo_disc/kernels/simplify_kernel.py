"""Merges neighbouring loops that every access indexes as one loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from shlo_disc.expr.dim import Dim
from shlo_disc.expr.node import Node
from shlo_disc.kernels.kernel import Axis, Reduction, RowKernel, ScatterKernel, Stage, Store
from shlo_disc.kernels.rewrite import DimRewriter, dims_of, mergeable, merged


def merge_loops(kernel: RowKernel) -> RowKernel:
    """Merge neighbouring inner loops of each stage, then rows, then rows with the loops of a lone map stage."""
    kernel = replace(kernel, stages=tuple(map(_merge_inner, kernel.stages)))
    kernel = _merge_rows(kernel)
    while (joined := _merge_row_into_map(kernel)) is not None:
        kernel = joined
    return kernel


def merge_windows(kernel: ScatterKernel) -> ScatterKernel:
    """Merge neighbouring loops of a scatter's windows; the axis of slabs only with loops inside it."""
    for position in reversed(range(len(kernel.axes) - 1)):
        outer, inner = kernel.axes[position : position + 2]
        if kernel.slabs is not None and kernel.slabs.axis == inner:
            continue
        if {outer.symbol, inner.symbol} <= set(kernel.window) and mergeable(outer, inner, list(_scatter_dims(kernel))):
            kernel = _merge_window(kernel, outer, inner)
    return kernel


def _merge_window(kernel: ScatterKernel, outer: Axis, inner: Axis) -> ScatterKernel:
    axis, change = merged(outer, inner)
    rewriter = DimRewriter(lambda dim: dim.substitute(change))
    slabs = kernel.slabs
    if slabs is not None and slabs.axis == outer:
        slabs = replace(slabs, axis=axis, width=slabs.width * inner.extent)
    return replace(
        kernel,
        axes=tuple(axis if old == inner else old for old in kernel.axes if old != outer),
        window=tuple(symbol for symbol in kernel.window if symbol != outer.symbol),
        slabs=slabs,
        targets=tuple(rewrite_store(store, rewriter) for store in kernel.targets),
    )


def _scatter_dims(kernel: ScatterKernel) -> Iterable[Dim]:
    yield from (store.offset for store in kernel.targets)
    yield from dims_of([store.value for store in kernel.targets])


def _merge_inner(stage: Stage) -> Stage:
    position = len(stage.axes) - 2
    while position >= 0:
        outer, inner = stage.axes[position], stage.axes[position + 1]
        same = stage.reduced[position] == stage.reduced[position + 1]
        if same and mergeable(outer, inner, list(stage_dims(stage))):
            axis, change = merged(outer, inner)
            rewriter = DimRewriter(lambda d, change=change: d.substitute(change))
            axes = (*stage.axes[:position], axis, *stage.axes[position + 2 :])
            reduced = (*stage.reduced[:position], *stage.reduced[position + 1 :])
            stage = replace(rewrite_stage(stage, rewriter), axes=axes, reduced=reduced)
        position -= 1
    return stage


def _merge_rows(kernel: RowKernel) -> RowKernel:
    position = len(kernel.rows) - 2
    while position >= 0:
        outer, inner = kernel.rows[position], kernel.rows[position + 1]
        if mergeable(outer, inner, [d for s in kernel.stages for d in stage_dims(s)]):
            axis, change = merged(outer, inner)
            rewriter = DimRewriter(lambda d, change=change: d.substitute(change))
            rows = (*kernel.rows[:position], axis, *kernel.rows[position + 2 :])
            stages = [
                replace(
                    rewrite_stage(s, rewriter), axes=tuple([Axis(a.symbol, rewriter.dim(a.extent)) for a in s.axes])
                )
                for s in kernel.stages
            ]
            kernel = replace(kernel, rows=rows, stages=tuple(stages))
        position -= 1
    return kernel


def _merge_row_into_map(kernel: RowKernel) -> RowKernel | None:
    if len(kernel.stages) != 1 or not kernel.rows:
        return None
    (stage,) = kernel.stages
    if stage.reductions or len(stage.axes) != 1:
        return None
    if not mergeable(kernel.rows[-1], stage.axes[0], list(stage_dims(stage))):
        return None
    axis, change = merged(kernel.rows[-1], stage.axes[0])
    rewriter = DimRewriter(lambda d: d.substitute(change))
    stage = replace(rewrite_stage(stage, rewriter), axes=(axis,))
    return replace(kernel, rows=kernel.rows[:-1], stages=(stage,))


def stage_dims(stage: Stage) -> Iterable[Dim]:
    """Every dim of a stage: extents of its loops, which may depend on the row, offsets, and those in its formulas."""
    yield from (axis.extent for axis in stage.axes)
    for store in (*stage.stores, *(s for r in stage.reductions for s in r.stores)):
        yield store.offset
    yield from dims_of(stage_formulas(stage))


def stage_formulas(stage: Stage) -> list[Node]:
    """Every formula of a stage."""
    stores = [*stage.stores, *(s for r in stage.reductions for s in r.stores)]
    found: list[Node] = [s.value for s in stores]
    for reduction in stage.reductions:
        found += [*reduction.init, *reduction.elements, *reduction.update]
    return found


def rewrite_stage(stage: Stage, rewriter: DimRewriter, ends: DimRewriter | None = None) -> Stage:
    """Apply a dim rewriter to everything in a stage but its loops.

    `ends` is for what reductions start from and store, before and after the loops over the axes that they reduce.
    """
    return replace(
        stage,
        stores=tuple(rewrite_store(s, rewriter) for s in stage.stores),
        reductions=tuple(_rewrite_reduction(r, rewriter, ends or rewriter) for r in stage.reductions),
    )


def rewrite_store(store: Store, rewriter: DimRewriter) -> Store:
    """Apply a dim rewriter to the offset and the value of a store."""
    return Store(store.target, rewriter.dim(store.offset), rewriter.scalar(store.value))


def _rewrite_reduction(reduction: Reduction, rewriter: DimRewriter, ends: DimRewriter) -> Reduction:
    return replace(
        reduction,
        init=tuple(map(ends.scalar, reduction.init)),
        elements=tuple(map(rewriter.scalar, reduction.elements)),
        update=tuple(map(rewriter.scalar, reduction.update)),
        stores=tuple(rewrite_store(s, ends) for s in reduction.stores),
    )
