"""Schedules of row kernels: which threads compute which row, and which part of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.expr.facts import Facts
from shlo_disc.host_ir import GridLaunch, Guard, Variant
from shlo_disc.kernels.index_set_splitting import Seams
from shlo_disc.kernels.inplace import Pairs, positions, row_pairs
from shlo_disc.kernels.kernel import Param, RowKernel, Stage
from shlo_disc.lower_cuda.maps import is_map, print_map
from shlo_disc.lower_cuda.packed_transpose import TransposedLoad, spread, with_transposed_loads
from shlo_disc.lower_cuda.printed import KernelText, Printed, Way
from shlo_disc.lower_cuda.rows.columns import is_columns, print_columns, with_columns
from shlo_disc.lower_cuda.rows.cost import MOST_BLOCKS, block_cost, stage_costs, turn_cost
from shlo_disc.lower_cuda.rows.held import HELD, held, may_hold
from shlo_disc.lower_cuda.rows.scratch import offsets
from shlo_disc.lower_cuda.rows.teams import (
    BLOCK,
    HOLDING,
    OCTET,
    SPILL,
    THREAD,
    TILE8,
    TILE16,
    TILE32,
    WARP,
    WIDE,
    Team,
    TeamPrinter,
    TeamText,
)
from shlo_disc.lower_cuda.stage_text import StagePlan, is_ordered, pack
from shlo_disc.records import record

# Packs of a map evaluate a condition once; launches need the sizes of loops; a division is cheaper than more loops.
SEAMS = Seams(maps=False, hidden=False, strips=False)
MOST_SHARED = 230400  # bytes of dynamic shared memory: the 227 KB of sm_90 less what reductions take
EVERY_SHARED = (
    98304  # available on every card since sm_80; the launch table rejects variants that need more than a card has
)
SPILL_BLOCKS = 132  # one per multiprocessor of a large card, each with a region of the workspace
# Least and largest lengths of rows, if known, for which a team gets a kernel.
_LENGTHS = {THREAD: (0, 16), OCTET: (8, 256), WARP: (32, 4096), BLOCK: (512, 1 << 62), WIDE: (4096, 1 << 62)}
_TILE_LENGTHS = {TILE32: (0, 256), TILE16: (64, 4096), TILE8: (1024, 1 << 62)}


def print_rows(kernel: RowKernel, facts: Facts) -> Printed:
    """Print variants: maps and column reductions have own kernels, other rows a team; few long rows may be split."""
    if is_map(kernel):
        return print_map(kernel, facts)
    if not is_columns(kernel):
        return print_teams(kernel, facts, team_pairs(kernel, facts))
    if len(kernel.stages) == 1 and not kernel.stages[0].reduced[-1]:
        return print_columns(kernel, facts)
    return with_columns(print_teams(kernel, facts), kernel, facts)


def team_pairs(kernel: RowKernel, facts: Facts) -> Pairs:
    """What the teams of a row kernel may write in place.

    Stages that stride over their points with all threads of a team, in packs of equal width, assign points alike.
    """

    def in_step(stage: Stage, plan: StagePlan) -> int | None:
        walked = not stage.reductions or (all(stage.reduced) and not is_ordered(stage))
        return plan.width if stage.axes and walked else None

    plans = _schedules(kernel, facts)[-1].plans
    return row_pairs(kernel, [in_step(stage, plan) for stage, plan in zip(kernel.stages, plans, strict=True)])


def print_teams(kernel: RowKernel, facts: Facts, pairs: Pairs = ()) -> Printed:
    """Print a variant per size of team, by single points, packs and tiles; the launch table takes the cheapest.

    `pairs` of params may alias.
    """
    single, *_ = schedules = _schedules(kernel, facts, pairs)
    plans = schedules[-1].plans
    lines, variants = list[str](), list[Variant[Dim]]()
    dealt = [(schedule, _teams(kernel, plans, packed=schedule is not single)) for schedule in schedules]
    if (row := held(kernel, facts)) is not None:
        schedule = _RowSchedule(row.kernel, row.plans, single.aliases, "_held", packs=row.packs)
        dealt.append((schedule, [team for team in HOLDING if may_hold(team, row.packs)]))
    if (found := with_transposed_loads(kernel)) is not None:
        tiled = _RowSchedule(found.kernel, _single_points(found.kernel), single.aliases, "_turned", found.turns)
        dealt.append((tiled, _of_length(kernel, _TILE_LENGTHS, tiled.scratch)))
    for schedule, teams in dealt:
        if teams:
            ways = schedule.ways(teams)
            lines += [*ways[0].functions, "", *(line for way in ways for line in (*way.text, ""))]
            variants += [way.variant for way in ways]
    rows, scratch = product(axis.extent for axis in kernel.rows), offsets(kernel)[1]
    workspaces = (spilled_bytes(rows, scratch),) if _may_spill(kernel) else ()
    spaces = [rows, *(rows * product(a.extent for a in stage.axes) for stage in kernel.stages)]
    in_place = positions(pairs, kernel.params)
    return Printed("\n".join(lines), tuple(variants), tuple(dict.fromkeys(spaces)), workspaces, in_place)


def block_ways(kernel: RowKernel, facts: Facts, block: int, pairs: Pairs = ()) -> tuple[Way, ...]:
    """Ways of teams in blocks of `block` threads, within the shared memory of any card.

    If the size of a row's scratch is not static, the last way spills, for sizes that do not fit.
    """
    schedules, found = _schedules(kernel, facts, pairs), list[Way]()
    size = offsets(kernel)[1].constant
    for schedule in schedules:
        teams = _teams(kernel, schedules[-1].plans, packed=bool(schedule.suffix))
        teams = [replace(t, block=block) for t in teams if t.size <= block] or [replace(BLOCK, block=block)]
        fitting = [t for t in teams if size is None or size * t.rows <= EVERY_SHARED]
        if size is None and not any(t.size == block for t in fitting):
            fitting.append(replace(BLOCK, block=block))  # the one with the least shared memory
        found += schedule.ways(fitting) if fitting else []
    if _may_spill(kernel):
        found += schedules[0].ways([replace(SPILL, size=block, block=block)])
    return tuple(found)


def _schedules(kernel: RowKernel, facts: Facts, pairs: Pairs = ()) -> tuple[_RowSchedule, ...]:
    """The schedules by single points and, if any stage is packed, by packs."""
    aliases = frozenset(param for pair in pairs for param in pair)
    single = _RowSchedule(kernel, _single_points(kernel), aliases)
    plans = tuple(pack(stage, facts) for stage in kernel.stages)
    return (
        (single, _RowSchedule(kernel, plans, aliases, "_packed")) if any(plan.packing for plan in plans) else (single,)
    )


def _single_points(kernel: RowKernel) -> tuple[StagePlan, ...]:
    return tuple(StagePlan(stage) for stage in kernel.stages)


def spilled_bytes(rows: Dim, scratch: Dim) -> Dim:
    """Bytes of the workspace for rows that do not fit into shared memory: 0 if they fit."""
    return minimum(1, scratch // (EVERY_SHARED + 1)) * minimum(rows, SPILL_BLOCKS) * scratch


def _teams(kernel: RowKernel, plans: Sequence[StagePlan], *, packed: bool) -> list[Team]:
    """The teams that may be the fastest, as far as sizes are known."""
    least, most = _lengths(kernel)
    scratch = offsets(kernel)[1]
    teams = _of_length(kernel, _LENGTHS, scratch) or ([BLOCK] if _may_fit(BLOCK, scratch) else [])
    spill = [SPILL] if _may_spill(kernel) else []
    if packed:
        return [*(t for t in teams if most == least or t is not THREAD), *spill]
    if all(p.packing and not p.packing.guards for p in plans):  # packs are illegal only for misaligned arguments
        teams = teams[:1]
    elif any(p.packing for p in plans):
        teams = [t for t in teams if t not in (OCTET, BLOCK)] or teams
    return [*teams, *spill]


def _lengths(kernel: RowKernel) -> tuple[int, int]:
    """Bounds of the length of rows, as far as sizes are known."""
    sizes = [product(a.extent for a in stage.axes).constant for stage in kernel.stages]
    known = [size for size in sizes if size is not None]
    longest = max(known, default=0)
    return longest, longest if len(known) == len(sizes) else 1 << 62


def _of_length(kernel: RowKernel, lengths: Mapping[Team, tuple[int, int]], scratch: Dim) -> list[Team]:
    """The teams for rows of these lengths whose scratch may fit into shared memory."""
    least, most = _lengths(kernel)
    return [t for t, (low, high) in lengths.items() if most >= low and least <= high and _may_fit(t, scratch)]


def _may_fit(team: Team, scratch: Dim) -> bool:
    """Whether the scratch of a block's rows may fit into shared memory."""
    return scratch.constant is None or scratch.constant * team.rows <= MOST_SHARED


