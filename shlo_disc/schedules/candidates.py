"""Candidate schedules of products, derived from the CPU and not from any shape.

DietCode (Zheng et al., "DietCode: Automatic Optimization for Dynamic Tensor Programs", MLSys 2022) calls such a set a
shape-generic search space: a micro-kernel computes a block of any product, so that its measured rates hold for all
shapes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal, TypeAlias

from shlo_disc.records import record

_NAME = r"(?P<form>\w+) (?P<rows>\d+)(?: by (?P<vectors>\d+))?(?: deep (?P<depth>\d+))?"
Form: TypeAlias = Literal["own", "tiles", "stream"]
FORMS: tuple[Form, ...] = ("own", "tiles", "stream")  # in the order of their numbers in `ShloSchedule`

PANEL = 64  # columns that are packed together: blocks consist of whole panels
TILE_ROWS = 6  # of a tile
ROWS = 192  # of blocks, or a multiple or a fraction


@record
class Hardware:
    """Hardware limits of schedules: bytes of a vector register, registers for accumulators, bytes of caches."""

    register: int
    accumulators: int
    l1: int
    l2: int

    @property
    def text(self) -> str:
        """A description for users."""
        return f"{self.register * 8}-bit vectors, {self.l1 >> 10} KiB of L1, {self.l2 >> 10} KiB of L2"


@record
class MicroKernel:
    """Computes a block: `tiles` packs its columns of B, `stream` reads them in place, tile by tile.

    `own` is the prelude's kernel for cases that suit neither, where columns of B are not adjacent. `vectors`: the
    largest width of tiles. `depth`: the depth over which sums stay in registers, and which is packed at a time. For
    both, 0 leaves the choice to the prelude.
    """

    form: Form
    tile_rows: int
    vectors: int = 0
    depth: int = 0

    @property
    def name(self) -> str:
        """The name in messages and files.

        >>> MicroKernel("stream", 12).name, MicroKernel("tiles", 6, 2, 512).name
        ('stream 12', 'tiles 6 by 2 deep 512')
        """
        wide, deep = f" by {self.vectors}" if self.vectors else "", f" deep {self.depth}" if self.depth else ""
        return f"{self.form} {self.tile_rows}{wide}{deep}"


def parse_kernel(name: str) -> MicroKernel:
    """The micro-kernel of a name. Raises `ValueError` for any other text.

    >>> parse_kernel("tiles 6 deep 512")
    MicroKernel(form='tiles', tile_rows=6, vectors=0, depth=512)
    """
    found = re.fullmatch(_NAME, name)
    for known in FORMS:
        if found and found["form"] == known:
            return MicroKernel(known, int(found["rows"]), int(found["vectors"] or 0), int(found["depth"] or 0))
    raise ValueError(f"found the micro-kernel {name!r}, expected {' or '.join(map(repr, FORMS))} and its rows")


@record
class Candidate:
    """A micro-kernel, and the block of the result that one task computes: the parameters of a launch."""

    kernel: MicroKernel
    rows: int
    columns: int

    @property
    def name(self) -> str:
        """The name in messages and files.

        >>> Candidate(MicroKernel("stream", 12), 96, 256).name
        'stream 12, 96x256'
        """
        return f"{self.kernel.name}, {self.rows}x{self.columns}"


def parse_candidate(name: str) -> Candidate:
    """The candidate of a name. Raises `ValueError` for any other text.

    >>> parse_candidate("tiles 6, 192x64")
    Candidate(kernel=MicroKernel(form='tiles', tile_rows=6, vectors=0, depth=0), rows=192, columns=64)
    """
    kernel, _, block = name.partition(", ")
    rows, _, columns = block.partition("x")
    return Candidate(parse_kernel(kernel), int(rows), int(columns))


# Kernels of the prelude whose sums fill the registers (4 vectors of columns on AVX-512 and NEON, 2 on others).
MICRO_KERNELS = (MicroKernel("tiles", TILE_ROWS), MicroKernel("stream", TILE_ROWS))

# Rows, vectors and depths that tuning a program tries besides each of them: narrower and taller tiles, and other depths
# than the prelude's (256 where a near B is streamed, else as much as scratch memory holds, 1024 of f32).
VARIANTS = ((8, 2, 0), (TILE_ROWS, 0, 64), (TILE_ROWS, 0, 128), (TILE_ROWS, 0, 512))


def variants(kernel: MicroKernel) -> tuple[MicroKernel, ...]:
    """A micro-kernel, and its variants with other tiles and depths."""
    return (kernel, *(replace(kernel, tile_rows=rows, vectors=wide, depth=deep) for rows, wide, deep in VARIANTS))


def blocks(threads: int) -> tuple[tuple[int, int], ...]:
    """Rows and columns that tasks may have.

    128 columns of B, 768 deep, are 384 KiB: they stay in the L2 cache for all rows. One thread needs no smaller blocks;
    several threads balance better with smaller ones, whether rows or columns are few.
    """
    whole = (4 * ROWS, 2 * PANEL)
    if threads == 1:
        return (whole,)
    return (whole, (ROWS, 2 * PANEL), (ROWS, PANEL), (ROWS // 2, 2 * PANEL), (ROWS // 4, PANEL))


def candidates(kernels: tuple[MicroKernel, ...], threads: int) -> tuple[Candidate, ...]:
    """Every micro-kernel on blocks of every size."""
    return tuple(Candidate(kernel, rows, columns) for kernel in kernels for rows, columns in blocks(threads))
