"""Modulo splitting of loops whose index is divided by a small constant: lanes are quotients, each remainder a vector.

With `c = d*q + r`, the remainder `r` selects an element's formula: interior padding (`c % 2`), repetition (`c // 3`),
the bytes of a number. For each of the `d` remainders the formula, with every condition on `r` decided, is computed for
16 quotients at once, and the `d` vectors are stored interleaved, as `16*d` adjacent elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shlo_disc.emit.emitter import is_guard
from shlo_disc.expr.dim import Dim, FloorDiv, Mod, Sym, const, of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import FoldResult, Select
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.index_set_splitting import Decided
from shlo_disc.kernels.kernel import Axis, RowKernel, Scratch, Stage
from shlo_disc.kernels.rewrite import DimRewriter, nodes_of
from shlo_disc.kernels.simplify_kernel import rewrite_stage, rewrite_store, stage_dims, stage_formulas
from shlo_disc.lower_cpu.spelling import LANES
from shlo_disc.lower_cpu.vectorize import can_vectorize
from shlo_disc.records import record

MOST_REMAINDERS = 8  # code is printed for each; registers hold as many vectors
MOST_COLUMNS = 2 * LANES  # where remainders decide several guards; storing so many vectors costs as much as one guard


@record
class ModuloSplit:
    """A map as vectors along `quotient`: one stage per remainder, all with the same store offsets."""

    quotient: Sym
    stages: tuple[Stage, ...]

    @property
    def step(self) -> int:
        """The elements of one iteration."""
        return LANES * len(self.stages)


def modulo_split(stage: Stage, deps: Dependence) -> ModuloSplit | None:
    """The split of a stage if all vectorize; none with reductions, or folds, whose carries would share a name."""
    if stage.reductions or not stage.axes:
        return None
    if any(isinstance(store.target, Scratch) or store.value.dtype.is_complex for store in stage.stores):
        return None
    if any(isinstance(node, FoldResult) for node in nodes_of(stage_formulas(stage))):
        return None
    *outer, lane = stage.axes
    quotient = Axis(Sym(f"{lane.symbol.name}_q"), lane.extent)
    for count in sorted(set(_divisors(stage, lane.symbol)), reverse=True):
        if lane.extent.constant is not None and lane.extent.constant < LANES * count:
            continue  # a line shorter than one iteration
        made = [_with_remainder(replace(stage, axes=(*outer, quotient)), lane.symbol, count, r) for r in range(count)]
        if all(can_vectorize(part, deps) for part in made):
            return ModuloSplit(quotient.symbol, tuple(made))
    return None


def _divisors(stage: Stage, lane: Sym) -> Iterator[int]:
    whole = MOST_COLUMNS if len(_guards(stage)) > 1 else MOST_REMAINDERS
    for numerator, size in divisions(stage, lane):
        if 1 < size <= (whole if numerator == of(lane) else MOST_REMAINDERS):
            yield size


def divisions(stage: Stage, index: Sym) -> Iterator[tuple[Dim, int]]:
    """The numerators of a stage that depend on an index and are divided by a constant, and the constant."""
    for dim in stage_dims(stage):
        for atom in dim.atoms():
            match atom:
                case FloorDiv(numerator, size) | Mod(numerator, size) if index in numerator.symbols():
                    if size.constant:
                        yield numerator, size.constant
                case _:
                    pass


def _guards(stage: Stage) -> set[Select]:
    return {n for n in nodes_of(stage_formulas(stage)) if isinstance(n, Select) and is_guard(n.condition)}


def _with_remainder(stage: Stage, lane: Sym, count: int, remainder: int) -> Stage:
    """Every `count`-th element, from `remainder` on; its store offsets are those of unit-stride lanes."""
    quotient = stage.axes[-1].symbol
    facts = Facts.empty().with_index(quotient, stage.axes[-1].extent)
    rewriter = Decided(facts, {lane: count * of(quotient) + remainder})
    side_by_side = {lane: of(quotient)}
    stores = tuple(
        replace(rewrite_store(store, rewriter), offset=store.offset.substitute(side_by_side)) for store in stage.stores
    )
    return replace(stage, stores=stores)


def join_short_rows(kernel: RowKernel) -> RowKernel:
    """Merge rows and columns of a single map into one loop, if rows are short and contiguous, and it splits."""
    return _joined(kernel, MOST_REMAINDERS)


def join_columns(kernel: RowKernel) -> RowKernel:
    """Merge longer rows too, if their formulas differ by column: vectors along a row would be short."""
    divided = any(any(True for _ in _divisors(s, a.symbol)) for s in kernel.stages for a in s.axes)
    return _joined(kernel, MOST_COLUMNS) if divided else kernel


def _joined(kernel: RowKernel, most: int) -> RowKernel:
    if len(kernel.stages) != 1 or not kernel.rows:
        return kernel
    (stage,), row = kernel.stages, kernel.rows[-1]
    if stage.reductions or len(stage.axes) != 1 or (size := stage.axes[0].extent.constant) is None:
        return kernel
    if not 1 < size <= most or not all(_joins(store.offset, row, stage.axes[0]) for store in stage.stores):
        return kernel
    lane = stage.axes[0].symbol
    change: dict[Sym, Dim] = {row.symbol: of(lane) // size, lane: of(lane) % size}
    joined = rewrite_stage(stage, DimRewriter(lambda dim: dim.substitute(change)))
    offsets = {row.symbol: const(0)}
    stores = tuple(
        replace(new, offset=old.offset.substitute(offsets))
        for new, old in zip(joined.stores, stage.stores, strict=True)
    )
    joined = replace(joined, axes=(Axis(lane, row.extent * size),), stores=stores)
    if modulo_split(joined, Dependence()) is None:
        return kernel
    return replace(kernel, rows=kernel.rows[:-1], stages=(joined,))


def _joins(offset: Dim, row: Axis, lane: Axis) -> bool:
    outer, inner = offset.linear(row.symbol), offset.linear(lane.symbol)
    return outer is not None and inner is not None and inner[0] == const(1) and outer[0] == lane.extent
