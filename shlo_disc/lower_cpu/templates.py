"""Contractions and convolutions as C++: the prelude multiplies, a generated function takes each finished tile."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from shlo_disc.codegen.attention import AttentionKernel
from shlo_disc.codegen.emitter import Emitter
from shlo_disc.codegen.groups import ProductTypes
from shlo_disc.codegen.kernel import (
    Axis,
    ConvKernel,
    DotKernel,
    MatrixView,
    Panel,
    Param,
    RowKernel,
    Stage,
    Store,
)
from shlo_disc.codegen.rewrite import ArgRewriter
from shlo_disc.codegen.scopes import INDENT
from shlo_disc.codegen.simplify_kernel import rewrite_store
from shlo_disc.dynamic_ops.elementwise import converted
from shlo_disc.expr.dim import Dim, Sym, const, minimum, of, product
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.scalar import Arg, Bounds, Load, Scalar
from shlo_disc.lower_cpu.rows import RowPrinter, pointer
from shlo_disc.lower_cpu.spelling import LANES, VectorSpelling

# The prelude's convolutions: operands, sums and result have one type. Those of integers wrap.
_CONVOLVED = {
    DType.F32: "f32",
    DType.F64: "f64",
    DType.I32: "i32",
    DType.UI32: "i32",
    DType.I64: "i64",
    DType.UI64: "i64",
}
CONVOLUTIONS: Container[ProductTypes] = frozenset((dtype,) * 3 for dtype in _CONVOLVED)

SIZES = "@sizes"  # stands where the declarations of the program's sizes go


@dataclass(frozen=True, slots=True)
class Body:
    """A printed kernel: functions it needs, its own statements, the sizes it reads, the prelude objects it calls.

    It is named after its `title`, or after an op of its group.
    """

    functions: tuple[str, ...]
    statements: tuple[str, ...]
    sizes: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    title: str = ""


def signature(linkage: str, name: str) -> list[str]:
    """How a kernel begins, see `ShloKernel`."""
    return [
        f"{linkage} void {name}(const ShloRuntime* runtime, void* const* buffers, const int64_t* dims,",
        f"{INDENT * 2}int64_t begin, int64_t end, void* scratch) {{",
    ]


def declaration(name: str) -> str:
    """The same for files and functions that only call it."""
    return f'extern "C" void {name}(const ShloRuntime*, void* const*, const int64_t*, int64_t, int64_t, void*);'


@cache
def prelude_constants(header: str) -> Mapping[str, int]:
    """The integer macros of a prelude header: one place for what both C++ and the host program use."""
    text = (files("shlo_disc.lower_cpu") / "prelude" / header).read_text()
    found = re.findall(r"^#define\s+(SHLO_\w+)\s+\(?(\d+)\)?", text, re.MULTILINE)
    return {name: int(value) for name, value in found}


@dataclass(frozen=True, slots=True)
class CallBack:
    """A generated function, and the sizes of the program that it reads."""

    lines: tuple[str, ...]
    sizes: tuple[str, ...]


def call_back(head: Sequence[str], printer: RowPrinter, batch: Sequence[Axis]) -> CallBack:
    """The function whose arguments and own constants are `head`, around the statements of a row kernel."""
    body, sizes = printer.lines()
    lines = [
        f"{INDENT}void* const* const buffers = at->buffers;",
        f"{INDENT}const int64_t* const dims = at->dims;",
    ]
    for number, axis in enumerate(batch):
        loop = axis.symbol.name.removeprefix("%")
        lines.append(f"{INDENT}const int64_t {loop} = at->batch[{number}];")
    return CallBack((*head, *lines, SIZES, *(INDENT + line for line in body), "}"), sizes)


@dataclass(frozen=True, slots=True)
class Tile:
    """A block of numbers that the prelude calls a function with: rows `i0 …` and columns `j0 …` of something."""

    row: Axis
    column: Axis
    dtype: DType

    @property
    def element(self) -> Load:
        """The number at the symbols of the row and the column."""
        row, column = (of(axis.symbol) - of(Sym(first)) for axis, first in ((self.row, "%i0"), (self.column, "%j0")))
        return Load(Param("tile", self.dtype), (row * of(Sym("%ld")) + column,))

    def replacing(self, arg: Arg) -> ArgRewriter:
        """Reads of `arg` become the number, rounded to the type of `arg`."""
        return ArgRewriter({arg.name: converted(self.element, arg.dtype)})

    def changed(self, value: Scalar) -> Store:
        """The store that puts `value` into the number's place."""
        load = self.element
        assert isinstance(load.source, Param), "a tile is a buffer"
        return Store(load.source, load.index[0], converted(value, self.dtype))


def tile_function(
    name: str, tile: Tile, params: tuple[Param, ...], stores: tuple[Store, ...], batch: Sequence[Axis], origin: str = ""
) -> CallBack:
    """The function that the prelude calls with a tile, as it calls epilogues."""
    stage = Stage((tile.column,), (False,), stores, ())
    printer = RowPrinter(RowKernel(params, (tile.row,), (stage,), ()), {tile.column: ("j0", "j1")})
    written = any(store.target not in params for store in stores)
    kind = ("" if written else "const ") + printer.spell.memory_type(tile.dtype)
    head = [
        f"static void {name}(void* context, const void* tile_, int64_t ld, int64_t i0, int64_t rows_,",
        "                         int64_t j0, int64_t columns_) {",
        f"{INDENT}const ShloTask* const at = (const ShloTask*)context;",
        *([INDENT + origin] if origin else []),
        f"{INDENT}{kind}* __restrict__ const tile = ({kind}*)tile_;",
        f"{INDENT}const int64_t begin = i0, end = i0 + rows_, j1 = j0 + columns_;",
    ]
    return call_back(head, printer, batch)


