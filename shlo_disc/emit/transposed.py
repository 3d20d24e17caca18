"""Operands that are strided along a kernel's lanes and contiguous along its rows.

A target that computes several adjacent rows as one task transposes them on their way to its threads or lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from shlo_disc.analysis.access import children
from shlo_disc.emit.emitter import is_guard
from shlo_disc.expr.dim import Sym
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Load, Scalar, Select
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import Axis, Param, RowKernel, Stage
from shlo_disc.kernels.rewrite import DimRewriter
from shlo_disc.kernels.simplify_kernel import rewrite_stage, stage_formulas

FEWEST = 8  # rows, or steps of the lane, where their number is static

Read: TypeAlias = tuple[Load, Axis]  # a strided load, and the single loop of the stages that contain it


def transposed_reads(kernel: RowKernel, accepts: Callable[[Stage], bool]) -> tuple[Read, ...]:
    """The loads across the last row axis that accepted stages of a reducing kernel execute at each of their points."""
    if not kernel.rows or not any(stage.reductions for stage in kernel.stages) or _few(kernel.rows[-1]):
        return ()
    deps, found = Dependence(), dict[Read, None]()
    rows = {axis.symbol.name for axis in kernel.rows}
    for stage in kernel.stages:
        if len(stage.axes) != 1 or _few(stage.axes[0]) or not accepts(stage):
            continue
        (lane,) = stage.axes
        for load in unguarded(stage_formulas(stage)):
            (offset,) = load.index
            known = not deps.of(lane.extent) and not offset.data() and deps.of(offset) <= {*rows, lane.symbol.name}
            if known and across_row(load, lane.symbol, kernel.rows[-1:], deps) is not None:
                found[load, lane] = None
    return tuple(found)


def _few(axis: Axis) -> bool:
    return axis.extent.constant is not None and axis.extent.constant < FEWEST


def reading_instead(kernel: RowKernel, reads: Mapping[Read, Load]) -> RowKernel:
    """The kernel with `reads` replaced by other loads."""

    def changed(stage: Stage) -> Stage:
        own = {load: other for (load, lane), other in reads.items() if stage.axes == (lane,)}
        return rewrite_stage(stage, _LoadReplacer(own)) if own else stage

    return replace(kernel, stages=tuple(map(changed, kernel.stages)))


class _LoadReplacer(DimRewriter):
    """Replaces loads by other loads."""

    def __init__(self, reads: Mapping[Load, Load]) -> None:
        super().__init__(lambda dim: dim)
        self._reads = reads

    def _rebuild(self, node: Scalar) -> Scalar:
        if isinstance(node, Load) and (other := self._reads.get(node)) is not None:
            return other
        return super()._rebuild(node)


def unguarded(roots: Iterable[Node]) -> Iterator[Load]:
    """The loads that are executed for every element, under no guard."""
    seen, waiting = set[Node](), list(roots)
    while waiting:
        node = waiting.pop(0)
        if node not in seen:
            seen.add(node)
            match node:
                case Load():
                    yield node
                case Select(condition, _, _) if is_guard(condition):
                    pass
                case _:
                    waiting += children(node)


def across_row(load: Load, lane: Sym, rows: Sequence[Axis], deps: Dependence) -> Axis | None:
    """The row axis along which a load that is strided along the lane is contiguous."""
    offset = load.index[0]
    if not isinstance(load.source, Param) or (split := offset.linear(lane)) is None:
        return None
    stride, rest = split
    if not stride.terms or stride.constant == 1 or deps.of(stride) or lane.name in deps.of(rest):
        return None
    for axis in rows:
        along = rest.linear(axis.symbol)
        if along is not None and along[0].constant == 1 and axis.symbol.name not in deps.of(along[1]):
            return axis
    return None
