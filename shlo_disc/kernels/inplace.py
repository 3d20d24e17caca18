"""Which of a kernel's results may overwrite an operand in place.

Each element of such an operand is read only by the point that overwrites it, and not after the write. Rows run in
parallel in any order, so a row may read only what it writes itself. If a row has one thread, a stage ends before the
next begins, and at each point the stores of a stage happen in order, before its reductions advance. If a row has
several threads, one may be stages ahead of another, so the same thread must read and write an element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import cast

from shlo_disc.expr.dim import Dim
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Load, Scalar
from shlo_disc.kernels.attention.forward import AttentionKernel
from shlo_disc.kernels.kernel import (
    Axis,
    ConvKernel,
    DotKernel,
    Param,
    RowKernel,
    ScatterKernel,
    Stage,
    Store,
)
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.records import record

Pairs = tuple[tuple[Param, Param], ...]  # an operand, and a result that may overwrite it


@record
class _Read:
    """A load: its stage and axes, and the first store that comes after it (counted from 1; infinity: none)."""

    offset: Dim
    stage: int
    axes: tuple[Axis, ...]
    position: float


def row_pairs(kernel: RowKernel, spread: Sequence[int | None] | None = None) -> Pairs:
    """The in-place pairs of a row kernel.

    `spread` is None if each row has one thread. Otherwise it has a number per stage, and stages with equal numbers
    distribute their points to the threads of a row in the same way; None where the distribution is unknown.
    """
    reads, written = dict[Param, list[_Read]](), dict[Param, int]()
    for number, stage in enumerate(kernel.stages):
        _read_stage(number, stage, reads)
        for store in _stores(stage):
            if isinstance(store.target, Param):
                written[store.target] = written.get(store.target, 0) + 1
    found = list[tuple[Param, Param]]()
    for number, stage in enumerate(kernel.stages):
        for position, store in enumerate(stage.stores, start=1):
            target = store.target
            if not isinstance(target, Param) or written[target] > 1:
                continue
            for source, loads in reads.items():
                fits = source.dtype is target.dtype and source not in written
                if fits and all(_precedes(r, number, position, store, stage, spread) for r in loads):
                    found.append((source, target))
    return tuple(found)


def _precedes(
    read: _Read, number: int, position: int, store: Store, stage: Stage, spread: Sequence[int | None] | None
) -> bool:
    """Whether a load reads the element that a store then overwrites, in the same thread."""
    if read.offset != store.offset:
        return False
    if spread is not None and (spread[number] is None or spread[read.stage] != spread[number]):
        return False
    if read.stage == number:
        return read.position <= position
    return read.stage < number and read.axes == stage.axes


def _read_stage(number: int, stage: Stage, reads: dict[Param, list[_Read]]) -> None:
    after = float("inf")
    sinks: list[tuple[float, Iterable[Scalar], Dim | None]] = [
        (position, (store.value,), store.offset) for position, store in enumerate(stage.stores, start=1)
    ]
    for reduction in stage.reductions:
        sinks.append((after, (*reduction.init, *reduction.elements, *reduction.update), None))
        sinks += [(after, (store.value,), store.offset) for store in reduction.stores]
    for position, values, offset in sinks:
        for load in _loads((*values, *_formulas(offset))):
            if isinstance(load.source, Param):
                reads.setdefault(load.source, []).append(_Read(load.index[0], number, stage.axes, position))


def _stores(stage: Stage) -> Iterator[Store]:
    yield from stage.stores
    for reduction in stage.reductions:
        yield from reduction.stores


def _loads(roots: Iterable[Node]) -> Iterator[Load]:
    return (node for node in nodes_of(roots) if isinstance(node, Load))


def _formulas(dim: Dim | None) -> list[Node]:
    return [] if dim is None else [data.formula for data in dim.data()]


def epilogue_pairs(kernel: DotKernel | ConvKernel | AttentionKernel) -> Pairs:
    """The in-place pairs of an epilogue: an element is stored once, but the template reads its operands throughout."""
    others = [getattr(kernel, field.name) for field in fields(kernel) if field.name not in ("params", "epilogue")]
    busy = set(mentioned(others))
    stage = Stage((), (), kernel.epilogue, ())
    return tuple(pair for pair in row_pairs(RowKernel(kernel.params, (), (stage,), ())) if pair[0] not in busy)


def scatter_pairs(kernel: ScatterKernel) -> Pairs:
    """The in-place pairs of a scatter: operands that it only copies, or reads before it overwrites them."""
    roots: list[Node] = [kernel.in_bounds, *(t.value for t in kernel.targets if not kernel.reads_ahead)]
    roots += [node for t in kernel.targets for node in _formulas(t.offset)]
    roots += [] if kernel.sweep is None else [store.value for store in kernel.sweep.stores]
    read = {load.source for load in _loads(roots)}
    sources = [start.source for start in kernel.starts]
    return tuple(
        (start.source, start.target)
        for start in kernel.starts
        if start.source is not None and start.source not in read and sources.count(start.source) == 1
    )


def mentioned(value: object) -> Iterator[Param]:
    """Every param that occurs in a part of a kernel."""
    match value:
        case Param():
            yield value
        case Node():
            yield from (load.source for load in _loads((value,)) if isinstance(load.source, Param))
        case tuple() | list():
            for one in cast("Sequence[object]", value):
                yield from mentioned(one)
        case _ if is_dataclass(value):
            yield from mentioned([getattr(value, field.name) for field in fields(value)])
        case _:
            pass


def positions(pairs: Pairs, params: Sequence[Param]) -> tuple[tuple[int, int], ...]:
    """Pairs as positions in a kernel's params."""
    numbers = {param: number for number, param in enumerate(params)}
    return tuple((numbers[source], numbers[target]) for source, target in pairs)
