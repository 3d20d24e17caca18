"""Packed transposes: reducing kernels first copy the tile of a block's rows of transposed operands to shared memory.

A block has one row per team. Its threads read the part of each transposed operand that belongs to these rows with
neighbouring threads at neighbouring rows, which is coalesced, and store every element to the scratch of its row. All
stages read the scratch along their lanes, for any number of stages and any reductions.

The pitch of rows of scratch is padded to `BANKS`: 8 rows x 4 steps of 4 bytes, a warp's share of a tile of 8 rows, are
in 32 banks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.emit.transposed import Read, reading_instead, transposed_reads
from shlo_disc.expr.dim import Dim, of
from shlo_disc.expr.scalar import Load
from shlo_disc.kernels.kernel import Axis, RowKernel, Scratch
from shlo_disc.lower_cuda.points import SECTOR, decode
from shlo_disc.records import record

BANKS = 16, 128  # remainder and modulus of the pitch of rows of scratch, in bytes
UNROLLED = 4  # loads in flight per thread


@record
class TransposedLoad:
    """A load that is transposed: along which loop of its stages, and the scratch that these read instead."""

    load: Load
    lane: Axis
    scratch: Scratch

    def traffic(self, rows: int) -> int:
        """Memory traffic per element in bytes, for blocks of `rows` rows that may begin anywhere in a sector."""
        return (rows * self.scratch.dtype.bytes + SECTOR) // rows


@record
class TransposedKernel:
    """A kernel that reads scratch in place of operands that are contiguous across its rows."""

    kernel: RowKernel
    turns: tuple[TransposedLoad, ...]


def with_transposed_loads(kernel: RowKernel) -> TransposedKernel | None:
    """The kernel with operands transposed in scratch, if it reduces and any are contiguous across its rows."""
    turns = {
        (load, lane): TransposedLoad(load, lane, Scratch(f"q{number}", load.dtype, lane.extent))
        for number, (load, lane) in enumerate(transposed_reads(kernel, lambda _: True))
    }
    if not turns:
        return None
    reads: dict[Read, Load] = {read: Load(t.scratch, (of(t.lane.symbol),)) for read, t in turns.items()}
    scratch = (*kernel.scratch, *(turn.scratch for turn in turns.values()))
    return TransposedKernel(replace(reading_instead(kernel, reads), scratch=scratch), tuple(turns.values()))


def spread(size: Dim) -> Dim:
    """The pitch in bytes of rows of scratch of `size` bytes (a multiple of the remainder)."""
    remainder, banks = BANKS
    return (size + (banks - remainder - 1)) // banks * banks + remainder


def print_fill(
    emit: Emitter, rows: Sequence[Axis], turns: Sequence[TransposedLoad], places: Sequence[Dim]
) -> list[str]:
    """Fill the scratch of the rows from `tile` on; `places`: offsets of the turns in a row's `line`."""
    with emit.inside("%row", *(axis.symbol.name for axis in rows)) as row:
        row.lines += decode(emit, rows, "row")
        for turn, place in zip(turns, places, strict=True):
            lane, kind = clean(turn.lane.symbol.name), emit.spell.memory_type(turn.scratch.dtype)
            start, extent = emit.dim_scalar(place), emit.dim_scalar(turn.lane.extent)
            with emit.inside(turn.lane.symbol.name) as step:
                (offset,) = turn.load.index
                read = f"{turn.load.source.name}[{emit.dim_scalar(offset)}]"
                step.lines.append(f"(({kind}*)(line + {start}))[{lane}] = {read};")
            loop = [
                f"#pragma unroll {UNROLLED}",
                f"for (idx {lane} = threadIdx.x / tall; {lane} < {extent}; {lane} += TEAM) {{",
                *(INDENT + text for text in step.lines),
                "}",
            ]
            row.block(loop)
    return [
        "if (const idx row = tile + line_row; row < rows) {",
        *(INDENT + text for text in row.lines),
        "}",
        "__syncthreads();",
    ]
