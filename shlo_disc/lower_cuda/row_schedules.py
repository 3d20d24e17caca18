"""Row kernels: which thread computes which row, and which part of it."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.codegen.host import CallVariant, Condition, GridCall
from shlo_disc.codegen.kernel import RowKernel
from shlo_disc.codegen.naming import NAME
from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.expr.facts import Facts
from shlo_disc.lower_cuda.maps import is_map, print_map
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.lower_cuda.row_cost import MOST_BLOCKS, StageCost, block_cost, stage_costs
from shlo_disc.lower_cuda.row_scratch import offsets
from shlo_disc.lower_cuda.teams import BLOCK, SPILL, THREAD, WARP, WIDE, Team, TeamPrinter, TeamText

MOST_SHARED = 98304  # bytes of a block's shared memory: what cards since sm_80 have, for two blocks on the large ones
SPILL_BLOCKS = 264  # two per multiprocessor of a large card, each with a region of the workspace


def print_rows(kernel: RowKernel, facts: Facts) -> Printed:
    """Maps have kernels of their own; all other rows are computed by teams of threads."""
    if is_map(kernel):
        return print_map(kernel, facts)
    return print_teams(kernel)


def print_teams(kernel: RowKernel) -> Printed:
    """A variant per size of team; the launch table takes the cheapest."""
    printer = TeamPrinter(kernel)
    text = printer.function_text()
    teams = (THREAD, WARP, BLOCK, WIDE, *((SPILL,) if kernel.scratch else ()))
    rows, scratch = product(axis.extent for axis in kernel.rows), offsets(kernel)[1]
    costs = stage_costs(kernel)
    lines, variants = list(text.lines), list[CallVariant]()
    for team in teams:
        lines += ["", *printer.kernel_text(team, text)]
        variants.append(_variant(kernel, team, text, (rows, scratch), costs))
    workspaces = (spilled_bytes(rows, scratch),) if kernel.scratch else ()
    spaces = [rows, *(rows * product(a.extent for a in stage.axes) for stage in kernel.stages)]
    return Printed("\n".join(lines), tuple(variants), tuple(dict.fromkeys(spaces)), workspaces)


def spilled_bytes(rows: Dim, scratch: Dim) -> Dim:
    """The workspace for rows that do not fit into shared memory: nothing if they do."""
    return minimum(1, scratch // (MOST_SHARED + 1)) * minimum(rows, SPILL_BLOCKS) * scratch


def _variant(
    kernel: RowKernel, team: Team, text: TeamText, space: tuple[Dim, Dim], costs: Sequence[StageCost]
) -> CallVariant:
    rows, scratch = space
    most = SPILL_BLOCKS if team.spills else MOST_BLOCKS
    blocks = minimum((rows + (team.rows - 1)) // team.rows, most)
    cycles, latency = block_cost(tuple(costs), rows, most, team.size, team.block)
    if team.spills:
        cycles *= 2
    shared = const(0) if team.spills else scratch * team.rows
    fits = Condition(shared, "<=", const(MOST_SHARED))
    guard = Condition(scratch, ">=", const(MOST_SHARED + 1)) if team.spills else fits
    buffers = tuple(range(len(kernel.params) + team.spills))
    name = f"{NAME}_{team.label}"
    call = GridCall(name, buffers, text.sizes, blocks, team.block, shared, cycles, latency)
    return CallVariant(team.label, (guard,) if kernel.scratch else (), False, (call,))
