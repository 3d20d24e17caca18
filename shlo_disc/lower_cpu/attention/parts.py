"""Common parts of attention kernels as C++: matrices, functions over pairs, and tests for blocks that a mask hides."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.device.headers import integer_macros
from shlo_disc.dynamic_ops.elementwise import converted
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, Sym, of
from shlo_disc.expr.scalar import Arg, Load, Scalar
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.attention.backward import GRADIENT
from shlo_disc.kernels.attention.backward_kernel import RowSum
from shlo_disc.kernels.attention.forward import AttentionKernel
from shlo_disc.kernels.attention.masks import Hidden
from shlo_disc.kernels.kernel import Axis, MatrixView, Param, RowKernel, Stage, Store
from shlo_disc.kernels.rewrite import ArgRewriter, nodes_of
from shlo_disc.kernels.simplify_kernel import rewrite_store
from shlo_disc.kernels.softmax import RAW
from shlo_disc.lower_cpu.products.small import decode_batch
from shlo_disc.lower_cpu.rows import RowPrinter, pointer
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import SIZES, CallBack, call_back, start
from shlo_disc.records import record


def matrix(emit: Emitter, view: MatrixView) -> str:
    """A `ShloMatrix`."""
    return f"{{{start(emit, view)}, {emit.dim_scalar(view.row_stride)}, {emit.dim_scalar(view.column_stride)}}}"


def hidden_function(params: Sequence[Param], loops: Sequence[str], hidden: Hidden, name: str) -> CallBack:
    """The function that tests whether a mask hides all scores of a block."""
    emit, spell = Emitter(VectorSpelling()), VectorSpelling()
    with emit.inside(*loops, "%i0", "%i1", "%j0", "%j1") as scope:
        emit.count_uses([hidden.proof])
        text = emit.value(hidden.proof)
    read = {load.source for load in nodes_of([hidden.proof]) if isinstance(load, Load)}
    lines = [
        f"static bool {name}(void* context, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {{",
        f"{INDENT}const ShloTask* const at = (const ShloTask*)context;",
        f"{INDENT}void* const* const buffers = at->buffers;",
        f"{INDENT}const int64_t* const dims = at->dims;",
        *(f"{INDENT}const int64_t {loop.removeprefix('%')} = at->batch[{k}];" for k, loop in enumerate(loops)),
        SIZES,
        *(INDENT + pointer(spell, k, p, written=False) for k, p in enumerate(params) if p in read),
        *(INDENT + line for line in (*emit.scopes[0].lines, *scope.lines)),
        f"{INDENT}return {text};",
        "}",
    ]
    return CallBack(tuple(lines), tuple(emit.sizes))


def operand_pointers(kernel: AttentionKernel) -> list[str]:
    """The declarations of queries, keys and values."""
    operands = [view.source for view in (kernel.q, kernel.k, kernel.v)]
    return [pointer(VectorSpelling(), k, p, written=False) for k, p in enumerate(kernel.params) if p in operands]


def tasks(kernel: AttentionKernel, emit: Emitter) -> list[str]:
    """The head of a loop over blocks of rows: `left` blocks from number `first` on are of one matrix."""
    rows = integer_macros("attention/attention.h")["SHLO_ATTENTION_ROWS"]
    return [
        *operand_pointers(kernel),
        f"const int64_t m = {emit.dim_scalar(kernel.row.extent)}, blocks = (m + {rows - 1}) / {rows};",
        "for (int64_t task = begin, count; task < end; task += count) {",
        f"{INDENT}const int64_t first = task % blocks, left = min_(end - task, blocks - first);",
    ]


def matrices(kernel: AttentionKernel, emit: Emitter, lines: list[str]) -> str:
    """Add statements that decode a point of the batch; return the initializer of its matrices and their sizes."""
    decode_batch(emit, kernel.batch, lines)
    batch = ", ".join(axis.symbol.name.removeprefix("%") for axis in kernel.batch)
    lines.append(f"ShloTask at = {{buffers, dims, {{{batch}}}}};")
    views = ", ".join(matrix(emit, view) for view in (kernel.q, kernel.k, kernel.v))
    return f"{views}, m, {emit.dim_scalar(kernel.key.extent)}, {kernel.depth}, {kernel.width}"


def row_sizes() -> tuple[int, int]:
    """The rows of a block, which are combined with all keys, and the keys processed at a time."""
    sizes = integer_macros("attention/attention.h")
    return sizes["SHLO_BACKWARD_ROWS"], sizes["SHLO_BACKWARD_KEYS"]


def whole_lines(size: Dim) -> Dim:
    """A size rounded up to 16, as the prelude pads it."""
    return (size + 15) // 16 * 16


def word_elements(dtype: DType) -> int:
    """Number of elements that a product reads as one word, see `Words` (attention/words.h)."""
    return 2 if dtype is DType.BF16 else 1


def words(size: Dim, step: int) -> Dim:
    """How many words of `step` elements there are."""
    return (size + (step - 1)) // step


@record
class PairBlocks:
    """Blocks of pairs of a row and a key, whose products and sums of rows have type `dtype`."""

    params: tuple[Param, ...]
    batch: tuple[Axis, ...]
    row: Axis
    key: Axis
    dtype: DType
    sums: Sequence[RowSum]

    def function(self, name: str, value: Scalar, to: DType, stores: Sequence[Store] = ()) -> CallBack:
        """The function that computes a formula for a block of pairs as numbers of type `to`, see `ShloPairs`.

        It executes `stores`, too.
        """
        row, column = (of(axis.symbol) - of(Sym(first)) for axis, first in ((self.row, "%i0"), (self.key, "%j0")))

        def element(buffer: str, ld: str, dtype: DType) -> Load:
            return Load(Param(buffer, dtype), (row * of(Sym(ld)) + column,))

        loads = {RAW: element("raw", "%ld", self.dtype), GRADIENT: element("gradient", "%ld", self.dtype)}
        for k, one in enumerate(self.sums):
            loads[one.arg.name] = Load(Param("sums", self.dtype), (row + k * row_sizes()[0],))
        values = [value, *(store.value for store in stores)]
        stands = ArgRewriter(
            {n.name: converted(loads[n.name], n.dtype) for n in nodes_of(values) if isinstance(n, Arg)}
        )
        target = element("to", "%to_ld", to)
        assert isinstance(target.source, Param), "a block is a buffer"
        store = Store(target.source, target.index[0], converted(value, to))
        stage = Stage((self.key,), (False,), tuple(rewrite_store(one, stands) for one in (store, *stores)), ())
        printer = RowPrinter(RowKernel(self.params, (self.row,), (stage,), ()), {self.key.symbol: ("j0", "j1")})
        kind, result = printer.spell.memory_type(self.dtype), printer.spell.memory_type(to)
        head = [
            f"static void {name}(void* context, const void* raw_, const void* gradient_, void* to_, const void* sums_,",
            "                    int64_t ld, int64_t to_ld, int64_t i0, int64_t rows_, int64_t j0, int64_t columns_) {",
            f"{INDENT}const ShloTask* const at = (const ShloTask*)context;",
            *(f"{INDENT}const {kind}* const {p} = (const {kind}*){p}_;" for p in ("raw", "gradient", "sums")),
            f"{INDENT}{result}* const to = ({result}*)to_;",
            f"{INDENT}const int64_t begin = i0, end = i0 + rows_, j1 = j0 + columns_;",
        ]
        return call_back(head, printer, self.batch)
