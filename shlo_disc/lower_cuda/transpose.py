"""Maps with transposed reads: tiles go through shared memory, so that both reads and stores are coalesced.

A read is transposed if it has unit stride along an axis other than the innermost. A block copies the square tile of
each such read with its threads along that axis, then computes the same points with its threads along the innermost
axis, reading the elements from the tile. Rows of a tile are padded, so that the threads of a warp access 32 different
banks in both directions (Ruetsch and Micikevicius, "Optimizing Matrix Transpose in CUDA").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from shlo_disc.analysis.access import children
from shlo_disc.emit.emitter import Emitter, is_guard
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.expr.dim import Dim, Sym, const, minimum, product, total
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Load, Select
from shlo_disc.host_ir import GridLaunch
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import Axis, Param, Scratch, Stage
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cuda.cost import BARRIER_LATENCY, LOAD_LATENCY
from shlo_disc.lower_cuda.points import (
    MOST_BLOCKS,
    SECTOR,
    THREADS,
    blocks_for,
    decode,
    params_of,
    point_bytes,
    shared_cycles,
)
from shlo_disc.lower_cuda.printed import KernelText, Shared, Way
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.records import record

SIDE = 32  # of a tile: a warp
NARROW_SIDE = 64  # of a tile of elements of at most 2 bytes: a line of 128 bytes
SCALES = 1, 2  # of a tile's side: long runs waste less where lines are not aligned to sectors
BANK = 4  # bytes; rows of a tile are padded by one bank
MOST_SHARED = 48 * 1024  # bytes of static shared memory
NARROWEST = 8  # an axis that is known to be shorter does not justify a tile
PENALTY = 5, 4  # for a tile's two barriers and the copy through shared memory
MOST_MOVED = 16  # elements of a tile per thread whose loads overlap completely
LONG_PENALTY = 23, 20  # for tiles with more: measured on an H100, 8192 x 8192 in bf16 with sides of 128 and of 64
FETCH = 64  # further bytes per line that is not aligned to sectors: the granularity of DRAM access

Access = tuple[Param, Dim]


@record
class Tiles:
    """The axis along which transposed reads are contiguous, and the reads; each has a tile."""

    axis: Axis
    reads: tuple[Access, ...]
    scale: int = 1

    @property
    def side(self) -> int:
        return self.scale * (NARROW_SIDE if all(p.dtype.bytes <= 2 for p, _ in self.reads) else SIDE)

    @property
    def rows(self) -> int:
        """Rows of a tile that a block copies at once."""
        return THREADS // self.side

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        return sum(self.side * self.stride(p) * p.dtype.bytes for p, _ in self.reads)

    def stride(self, source: Param) -> int:
        """The pitch of rows, in elements."""
        return self.side + max(1, BANK // source.dtype.bytes)


class TileEmitter(Emitter):
    """Reads transposed elements from their tiles."""

    def __init__(self, tiles: Tiles, names: Mapping[Access, str]) -> None:
        super().__init__(CudaSpelling())
        self.tiles, self.names = tiles, names

    def load(self, source: Param | Scratch, offset: Dim) -> str:
        if isinstance(source, Param) and (name := self.names.get((source, offset))) is not None:
            place = f"tx * {self.tiles.stride(source)} + ty + {self.tiles.rows} * k"
            return self.spell.load(name, place, source.dtype)
        return super().load(source, offset)


def find_tiles(stage: Stage) -> Tiles | None:
    """The transposed reads of a map that are contiguous along one axis, the one with most of them."""
    if len(stage.axes) < 2:
        return None
    lane, axes = stage.axes[-1], stage.axes[:-1]
    deps, found = Dependence(), dict[Access, Axis]()
    for source, offset in _reads(stage):
        for axis in axes:
            if _is_transposed(offset, axis.symbol, lane.symbol) and deps.of(offset) <= _names(stage.axes):
                found[source, offset] = axis
    long = {a for a in found.values() if _may_be_long(a) and _may_be_long(lane)}
    if not long:
        return None
    counts = Counter(axis for axis in found.values() if axis in long)
    axis = max(long, key=lambda a: (counts[a], axes.index(a)))
    reads = list[Access]()
    for access in (a for a, along in found.items() if along == axis):
        if Tiles(axis, (*reads, access)).shared <= MOST_SHARED:
            reads.append(access)
    return Tiles(axis, tuple(reads)) if reads else None


def _names(axes: Sequence[Axis]) -> frozenset[str]:
    return frozenset(a.symbol.name for a in axes)


def _may_be_long(axis: Axis) -> bool:
    return axis.extent.constant is None or axis.extent.constant >= NARROWEST


def _is_transposed(offset: Dim, along: Sym, lane: Sym) -> bool:
    """Whether an access has stride 1 along `along`, and another than -1, 0 and 1 along `lane`."""
    if offset.data() or (split := offset.linear(along)) is None or split[0] != const(1):
        return False
    across = offset.linear(lane)
    return across is not None and across[0].constant not in {-1, 0, 1}


def _reads(stage: Stage) -> Iterator[Access]:
    """Every load that is not under a guard."""
    seen, stack = set[Node](), list[Node](stage_formulas(stage))
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Select) and is_guard(node.condition):
            stack.append(node.condition)
            continue
        if isinstance(node, Load) and isinstance(node.source, Param):
            yield node.source, node.index[0]
        stack.extend(children(node))


def print_tiled(stage: Stage, buffers: Sequence[Param], facts: Facts, name: str) -> list[Way]:
    """Ways to compute a map with transposed reads, by small and large tiles; none if it has no such reads."""
    if (found := find_tiles(stage)) is None:
        return []
    scaled = [replace(found, scale=scale) for scale in SCALES]
    return [_print_tiles(stage, tiles, buffers, facts, name) for tiles in scaled if tiles.shared <= MOST_SHARED]


def _print_tiles(stage: Stage, tiles: Tiles, buffers: Sequence[Param], facts: Facts, name: str) -> Way:
    printer = _TilePrinter(stage, tiles)
    used, written = params_of(stage)
    kernel = f"{name}_tiled{tiles.side}"
    body = printer.lines(facts)
    symbols = tuple(printer.emit.sizes)
    text = KernelText(kernel, tuple(used), tuple(written), symbols, THREADS, printer.shared(), tuple(body))
    count = facts.canonical(printer.count)
    blocks = blocks_for(count, 1)
    up, down = PENALTY
    rest = point_bytes(stage, stage.axes[-1], Dependence(), skip=tiles.reads)
    moved = sum(tiles.side * p.dtype.bytes for p, _ in tiles.reads) + tiles.side * rest
    wasted = [_is_ragged(tiles.axis, p.dtype.bytes) for p, _ in tiles.reads]
    wasted += [_is_ragged(stage.axes[-1], s.target.dtype.bytes) for s in stage.stores]
    each = (total(wasted) * FETCH + moved) * tiles.side * up // down
    if tiles.side**2 > MOST_MOVED * THREADS:
        each = each * LONG_PENALTY[0] // LONG_PENALTY[1]
    cycles = shared_cycles(count * each, blocks, 1)
    latency = (2 * LOAD_LATENCY + 2 * BARRIER_LATENCY) * ((count + (MOST_BLOCKS - 1)) // MOST_BLOCKS)
    places = tuple(buffers.index(p) for p in used)
    call = GridLaunch(kernel, places, symbols, blocks, THREADS, const(0), cycles, latency)
    return Way(f"tiles of {tiles.side}", (call,), (text,))


def _is_ragged(axis: Axis, size: int) -> Dim:
    """1 if lines along an axis, of elements of `size` bytes, are not all aligned to sectors, else 0."""
    return minimum(1, axis.extent % (SECTOR // size))


class _TilePrinter:
    """Prints the loop over tiles."""

    def __init__(self, stage: Stage, tiles: Tiles) -> None:
        self.stage, self.tiles, self.lane = stage, tiles, stage.axes[-1]
        self.names = {access: f"tile{k}" for k, access in enumerate(tiles.reads)}
        self.emit = TileEmitter(tiles, self.names)
        tiled = (tiles.axis, self.lane)
        others = [a for a in stage.axes if a not in tiled]
        self.grid = [
            *others,
            *(Axis(Sym(f"{a.symbol.name}_tile"), (a.extent + (tiles.side - 1)) // tiles.side) for a in tiled),
        ]
        self.count = product(a.extent for a in self.grid)

    def lines(self, facts: Facts) -> list[str]:
        """The kernel's body."""
        emit, side = self.emit, self.tiles.side
        emit.count_uses(stage_formulas(self.stage))
        with emit.inside(*(a.symbol.name for a in self.grid)) as tile:
            tile.lines += decode(emit, self.grid, "i")
            tile.lines += self._sweep(self.tiles.axis, self.lane, self._fill)
            tile.lines.append("__syncthreads();")
            tile.lines += self._sweep(self.lane, self.tiles.axis, self._compute)
            tile.lines.append("__syncthreads();")
        count = emit.dim_scalar(facts.canonical(self.count))
        return [
            *emit.scopes[0].lines,
            f"const idx count = {count};",
            f"const int tx = threadIdx.x % {side}, ty = threadIdx.x / {side};",
            "for (idx i = block; i < count; i += blocks) {",
            *(INDENT + line for line in tile.lines),
            "}",
        ]

    def shared(self) -> tuple[Shared, ...]:
        """One tile per transposed read."""
        spell, side = self.emit.spell, self.tiles.side
        return tuple(
            Shared(spell.memory_type(p.dtype), self.names[p, offset], side * self.tiles.stride(p), p.dtype.bytes)
            for p, offset in self.tiles.reads
        )

    def _sweep(self, across: Axis, down: Axis, point: Callable[[], list[str]]) -> list[str]:
        """A loop over the points of a tile that are in bounds, with a warp's threads along `across`."""
        emit, side, rows = self.emit, self.tiles.side, self.tiles.rows
        x, y = clean(across.symbol.name), clean(down.symbol.name)
        ends = emit.dim_scalar(across.extent), emit.dim_scalar(down.extent)
        with emit.inside(across.symbol.name, down.symbol.name) as scope:
            floor, emit.floor = emit.floor, len(emit.scopes) - 1  # no load may be hoisted out of the bounds check
            scope.lines += point()
            emit.floor = floor
        return [
            "{",
            f"{INDENT}const idx {x} = {x}_tile * {side} + tx;",
            f"{INDENT}for (int k = 0; k < {side // rows}; ++k) {{",
            f"{INDENT * 2}const idx {y} = {y}_tile * {side} + ty + {rows} * k;",
            f"{INDENT * 2}if ({x} < {ends[0]} && {y} < {ends[1]}) {{",
            *(INDENT * 3 + line for line in scope.lines),
            f"{INDENT * 2}}}",
            f"{INDENT}}}",
            "}",
        ]

    def _fill(self) -> list[str]:
        """Statements that copy one element of every tile."""
        rows, stride = self.tiles.rows, self.tiles.stride
        return [
            f"{name}[(ty + {rows} * k) * {stride(source)} + tx] = {source.name}[{self.emit.dim_scalar(offset)}];"
            for (source, offset), name in self.names.items()
        ]

    def _compute(self) -> list[str]:
        """Statements that compute one point of the stage."""
        emit, lines = self.emit, list[str]()
        for store in self.stage.stores:
            value = emit.value(store.value)
            lines.append(emit.spell.store(store.target.name, emit.dim_scalar(store.offset), value, store.target.dtype))
        return lines
