"""Points of an iteration space on a grid: how many blocks, which point a thread is at, what its traffic costs."""

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
MOST_BLOCKS = 132 * 16  # two rounds of full multiprocessors; more points are taken in a loop over the grid
SECTOR = 32  # bytes that memory hands out at least


def blocks_for(count: Dim, each: int = THREADS) -> Dim:
    """How many blocks share `count` tasks, `each` at a time."""
    return minimum((count + (each - 1)) // each, MOST_BLOCKS)


def grid_loop(name: str, count: str, body: Iterable[str]) -> list[str]:
    """Every thread of all `blocks` takes every so-manieth of `count` points."""
    head = f"for (idx {name} = block * {THREADS} + (idx)threadIdx.x; {name} < {count}; "
    return [f"{head}{name} += blocks * {THREADS}) {{", *(INDENT + line for line in body), "}"]


def decode(emit: Emitter, axes: Sequence[Axis], index: str) -> list[str]:
    """Split a flat index into those of the axes, the last one innermost."""
    lines, rest = list[str](), index
    for number in range(len(axes) - 1, 0, -1):
        name, extent = clean(axes[number].symbol.name), emit.dim_scalar(axes[number].extent)
        before, rest = rest, f"{index}{number}" if number > 1 else clean(axes[0].symbol.name)
        lines += [f"const idx {name} = {before} % {extent};", f"const idx {rest} = {before} / {extent};"]
    return lines if len(axes) > 1 else [f"const idx {clean(axis.symbol.name)} = {index};" for axis in axes]


def stores_of(stage: Stage) -> list[Store]:
    """Everything a stage writes."""
    return [*stage.stores, *(s for r in stage.reductions for s in r.stores)]


def formulas_of(stage: Stage) -> list[Node]:
    """Every formula of a stage, those in the offsets of its stores included."""
    return [*stage_formulas(stage), *(data.formula for s in stores_of(stage) for data in s.offset.data())]


def params_of(stage: Stage) -> tuple[list[Param], list[Param]]:
    """The buffers that a stage reads or writes, in the order of their numbers, and those that it writes."""
    written = {s.target for s in stores_of(stage) if isinstance(s.target, Param)}
    read = {n.source for n in nodes_of(formulas_of(stage)) if isinstance(n, Load) and isinstance(n.source, Param)}
    used = sorted(read | written, key=lambda p: (len(p.name), p.name))
    return used, [p for p in used if p in written]


def operands_of(stage: Stage) -> set[tuple[Param, Dim]]:
    """What a stage loads from the kernel's operands."""
    loads = [n for n in nodes_of(formulas_of(stage)) if isinstance(n, Load)]
    return {(n.source, n.index[0]) for n in loads if isinstance(n.source, Param)}


def point_bytes(stage: Stage, lane: Axis, deps: Dependence, skip: Collection[tuple[Param, Dim]] = ()) -> int:
    """The memory traffic of one point, where neighbouring threads are neighbours along `lane`."""
    accesses = {(s.target, s.offset) for s in stores_of(stage) if isinstance(s.target, Param)}
    accesses |= operands_of(stage).difference(skip)
    return sum(_bytes(source.dtype.bytes, offset, lane, deps) for source, offset in accesses)


def _bytes(size: int, offset: Dim, lane: Axis, deps: Dependence) -> int:
    """One access: elements side by side share a sector, what does not move along the lane costs nothing."""
    if lane.symbol.name not in deps.of(offset):
        return 0
    split = offset.linear(lane.symbol)
    if split is None:
        in_line = any(isinstance(a, Mod | FloorDiv) and lane.symbol in of(a).symbols() for a in offset.atoms())
        return size if in_line and not offset.data() else SECTOR
    stride = split[0].constant
    return SECTOR if stride is None else min(SECTOR, abs(stride) * size)


def shared_cycles(count: Dim, blocks: Dim, each: int) -> Dim:
    """The cycles of one block where `blocks` share `count` tasks of `each` bytes."""
    return maximum(1, count * each // (blocks * BYTES_PER_CYCLE))


def turns(count: Dim, each: int = THREADS) -> Dim:
    """How often the busiest thread goes round the loop over the grid."""
    return (count + (each * MOST_BLOCKS - 1)) // (each * MOST_BLOCKS)
