"""Fusion of a kernel's only reduction with the map over its results: the map is computed where results are stored."""

from __future__ import annotations

from dataclasses import replace

from shlo_disc.expr.dim import Dim, Sym, of
from shlo_disc.expr.scalar import Load, Scalar
from shlo_disc.kernels.kernel import Reduction, RowKernel, Scratch, Stage, Store
from shlo_disc.kernels.rewrite import DimRewriter, nodes_of
from shlo_disc.kernels.simplify_kernel import rewrite_store


def store_results(kernel: RowKernel) -> RowKernel:
    """Merge a reduction and the map over its results into one stage, if the kernel is these two."""
    if len(kernel.stages) != 2:
        return kernel
    first, last = kernel.stages
    kept = [a for a, flag in zip(first.axes, first.reduced, strict=True) if not flag]
    same = [a.extent for a in kept] == [a.extent for a in last.axes]
    if len(first.reductions) != 1 or first.stores or last.reductions or not same:
        return kernel
    (reduction,) = first.reductions
    change = {theirs.symbol: of(ours.symbol) for theirs, ours in zip(last.axes, kept, strict=True)}
    stores = _at_results(last, reduction, change)
    if any(isinstance(n, Load) and isinstance(n.source, Scratch) for n in nodes_of([s.value for s in stores])):
        return kernel
    written = tuple(s for s in reduction.stores if s.target not in kernel.scratch)
    merged = replace(first, reductions=(replace(reduction, stores=(*written, *stores)),))
    return replace(kernel, stages=(merged,), scratch=())


def _at_results(stage: Stage, reduction: Reduction, change: dict[Sym, Dim]) -> tuple[Store, ...]:
    """The stores of a map over the results, where loads of scratch are replaced by what the reduction stores there."""
    known = {
        Load(s.target, (s.offset,)): s.value
        for s in reduction.stores
        if isinstance(s.target, Scratch) and s.target.dtype == s.value.dtype
    }
    reader = _ResultReader(change, known)
    return tuple(rewrite_store(store, reader) for store in stage.stores)


class _ResultReader(DimRewriter):
    """Substitutes the loops of the reduction, and its results for loads of them."""

    def __init__(self, change: dict[Sym, Dim], known: dict[Load, Scalar]) -> None:
        super().__init__(lambda dim: dim.substitute(change))
        self._known = known

    def _rebuild(self, node: Scalar) -> Scalar:
        found = super()._rebuild(node)
        return self._known.get(found, found) if isinstance(found, Load) else found
