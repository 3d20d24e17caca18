"""Strip-mining: a loop whose index is divided becomes two, over the quotient and over the remainder.

A tile, or a reshape whose dims do not nest, reads at `c // d` and `c % d` of the innermost loop's symbol `c`. If `d`
divides the trip count, the two loops of `c = d*q + r` for `0 <= r < d` are equivalent, and facts simplify the quotient
to `q` and the remainder to `r`: the accesses are affine again (strip mining; Wolfe, "High Performance Compilers for
Parallel Computing", 1996, 9.9). This undoes merges of `simplify_kernel.merge_loops` that went too far.
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

SHORTEST = 16  # least trip count of an inner loop worth making, where it is constant


def mine_strips(kernel: RowKernel, facts: Facts) -> RowKernel:
    """Strip-mine the innermost loops of maps by the sizes by which their symbols are divided.

    Reductions keep their loops, as the order of their elements is the order of summation. So do maps next to reductions
    in a kernel without rows, whose stages share columns.
    """
    reduces = any(stage.reductions for stage in kernel.stages)
    if reduces and not kernel.rows:
        return kernel
    return replace(kernel, stages=tuple(mine_stage(stage, kernel.rows, facts) for stage in kernel.stages))


def mine_stage(stage: Stage, rows: Sequence[Axis], facts: Facts) -> Stage:
    """Strip-mine the innermost loop of a stage if it is a map. `rows`: axes that are fixed during a stage."""
    for axis in rows:
        facts = facts.with_index(axis.symbol, axis.extent)
    while not stage.reductions and stage.axes and (size := _divisor(stage, facts)) is not None:
        stage = _strips(stage, size, facts)
    return stage


def _divisor(stage: Stage, facts: Facts) -> Dim | None:
    """A size by which the innermost loop's index is divided, and which divides its trip count."""
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