def _may_spill(kernel: RowKernel) -> bool:
    size = offsets(kernel)[1].constant
    return bool(kernel.scratch) and (size is None or size > EVERY_SHARED)


@record
class _RowSchedule:
    """How the stages of a row kernel are printed."""

    kernel: RowKernel
    plans: tuple[StagePlan, ...]
    aliases: frozenset[Param]
    suffix: str = ""
    turns: tuple[TransposedLoad, ...] = ()
    packs: Dim | None = None  # of a row, if rows are held in registers

    @property
    def scratch(self) -> Dim:
        """The pitch of rows' scratch in bytes."""
        size = const(0) if self.packs is not None else offsets(self.kernel)[1]
        return spread(size) if self.turns else size

    @property
    def _holds(self) -> int:
        return HELD if self.packs is not None else 0

    def ways(self, teams: Sequence[Team]) -> list[Way]:
        """Print a kernel per team; they share a function template."""
        printer = TeamPrinter(self.kernel, self.plans, self.suffix, self.aliases, self.turns, holds=self._holds)
        text = printer.function_text()
        return [self._way(team, printer.kernel_text(team, text), text) for team in teams]

    def _way(self, team: Team, printed: KernelText, text: TeamText) -> Way:
        kernel, scratch = self.kernel, self.scratch
        rows, packed = product(axis.extent for axis in kernel.rows), any(p.packing for p in self.plans)
        most = SPILL_BLOCKS if team.spills else MOST_BLOCKS
        blocks = minimum((rows + (team.rows - 1)) // team.rows, most)
        costs = [turn_cost(turn, team) for turn in self.turns]
        costs += stage_costs(kernel, [p.width for p in self.plans], self._holds)
        cycles, latency = block_cost(costs, rows, most, team)
        shared = const(0) if team.spills else scratch * team.rows
        fits = Guard(shared, "<=", const(MOST_SHARED))
        guard = Guard(scratch, ">=", const(EVERY_SHARED + 1)) if team.spills else fits
        guards = [g for plan in self.plans if plan.packing for g in plan.packing.guards]
        if self.packs is not None:
            guards.append(Guard(self.packs, "<=", const(team.size * HELD)))
        elif kernel.scratch and guard.lhs.constant is None:
            guards.append(guard)
        buffers = tuple(range(len(kernel.params) + team.spills))
        call = GridLaunch(printed.name, buffers, text.sizes, blocks, team.block, shared, cycles, latency)
        label = f"{team.label}, packs" if packed else team.label
        label = f"{team.label}, held" if self.packs is not None else label
        return Way(label, (call,), (printed,), text.lines, tuple(dict.fromkeys(guards)), packed)
