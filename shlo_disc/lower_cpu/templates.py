"""Contractions and convolutions as C++: the prelude multiplies, a generated epilogue takes each finished tile."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.dynamic_ops.elementwise import converted
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import ZERO, Sym, of
from shlo_disc.expr.scalar import Arg, Load, Scalar
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.attention.forward import AttentionKernel
from shlo_disc.kernels.kernel import (
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
from shlo_disc.kernels.rewrite import ArgRewriter
from shlo_disc.kernels.simplify_kernel import rewrite_store
from shlo_disc.lower_cpu.rows import RowPrinter
from shlo_disc.records import record

SIZES = "@sizes"  # placeholder for the declarations of the program's sizes


@record
class KernelBody:
    """A printed kernel: functions it needs, its own statements, the sizes it reads, the prelude objects it calls.

    It is named after its `title`, or after an op of its group.
    """

    functions: tuple[str, ...]
    statements: tuple[str, ...]
    sizes: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    title: str = ""


def signature(linkage: str, name: str) -> list[str]:
    """The first lines of a kernel, see `ShloKernel`."""
    return [
        f"{linkage} void {name}(const ShloRuntime* runtime, void* const* buffers, const int64_t* dims,",
        f"{INDENT * 2}int64_t begin, int64_t end, void* scratch) {{",
    ]


def declaration(name: str) -> str:
    """The declaration of a kernel, for files and functions that only call it."""
    return f'extern "C" void {name}(const ShloRuntime*, void* const*, const int64_t*, int64_t, int64_t, void*);'


@record
class CallBack:
    """A generated function, and the sizes of the program that it reads."""

    lines: tuple[str, ...]
    sizes: tuple[str, ...]


def call_back(head: Sequence[str], printer: RowPrinter, batch: Sequence[Axis]) -> CallBack:
    """A function that begins with `head` (arguments and constants), around the statements of a row kernel."""
    body, sizes = printer.lines()
    lines = [
        f"{INDENT}void* const* const buffers = at->buffers;",
        f"{INDENT}const int64_t* const dims = at->dims;",
    ]
    for number, axis in enumerate(batch):
        loop = axis.symbol.name.removeprefix("%")
        lines.append(f"{INDENT}const int64_t {loop} = at->batch[{number}];")
    return CallBack((*head, *lines, SIZES, *(INDENT + line for line in body), "}"), sizes)


@record
class ElementTile:
    """A tile that the prelude passes to a function: rows from `i0` and columns from `j0` on of a matrix."""

    row: Axis
    column: Axis
    dtype: DType

    @property
    def element(self) -> Load:
        """The element at the symbols of the row and the column."""
        row, column = (of(axis.symbol) - of(Sym(first)) for axis, first in ((self.row, "%i0"), (self.column, "%j0")))
        return Load(Param("tile", self.dtype), (row * of(Sym("%ld")) + column,))

    def replacing(self, arg: Arg) -> ArgRewriter:
        """The rewriter of reads of `arg` to the tile's element, rounded to the type of `arg`."""
        return ArgRewriter({arg.name: converted(self.element, arg.dtype)})

    def changed(self, value: Scalar) -> Store:
        """The store of `value` into the tile's element."""
        load = self.element
        assert isinstance(load.source, Param), "a tile is a buffer"
        return Store(load.source, load.index[0], converted(value, self.dtype))


def tile_function(
    name: str,
    tile: ElementTile,
    params: tuple[Param, ...],
    stores: tuple[Store, ...],
    batch: Sequence[Axis],
    origin: str = "",
) -> CallBack:
    """The function that the prelude calls with a tile, as it calls epilogues."""
    stage = Stage((tile.column,), (False,), stores, ())
    printer = RowPrinter(RowKernel(params, (tile.row,), (stage,), ()), {tile.column.symbol: ("j0", "j1")})
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
    """The function that the prelude calls with each tile of a product, whose sums it rounds."""
    tile = ElementTile(kernel.row, kernel.column, sums)
    rewriter = tile.replacing(kernel.accumulator)
    stores = tuple(rewrite_store(s, rewriter) for s in kernel.epilogue)
    origin = _origin(kernel) if isinstance(kernel, DotKernel) else ""
    return tile_function(f"{name}_store", tile, kernel.params, stores, batch, origin)


def _origin(kernel: DotKernel) -> str:
    """Statements that add the origin of a block where the lines of a panel are numbered from there."""
    sides = ((kernel.a, "i0 += at->row;"), (kernel.b, "j0 += at->column;"))
    return " ".join(text for operand, text in sides if isinstance(operand, Panel))


def union(*groups: tuple[str, ...]) -> tuple[str, ...]:
    """All names, each once."""
    return tuple(dict.fromkeys(name for group in groups for name in group))


def start(emit: Emitter, view: MatrixView) -> str:
    """The address of a matrix's first element."""
    return view.source.name if view.offset == ZERO else f"{view.source.name} + {emit.dim_scalar(view.offset)}"
