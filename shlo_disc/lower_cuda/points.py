"""Iteration spaces on a grid: the number of blocks, the points of a thread, and the cost of their traffic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.expr.dim import Dim, FloorDiv, Mod, maximum, minimum, of
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Load
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import Axis, Param, Stage, Store
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cuda.cost import BYTES_PER_CYCLE

THREADS = 256
MOST_BLOCKS = 132 * 16  # two waves of full multiprocessors; beyond that, blocks loop over the grid
SECTOR = 32  # bytes of the smallest memory transaction


def blocks_for(count: Dim, each: int = THREADS) -> Dim:
    """Number of blocks for `count` tasks, `each` per block and iteration."""
    return minimum((count + (each - 1)) // each, MOST_BLOCKS)


def grid_loop(name: str, count: str, body: Iterable[str]) -> list[str]:
    """Print a grid-stride loop over `count` points, with `block` and `blocks` for the place in the grid."""
    head = f"for (idx {name} = block * {THREADS} + (idx)threadIdx.x; {name} < {count}; "
    return [f"{head}{name} += blocks * {THREADS}) {{", *(INDENT + line for line in body), "}"]


def decode(emit: Emitter, axes: Sequence[Axis], index: str) -> list[str]:
    """Decode a flat index into those of the axes, the last one innermost."""
    lines, rest = list[str](), index
    for number in range(len(axes) - 1, 0, -1):
        name, extent = clean(axes[number].symbol.name), emit.dim_scalar(axes[number].extent)
        before, rest = rest, f"{index}{number}" if number > 1 else clean(axes[0].symbol.name)
        lines += [f"const idx {name} = {before} % {extent};", f"const idx {rest} = {before} / {extent};"]
    return lines if len(axes) > 1 else [f"const idx {clean(axis.symbol.name)} = {index};" for axis in axes]


def stores_of(stage: Stage) -> list[Store]:
    """All stores of a stage."""
    return [*stage.stores, *(s for r in stage.reductions for s in r.stores)]


def formulas_of(stage: Stage) -> list[Node]:
    """All formulas of a stage, including those in the offsets of its stores."""
    return [*stage_formulas(stage), *(data.formula for s in stores_of(stage) for data in s.offset.data())]


def params_of(stage: Stage) -> tuple[list[Param], list[Param]]:
    """The buffers that a stage reads or writes, in numeric order, and those that it writes."""
    written = {s.target for s in stores_of(stage) if isinstance(s.target, Param)}
    read = {n.source for n in nodes_of(formulas_of(stage)) if isinstance(n, Load) and isinstance(n.source, Param)}
    used = sorted(read | written, key=lambda p: (len(p.name), p.name))
    return used, [p for p in used if p in written]


def operands_of(stage: Stage) -> set[tuple[Param, Dim]]:
    """The loads of a stage from the kernel's buffers, as (buffer, offset)."""
    loads = [n for n in nodes_of(formulas_of(stage)) if isinstance(n, Load)]
    return {(n.source, n.index[0]) for n in loads if isinstance(n.source, Param)}


def point_bytes(stage: Stage, lane: Axis, deps: Dependence, skip: Collection[tuple[Param, Dim]] = ()) -> int:
    """Memory traffic of one point in bytes, if neighbouring threads are neighbours along `lane`."""
    accesses = {(s.target, s.offset) for s in stores_of(stage) if isinstance(s.target, Param)}
    accesses |= operands_of(stage).difference(skip)
    return sum(_bytes(source.dtype.bytes, offset, lane, deps) for source, offset in accesses)


def _bytes(size: int, offset: Dim, lane: Axis, deps: Dependence) -> int:
    """Bytes of one access: contiguous elements share a sector; an access that is invariant along the lane is free."""
    if lane.symbol.name not in deps.of(offset):
        return 0
    split = offset.linear(lane.symbol)
    if split is None:
        in_line = any(isinstance(a, Mod | FloorDiv) and lane.symbol in of(a).symbols() for a in offset.atoms())
        return size if in_line and not offset.data() else SECTOR
    stride = split[0].constant
    return SECTOR if stride is None else min(SECTOR, abs(stride) * size)


def shared_cycles(count: Dim, blocks: Dim, each: int) -> Dim:
    """Cycles of one block if `blocks` share `count` tasks of `each` bytes."""
    return maximum(1, count * each // (blocks * BYTES_PER_CYCLE))


def turns(count: Dim, each: int = THREADS) -> Dim:
    """Iterations of the grid-stride loop in the busiest thread."""
    return (count + (each * MOST_BLOCKS - 1)) // (each * MOST_BLOCKS)
