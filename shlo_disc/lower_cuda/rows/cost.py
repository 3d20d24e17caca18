"""Costs of a row for a team of threads, for the launch table.

A stage with n points occupies TEAM threads for ceil(n / TEAM) steps, even if few of them have a point in the last step.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shlo_disc.expr.dim import Dim, const, maximum, minimum, product, total
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Binary, Load, Unary
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import Param, RowKernel, Scratch, Stage
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cuda.cost import (
    BARRIER_LATENCY,
    FMA_PER_CYCLE,
    LOAD_LATENCY,
    SHARED_LATENCY,
    SHUFFLE_LATENCY,
    memory_cycles,
)
from shlo_disc.lower_cuda.packed_transpose import TransposedLoad
from shlo_disc.lower_cuda.points import operands_of, point_bytes, stores_of
from shlo_disc.lower_cuda.rows.teams import Team
from shlo_disc.lower_cuda.stage_text import is_ordered
from shlo_disc.records import record

ISSUED = 96  # instructions per cycle and multiprocessor, counted per lane, of at most 128
TURN_WORK = 3  # instructions of an unrolled iteration without a point
IN_FLIGHT, PACKS_IN_FLIGHT = 4, 2  # overlapping loads of one thread
STEP = 8  # latency in cycles of an accumulation, loop overhead included
PLAIN_PENALTY = 9, 8  # single elements take more instructions per byte than packs
INDEX_WORK = 4  # instructions per point besides those of its formulas
L2_SPEED = 2  # of the L2 cache, relative to memory
SPILLED = 2  # slowdown of a row whose scratch is in global memory (mostly in the L2 cache)
MOST_BLOCKS = 1 << 14


@record
class StageCost:
    """Instructions, loads and traffic per point of a stage, and how points are distributed and reduced."""

    points: Dim
    kept: Dim | None  # results of a row, if several: each is reduced by a squad, or by a thread if `serial`
    serial: bool
    width: int  # points that a thread takes at once
    ordered: bool  # whether each thread has a contiguous run of points
    work: int
    loads: int  # of operands
    shared: int  # of scratch
    in_flight: int  # overlapping loads of a thread, of points or packs
    held: int  # iterations of unrolled loops over packs in registers, else 0
    traffic: int
    meets: int  # words that threads exchange in reductions
    barriers: int = 0  # of the whole block, besides those of reductions


def stage_costs(kernel: RowKernel, widths: Sequence[int], holds: int = 0) -> tuple[StageCost, ...]:
    """Costs of all stages; `holds`: packs of a row that a thread keeps in registers, else 0."""
    deps, costs, known = Dependence(), list[StageCost](), set[tuple[Param, Dim]]()
    for stage, width in zip(kernel.stages, widths, strict=True):
        costs.append(_stage_cost(stage, width, deps, known, holds))
        known |= operands_of(stage)
    return tuple(costs)


def _stage_cost(
    stage: Stage, width: int, deps: Dependence, known: Collection[tuple[Param, Dim]], holds: int
) -> StageCost:
    inner = frozenset(a.symbol.name for a in stage.axes)
    nodes = [n for n in nodes_of(stage_formulas(stage)) if inner & deps.of(n)]
    loads = sum(isinstance(n, Load) and isinstance(n.source, Param) for n in nodes)
    shared = 0 if holds else sum(isinstance(n, Load) and isinstance(n.source, Scratch) for n in nodes)
    moved = sum(isinstance(s.target, Param) or not holds for s in stores_of(stage))
    work = sum(_work(n) + _is_narrow(n) for n in nodes if not (holds and isinstance(n, Load))) + moved
    traffic = _traffic_of(stage, deps, known)
    in_flight = holds or (IN_FLIGHT if width == 1 else PACKS_IN_FLIGHT)
    meets = sum(max(1, c.dtype.bytes // 4) for r in stage.reductions for c in r.carries)
    points = product(a.extent for a in stage.axes)
    kept = None
    if stage.reductions and not all(stage.reduced):
        kept = product(a.extent for a, flag in zip(stage.axes, stage.reduced, strict=True) if not flag)
    serial = kept is not None and not stage.reduced[-1]
    meets = 0 if serial else meets
    return StageCost(
        points, kept, serial, width, is_ordered(stage), work, loads, shared, in_flight, holds, traffic, meets
    )


def _traffic_of(stage: Stage, deps: Dependence, known: Collection[tuple[Param, Dim]]) -> int:
    """Traffic of global memory per point in bytes, where repeated loads of a row hit the L2 cache."""
    if not stage.axes:
        return 8
    lane = stage.axes[-1]
    once = point_bytes(stage, lane, deps, skip=known)
    return once + (point_bytes(stage, lane, deps) - once) // L2_SPEED


def turn_cost(turn: TransposedLoad, team: Team) -> StageCost:
    """Cost per row of transposing an operand's tile: a load, a store to scratch, and barriers before and after."""
    traffic = turn.traffic(team.rows)
    return StageCost(turn.lane.extent, None, False, 1, False, 1, 1, 0, IN_FLIGHT, 0, traffic, 0, barriers=2)


