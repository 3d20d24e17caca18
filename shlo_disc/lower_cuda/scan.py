"""Scans: a thread, a warp or a block per line, or several blocks (device/sort/scan.cuh).

| variant | for | how |
|---|---|---|
| `thread` | many lines | sequential; neighbouring threads have neighbouring lines |
| `warp` | short lines | 128 elements at a time, combined by shuffles |
| `block` | long lines | 1024 elements at a time, with a carry from one tile to the next |
| `split` | few very long lines | totals of parts, a scan of the totals, the parts (three launches) |
"""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.indices import size_name
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, const, minimum
from shlo_disc.expr.facts import Facts
from shlo_disc.host_ir import GridLaunch, Variant
from shlo_disc.kernels.kernel import ScanKernel
from shlo_disc.lower_cuda.cost import BARRIER_LATENCY, LOAD_LATENCY, SHUFFLE_LATENCY, memory_cycles
from shlo_disc.lower_cuda.printed import Printed, signature
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.records import record

_SPELL = CudaSpelling()
MOST_BLOCKS = 1 << 20
PART_TILES = 4  # tiles per part of a split line


@record
class _ScanPlan:
    """The common parameters of a scan's launches."""

    kernel: ScanKernel
    symbols: tuple[str, ...]
    lines: Dim
    extent: Dim
    item_bytes: int
    setup: tuple[str, ...]

    @property
    def threads(self) -> int:
        """Threads of a block: fewer for large items, so that a tile is at most 32 KiB."""
        return 256 if self.item_bytes <= 32 else 128 if self.item_bytes <= 64 else 32

    @property
    def tile(self) -> int:
        return self.threads * 4

    @property
    def moved(self) -> int:
        """Memory traffic of one element in bytes."""
        return 2 * sum(p.dtype.bytes for p in self.kernel.outputs)


