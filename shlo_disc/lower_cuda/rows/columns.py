"""Reductions over the whole grid: over leading axes, or with few results of many points each.

Each stage is a launch over all rows (`loop_fission`). A reduction is one launch, or two: first over parts of the points
of each result, then over the parts of a result, in order. The number of parts depends on the sizes alone, so that equal
shapes give bitwise equal results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product as product_of

from shlo_disc.emit.naming import NAME
from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.expr.facts import Facts
from shlo_disc.host_ir import Command, GridLaunch, Variant
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import Axis, Param, RowKernel, Stage
from shlo_disc.kernels.loop_fission import take_apart
from shlo_disc.lower_cuda.cost import BARRIER_LATENCY, LOAD_LATENCY
from shlo_disc.lower_cuda.maps import map_pieces
from shlo_disc.lower_cuda.points import SECTOR, THREADS, params_of, point_bytes, shared_cycles
from shlo_disc.lower_cuda.printed import KernelText, Printed, Way
from shlo_disc.lower_cuda.rows.split_text import UNROLLED, Role, SplitKernel, SplitPrinter, join_parts

LANES = 32  # results of a block where results are contiguous
FEW_ROWS = 64  # fewer than multiprocessors, most of which a block per row would leave idle
FEW_POINTS = 16  # of a result: too few for several threads
SHORT_ROW = 4096  # points of a row for which one block is about as fast as the grid
MOST_TILES = 1 << 20  # blocks; they loop over further tiles


def is_columns(kernel: RowKernel) -> bool:
    """Whether it may pay to split a row over the grid: contiguous results, or few rows that may be long."""
    if any(s.reductions and s.axes and not s.reduced[-1] for s in kernel.stages):
        return True
    if len(kernel.stages) == 1 and kernel.stages[0].axes and lanes_for(take_apart(kernel).stages[0]) > 1:
        return True
    lengths = [product(a.extent for a in s.axes).constant for s in kernel.stages]
    if all(n is not None and n <= SHORT_ROW for n in lengths):
        return False
    rows = product(a.extent for a in kernel.rows).constant
    return len(kernel.stages) == 1 or (rows is not None and rows <= FEW_ROWS)


def print_columns(kernel: RowKernel, facts: Facts) -> Printed:
    """Print variants: reductions in two launches or one, maps in packs or by single elements."""
    apart = take_apart(kernel)
    printer = _StagesPrinter(facts, [*kernel.params, *(w for w, _ in apart.workspaces)], list(apart.workspaces))
    for number, stage in enumerate(apart.stages):
        if stage.reductions:
            printer.reduce(stage, f"{NAME}_stage{number}")
        else:
            printer.map(stage, f"{NAME}_stage{number}")
    spaces = [product(a.extent for a in stage.axes) for stage in apart.stages]
    spaces += [n for _, n in printer.workspaces]
    return Printed("\n".join(printer.text), tuple(printer.variants()), tuple(dict.fromkeys(spaces)), printer.sizes)


def with_columns(printed: Printed, kernel: RowKernel, facts: Facts) -> Printed:
    """Append these variants to others of the same kernel, whose workspaces come first."""
    added, params, before = print_columns(kernel, facts), len(kernel.params), len(printed.workspaces)

    def moved(call: Command[Dim]) -> Command[Dim]:
        assert isinstance(call, GridLaunch), "stages are kernels of our own"
        return replace(call, buffers=tuple(b if b < params else b + before for b in call.buffers))

    variants = [replace(v, commands=tuple(map(moved, v.commands))) for v in added.variants]
    return Printed(
        f"{printed.text}\n{added.text}",
        (*printed.variants, *variants),
        tuple(dict.fromkeys((*printed.spaces, *added.spaces))),
        (*printed.workspaces, *added.workspaces),
    )


def reduction_ways(kernel: RowKernel, facts: Facts) -> tuple[tuple[Way, ...], tuple[Dim, ...]]:
    """The ways to compute a kernel with one reducing stage, and their workspaces in bytes."""
    apart = take_apart(kernel)
    printer = _StagesPrinter(facts, list(kernel.params), [])
    (stage,) = apart.stages
    printer.reduce(stage, NAME)
    ((_, ways),) = printer.ways
    return ways, printer.sizes


class _StagesPrinter:
    """Prints the kernels of all stages, and combines their ways to variants."""

    def __init__(self, facts: Facts, buffers: list[Param], workspaces: list[tuple[Param, Dim]]) -> None:
        self.facts, self.buffers, self.workspaces = facts, buffers, workspaces
        self.text = list[str]()
        self.ways = list[tuple[bool, tuple[Way, ...]]]()  # per stage: whether it reduces, and how

    @property
    def sizes(self) -> tuple[Dim, ...]:
        """Bytes of the workspaces."""
        return tuple(w.dtype.bytes * n for w, n in self.workspaces)

    def variants(self) -> Iterator[Variant[Dim]]:
        """The distinct combinations of one kind of way for all reductions and one for all maps, where they have it."""
        seen = set[tuple[Way, ...]]()
        for reduction, points in product_of(("parts", "whole", "alone"), ("packs", "single")):
            picks = [_pick(ways, reduction if reduces else points) for reduces, ways in self.ways]
            if tuple(picks) not in seen:
                seen.add(tuple(picks))
                guards = tuple(dict.fromkeys(g for w in picks for g in w.guards))
                calls = tuple(c for w in picks for c in w.calls)
                label = ", ".join(("grid", *dict.fromkeys(w.label for w in picks)))
                yield Variant(label, guards, any(w.aligned for w in picks), calls)

    def map(self, stage: Stage, name: str) -> None:
        """Print a stage whose points are independent."""
        pieces = map_pieces(stage, self.buffers, self.facts, name)
        chosen = {"packs": pieces[0], "single": pieces[-1]} if len(pieces) > 1 else {"single": pieces[0]}
        for piece in chosen.values():
            self.text += piece.text
        ways = tuple(replace(piece, label=label) for label, piece in chosen.items())
        self.ways.append((False, ways))

    def reduce(self, stage: Stage, name: str) -> None:
        """Print a stage that reduces: in parts, in one block per tile of results, or in one thread per result."""
        lanes, points = lanes_for(stage), _points(stage)
        whole = SplitKernel(Role.WHOLE, stage, lanes, lanes, points)
        alone = SplitKernel(Role.ALONE, stage, THREADS, THREADS, points)
        known, ways = points.constant, list[Way]()
        if known is None or known >= 2 * whole.least:
            split = replace(whole, role=Role.PARTS, parts=self._workspaces(whole))
            ways.append(self._way("parts", name, split, join_parts(split)))
        if known is None or known >= FEW_POINTS or lanes < LANES:
            ways.append(self._way("whole", name, whole))
        if lanes == LANES and (known is None or known <= whole.least):
            ways.append(self._way("alone", name, alone))
        self.text += [line for way in ways for line in way.text]
        self.ways.append((True, tuple(ways)))

    def _way(self, label: str, name: str, *splits: SplitKernel) -> Way:
        printed = [self._kernel(split, name) for split in splits]
        return Way(label, tuple(call for call, _ in printed), tuple(kernel for _, kernel in printed))

    def _workspaces(self, whole: SplitKernel) -> tuple[Param, ...]:
        """Add a workspace for the parts of each carry."""
        parts = list[Param]()
        for carry in whole.carries:
            parts.append(Param(f"w{len(self.workspaces)}", carry.dtype))
            self.workspaces.append((parts[-1], whole.chunks * whole.results))
        self.buffers += parts
        return tuple(parts)

    def _kernel(self, split: SplitKernel, stage: str) -> tuple[GridLaunch[Dim], KernelText]:
        name = f"{stage}_{split.role.value}"
        printer = SplitPrinter(split, self.facts)
        body = printer.lines()
        symbols = tuple(printer.emit.sizes)
        used, written = params_of(split.accessed())
        text = KernelText(name, tuple(used), tuple(written), symbols, split.threads, printer.shared(), tuple(body))
        blocks, cycles, latency = _cost(split)
        places = tuple(self.buffers.index(p) for p in used)
        return GridLaunch(name, places, symbols, blocks, split.threads, const(0), cycles, latency), text


def _pick(ways: Sequence[Way], label: str) -> Way:
    """The way with this label, else the first one."""
    return next((w for w in ways if w.label == label), ways[0])


def lanes_for(stage: Stage) -> int:
    """Number of neighbouring results of a block: 1 where the points of one result are contiguous."""
    if not stage.axes or (stage.reduced[-1] and not _lies_across(stage)):
        return 1
    results = product(a.extent for a, flag in zip(stage.axes, stage.reduced, strict=True) if not flag).constant
    if results is None or results >= LANES:
        return LANES
    return 1 << (max(results, 1) - 1).bit_length()


def _lies_across(stage: Stage) -> bool:
    """Whether accesses are contiguous along results although the innermost axis is reduced."""
    kept = [a for a, flag in zip(stage.axes, stage.reduced, strict=True) if not flag]
    return bool(kept) and 0 < _point_bytes(stage, kept[-1]) < _point_bytes(stage, stage.axes[-1])


def _points(stage: Stage) -> Dim:
    return product(a.extent for a, flag in zip(stage.axes, stage.reduced, strict=True) if flag)


def _cost(split: SplitKernel) -> tuple[Dim, Dim, Dim]:
    """Blocks, cycles and latency: loads of a thread's points, then a tree reduction with one barrier per level."""
    rows = split.threads // split.lanes
    parts = split.chunks if split.role is Role.PARTS else const(1)
    blocks = minimum(split.tiles * parts, MOST_TILES)
    points = split.chunks if split.role is Role.JOIN else split.points
    cycles = shared_cycles(split.tiles * split.lanes * points, blocks, _bytes(split))
    steps = (split.swept + (rows * UNROLLED - 1)) // (rows * UNROLLED)
    meeting = (rows.bit_length() - 1) * BARRIER_LATENCY
    return blocks, cycles, steps * LOAD_LATENCY + meeting + LOAD_LATENCY


def _bytes(split: SplitKernel) -> int:
    """Memory traffic of a point in bytes: neighbouring threads have neighbouring results, points, or runs of points."""
    axes = split.kept if split.lanes > 1 else split.reduced
    each = _point_bytes(split.stage, axes[-1]) if axes else 4
    runs = split.lanes == 1 and any(r.fn is None for r in split.stage.reductions)
    return max(each, SECTOR if runs else 1)


def _point_bytes(stage: Stage, lane: Axis) -> int:
    """Memory traffic of a point in bytes, without what is read and stored once per result."""
    bare = replace(stage, reductions=tuple(replace(r, init=(), stores=()) for r in stage.reductions))
    return point_bytes(bare, lane, Dependence())
