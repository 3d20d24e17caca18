"""Prepacking of right operands of matrix products: once for all calls, or iterations of a loop, that read them.

A kernel takes the address of packed memory after its own buffers, null if nothing was packed. Packing is a kernel,
too: a task is one panel of columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, const, maximum, minimum
from shlo_disc.expr.facts import Facts
from shlo_disc.kernels.inplace import mentioned
from shlo_disc.kernels.kernel import DotKernel, MatrixView, Panel, Param
from shlo_disc.kernels.rewrite import dims_of
from shlo_disc.lower_cpu.lowered import LoweredGroup, OperandPacking
from shlo_disc.lower_cpu.products.blocks import PANEL_COLUMNS, fill, packed_bytes, panel_bytes, panel_pitch
from shlo_disc.lower_cpu.products.multiplication import Multiplication
from shlo_disc.lower_cpu.products.small import may_be_small
from shlo_disc.lower_cpu.rows import pointer
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import CallBack, KernelBody, start, union
from shlo_disc.records import record

TITLE = "pack"  # the stem of the names of kernels that pack an operand

_STREAMED_ROWS = 12  # with up to so many rows, B is not packed in each iteration, or packing costs little

# Whole panels are read: of an operand with few columns most of that would be padding.
_MOST_PADDING = 3  # packed columns per column of B, at most


@record
class PackedOperand:
    """How the right operand of a product may be packed, from `sources`.

    The product no longer reads `replaced` of these. The packed operand takes `bytes`. Each of `extent` tasks costs
    `work` additions and `scratch` bytes of scratch memory. `worth`: 1 where the product would otherwise pack in each
    iteration of a loop, else 0.
    """

    sources: tuple[Param, ...]
    replaced: tuple[Param, ...]
    bytes: Dim
    extent: Dim
    work: Dim
    scratch: Dim
    worth: Dim


def packed_operand(kernel: DotKernel, kind: Multiplication, invariant: Sequence[bool]) -> PackedOperand | None:
    """How the right operand may be packed: if all products of a batch share it, and it is wide enough.

    `invariant`: which of the kernel's params are unchanged over many launches.
    """
    columns, sources = kernel.column.extent, set(mentioned(kernel.b))
    if may_be_small(kernel) or not _is_wide(columns) or not _is_shared(kernel):
        return None
    if not all(stays for p, stays in zip(kernel.params, invariant, strict=True) if p in sources):
        return None
    read = set(mentioned((kernel.a, kernel.batch, kernel.row, kernel.column, kernel.depth, kernel.epilogue)))
    return PackedOperand(
        sources=tuple(p for p in kernel.params if p in sources),
        replaced=tuple(p for p in kernel.params if p in sources and p not in read),
        bytes=packed_bytes(kind, kernel.depth, columns),
        extent=(columns + (PANEL_COLUMNS - 1)) // PANEL_COLUMNS,
        work=kernel.depth * (PANEL_COLUMNS // 8),
        scratch=panel_bytes(kernel.b, const(PANEL_COLUMNS)) if isinstance(kernel.b, Panel) else const(0),
        worth=_worth(kernel),
    )


def _worth(kernel: DotKernel) -> Dim:
    """1 if packing B before a loop pays from the second iteration on and costs nothing if there is only one, else 0.

    That holds where every iteration computes B, or packs columns that are not adjacent. Adjacent ones are packed while
    they are read, which is necessary anyway.
    """
    if isinstance(kernel.b, Panel):
        return const(1)
    if kernel.b.column_stride.constant == 1:
        return const(0)
    return minimum(1, maximum(0, kernel.row.extent - _STREAMED_ROWS))


def _is_wide(columns: Dim) -> bool:
    count = columns.constant
    return count is None or -(-count // PANEL_COLUMNS) * PANEL_COLUMNS <= _MOST_PADDING * count


def _is_shared(kernel: DotKernel) -> bool:
    """Whether the operand is the same for the whole batch, and its address does not depend on data."""
    operand, loops = kernel.b, {axis.symbol for axis in kernel.batch}
    places = tuple(dims_of((operand.value,))) if isinstance(operand, Panel) else (operand.offset,)
    return not any(loops & place.symbols() or place.data() for place in places)


def packing_of(operand: PackedOperand, params: tuple[Param, ...], body: KernelBody) -> OperandPacking:
    """The kernel that packs an operand of one with these `params`."""
    sources, replaced = (tuple(map(params.index, some)) for some in (operand.sources, operand.replaced))
    kernel = LoweredGroup(body, (), operand.extent, operand.work, operand.scratch)
    return OperandPacking(kernel, sources, replaced, operand.bytes, operand.worth)


def print_packing(
    kernel: DotKernel, kind: Multiplication, operand: PackedOperand, name: str, facts: Facts
) -> KernelBody:
    """The kernel that packs: its buffers are those of the sources, then the memory that it fills."""
    emit, own = Emitter(VectorSpelling()), replace(kernel, params=operand.sources, batch=())
    b, functions = kernel.b, list[CallBack]()
    lines = [f"const int64_t n = {emit.dim_scalar(kernel.column.extent)}, k = {emit.dim_scalar(kernel.depth)};"]
    lines.append(f"char* const packed = (char*)buffers[{len(operand.sources)}];")
    if isinstance(b, MatrixView):
        lines.append(pointer(VectorSpelling(), 0, b.source, written=False))
        strides = ", ".join(map(emit.dim_scalar, (b.row_stride, b.column_stride)))
        lines += [
            f"const ShloGemm product = {{nullptr, {start(emit, b)}, 0, 0, {strides}, 0, n, k}};",
            f"shlo_pack_{kind.name}(&product, begin * {PANEL_COLUMNS}, min_(end * {PANEL_COLUMNS}, n), packed);",
        ]
    else:
        functions.append(fill(f"{name}_fill", own, b, facts))
        lines += _fill_and_pack(emit, b, kernel, kind, name)
    sizes = union(*(function.sizes for function in functions), tuple(emit.sizes))
    texts = tuple(line for function in functions for line in function.lines)
    return KernelBody(texts, (*emit.scopes[0].lines, *lines), sizes, (f"gemm_{kind.name}",), TITLE)


def _fill_and_pack(emit: Emitter, panel: Panel, kernel: DotKernel, kind: Multiplication, name: str) -> list[str]:
    """Compute one panel after the other in scratch memory, and pack it."""
    element, width = VectorSpelling().memory_type(panel.dtype), const(PANEL_COLUMNS)
    ld = emit.dim_scalar(panel_pitch(panel, width))
    strides = f"1, {ld}" if panel.along_depth else f"{ld}, 1"
    size = emit.dim_scalar(packed_bytes(kind, kernel.depth, width))
    return [
        "const ShloTask at = {buffers, dims, {}};",
        "for (int64_t task = begin; task < end; ++task) {",
        f"{INDENT}const int64_t j0 = task * {PANEL_COLUMNS}, j1 = min_(j0 + {PANEL_COLUMNS}, n);",
        f"{INDENT}{name}_fill(&at, ({element}*)scratch, {ld}, k, j0, j1);",
        f"{INDENT}const ShloGemm product = {{nullptr, scratch, 0, 0, {strides}, 0, j1 - j0, k}};",
        f"{INDENT}shlo_pack_{kind.name}(&product, 0, j1 - j0, packed + task * {size});",
        "}",
    ]
