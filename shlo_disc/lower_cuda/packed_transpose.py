"""Packed transposes: reducing kernels put the tile of a block's rows of transposed operands into shared memory first.

A block has one row per team. Its threads read the part of each transposed operand that belongs to these rows with
neighbouring threads at neighbouring rows, which is along memory, and put every element into the scratch of its row. All
stages read that along their lanes, however many they are, and whatever they reduce with.

Rows of scratch lie `BANKS` apart: 8 rows x 4 steps of 4 bytes, a warp's share of a tile of 8 rows, are in 32 banks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.emit.transposed import Read, reading_instead, transposed_reads
from shlo_disc.expr.dim import Dim, of
from shlo_disc.expr.scalar import Load
from shlo_disc.kernels.kernel import Axis, RowKernel, Scratch
from shlo_disc.lower_cuda.points import SECTOR, decode

BANKS = 16, 128  # bytes from a row of scratch to the next: the remainder, and by what it is divided
UNROLLED = 4  # loads of one thread that wait together


@dataclass(frozen=True, slots=True)
class TransposedLoad:
    """A load that is turned: over which loop of its stages, and the scratch that these read instead."""

    load: Load
    lane: Axis
    scratch: Scratch

    def traffic(self, rows: int) -> int:
        """The bytes that an element costs where a block has so many rows: these may begin anywhere in a sector."""
        return (rows * self.scratch.dtype.bytes + SECTOR) // rows


@dataclass(frozen=True, slots=True)
class TransposedKernel:
    """`kernel` reads scratch where it read operands across its rows."""

    kernel: RowKernel
    turns: tuple[TransposedLoad, ...]


def with_transposed_loads(kernel: RowKernel) -> TransposedKernel | None:
    """The kernel with operands that are transposed in scratch, if it reduces and any are read across its rows."""
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
    """The bytes from one row of scratch to the next, where rows have `size` (a multiple of the remainder)."""
    remainder, banks = BANKS
    return (size + (banks - remainder - 1)) // banks * banks + remainder


def print_fill(
    emit: Emitter, rows: Sequence[Axis], turns: Sequence[TransposedLoad], places: Sequence[Dim]
) -> list[str]:
    """Fill the scratch of the rows from `tile` on; `places`: where that of each turn begins in a row's `line`."""
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