def epilogue(
    name: str, kernel: DotKernel | ConvKernel | AttentionKernel, batch: Sequence[Axis], sums: DType
) -> CallBack:
    """The function that the prelude calls with rows `i0 …`, columns `j0 …` of a product, whose sums it rounds."""
    tile = Tile(kernel.row, kernel.column, sums)
    rewriter = tile.replacing(kernel.accumulator)
    stores = tuple(rewrite_store(s, rewriter) for s in kernel.epilogue)
    origin = _origin(kernel) if isinstance(kernel, DotKernel) else ""
    return tile_function(f"{name}_store", tile, kernel.params, stores, batch, origin)


def _origin(kernel: DotKernel) -> str:
    """Panels count lines from the start of their block."""
    sides = ((kernel.a, "i0 += at->row;"), (kernel.b, "j0 += at->column;"))
    return " ".join(text for operand, text in sides if isinstance(operand, Panel))


def union(*groups: tuple[str, ...]) -> tuple[str, ...]:
    """All names, each once."""
    return tuple(dict.fromkeys(name for group in groups for name in group))


def start(emit: Emitter, view: MatrixView) -> str:
    """The address of a matrix's first element."""
    return f"{view.source.name} + {emit.dim_scalar(view.offset)}"


def convolution_extent(kernel: ConvKernel) -> Dim:
    """How many blocks of the results there are: positions x groups x features of a group."""
    sizes = prelude_constants("conv.h")
    groups = 1 if _is_narrow(kernel) else kernel.attrs.feature_groups
    per_group = kernel.column.extent // groups
    rows = (kernel.row.extent + (sizes["SHLO_CONV_ROWS"] - 1)) // sizes["SHLO_CONV_ROWS"]
    columns = (per_group + (sizes["SHLO_CONV_COLUMNS"] - 1)) // sizes["SHLO_CONV_COLUMNS"]
    return rows * columns * groups


def _is_narrow(kernel: ConvKernel) -> bool:
    """Whether groups have as few features as conv.h says; then the prelude takes blocks of all features as columns."""
    groups, features = kernel.attrs.feature_groups, kernel.input_sizes[1].constant
    if features is None or features != kernel.column.extent.constant:
        return False
    return groups > 1 and features // groups in (1, 2, 4, 8)


_KEPT_BYTES = 448 << 10  # of weights of a column block, which every thread has memory for
_MOST_KEPT_BYTES = 8 << 20


def convolution_scratch(kernel: ConvKernel) -> Dim:
    """Bytes of private memory for packing."""
    return _room(kernel) + prelude_constants("conv.h")["SHLO_CONV_SCRATCH"]


def _room(kernel: ConvKernel) -> Dim:
    """Bytes for the packed weights of a column block, if they are many."""
    if _is_narrow(kernel):
        return const(0)
    columns = minimum(
        kernel.column.extent // kernel.attrs.feature_groups, prelude_constants("conv.h")["SHLO_CONV_COLUMNS"]
    )
    columns = (columns + (LANES - 1)) // LANES * LANES
    needed = product(kernel.kernel_sizes[2:]) * kernel.kernel_sizes[0] * columns * kernel.accumulator.dtype.bytes
    if needed.constant is not None and not _KEPT_BYTES < needed.constant <= _MOST_KEPT_BYTES:
        return const(0)
    return minimum(needed, _MOST_KEPT_BYTES)


def convolution_work(kernel: ConvKernel) -> Dim:
    """The multiplications of one block, counted as vectors."""
    sizes = prelude_constants("conv.h")
    taps = product(kernel.kernel_sizes[2:]) * kernel.kernel_sizes[0]
    return taps * (sizes["SHLO_CONV_ROWS"] * min(64, sizes["SHLO_CONV_COLUMNS"]) // 16)


def _convolved(kernel: ConvKernel) -> str:
    """The name of the prelude's convolution."""
    name = _CONVOLVED[kernel.accumulator.dtype]
    return "i16" if name == "i32" and all(map(_fits_16, kernel.operand_bounds)) else name


def _fits_16(bounds: Bounds) -> bool:
    low, high = (None if end is None else end.constant for end in bounds)
    least, greatest = DType.I16.integer_bounds
    return low is not None and high is not None and least <= low and high <= greatest


def print_convolution(kernel: ConvKernel, name: str) -> Body:
    """Each piece of work is one block of output positions and features."""
    store = epilogue(name, kernel, (), kernel.accumulator.dtype)
    emit, attrs = Emitter(VectorSpelling()), kernel.attrs
    suffix = _convolved(kernel)
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
        "room": _room(kernel),
    }
    lines += [
        "ShloConv conv = {};",
        f"conv.input = {start(emit, kernel.input)};",
        f"conv.kernel = {start(emit, kernel.kernel)};",
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
    return Body(store.lines, statements, union(store.sizes, tuple(emit.sizes)), (f"conv_{suffix}",))
