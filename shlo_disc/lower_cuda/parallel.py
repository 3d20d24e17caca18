"""Horizontal fusion: several row kernels in one launch, each on a range of the blocks.

A part is printed as a device function of its block's number. The kernel compares that number with the numbers of blocks
of the parts, uniformly for all threads of a block, and calls one of them. A block has the registers and shared memory
of the part that needs most. A part whose reductions are better split over the grid has launches of its own in some
variants. Every part has several ways, but they are picked together, by style: there are at most as many variants as
styles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product as product_of
from typing import NamedTuple

from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.indices import size_name
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import ZERO, Dim, const, maximum, minimum, product, total
from shlo_disc.expr.facts import Facts
from shlo_disc.host.program import InPlace
from shlo_disc.host_ir import GridLaunch, Guard, Variant
from shlo_disc.kernels.inplace import positions
from shlo_disc.kernels.kernel import Param, RowKernel
from shlo_disc.lower_cuda.maps import flattened, is_map, map_pairs, map_pieces
from shlo_disc.lower_cuda.points import THREADS
from shlo_disc.lower_cuda.printed import Printed, Way, heading, pointers
from shlo_disc.lower_cuda.rows.columns import is_columns, reduction_ways
from shlo_disc.lower_cuda.rows.schedules import EVERY_SHARED, SPILL_BLOCKS, block_ways, team_pairs
from shlo_disc.lower_cuda.rows.scratch import offsets
from shlo_disc.lower_cuda.rows.teams import SPILL
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.records import record


class Style(NamedTuple):
    """Preferences for all parts: packs, reductions split over the grid, a block per row, scratch in global memory."""

    packs: bool
    cut: bool
    long: bool
    spills: bool = False

    @property
    def wishes(self) -> tuple[str, ...]:
        """Labels of ways, the preferred first."""
        teams = ("block", "warp", "octet", "thread") if self.long else ("warp", "octet", "thread", "block")
        sums = ("whole", "alone") if self.long else ("alone", "whole")
        packed = ("packs", *(f"{team}, packs" for team in teams)) if self.packs else ()
        return (*(["spill"] if self.spills else []), *(["parts"] if self.cut else []), "tiles", *packed, *teams, *sums)


STYLES = tuple(Style(packs, cut, long) for packs, cut, long in product_of((True, False), (False, True), (False, True)))
SPILLING = Style(packs=False, cut=False, long=True, spills=True)


@record
class LaunchPart:
    """A group of the launch: its tensors, the ways to compute it, and what these need besides.

    `workspaces` (bytes) are for split reductions. `overflow` is at least 1 where the row scratch of a block does not
    fit into shared memory: then it is in a workspace of `spilled` bytes. `in_place` are positions in `tensors`.
    """

    tensors: tuple[Tensor, ...]
    ways: tuple[Way, ...]
    spaces: tuple[Dim, ...]
    workspaces: tuple[Dim, ...] = ()
    overflow: Dim = ZERO
    spilled: Dim = ZERO
    in_place: InPlace = ()

    def pick(self, style: Style) -> int:
        """The number of the way that matches a style best."""
        labels = [way.label.split(" of ")[0] for way in self.ways]  # without "of 4" and the like
        return next((labels.index(wish) for wish in style.wishes if wish in labels), len(labels) - 1)


def build_part(kernel: RowKernel, tensors: tuple[Tensor, ...], facts: Facts) -> LaunchPart:
    """Collect all ways to compute one group."""
    rows, scratch = product(a.extent for a in kernel.rows), offsets(kernel)[1]
    spaces = (rows, *(rows * product(a.extent for a in stage.axes) for stage in kernel.stages))
    if is_map(kernel):
        stage = flattened(kernel)
        pairs = map_pairs(stage)
        pieces = tuple(map_pieces(stage, kernel.params, facts, NAME, pairs))
        return LaunchPart(tensors, pieces, spaces, in_place=positions(pairs, kernel.params))
    ways, workspaces = tuple[Way, ...](), tuple[Dim, ...]()
    if len(kernel.stages) == 1 and is_columns(kernel):
        ways, workspaces = reduction_ways(kernel, facts)
    if ways and not kernel.stages[0].reduced[-1]:
        return LaunchPart(tensors, ways, spaces, workspaces)
    pairs = () if is_columns(kernel) else team_pairs(kernel, facts)
    ways = (*ways, *block_ways(kernel, facts, THREADS, pairs))
    overflow, spilled = scratch // (EVERY_SHARED + 1), minimum(rows, SPILL_BLOCKS) * scratch
    return LaunchPart(tensors, ways, spaces, workspaces, overflow, spilled, positions(pairs, kernel.params))


def print_parallel(parts: Sequence[LaunchPart], facts: Facts) -> tuple[Printed, tuple[Tensor, ...]]:
    """Print the functions of all parts and kernels that call them; also returns the tensors of all parts, each once."""
    printer = _LaunchPrinter(parts, facts)
    printer.run()
    spaces = dict.fromkeys(space for part in parts for space in part.spaces)
    text = "\n".join([*printer.functions, *printer.kernels])
    return Printed(text, tuple(printer.variants), tuple(spaces), printer.workspaces, _in_place(parts)), printer.tensors


def _in_place(parts: Sequence[LaunchPart]) -> InPlace:
    """What parts may write in place: operands that no other part reads, since parts run in any order."""
    readers = Counter(tensor for part in parts for tensor in dict.fromkeys(part.tensors))
    places = {tensor: place for place, tensor in enumerate(readers)}
    pairs = [(part.tensors[a], part.tensors[b]) for part in parts for a, b in part.in_place]
    return tuple((places[source], places[target]) for source, target in pairs if readers[source] == 1)


@record
class _PartNames:
    """A part in one variant: its way, the positions of its buffers in the launch, and the prefix of its names."""

    way: Way
    places: tuple[int, ...]
    prefix: str

    @property
    def calls(self) -> tuple[GridLaunch[Dim], ...]:
        """Its launches, with names and buffers of the variant."""
        return tuple(
            replace(c, kernel=c.kernel.replace(NAME, self.prefix), buffers=tuple(self.places[b] for b in c.buffers))
            for c in self.way.calls
        )


class _LaunchPrinter:
    """Prints one launch. Its buffers: all tensors, the workspaces of reductions, one per part if any may spill."""

    def __init__(self, parts: Sequence[LaunchPart], facts: Facts) -> None:
        self.parts, self.facts = parts, facts
        self.tensors = tuple(dict.fromkeys(t for part in parts for t in part.tensors))
        self.functions, self.kernels = list[str](), list[str]()
        self.variants = list[Variant[Dim]]()
        self.overflow = total(part.overflow for part in parts)
        spilling = [] if self.overflow.constant == 0 else [part.spilled for part in parts]
        sums = [size for part in parts for size in part.workspaces]
        self.workspaces = (*sums, *(minimum(1, self.overflow) * size for size in spilling))
        self.first_sum, self.first_spilled = len(self.tensors), len(self.tensors) + len(sums)

    def run(self) -> None:
        """Print a variant per style that picks other ways than the styles before it."""
        known = self.overflow.constant
        styles = (SPILLING,) if known else STYLES if known == 0 else (*STYLES, SPILLING)
        picks = dict[tuple[int, ...], Style]()
        for style in styles:
            picks.setdefault(tuple(part.pick(style) for part in self.parts), style)
        prefixes = self._print_parts(list(picks))
        for number, (ways, style) in enumerate(picks.items()):
            members, sums = list[_PartNames](), self.first_sum
            for k, (part, way, prefix) in enumerate(zip(self.parts, ways, prefixes, strict=True)):
                own = range(sums, sums := sums + len(part.workspaces))
                extra = (self.first_spilled + k,) if part.ways[way].label == SPILL.label else own
                members.append(_PartNames(part.ways[way], (*map(self.tensors.index, part.tensors), *extra), prefix))
            self._variant(members, style, f"{NAME}_together{number}")

    def _print_parts(self, picks: Sequence[tuple[int, ...]]) -> list[str]:
        """Print the picked ways of each part, equal texts once; returns the prefix of each part's names."""
        known, prefixes = dict[str, str](), list[str]()
        for number, part in enumerate(self.parts):
            ways = [part.ways[k] for k in dict.fromkeys(ways[number] for ways in picks)]
            lines = [line for functions in dict.fromkeys(way.functions for way in ways) for line in functions]
            for way in ways:
                lines += way.kernels[0].function() if _is_fused(way) else way.text
            text = "\n".join(lines)
            if text not in known:
                known[text] = f"{NAME}_part{len(known)}"
                self.functions.append(text.replace(NAME, known[text]))
            prefixes.append(known[text])
        return prefixes

    def _variant(self, members: Sequence[_PartNames], style: Style, name: str) -> None:
        fused = [m for m in members if _is_fused(m.way)]
        calls = [call for m in members if not _is_fused(m.way) for call in m.calls]
        guards = [g for m in members for g in m.way.guards if g.relation == "=="]
        if not style.spills:
            shared = (call.shared for m in fused for call in m.way.calls)
            guards += [Guard(size, "<=", const(EVERY_SHARED)) for size in shared if size.constant is None]
        elif self.overflow.constant is None:
            guards.append(Guard(self.overflow, ">=", const(1)))
        if fused:
            calls.insert(0, self._fuse(fused, name))
        label = ", ".join(dict.fromkeys(m.way.label for m in members))
        aligned = any(m.way.aligned for m in members)
        self.variants.append(Variant(label, tuple(dict.fromkeys(guards)), aligned, tuple(calls)))

    def _fuse(self, members: Sequence[_PartNames], name: str) -> GridLaunch[Dim]:
        """Print the kernel that assigns ranges of its blocks to the members; returns its launch."""
        emit = Emitter(CudaSpelling())
        counts = [emit.dim_scalar(self.facts.canonical(m.way.calls[0].blocks)) for m in members]
        memory = max(m.way.kernels[0].memory for m in members)
        body = [
            *emit.scopes[0].lines,
            *([f"SHLO_SHARED(char, memory, {memory});"] if memory else []),
            "idx block = (idx)blockIdx.x;",
            *(line for member, count in zip(members[:-1], counts, strict=False) for line in _deal(member, count)),
            *_deal_last(members[-1], counts[-1]),
        ]
        places = sorted({place for m in members for place in m.calls[0].buffers})
        params = {place: Param(f"p{place}", t.dtype) for place, t in enumerate(self.tensors) if place in places}
        written = {
            params[place]
            for m in members
            for place, param in zip(m.calls[0].buffers, m.way.kernels[0].params, strict=False)
            if param in m.way.kernels[0].written
        }
        symbols = tuple(dict.fromkeys((*emit.sizes, *(s for m in members for s in m.way.kernels[0].symbols))))
        aliases = {params[place] for pair in _in_place(self.parts) for place in pair if place in params}
        workspaces = [f"p{place}" for place in places if place not in params]
        buffers = pointers(list(params.values()), written, aliases, workspaces)
        head = heading(name, buffers, symbols, THREADS)
        self.kernels.append("\n".join([*head, *(INDENT + line for line in body), "}"]))
        return _launch(name, tuple(places), symbols, [m.way.calls[0] for m in members])


