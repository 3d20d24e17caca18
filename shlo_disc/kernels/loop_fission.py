"""Loop fission: every stage of a row kernel becomes a kernel of its own over all rows.

Values passed between stages (row scalars and row scratch) go through workspaces, so that each stage can fill the grid
even if there are few rows. Scratch `t` of row `r` lies at `t_size * r`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shlo_disc.expr.dim import Dim, const, of, product
from shlo_disc.expr.scalar import Arg, Load, Scalar
from shlo_disc.kernels.kernel import Param, Reduction, RowKernel, Scratch, Stage, Store
from shlo_disc.kernels.rewrite import DimRewriter, nodes_of
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.records import record


@record
class Staged:
    """Stages whose axes begin with the kernel's rows, and the workspaces between them with their element counts."""

    stages: tuple[Stage, ...]
    workspaces: tuple[tuple[Param, Dim], ...]


def take_apart(kernel: RowKernel) -> Staged:
    """Add the rows to each stage's axes; scratch, and row scalars that later stages read, become workspaces."""
    row, rows = const(0), product(a.extent for a in kernel.rows)
    for axis in kernel.rows:
        row = row * axis.extent + of(axis.symbol)
    read = {n.source for stage in kernel.stages for n in nodes_of(stage_formulas(stage)) if isinstance(n, Load)}
    needed = [s for s in kernel.scratch if s in read]
    spilled = {s: Param(f"w{k}", s.dtype) for k, s in enumerate(needed)}
    workspaces = [(spilled[s], rows * s.size) for s in needed]
    carried = dict[str, Param]()
    for arg in _read_later(kernel):
        carried[arg.name] = Param(f"w{len(workspaces)}", arg.dtype)
        workspaces.append((carried[arg.name], rows))
    stages = list[Stage]()
    known = dict[str, Load]()
    for stage in kernel.stages:
        own = _carries(stage)
        earlier = {name: load for name, load in known.items() if name not in {arg.name for arg in own}}
        stages.append(_Spiller(spilled, earlier, row).stage(stage, carried, kernel))
        for arg in (c for c in own if c.name in carried):
            known[arg.name] = Load(carried[arg.name], (row,))
    return Staged(tuple(stages), tuple(workspaces))


def _read_later(kernel: RowKernel) -> list[Arg]:
    """The row scalars that a later stage reads; the segments of a split stage share the names of their carries."""
    found, made = dict[Arg, None](), set[Arg]()
    for stage in kernel.stages:
        own = _carries(stage)
        read = (n for n in nodes_of(stage_formulas(stage)) if isinstance(n, Arg))
        found.update((arg, None) for arg in read if arg in made and arg not in own)
        made.update(own)
    return list(found)


def _carries(stage: Stage) -> set[Arg]:
    return {carry for reduction in stage.reductions for carry in reduction.carries}


class _Spiller(DimRewriter):
    """Replaces reads of scratch and of earlier stages' row scalars by reads of workspaces."""

    def __init__(self, spilled: Mapping[Scratch, Param], known: Mapping[str, Load], row: Dim) -> None:
        super().__init__(lambda dim: dim)
        self._spilled, self._known, self._row = spilled, known, row

    def stage(self, stage: Stage, carried: Mapping[str, Param], kernel: RowKernel) -> Stage:
        """The stage with its rows as axes."""
        return replace(
            stage,
            axes=(*kernel.rows, *stage.axes),
            reduced=(*(False for _ in kernel.rows), *stage.reduced),
            stores=self._stores(stage.stores),
            reductions=tuple(self._reduction(r, carried) for r in stage.reductions),
        )

    def _reduction(self, reduction: Reduction, carried: Mapping[str, Param]) -> Reduction:
        handed = [Store(carried[c.name], self._row, c) for c in reduction.carries if c.name in carried]
        return replace(
            reduction,
            init=tuple(map(self.scalar, reduction.init)),
            elements=tuple(map(self.scalar, reduction.elements)),
            update=tuple(map(self.scalar, reduction.update)),
            stores=(*self._stores(reduction.stores), *handed),
        )

    def _stores(self, stores: Sequence[Store]) -> tuple[Store, ...]:
        """The rewritten stores, without those to scratch that is never read."""
        found = list[Store]()
        for store in stores:
            offset, value = self.dim(store.offset), self.scalar(store.value)
            if isinstance(store.target, Param):
                found.append(Store(store.target, offset, value))
            elif store.target in self._spilled:
                found.append(Store(*self._place(store.target, offset), value))
        return tuple(found)

    def _place(self, scratch: Scratch, offset: Dim) -> tuple[Param, Dim]:
        return self._spilled[scratch], self._row * scratch.size + offset

    def _rebuild(self, node: Scalar) -> Scalar:
        match node:
            case Arg(name, _):
                return self._known.get(name, node)
            case Load(source, (offset,)) if isinstance(source, Scratch):
                target, place = self._place(source, self.dim(offset))
                return Load(target, (place,))
            case _:
                return super()._rebuild(node)
