"""Maps: one stage without reductions, whose flattened points are distributed over the threads of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shlo_disc.emit.naming import NAME
from shlo_disc.expr.dim import Dim, const, product
from shlo_disc.expr.facts import Facts
from shlo_disc.host_ir import GridLaunch
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.inplace import Pairs, positions, row_pairs
from shlo_disc.kernels.kernel import Param, RowKernel, Stage
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cuda.cost import LOAD_LATENCY
from shlo_disc.lower_cuda.packed import PackedEmitter, Packing, pack_stage
from shlo_disc.lower_cuda.points import (
    THREADS,
    blocks_for,
    decode,
    grid_loop,
    params_of,
    point_bytes,
    shared_cycles,
    turns,
)
from shlo_disc.lower_cuda.printed import KernelText, Printed, Way
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.lower_cuda.transpose import find_tiles, print_tiled

PLAIN_PENALTY = 9, 8  # single elements take more instructions per byte than packs


def is_map(kernel: RowKernel) -> bool:
    """Whether all points of a kernel are independent."""
    return len(kernel.stages) == 1 and not kernel.stages[0].reductions and not kernel.scratch


def print_map(kernel: RowKernel, facts: Facts) -> Printed:
    """Print variants: packs, tiles for transposed reads, and single elements, which are always legal."""
    flat = flattened(kernel)
    pairs = map_pairs(flat)
    ways = map_pieces(flat, kernel.params, facts, NAME, pairs)
    text = "\n".join(line for way in ways for line in way.text)
    spaces = (product(a.extent for a in flat.axes),)
    return Printed(text, tuple(w.variant for w in ways), spaces, in_place=positions(pairs, kernel.params))


def flattened(kernel: RowKernel) -> Stage:
    """The stage of a map, with the rows as outer axes."""
    (stage,) = kernel.stages
    axes = (*kernel.rows, *stage.axes)
    return replace(stage, axes=axes, reduced=(False,) * len(axes))


def map_pairs(stage: Stage) -> Pairs:
    """What a map may write in place; nothing with tiles, which other threads read than write them."""
    return () if find_tiles(stage) else row_pairs(RowKernel((), (), (stage,), ()))


def map_pieces(stage: Stage, buffers: Sequence[Param], facts: Facts, name: str, pairs: Pairs = ()) -> list[Way]:
    """Every way to compute a map, the plain one last. `buffers` are those of the group, in order; `pairs` may alias."""
    pieces, aliases = list[Way](), frozenset(param for pair in pairs for param in pair)
    if (packing := pack_stage(stage, facts)) is not None:
        pieces.append(_print_map(stage, packing, buffers, facts, name, aliases))
    pieces += print_tiled(stage, buffers, facts, name)
    pieces.append(_print_map(stage, None, buffers, facts, name, aliases))
    return pieces


def _print_map(
    stage: Stage,
    packing: Packing | None,
    buffers: Sequence[Param],
    facts: Facts,
    name: str,
    aliases: frozenset[Param],
) -> Way:
    """Print a grid-stride loop over points, or over packs."""
    emit = PackedEmitter(CudaSpelling())
    each = point_bytes(stage, stage.axes[-1], Dependence()) if stage.axes else 8
    stage = packing.stage if packing else stage
    emit.count_uses(stage_formulas(stage))
    count = facts.canonical(product(a.extent for a in stage.axes))
    with emit.inside(*(a.symbol.name for a in stage.axes)) as point:
        point.lines += decode(emit, stage.axes, "i")
        if packing is None:
            for store in stage.stores:
                emit.store(store)
        else:
            with emit.pack(packing) as lanes:
                for store in stage.stores:
                    emit.store(store)
            point.lines += lanes.lines
    total = emit.dim_scalar(count)
    kernel = f"{name}_{'packed' if packing else 'plain'}"
    used, written = params_of(stage)
    body = (*emit.scopes[0].lines, f"const idx count = {total};", *grid_loop("i", "count", point.lines))
    text = KernelText(kernel, tuple(used), tuple(written), tuple(emit.sizes), THREADS, (), body, aliases=aliases)
    width = packing.width if packing else 1
    call = _call(kernel, each, width, count)
    call = replace(call, buffers=tuple(buffers.index(p) for p in used), symbols=tuple(emit.sizes))
    label = f"packs of {width}" if packing else "plain"
    return Way(label, (call,), (text,), guards=packing.guards if packing else (), aligned=packing is not None)


def _call(kernel: str, each: int, width: int, count: Dim) -> GridLaunch[Dim]:
    blocks = blocks_for(count)
    up, down = PLAIN_PENALTY if width == 1 else (1, 1)
    cycles = shared_cycles(count, blocks, max(1, each * width * up // down))
    return GridLaunch(kernel, (), (), blocks, THREADS, const(0), cycles, LOAD_LATENCY * turns(count))
