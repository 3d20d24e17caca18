"""Register-resident rows: each thread loads its packs of a row once and computes every stage on them.

A first stage copies operands that several stages read to row scratch. If then no thread reads what another one wrote,
all scratch is in registers: the packs of a thread are an array over `u`, and loops over it have `HELD` iterations and
are unrolled.
"""

from __future__ import annotations

from dataclasses import replace

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
from shlo_disc.records import record

HELD = 4  # packs of a thread: 16 registers, and as many for the values computed from them


@record
class RegisterKernel:
    """A kernel with all scratch in registers, the packed plans of its stages, and the packs of a row."""

    kernel: RowKernel
    plans: tuple[StagePlan, ...]
    packs: Dim


def held(kernel: RowKernel, facts: Facts) -> RegisterKernel | None:
    """How to hold the rows of a kernel; None if nothing is reused, or a thread reads what another one wrote."""
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
    """Whether a team can hold a row of so many packs, with at least half of its threads in use."""
    return packs.constant is None or team.size <= 2 * packs.constant <= 2 * team.size * HELD


def _shared_reads(kernel: RowKernel, lane: Axis) -> dict[Load, Scratch]:
    """Scratch for each load of operands that several stages share, and then also for those of the first stage."""
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
    several += [load for load in found if load not in several and _reads(stages[0], load)]  # so that all loads overlap
    return {load: Scratch(f"h{k}", load.dtype, lane.extent) for k, load in enumerate(several)}


def _reads(stage: Stage, load: Load) -> bool:
    return load in nodes_of(stage_formulas(stage))


def _runs_along(load: Load, lane: Axis) -> bool:
    offset = load.index[0]
    split = None if offset.data() else offset.linear(lane.symbol)
    return split is not None and split[0].constant == 1


def _packed(kernel: RowKernel, facts: Facts) -> RegisterKernel | None:
    """Pack all stages with the narrowest width; None if that is not possible, or scratch is not in whole packs."""
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
    """Whether every access to scratch is a whole pack."""
    accesses = [(s.target, s.offset) for s in stores_of(plan.stage)]
    loads = [n for n in nodes_of(stage_formulas(plan.stage)) if isinstance(n, Load)]
    accesses += [(n.source, n.index[0]) for n in loads if isinstance(n.source, Param | Scratch)]
    places = [(target, offset) for target, offset in accesses if isinstance(target, Scratch)]
    packing = plan.packing
    return not places or (packing is not None and all(packing.start(t, o) is not None for t, o in places))