def _is_narrow(node: Node) -> bool:
    """Whether a value is converted to or from a float type that is narrower than the one computed in."""
    return isinstance(node, Unary | Binary | Load) and node.dtype.is_float and node.dtype.bytes < 4


def _work(node: Node) -> int:
    match node:
        case Unary():
            return 10
        case Binary(BinaryFn.DIVIDE | BinaryFn.POWER | BinaryFn.REMAINDER | BinaryFn.ATAN2, _, _, _):
            return 12
        case _:
            return 1


def block_cost(costs: Sequence[StageCost], rows: Dim, most: int, team: Team) -> tuple[Dim, Dim]:
    """Cycles and latency of a block of teams, where at most `most` blocks share the rows."""
    teams = minimum((rows + (team.rows - 1)) // team.rows, most) * team.rows
    each = maximum(rows, teams)  # divided by `teams`: the rows that one team computes in sequence
    issue = total(_issue(c, team.size) for c in costs)
    memory = memory_cycles(total(_traffic(c) for c in costs) * team.rows)
    cycles = maximum(issue * team.rows // ISSUED, memory)
    latency = total(_latency(c, team.size) for c in costs)
    each *= SPILLED if team.spills else 1
    return _part(cycles * each, teams), _part(latency * each, teams)


def _part(whole: Dim, count: Dim) -> Dim:
    return whole // maximum(count, 1)


def _traffic(cost: StageCost) -> Dim:
    up, down = (1, 1) if cost.width > 1 else PLAIN_PENALTY
    return cost.points * (cost.traffic * up) // down


def _steps(cost: StageCost, size: int) -> Dim:
    """Points, or packs, per thread of a team of `size`."""
    if cost.kept is None:
        return _shares(cost.points, size * cost.width)
    reduced = cost.points // maximum(1, cost.kept)
    if cost.serial:
        return _shares(cost.kept, size) * reduced
    squad = min(size, 32)
    return _shares(cost.kept, size // squad) * _shares(reduced, squad * cost.width)


def _shares(points: Dim, size: int) -> Dim:
    return (points + (size - 1)) // size


def _issue(cost: StageCost, size: int) -> Dim:
    """Instruction slots of a row, counted per lane."""
    slots = _steps(cost, size) * (size * (cost.work * cost.width + cost.loads + cost.shared + INDEX_WORK))
    slots += cost.held * TURN_WORK * size
    if cost.loads and (size == 1 or cost.ordered):
        # accesses of a warp's lanes are a row or a run apart: a load touches up to 32 cache lines, one per cycle
        apart = (cost.points + (size - 1)) // size * cost.traffic // 4
        slots += cost.points * (cost.loads * FMA_PER_CYCLE // 32) * minimum(32, maximum(1, apart))
    return slots + const(cost.meets * 3 * _meetings(size) * size)


def _latency(cost: StageCost, size: int) -> Dim:
    waiting = LOAD_LATENCY // cost.in_flight if cost.loads else SHARED_LATENCY // cost.in_flight if cost.shared else 0
    step = max(STEP * cost.width, waiting)
    meeting = _meetings(size) * SHUFFLE_LATENCY + (BARRIER_LATENCY if size > 32 else 0)
    first = max(LOAD_LATENCY, step) if cost.loads else step
    meeting = cost.barriers * BARRIER_LATENCY + (meeting if cost.meets else 0)
    return _steps(cost, size) * step + const(first - step + meeting)


def _meetings(size: int) -> int:
    """Shuffle steps of a reduction."""
    return size.bit_length() - 1
