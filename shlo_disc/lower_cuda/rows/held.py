"""Rows held in registers: each thread loads its packs of a row once, all at a time, and computes every stage on them.

A stage that copies what several stages read to row scratch comes first. If then no thread reads what another wrote, no
scratch needs memory: the packs of a thread are an array over `u`, whose loops have `HELD` turns and are unrolled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from shlo_disc.emit.transposed import reading_instead, unguarded
from shlo_disc.expr.dim import Dim, of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Load
from shlo_disc.kernels.kernel import Axis, Param, RowKernel, Scratch, Stage, Store
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cuda.points import stores_of
from shlo_disc.lower_cuda.rows.scratch import private_scratch
from shlo_disc.lower_cuda.rows.teams import Team
from shlo_disc.lower_cuda.stage_text import StagePlan, is_ordered, pack

HELD = 4  # packs of a thread: 16 registers, and as many for what is computed of them


@dataclass(frozen=True, slots=True)
class RegisterKernel:
    """A kernel whose scratch is all in registers, how its stages are packed, and the packs of a row."""

    kernel: RowKernel
    plans: tuple[StagePlan, ...]
    packs: Dim


def held(kernel: RowKernel, facts: Facts) -> RegisterKernel | None:
    """How to hold the rows of a kernel; None if nothing is read twice, or some thread reads what another wrote."""
    lanes = {axis for stage in kernel.stages for axis in stage.axes}
    if len(lanes) != 1 or any(len(s.axes) > 1 or is_ordered(s) for s in kernel.stages):
        return None
    (lane,) = lanes
    reads = _shared_reads(kernel, lane)
    if not reads and not kernel.scratch:
        return None
    place = of(lane.symbol)
    copied = reading_instead(kernel, {(load, lane): Load(copy, (place,)) for load, copy in reads.items()})
    first = Stage((lane,), (False,), tuple(Store(copy, place, load) for load, copy in reads.items()), ())
    stages = (first, *copied.stages) if reads else copied.stages
    return _packed(replace(copied, stages=stages, scratch=(*kernel.scratch, *reads.values())), facts)


def may_hold(team: Team, packs: Dim) -> bool:
    """Whether a team may hold a row of so many packs, and half of its threads have one."""
    return packs.constant is None or team.size <= 2 * packs.constant <= 2 * team.size * HELD


def _shared_reads(kernel: RowKernel, lane: Axis) -> dict[Load, Scratch]:
    """What several stages read of operands, and then also what the first does: scratch instead of each."""
    written = {s.target for stage in kernel.stages for s in stores_of(stage)}
    stages = [stage for stage in kernel.stages if stage.axes]
    found = dict.fromkeys(
        load
        for stage in stages
        for load in unguarded(stage_formulas(stage))
        if isinstance(load.source, Param) and load.source not in written and _runs_along(load, lane)
    )
    several = [load for load in found if sum(_reads(stage, load) for stage in stages) > 1]
    if not several and not kernel.scratch:
        return {}
    several += [load for load in found if load not in several and _reads(stages[0], load)]  # all loaded at a time
    return {load: Scratch(f"h{k}", load.dtype, lane.extent) for k, load in enumerate(several)}


def _reads(stage: Stage, load: Load) -> bool:
    return load in nodes_of(stage_formulas(stage))


def _runs_along(load: Load, lane: Axis) -> bool:
    offset = load.index[0]
    split = None if offset.data() else offset.linear(lane.symbol)
    return split is not None and split[0].constant == 1


def _packed(kernel: RowKernel, facts: Facts) -> RegisterKernel | None:
    """All stages in packs of the width of the narrowest; None if some are not, or scratch is not in whole packs."""
    plans = [pack(stage, facts) for stage in kernel.stages]
    width = min(plan.width for plan in plans if plan.stage.axes)
    plans = [pack(stage, facts, width) for stage in kernel.stages]
    if width == 1 or any(plan.width != width for plan in plans if plan.stage.axes):
        return None
    if private_scratch(kernel, [plan.width for plan in plans]) != set(kernel.scratch):
        return None
    if not all(_in_packs(plan) for plan in plans):
        return None
    (packs,) = {plan.stage.axes[0].extent for plan in plans if plan.stage.axes}
    return RegisterKernel(kernel, tuple(plans), packs)


def _in_packs(plan: StagePlan) -> bool:
    """Whether every access to scratch is a pack."""
    accesses = [(s.target, s.offset) for s in stores_of(plan.stage)]
    loads = [n for n in nodes_of(stage_formulas(plan.stage)) if isinstance(n, Load)]
    accesses += [(n.source, n.index[0]) for n in loads if isinstance(n.source, Param | Scratch)]
    places = [(target, offset) for target, offset in accesses if isinstance(target, Scratch)]
    packing = plan.packing
    return not places or (packing is not None and all(packing.start(t, o) is not None for t, o in places))
