"""Packed transposes: reducing kernels pack 16 rows of each transposed operand into scratch, then read along lanes.

Where an operand is strided along the lanes' axis and contiguous along the last row axis, a task is a block of 16 rows:
whole cache lines are read, and only once, however many stages read the operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.emit.transposed import reading_instead, transposed_reads
from shlo_disc.expr.dim import Dim, Sym, of, product
from shlo_disc.expr.scalar import Load
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import Axis, Param, RowKernel
from shlo_disc.lower_cpu import rows
from shlo_disc.lower_cpu.rows import RowPrinter
from shlo_disc.lower_cpu.spelling import LANES, VectorSpelling
from shlo_disc.lower_cpu.stages.loops import decode
from shlo_disc.lower_cpu.templates import SIZES, KernelBody, signature, union
from shlo_disc.lower_cpu.vectorize import can_vectorize
from shlo_disc.records import record

_FIRST, _AT = Sym("%first"), Sym("%at")  # the first row of a block, and a step along the lane


@record
class PackedLoad:
    """A load to transpose: the loop that it is strided along, and the buffer of 16 rows that is read instead."""

    load: Load
    lane: Axis
    block: Param

    @property
    def line(self) -> Dim:
        """The row pitch of the block, in elements."""
        return rows.padded(self.lane.extent)

    @property
    def bytes(self) -> Dim:
        """The size of the block in bytes."""
        return self.line * (LANES * self.block.dtype.bytes)


@record
class PackedKernel:
    """A kernel that reads blocks, which are its last params, in place of the strided operands."""

    kernel: RowKernel
    loads: tuple[PackedLoad, ...]

    @property
    def blocks(self) -> Dim:
        """Number of blocks along the last row axis."""
        return (self.kernel.rows[-1].extent + (LANES - 1)) // LANES

    @property
    def extent(self) -> Dim:
        """How many independent tasks a launch has: blocks of rows."""
        return product((*(axis.extent for axis in self.kernel.rows[:-1]), self.blocks))

    @property
    def places(self) -> tuple[Dim, ...]:
        """The offset of each block in scratch, after that of the rows; and the end of the last one."""
        ends = [rows.scratch_bytes(self.kernel)]
        for one in self.loads:
            ends.append(ends[-1] + one.bytes)
        return tuple(ends)


def with_packed_loads(kernel: RowKernel) -> PackedKernel | None:
    """The kernel with packed transposes of operands, if it reduces and reads any across its rows."""
    deps = Dependence()
    reads = transposed_reads(kernel, lambda stage: can_vectorize(stage, deps))
    if not reads:
        return None
    loads = tuple(PackedLoad(load, lane, Param(f"q{k}", load.dtype)) for k, (load, lane) in enumerate(reads))
    row = of(kernel.rows[-1].symbol) % LANES
    blocks = {(t.load, t.lane): Load(t.block, (row * t.line + of(t.lane.symbol),)) for t in loads}
    params = (*kernel.params, *(one.block for one in loads))
    return PackedKernel(replace(reading_instead(kernel, blocks), params=params), loads)


def print_packed(found: PackedKernel) -> KernelBody:
    """A function for the rows of a block, and the kernel that packs its operands and calls it."""
    kernel, emit = found.kernel, Emitter(VectorSpelling())
    statements, sizes = RowPrinter(kernel).lines()
    name = f"{NAME}_rows"
    function = [*signature("static", name), SIZES, *(INDENT + line for line in statements), "}"]
    operands = kernel.params[: len(kernel.params) - len(found.loads)]
    sources = {one.load.source for one in found.loads}
    pointers = [
        rows.pointer(VectorSpelling(), k, param, written=False) for k, param in enumerate(operands) if param in sources
    ]
    starts = [emit.dim_scalar(place) for place in found.places[:-1]]
    buffers = [f"buffers[{k}]" for k in range(len(operands))] + [f"(char*)scratch + {start}" for start in starts]
    height, blocks = emit.dim_scalar(kernel.rows[-1].extent), emit.dim_scalar(found.blocks)
    outer = kernel.rows[:-1]
    with emit.inside("%block", _FIRST.name, *(axis.symbol.name for axis in outer)) as block:
        decode(emit, block, outer, f"block / {blocks}")
        block.lines += [
            f"const int64_t first = block % {blocks} * {LANES};",
            f"const int64_t count = min_({height} - first, {LANES});",
        ]
        for number, one in enumerate(found.loads, start=len(operands)):
            block.block(_pack(emit, one, f"all[{number}]", kernel.rows[-1]))
        block.lines += [
            f"const int64_t row = block / {blocks} * {height} + first;",
            f"{name}(runtime, all, dims, row, row + count, scratch);",
        ]
    lines = [
        *pointers,
        f"void* const all[] = {{{', '.join(buffers)}}};",
        *emit.scopes[0].lines,
        "for (int64_t block = begin; block < end; ++block) {",
        *(INDENT + line for line in block.lines),
        "}",
    ]
    return KernelBody(tuple(function), tuple(lines), union(sizes, tuple(emit.sizes)))


def _pack(emit: Emitter, one: PackedLoad, block: str, across: Axis) -> Sequence[str]:
    """Transpose the operand's part of a block, 16 steps of the lane at a time."""
    (offset,), at, extent = one.load.index, clean(_AT.name), emit.dim_scalar(one.lane.extent)
    split = offset.linear(one.lane.symbol)
    assert split is not None, "only loads with a stride are packed"
    kind = VectorSpelling().memory_type(one.block.dtype)
    place = offset.substitute({across.symbol: of(_FIRST), one.lane.symbol: of(_AT)})
    with emit.inside(_AT.name) as step:
        start, stride, line = (emit.dim_scalar(dim) for dim in (place, split[0], one.line))
        step.lines += [
            f"load_transposed(({kind}*){block} + {at}, {one.load.source.name} + {start}, {stride}, count,",
            f"{INDENT * 2}min_({extent} - {at}, {LANES}), {line});",
        ]
    head = f"for (int64_t {at} = 0; {at} < {extent}; {at} += {LANES}) {{"
    return [head, *(INDENT + line for line in step.lines), "}"]
