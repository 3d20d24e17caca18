"""Contractions and convolutions as C++: the prelude multiplies, a generated function takes each finished tile."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from shlo_disc.codegen.emitter import Emitter
from shlo_disc.codegen.kernel import (
    Axis,
    ConvKernel,
    DotKernel,
    MatrixView,
    Param,
    RowKernel,
    Stage,
)
from shlo_disc.codegen.rewrite import ArgRewriter
from shlo_disc.codegen.scopes import INDENT
from shlo_disc.codegen.simplify_kernel import rewrite_store
from shlo_disc.expr.dim import Dim, Sym, const, of, product
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.scalar import Load
from shlo_disc.lower_cpu.rows import RowPrinter, pointer
from shlo_disc.lower_cpu.spelling import VectorSpelling

SIZES = "@sizes"  # stands where the declarations of the program's sizes go


@dataclass(frozen=True, slots=True)
class Body:
    """A printed kernel: functions it needs, its own statements, the sizes it reads, the prelude objects it calls."""

    functions: tuple[str, ...]
    statements: tuple[str, ...]
    sizes: tuple[str, ...]
    libraries: tuple[str, ...] = ()


@cache
def prelude_constants(header: str) -> Mapping[str, int]:
    """The integer macros of a prelude header: one place for what both C++ and the host program use."""
    text = (files("shlo_disc.lower_cpu") / "prelude" / header).read_text()
    found = re.findall(r"^#define\s+(SHLO_\w+)\s+\(?(\d+)\)?", text, re.MULTILINE)
    return {name: int(value) for name, value in found}


def _epilogue(name: str, kernel: DotKernel | ConvKernel, batch: Sequence[Axis]) -> tuple[list[str], tuple[str, ...]]:
    """The function that the prelude calls with rows `i0 …`, columns `j0 …` of a product, and the sizes it reads."""
    row, column, accumulator = kernel.row, kernel.column, kernel.accumulator
    tile = Param("tile", accumulator.dtype)
    place = (of(row.symbol) - of(Sym("%i0"))) * of(Sym("%ld")) + of(column.symbol) - of(Sym("%j0"))
    rewriter = ArgRewriter({accumulator.name: Load(tile, (place,))})
    stage = Stage((column,), (False,), tuple(rewrite_store(s, rewriter) for s in kernel.epilogue), ())
    printer = RowPrinter(RowKernel(kernel.params, (row,), (stage,), ()), {column: ("j0", "j1")})
    body, sizes = printer.lines()
    kind = printer.spell.memory_type(accumulator.dtype)
    lines = [
        f"static void {name}_store(void* context, const void* tile_, int64_t ld, int64_t i0, int64_t rows_,",
        "                         int64_t j0, int64_t columns_) {",
        f"{INDENT}const ShloTask* const at = (const ShloTask*)context;",
        f"{INDENT}void* const* const buffers = at->buffers;",
        f"{INDENT}const int64_t* const dims = at->dims;",
        f"{INDENT}const {kind}* __restrict__ const tile = (const {kind}*)tile_;",
        f"{INDENT}const int64_t begin = i0, end = i0 + rows_, j1 = j0 + columns_;",
    ]
    for number, axis in enumerate(batch):
        loop = axis.symbol.name.removeprefix("%")
        lines.append(f"{INDENT}const int64_t {loop} = at->batch[{number}];")
    return [*lines, SIZES, *(INDENT + line for line in body), "}"], sizes


def dot_extent(kernel: DotKernel) -> Dim:
    """How many blocks of the results there are."""
    sizes = prelude_constants("gemm.h")
    rows = (kernel.row.extent + (sizes["SHLO_GEMM_ROWS"] - 1)) // sizes["SHLO_GEMM_ROWS"]
    columns = (kernel.column.extent + (sizes["SHLO_GEMM_COLUMNS"] - 1)) // sizes["SHLO_GEMM_COLUMNS"]
    return product(axis.extent for axis in kernel.batch) * rows * columns


def dot_scratch() -> Dim:
    """Bytes of private memory for packing."""
    return const(prelude_constants("gemm.h")["SHLO_GEMM_SCRATCH"])


def print_dot(kernel: DotKernel, name: str) -> Body:
    """Each piece of work is one block of rows and columns of one batch."""
    function, sizes = _epilogue(name, kernel, kernel.batch)
    emit = Emitter(VectorSpelling())
    suffix = "f64" if kernel.accumulator.dtype is DType.F64 else "f32"
    operands = (kernel.a.source, kernel.b.source)
    lines = [pointer(VectorSpelling(), k, p, written=False) for k, p in enumerate(kernel.params) if p in operands]
    lines += [
        f"const int64_t m = {emit.dim_scalar(kernel.row.extent)}, n = {emit.dim_scalar(kernel.column.extent)};",
        "const int64_t row_blocks = (m + SHLO_GEMM_ROWS - 1) / SHLO_GEMM_ROWS;",
        "const int64_t column_blocks = (n + SHLO_GEMM_COLUMNS - 1) / SHLO_GEMM_COLUMNS;",
        "for (int64_t task = begin; task < end; ++task) {",
        f"{INDENT}const int64_t i0 = task / column_blocks % row_blocks * SHLO_GEMM_ROWS;",
        f"{INDENT}const int64_t j0 = task % column_blocks * SHLO_GEMM_COLUMNS;",
        f"{INDENT}int64_t rest = task / column_blocks / row_blocks;",
    ]
    with emit.inside(*(axis.symbol.name for axis in kernel.batch)) as scope:
        _decode_batch(emit, kernel.batch, scope.lines)
        scope.lines.append(
            f"ShloGemm product = {{{_start(emit, kernel.a)}, {_start(emit, kernel.b)},"
            f" {emit.dim_scalar(kernel.a.row_stride)}, {emit.dim_scalar(kernel.a.column_stride)},"
            f" {emit.dim_scalar(kernel.b.row_stride)}, {emit.dim_scalar(kernel.b.column_stride)},"
            f" m, n, {emit.dim_scalar(kernel.depth)}}};"
        )
        batch = ", ".join(axis.symbol.name.removeprefix("%") for axis in kernel.batch)
        scope.lines += [
            f"ShloTask at = {{buffers, dims, {{{batch}}}}};",
            "const int64_t i1 = min_(i0 + (int64_t)SHLO_GEMM_ROWS, m), j1 = min_(j0 + (int64_t)SHLO_GEMM_COLUMNS, n);",
            f"shlo_gemm_{suffix}(&product, i0, i1, j0, j1, scratch, {name}_store, &at);",
        ]
    statements = [*emit.scopes[0].lines, *lines, *(INDENT + line for line in scope.lines), "}"]
    return Body(tuple(function), tuple(statements), _union(sizes, tuple(emit.sizes)), (f"gemm_{suffix}",))


def _decode_batch(emit: Emitter, batch: Sequence[Axis], lines: list[str]) -> None:
    for axis in reversed(batch):
        extent = emit.dim_scalar(axis.extent)
        name = axis.symbol.name.removeprefix("%")
        lines.append(f"const int64_t {name} = rest % {extent};")
        lines.append(f"rest /= {extent};")


def _start(emit: Emitter, view: MatrixView) -> str:
    return f"{view.source.name} + {emit.dim_scalar(view.offset)}"


def _union(*groups: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in groups for name in group))


def convolution_extent(kernel: ConvKernel) -> Dim:
    """How many blocks of the results there are: positions x groups x features of a group."""
    sizes = prelude_constants("conv.h")
    groups = 1 if _is_depthwise(kernel) else kernel.attrs.feature_groups
    per_group = kernel.column.extent // groups
    rows = (kernel.row.extent + (sizes["SHLO_CONV_ROWS"] - 1)) // sizes["SHLO_CONV_ROWS"]
    columns = (per_group + (sizes["SHLO_CONV_COLUMNS"] - 1)) // sizes["SHLO_CONV_COLUMNS"]
    return rows * columns * groups


def _is_depthwise(kernel: ConvKernel) -> bool:
    """Whether every feature is a group of its own; then the prelude takes blocks of features as columns."""
    groups = kernel.attrs.feature_groups
    return groups == kernel.input_sizes[1].constant == kernel.column.extent.constant


def convolution_scratch() -> Dim:
    """Bytes of private memory for packing."""
    return const(prelude_constants("conv.h")["SHLO_CONV_SCRATCH"])


def convolution_work(kernel: ConvKernel) -> Dim:
    """The multiplications of one block, counted as vectors."""
    sizes = prelude_constants("conv.h")
    taps = product(kernel.kernel_sizes[2:]) * kernel.kernel_sizes[0]
    return taps * (sizes["SHLO_CONV_ROWS"] * min(64, sizes["SHLO_CONV_COLUMNS"]) // 16)


def print_convolution(kernel: ConvKernel, name: str) -> Body:
    """Each piece of work is one block of output positions and features."""
    function, sizes = _epilogue(name, kernel, ())
    emit, attrs = Emitter(VectorSpelling()), kernel.attrs
    suffix = "f64" if kernel.accumulator.dtype is DType.F64 else "f32"
    operands = (kernel.input.source, kernel.kernel.source)
    lines = [pointer(VectorSpelling(), k, p, written=False) for k, p in enumerate(kernel.params) if p in operands]
    fields: dict[str, Dim | Sequence[Dim]] = {
        "rank": const(len(attrs.strides)),
        "batch": kernel.input_sizes[0],
        "in_features": kernel.input_sizes[1],
        "out_features": kernel.column.extent,
        "in_sizes": kernel.input_sizes[2:],
        "kernel_sizes": kernel.kernel_sizes[2:],
        "out_sizes": kernel.output_spatial,
        "in_batch_stride": kernel.input_strides[0],
        "in_feature_stride": kernel.input_strides[1],
        "in_strides": kernel.input_strides[2:],
        "kernel_in_stride": kernel.kernel_strides[0],
        "kernel_out_stride": kernel.kernel_strides[1],
        "kernel_strides": kernel.kernel_strides[2:],
        "window_strides": attrs.strides,
        "low_padding": tuple(low for low, _ in attrs.padding),
        "lhs_dilation": attrs.lhs_dilation,
        "rhs_dilation": attrs.rhs_dilation,
        "reversal": tuple(const(int(flag)) for flag in attrs.reversal),
        "groups": const(attrs.feature_groups),
    }
    lines += [
        "ShloConv conv = {};",
        f"conv.input = {_start(emit, kernel.input)};",
        f"conv.kernel = {_start(emit, kernel.kernel)};",
    ]
    for field, value in fields.items():
        if isinstance(value, Dim):
            lines.append(f"conv.{field} = {emit.dim_scalar(value)};")
        else:
            lines += [f"conv.{field}[{k}] = {emit.dim_scalar(d)};" for k, d in enumerate(value)]
    lines += [
        "ShloTask at = {buffers, dims, {}};",
        f"shlo_conv_{suffix}(&conv, begin, end, scratch, {name}_store, &at);",
    ]
    statements = (*emit.scopes[0].lines, *lines)
    return Body(tuple(function), statements, _union(sizes, tuple(emit.sizes)), (f"conv_{suffix}",))
