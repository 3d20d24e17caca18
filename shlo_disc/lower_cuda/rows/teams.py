"""Rows x stages on a GPU: a team of threads (from one to a block) computes a row, one stage after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shlo_disc.emit.indices import size_name
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT, Scope
from shlo_disc.expr.dim import product
from shlo_disc.kernels.kernel import Param, RowKernel
from shlo_disc.lower_cuda.packed import PackedEmitter
from shlo_disc.lower_cuda.packed_transpose import TransposedLoad, print_fill, spread
from shlo_disc.lower_cuda.points import decode
from shlo_disc.lower_cuda.printed import KernelText, pointers
from shlo_disc.lower_cuda.rows.scratch import offsets, syncs
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.lower_cuda.stage_text import StagePlan, reduces_row, stage_text
from shlo_disc.records import record


@record
class Team:
    """The threads of a row: `size` of the `block` threads of a block. `spills`: scratch is in global memory.

    `resident` blocks share a multiprocessor: 64 registers per thread, so that as many loads may be in flight.
    """

    label: str
    size: int
    block: int
    resident: int
    spills: bool = False

    @property
    def rows(self) -> int:
        """Rows that a block computes concurrently."""
        return self.block // self.size


THREAD, OCTET, WARP = Team("thread", 1, 128, 8), Team("octet", 8, 128, 8), Team("warp", 32, 128, 8)
BLOCK, WIDE = Team("block", 256, 256, 4), Team("wide", 1024, 1024, 1)
# Teams for rows held in registers, up to 80 registers per thread.
HOLDING = Team("warp", 32, 128, 6), Team("quarter", 128, 128, 6), Team("block", 256, 256, 3), Team("half", 512, 512, 2)
SPILL = Team("spill", 1024, 1024, 1, spills=True)
# Teams for transposed operands: a block transposes the tile of its rows, whose number is in the name.
TILE8, TILE16, TILE32 = Team("tile8", 32, 256, 4), Team("tile16", 32, 512, 2), Team("tile32", 8, 256, 4)


@record
class TeamText:
    """A function template over `TEAM`, and the program's sizes among its parameters."""

    lines: tuple[str, ...]
    sizes: tuple[str, ...]


