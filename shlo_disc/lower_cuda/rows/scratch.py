"""Row scratch on a GPU: its layout, and the barriers before a team reads what its other threads wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from shlo_disc.expr.dim import Dim, Sym, of, total
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Load
from shlo_disc.kernels.kernel import RowKernel, Scratch, Stage, Store
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cuda.stage_text import is_ordered, reduces_row
from shlo_disc.records import record

ALIGNMENT = 16  # bytes, of every scratch buffer, so that it can be accessed in packs
SYNC, SYNC_REDUCED = "team_sync<TEAM>();", "team_sync_reduced<TEAM>();"


def offsets(kernel: RowKernel) -> tuple[tuple[Dim, ...], Dim]:
    """Offsets of the scratch buffers, and the size of a row's scratch, in bytes."""
    sizes = [(s.size * s.dtype.bytes + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT for s in kernel.scratch]
    return tuple(total(sizes[:k]) for k in range(len(sizes))), total(sizes)


@record
class Syncs:
    """The barrier before each stage, and at the end of a row; empty where none is needed."""

    before: tuple[str, ...]
    at_end: str


def syncs(kernel: RowKernel, widths: Sequence[int]) -> Syncs:
    """Place as few barriers as possible. `widths`: how many contiguous points a thread takes at once, per stage.

    A barrier separates a write of scratch from a read by another thread, and a read from the write of the next row.
    The reduction of a block to a row scalar is a barrier; that of a warp is not, as shuffles do not order memory.
    """
    uses = [_uses(stage, width) for stage, width in zip(kernel.stages, widths, strict=True)]
    shared = {s for s in kernel.scratch if not _is_private(s, uses)}
    warp, block = _Hazards(), _Hazards()
    before = list[str]()
    for use in uses:
        if warp.reads_dirty(use, shared):
            before.append(SYNC if block.reads_dirty(use, shared) else SYNC_REDUCED)
            warp.clear()
            if before[-1] == SYNC:
                block.clear()
        else:
            before.append("")
        warp.run(use, shared, waits=False)
        block.run(use, shared, waits=use.reduces)
    ends = [h.collides(uses, before, {SYNC} if h is block else {SYNC, SYNC_REDUCED}) for h in (warp, block)]
    return Syncs(tuple(before), SYNC if ends[1] else SYNC_REDUCED if ends[0] else "")


def private_scratch(kernel: RowKernel, widths: Sequence[int]) -> set[Scratch]:
    """Scratch of which each element is read only by the thread that wrote it; `widths` as for `syncs`."""
    uses = [_uses(stage, width) for stage, width in zip(kernel.stages, widths, strict=True)]
    return {s for s in kernel.scratch if _is_private(s, uses)}


@record
class _Use:
    """Accesses of a stage to scratch. `shape` determines the thread of each point; None if it is not fixed."""

    shape: tuple[object, ...] | None
    writes: tuple[tuple[Scratch, Dim], ...]
    reads: tuple[tuple[Scratch, Dim], ...]
    late_writes: tuple[tuple[Scratch, Dim], ...]  # after the reduction of the stage
    late_reads: tuple[tuple[Scratch, Dim], ...]
    reduces: bool


def _uses(stage: Stage, width: int) -> _Use:
    positions = {axis.symbol: of(Sym(f"%{number}")) for number, axis in enumerate(stage.axes)}

    def reads(roots: Sequence[Node]) -> tuple[tuple[Scratch, Dim], ...]:
        loads = [n for n in nodes_of(roots) if isinstance(n, Load)]
        return tuple((n.source, n.index[0].substitute(positions)) for n in loads if isinstance(n.source, Scratch))

    def writes(stores: Sequence[Store]) -> tuple[tuple[Scratch, Dim], ...]:
        return tuple((s.target, s.offset.substitute(positions)) for s in stores if isinstance(s.target, Scratch))

    late = [s for r in stage.reductions for s in r.stores]
    early = replace(stage, reductions=tuple(replace(r, stores=(), init=()) for r in stage.reductions))
    shape = None
    if not stage.reductions or reduces_row(stage):
        shape = (is_ordered(stage), width, *(a.extent for a in stage.axes))
    return _Use(
        shape,
        writes(stage.stores),
        reads(stage_formulas(early)),
        writes(late),
        reads([*(s.value for s in late), *(x for r in stage.reductions for x in r.init)]),
        reduces_row(stage),
    )


def _is_private(scratch: Scratch, uses: Sequence[_Use]) -> bool:
    """Whether each element is read only by the thread that wrote it."""
    seen = set[tuple[object, ...] | None]()
    for use in uses:
        for target, offset in (*use.writes, *use.reads):
            if target == scratch:
                seen.add(None if use.shape is None else (*use.shape, offset))
        if any(target == scratch for target, _ in (*use.late_writes, *use.late_reads)):
            return False
    return len(seen) == 1 and None not in seen


@dataclass(slots=True)
class _Hazards:
    """Scratch that was written, and that was read, since the team's last barrier."""

    dirty: set[Scratch] = field(default_factory=set[Scratch])
    read: set[Scratch] = field(default_factory=set[Scratch])

    def clear(self) -> None:
        self.dirty.clear()
        self.read.clear()

    def reads_dirty(self, use: _Use, shared: set[Scratch]) -> bool:
        return any(s in self.dirty and s in shared for s, _ in (*use.reads, *use.late_reads))

    def run(self, use: _Use, shared: set[Scratch], *, waits: bool) -> None:
        self.dirty |= {s for s, _ in use.writes if s in shared}
        self.read |= {s for s, _ in use.reads if s in shared}
        if waits:
            self.clear()
        self.dirty |= {s for s, _ in use.late_writes if s in shared}
        self.read |= {s for s, _ in use.late_reads if s in shared}

    def collides(self, uses: Sequence[_Use], before: Sequence[str], full: set[str]) -> bool:
        """Whether the next row may write what a slower thread still reads."""
        waits_when_reducing = full == {SYNC}
        open_reads = set(self.read)
        for use, sync in zip(uses, before, strict=True):
            if sync in full:
                return False
            if any(s in open_reads for s, _ in use.writes):
                return True
            if use.reduces and waits_when_reducing:
                return False
            if any(s in open_reads for s, _ in use.late_writes):
                return True
        return False