def _is_fused(way: Way) -> bool:
    """Whether a way can be fused: it is one launch, in blocks of `THREADS`."""
    threads = way.kernels[0].threads
    return len(way.kernels) == 1 and (threads if isinstance(threads, int) else threads[0]) == THREADS


def _deal(member: _PartNames, count: str) -> list[str]:
    """Call a part for the next `count` blocks."""
    return [
        "{",
        f"{INDENT}const idx blocks = {count};",
        f"{INDENT}if (block < blocks) return {_call(member)};",
        f"{INDENT}block -= blocks;",
        "}",
    ]


def _deal_last(member: _PartNames, count: str) -> list[str]:
    """Call a part for the last `count` blocks."""
    return [f"const idx blocks = {count};", f"if (block < blocks) {_call(member)};"]


def _call(member: _PartNames) -> str:
    """The call of a part for block `block` of its `blocks`."""
    kernel, (call,) = member.way.kernels[0], member.calls
    arguments = [*(f"p{place}" for place in call.buffers), *map(size_name, kernel.symbols)]
    arguments += [*(["memory"] if kernel.shared else []), "block, blocks"]
    return f"{call.kernel}({', '.join(arguments)})"


def _launch(
    name: str, places: tuple[int, ...], symbols: tuple[str, ...], calls: Sequence[GridLaunch[Dim]]
) -> GridLaunch[Dim]:
    """The launch of the blocks of all calls: cycles are their mean, latency is that of the slowest."""
    blocks = total(call.blocks for call in calls)
    cycles = total(call.blocks * call.cycles for call in calls) // maximum(1, blocks)
    shared = maximum(*(call.shared for call in calls))
    latency = maximum(*(call.latency for call in calls))
    return GridLaunch(name, places, symbols, blocks, THREADS, shared, maximum(1, cycles), latency)