class TeamPrinter:
    """Prints one row kernel once for all teams, and the kernels that call it.

    `plans` are the kernel's stages, possibly in packs; `suffix` distinguishes schedules of one kernel;
    `aliases` are buffers that may alias another; `turns` are loads that blocks transpose first.
    `holds`: how many packs of a row a thread holds in registers, which then replace all scratch.
    """

    def __init__(
        self,
        kernel: RowKernel,
        plans: Sequence[StagePlan],
        suffix: str = "",
        aliases: frozenset[Param] = frozenset(),
        turns: Sequence[TransposedLoad] = (),
        *,
        holds: int = 0,
    ) -> None:
        self.kernel = replace(kernel, stages=tuple(p.stage for p in plans))
        self.plans, self.suffix, self.aliases, self.turns = plans, suffix, aliases, turns
        self.spell = CudaSpelling()
        self.emit = PackedEmitter(self.spell)
        self.holds, self.scratch = holds, () if holds else kernel.scratch
        self.emit.held = frozenset(kernel.scratch if holds else ())
        self.types = list[str]()
        self.function = f"{NAME}_rows{suffix}"
        self.written = _written(kernel)

    def function_text(self) -> TeamText:
        """Print the function template of a team."""
        emit = self.emit
        rows = emit.dim_scalar(product(axis.extent for axis in self.kernel.rows))
        before, after = self._tile()
        row_lines = self._row()
        head = self._scratch_pointers()
        spills = ", bool SPILLS" if self.scratch else ""
        parity = ["int parity = 0;"] if any(map(reduces_row, self.kernel.stages)) else []
        loop = [f"const idx rows = {rows};", *before]
        body = [*parity, *emit.scopes[0].lines, *head, *loop]
        sizes = tuple(emit.sizes)
        parameters = [*self._pointers(), *(f"const idx {size_name(s)}" for s in sizes)]
        parameters.append("const idx block, const idx blocks")
        lines = [
            *self.types,
            f"template <int TEAM{spills}>",
            f"SHLO_DEVICE void {self.function}({', '.join(parameters)}) {{",
            *(INDENT + line for line in (*body, *(INDENT + line for line in (*row_lines, *after)), "}")),
            "}",
        ]
        return TeamText(tuple(lines), sizes)

    def _tile(self) -> tuple[list[str], list[str]]:
        """Head and end of the loop over rows: a row per team, or a tile of a block's rows if there are transposes."""
        if not self.turns:
            return [
                "for (idx first = team_first<TEAM>(block); first < rows; first += team_count<TEAM>(blocks)) {",
                f"{INDENT}const idx row = team_row<TEAM>(first, rows);",
                f"{INDENT}const idx lane = team_lane<TEAM>(first, rows);",
            ], []
        starts, size = offsets(self.kernel)
        fill = print_fill(self.emit, self.kernel.rows, self.turns, starts[-len(self.turns) :])
        return [
            "const idx tall = blockDim.x / TEAM, line_row = threadIdx.x % tall;",
            f"char* const line = region + (int64_t)line_row * {self.emit.dim_scalar(spread(size))};",
            "for (idx tile = block * tall; tile < rows; tile += blocks * tall) {",
            *(INDENT + line for line in fill),
            f"{INDENT}const idx row = tile_row<TEAM>(tile, rows), lane = tile_lane<TEAM>(tile, rows);",
        ], ["__syncthreads();"]

    def kernel_name(self, team: Team) -> str:
        """The name of one variant's kernel."""
        return f"{NAME}_{team.label}{self.suffix}"

    def kernel_text(self, team: Team, text: TeamText) -> KernelText:
        """Print the kernel of one variant."""
        params, scratch = self.kernel.params, bool(self.scratch)
        lines = ["SHLO_DYNAMIC(shared);"] if scratch and not team.spills else []
        region = ["spilled" if team.spills else "shared"] if scratch else []
        flags = f", {str(team.spills).lower()}" if scratch else ""
        arguments = ", ".join([*(p.name for p in params), *region, *map(size_name, text.sizes), "block, blocks"])
        return KernelText(
            self.kernel_name(team),
            params,
            tuple(self.written),
            text.sizes,
            (team.block, team.resident),
            (),
            (*lines, f"{self.function}<{team.size}{flags}>({arguments});"),
            ("spilled",) if team.spills else (),
            self.aliases,
        )

    def _pointers(self) -> list[str]:
        """Pointer parameters of the function: buffers, and the memory of all rows' scratch."""
        lines = pointers(self.kernel.params, self.written, self.aliases)
        return [*lines, "char* const region"] if self.scratch else lines

    def _scratch_pointers(self) -> list[str]:
        if self.holds:
            return [f"constexpr int HELD = {self.holds};"]
        if not self.scratch:
            return []
        starts, size = offsets(self.kernel)
        size = spread(size) if self.turns else size
        number = "SPILLS ? team_number<TEAM>(block) : (idx)(threadIdx.x / TEAM)"
        lines = [f"char* const own = region + (int64_t)({number}) * {self.emit.dim_scalar(size)};"]
        for scratch, start in zip(self.kernel.scratch, starts, strict=True):
            kind = self.spell.memory_type(scratch.dtype)
            lines.append(f"{kind}* const {scratch.name} = ({kind}*)(own + {self.emit.dim_scalar(start)});")
        return lines

    def _registers(self) -> list[str]:
        """Declare the packs that a thread holds in registers."""
        width = max(plan.width for plan in self.plans)
        kinds = [(self.spell.memory_type(s.dtype), s.name) for s in self.kernel.scratch if s in self.emit.held]
        return [f"Pack<{kind}, {width}> {name}[HELD];" for kind, name in kinds]

    def _row(self) -> list[str]:
        kernel, emit = self.kernel, self.emit
        waits = syncs(kernel, [p.width for p in self.plans])
        emit.row_scope = 1
        with emit.inside("%row", *(axis.symbol.name for axis in kernel.rows)) as scope:
            scope.lines += decode(emit, kernel.rows, "row")
            scope.lines += self._registers()
            for number, wait in enumerate(waits.before):
                if len(kernel.stages) > 1:
                    scope.block([f"// stage {number}"])
                scope.block([wait] if wait else [])
                self._stage(scope, number)
            scope.block([waits.at_end] if waits.at_end else [])
        return scope.lines

    def _stage(self, scope: Scope, number: int) -> None:
        text = stage_text(self.emit, self.plans[number], f"{number}{self.suffix}")
        self.types += text.types
        scope.block(text.lines)


def _written(kernel: RowKernel) -> Sequence[Param]:
    """The buffers that a kernel writes."""
    stores = [s for stage in kernel.stages for s in (*stage.stores, *(x for r in stage.reductions for x in r.stores))]
    targets = {s.target for s in stores}
    return [p for p in kernel.params if p in targets]
