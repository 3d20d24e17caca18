"""Strip-mining: a loop whose index is divided becomes two, over the quotient and over the remainder.

A tile, or a reshape whose dims do not nest, reads at `c // d` and `c % d` of the innermost loop's symbol `c`. If `d`
divides the steps of the loop, `c = d*q + r` for `0 <= r < d` says the same by two loops, and facts make `q` and `r` of
the quotient and of the remainder: what was divided is affine again (strip mining; Wolfe, "High Performance Compilers
for Parallel Computing", 1996, 9.9). It undoes what `simplify_kernel.merge_loops` did where that was one loop too many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shlo_disc.expr.dim import Dim, FloorDiv, Mod, Sym, const, divide, of
from shlo_disc.expr.facts import Facts
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.index_set_splitting import Decided
from shlo_disc.kernels.kernel import Axis, RowKernel, Stage
from shlo_disc.kernels.simplify_kernel import rewrite_stage, stage_dims

SHORTEST = 16  # steps of an inner loop that is worth making, where their number is known


def mine_strips(kernel: RowKernel, facts: Facts) -> RowKernel:
    """Take the innermost loops of maps apart at what their symbols are divided by.

    Reductions keep their loops: the order of their elements is the order of their sums. So do the maps beside
    reductions of a kernel without rows, whose stages share columns.
    """
    reduces = any(stage.reductions for stage in kernel.stages)
    if reduces and not kernel.rows:
        return kernel
    return replace(kernel, stages=tuple(mine_stage(stage, kernel.rows, facts) for stage in kernel.stages))


def mine_stage(stage: Stage, rows: Sequence[Axis], facts: Facts) -> Stage:
    """A stage whose innermost loop is taken apart, if it is a map. `rows`: what stays the same during a stage."""
    for axis in rows:
        facts = facts.with_index(axis.symbol, axis.extent)
    while not stage.reductions and stage.axes and (size := _divisor(stage, facts)) is not None:
        stage = _strips(stage, size, facts)
    return stage


def _divisor(stage: Stage, facts: Facts) -> Dim | None:
    """A size that divides the innermost loop's index, and its number of steps."""
    lane = stage.axes[-1]
    fitting = (d for d in _divisors(stage, lane.symbol) if d != lane.extent)
    return next((d for d in fitting if facts.canonical(lane.extent % d) == const(0)), None)


def _divisors(stage: Stage, lane: Sym) -> Iterator[Dim]:
    deps = Dependence()
    for dim in stage_dims(stage):
        for atom in dim.atoms():
            match atom:
                case FloorDiv(numerator, size) | Mod(numerator, size):
                    split = numerator.linear(lane)
                    short = size.constant is not None and size.constant < SHORTEST
                    if split is None or split[0] != const(1) or short or size.data() or deps.of(size):
                        continue
                    if not divide(split[1], size)[1].terms:
                        yield size
                case _:
                    pass


def _strips(stage: Stage, size: Dim, facts: Facts) -> Stage:
    """`stage` with the innermost loop in strips of `size` steps."""
    *outer, lane = stage.axes
    strip = Axis(Sym(f"{lane.symbol.name}_{len(stage.axes)}"), facts.canonical(lane.extent // size))
    axes = (*outer, strip, Axis(lane.symbol, size))
    for axis in axes:
        facts = facts.with_index(axis.symbol, axis.extent)
    rewriter = Decided(facts, {lane.symbol: size * of(strip.symbol) + of(lane.symbol)})
    return replace(rewrite_stage(stage, rewriter), axes=axes, reduced=(False,) * len(axes))
