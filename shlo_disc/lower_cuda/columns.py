"""Reductions that want the whole grid: over leading axes, or with few results of many points each.

Stage after stage is a launch over all rows (`staged`). A reduction is one launch, or two: parts of the points of each
result first, then the parts of a result in order. How many parts is a function of the sizes alone, so that equal
shapes give equal bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from shlo_disc.codegen.dependence import Dependence
from shlo_disc.codegen.host import Call, CallVariant, Condition, GridCall
from shlo_disc.codegen.kernel import Param, RowKernel, Stage
from shlo_disc.codegen.naming import NAME
from shlo_disc.codegen.scopes import INDENT
from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.expr.facts import Facts
from shlo_disc.lower_cuda.cost import BARRIER_LATENCY, LOAD_LATENCY
from shlo_disc.lower_cuda.maps import map_pieces
from shlo_disc.lower_cuda.points import SECTOR, params_of, point_bytes, shared_cycles
from shlo_disc.lower_cuda.printed import Printed, signature
from shlo_disc.lower_cuda.split_text import UNROLLED, Role, Split, SplitPrinter, join_parts
from shlo_disc.lower_cuda.staged import take_apart

LANES = 32  # results of a block where results lie side by side
FEW_ROWS = 64  # fewer than multiprocessors: a block per row leaves most of them idle
SHORT_ROW = 4096  # points of a row that one block computes about as fast as the grid
MOST_TILES = 1 << 20  # blocks; more are taken in a loop


def is_columns(kernel: RowKernel) -> bool:
    """Whether spreading a row over the grid can pay: results side by side, or few rows that may be long."""
    stages = [s for s in kernel.stages if s.reductions]
    if any(s.axes and not s.reduced[-1] for s in stages):
        return True
    longest = [product(a.extent for a in s.axes).constant for s in stages]
    if all(n is not None and n <= SHORT_ROW for n in longest):
        return False
    rows = product(a.extent for a in kernel.rows).constant
    return len(kernel.stages) == 1 or (rows is not None and rows <= FEW_ROWS)


def print_columns(kernel: RowKernel, facts: Facts) -> Printed:
    """Variants: reductions in two launches or in one, maps in packs or by single elements."""
    staged = take_apart(kernel)
    printer = _StagesPrinter(facts, [*kernel.params, *(w for w, _ in staged.workspaces)], list(staged.workspaces))
    for number, stage in enumerate(staged.stages):
        if stage.reductions:
            printer.reduce(stage, f"{NAME}_stage{number}")
        else:
            printer.map(stage, f"{NAME}_stage{number}")
    sizes = tuple(w.dtype.bytes * n for w, n in printer.workspaces)
    spaces = [product(a.extent for a in stage.axes) for stage in staged.stages]
    spaces += [n for _, n in printer.workspaces]
    return Printed("\n".join(printer.text), tuple(printer.variants()), tuple(dict.fromkeys(spaces)), sizes)


def with_columns(printed: Printed, kernel: RowKernel, facts: Facts) -> Printed:
    """Add these variants to other ones of the same kernel, whose workspaces come first."""
    added, params, before = print_columns(kernel, facts), len(kernel.params), len(printed.workspaces)

    def moved(call: Call) -> Call:
        assert isinstance(call, GridCall), "stages are kernels of our own"
        return replace(call, buffers=tuple(b if b < params else b + before for b in call.buffers))

    variants = [replace(v, calls=tuple(map(moved, v.calls))) for v in added.variants]
    return Printed(
        f"{printed.text}\n{added.text}",
        (*printed.variants, *variants),
        tuple(dict.fromkeys((*printed.spaces, *added.spaces))),
        (*printed.workspaces, *added.workspaces),
    )


@dataclass(frozen=True, slots=True)
class _Launches:
    """One way to compute one stage."""

    calls: tuple[Call, ...]
    guards: tuple[Condition, ...] = ()
    aligned: bool = False


class _StagesPrinter:
    """Prints the kernels of all stages, and puts variants together."""

    def __init__(self, facts: Facts, buffers: list[Param], workspaces: list[tuple[Param, Dim]]) -> None:
        self.facts, self.buffers, self.workspaces = facts, buffers, workspaces
        self.text = list[str]()
        self.reductions = list[bool]()
        self.ways = list[tuple[_Launches, _Launches]]()  # per stage: in parts or in one launch; in packs or plain

    def variants(self) -> Iterator[CallVariant]:
        """Every combination that differs."""
        seen = set[tuple[_Launches, ...]]()
        for first, parts in enumerate(("parts", "whole")):
            for second, lanes in enumerate((", packs", "")):
                picks = [first if reduces else second for reduces in self.reductions]
                ways = tuple(way[pick] for way, pick in zip(self.ways, picks, strict=True))
                if ways in seen:
                    continue
                seen.add(ways)
                guards = dict.fromkeys(g for w in ways for g in w.guards)
                calls = tuple(c for w in ways for c in w.calls)
                label = f"grid, {parts}{lanes if not all(self.reductions) else ''}"
                yield CallVariant(label, tuple(guards), any(w.aligned for w in ways), calls)

    def map(self, stage: Stage, name: str) -> None:
        """A stage whose points are independent."""
        pieces = map_pieces(stage, self.buffers, self.facts, name)
        chosen = pieces[0], pieces[-1]
        for piece in dict.fromkeys(chosen):
            self.text += piece.text
        first, last = (_Launches(p.variant.calls, p.variant.guards, p.variant.aligned) for p in chosen)
        self.reductions.append(False)
        self.ways.append((first, last))

    def reduce(self, stage: Stage, name: str) -> None:
        """A stage that reduces."""
        lanes = lanes_for(stage)
        whole = Split(Role.WHOLE, stage, lanes, lanes, _points(stage))
        parts = list[Param]()
        for carry in whole.carries:
            parts.append(Param(f"w{len(self.workspaces)}", carry.dtype))
            self.workspaces.append((parts[-1], whole.chunks * whole.results))
        self.buffers += parts
        split = replace(whole, role=Role.PARTS, parts=tuple(parts))
        two = tuple(self._kernel(s, f"{name}_{s.role.value}") for s in (split, join_parts(split)))
        one = self._kernel(whole, f"{name}_{whole.role.value}")
        self.reductions.append(True)
        self.ways.append((_Launches(two), _Launches((one,))))

    def _kernel(self, split: Split, name: str) -> GridCall:
        printer = SplitPrinter(split, self.facts)
        body = printer.lines()
        symbols = tuple(printer.emit.sizes)
        used, written = params_of(split.accessed())
        self.text += [
            *signature(name, used, written, symbols, threads=split.threads),
            *(INDENT + line for line in body),
            "}",
        ]
        blocks, cycles, latency = _cost(split)
        places = tuple(self.buffers.index(p) for p in used)
        return GridCall(name, places, symbols, blocks, split.threads, const(0), cycles, latency)


def lanes_for(stage: Stage) -> int:
    """How many results a block computes side by side: 1 where the points of one result lie side by side."""
    if not stage.axes or stage.reduced[-1]:
        return 1
    results = product(a.extent for a, flag in zip(stage.axes, stage.reduced, strict=True) if not flag).constant
    if results is None or results >= LANES:
        return LANES
    return 1 << (max(results, 1) - 1).bit_length()


def _points(stage: Stage) -> Dim:
    return product(a.extent for a, flag in zip(stage.axes, stage.reduced, strict=True) if flag)


def _cost(split: Split) -> tuple[Dim, Dim, Dim]:
    """Blocks, cycles, latency: the loads of a thread's points, then one barrier per doubling of what has met."""
    rows = split.threads // split.lanes
    parts = split.chunks if split.role is Role.PARTS else const(1)
    blocks = minimum(split.tiles * parts, MOST_TILES)
    points = split.chunks if split.role is Role.JOIN else split.points
    cycles = shared_cycles(split.tiles * split.lanes * points, blocks, _bytes(split))
    steps = (split.swept + (rows * UNROLLED - 1)) // (rows * UNROLLED)
    meeting = (rows.bit_length() - 1) * BARRIER_LATENCY
    return blocks, cycles, steps * LOAD_LATENCY + meeting + LOAD_LATENCY


def _bytes(split: Split) -> int:
    """The memory traffic of a point: neighbouring threads have neighbouring results, or points, or runs of them."""
    axes, stage = split.kept if split.lanes > 1 else split.reduced, split.stage
    each = point_bytes(stage, axes[-1], Dependence()) if axes else 4
    runs = split.lanes == 1 and any(r.fn is None for r in stage.reductions)
    return max(each, SECTOR if runs else 1)