def print_scan(kernel: ScanKernel, facts: Facts) -> Printed:
    """Print the variants of a scan of `outer x inner` lines."""
    emit = Emitter(_SPELL)
    lines, extent = facts.canonical(kernel.outer.extent * kernel.inner.extent), kernel.along.extent
    setup = f"const idx lines = {emit.dim_scalar(lines)}, extent = {emit.dim_scalar(extent)};"
    struct, sizes = _struct(kernel)
    symbols = tuple(dict.fromkeys((*emit.sizes, *sizes)))
    arguments = ", ".join([*(p.name for p in kernel.params), *map(size_name, sizes)])
    make = f"const {NAME}_Scan scan{{{arguments}}};"
    size = sum(-(-c.dtype.bytes // 4) * 4 for c in kernel.carries) + 16  # an upper bound, with padding
    plan = _ScanPlan(kernel, symbols, lines, extent, size, (*emit.scopes[0].lines, setup, make))
    text = [*struct, *_kernels(plan)]
    parts = (extent + (plan.tile * PART_TILES - 1)) // (plan.tile * PART_TILES)
    return Printed("\n".join(text), _variants(plan), (lines * extent,), (lines * parts * size,))


def _struct(kernel: ScanKernel) -> tuple[list[str], tuple[str, ...]]:
    """Print the `Scan` that device/sort/scan.cuh is a template over; also returns the sizes it reads."""
    emit = Emitter(_SPELL)
    symbols = [axis.symbol.name for axis in (kernel.outer, kernel.along, kernel.inner)]
    place = _place(emit, kernel)
    with emit.inside(*symbols) as scope:
        emit.count_uses(kernel.elements)
        values = ", ".join(emit.value(x) for x in kernel.elements)
        load = [*emit.scopes[0].lines, *place, *scope.lines, f"return Item{{{values}}};"]
    with emit.inside() as scope:
        emit.scopes[0].lines.clear()
        emit.scopes[0].names.clear()
        emit.count_uses(kernel.init)
        values = ", ".join(emit.value(x) for x in kernel.init)
        start = [*emit.scopes[0].lines, *scope.lines, f"return Item{{{values}}};"]
    with emit.inside(*(a.name for a in (*kernel.carries, *kernel.inputs))) as scope:
        emit.scopes[0].lines.clear()
        emit.scopes[0].names.clear()
        for k, (carry, following) in enumerate(zip(kernel.carries, kernel.inputs, strict=True)):
            kind = _SPELL.value_type(carry.dtype)
            scope.lines += [f"const {kind} {carry.name} = before.v{k};", f"const {kind} {following.name} = after.v{k};"]
        emit.count_uses(kernel.combined)
        values = ", ".join(emit.value(x) for x in kernel.combined)
        combined = [*emit.scopes[0].lines, *scope.lines, f"return Item{{{values}}};"]
    with emit.inside(*symbols) as scope:
        emit.scopes[0].lines.clear()
        emit.scopes[0].names.clear()
        offset = emit.dim_scalar(kernel.offset)
        stores = [
            _SPELL.store(target.name, "to", f"item.v{k}", target.dtype) for k, target in enumerate(kernel.outputs)
        ]
        store = [*emit.scopes[0].lines, *place, *scope.lines, f"const idx to = {offset};", *stores]
    members = " ".join(f"{_SPELL.value_type(c.dtype)} v{k};" for k, c in enumerate(kernel.carries))
    pointers = [
        f"{'' if p in kernel.outputs else 'const '}{_SPELL.memory_type(p.dtype)}* {p.name};" for p in kernel.params
    ]
    body = [
        f"struct Item {{ {members} }};",
        *pointers,
        *(f"idx {size_name(s)};" for s in emit.sizes),
        *_method("Item load(idx line, idx at)", load),
        *_method("Item start()", start),
        *_method("Item combined(const Item& before, const Item& after)", combined),
        *_method("void store(idx line, idx at, const Item& item)", store),
    ]
    return [f"struct {NAME}_Scan {{", *(INDENT + line for line in body), "};"], tuple(emit.sizes)


def _method(head: str, lines: Sequence[str]) -> list[str]:
    return [f"SHLO_DEVICE {head} const {{", *(INDENT + line for line in lines), "}"]


def _place(emit: Emitter, kernel: ScanKernel) -> list[str]:
    """Decode the coordinates of element `at` of a line, counted in the direction of the scan."""
    inner, extent = emit.dim_scalar(kernel.inner.extent), emit.dim_scalar(kernel.along.extent)
    single = kernel.inner.extent.constant == 1
    return [
        f"const idx o = {'line' if single else f'line / {inner}'}, j = {'0' if single else f'line % {inner}'};",
        f"const idx s = {f'{extent} - 1 - at' if kernel.backwards else 'at'};",
    ]


def _kernels(plan: _ScanPlan) -> list[str]:
    t, part = plan.threads, plan.tile * PART_TILES
    size = "scan, lines, extent"
    totals = f"({NAME}_Scan::Item*)totals"
    return [
        *_function(plan, "thread", f"scan_by_threads({size});"),
        *_function(plan, "warp", f"scan_by_teams<{t}, 32, 4>({size});"),
        *_function(plan, "block", f"scan_by_teams<{t}, {t}, 4>({size});"),
        *_function(plan, "totals", f"scan_totals<{t}, 4, {part}>({size}, {totals});"),
        *_function(plan, "carries", f"scan_carries<{t}, {part}>({size}, {totals});"),
        *_function(plan, "parts", f"scan_parts<{t}, 4, {part}>({size}, {totals});"),
    ]


def _function(plan: _ScanPlan, suffix: str, call: str) -> list[str]:
    head = signature(
        f"{NAME}_{suffix}",
        plan.kernel.params,
        plan.kernel.outputs,
        plan.symbols,
        threads=plan.threads,
        workspaces=("totals",),
    )
    return [*head, *(INDENT + line for line in (*plan.setup, call)), "}"]


def _call(plan: _ScanPlan, suffix: str, blocks: Dim, cycles: Dim, latency: Dim) -> GridLaunch[Dim]:
    return GridLaunch(
        kernel=f"{NAME}_{suffix}",
        buffers=tuple(range(len(plan.kernel.params) + 1)),
        symbols=plan.symbols,
        blocks=minimum(blocks, MOST_BLOCKS),
        threads=plan.threads,
        shared=const(0),
        cycles=cycles,
        latency=latency,
    )


def _variants(plan: _ScanPlan) -> tuple[Variant[Dim], ...]:
    threads, tile, lines, extent = plan.threads, plan.tile, plan.lines, plan.extent
    warps, part = threads // 32, plan.tile * PART_TILES
    parts = (extent + (part - 1)) // part
    step = LOAD_LATENCY + 8 * SHUFFLE_LATENCY  # latency of a team's step, without barriers
    block_step = step + 6 * BARRIER_LATENCY
    # Elements of a thread have stride `inner`: accesses of neighbouring threads coalesce only if `inner` is not 1.
    spread = 1 if plan.kernel.inner.extent.constant != 1 else 8

    def blocks(per_block: int) -> Dim:
        return (lines + (per_block - 1)) // per_block

    def work(count: Dim) -> Dim:
        return memory_cycles(count * plan.moved) + count // 8

    thread = _call(plan, "thread", blocks(threads), work(extent * (threads * spread)), extent * 60 + 2 * LOAD_LATENCY)
    warp_steps = (extent + 127) // 128
    warp = _call(plan, "warp", blocks(warps), work(extent * warps), (warp_steps + 1) * step)
    block_steps = (extent + (tile - 1)) // tile
    block = _call(plan, "block", blocks(1), work(extent) + block_steps * 200, (block_steps + 1) * block_step)
    one = const((PART_TILES + 1) * block_step)
    pieces = lines * parts
    split = (
        _call(plan, "totals", pieces, work(const(part)) // 2, one),
        _call(plan, "carries", lines, parts, (parts // threads + 1) * block_step),
        _call(plan, "parts", pieces, work(const(part)), one),
    )
    return (
        Variant("thread", (), False, (thread,)),
        Variant("warp", (), False, (warp,)),
        Variant("block", (), False, (block,)),
        Variant("split", (), False, split),
    )
