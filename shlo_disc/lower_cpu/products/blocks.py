"""Matrix products as C++: the prelude multiplies blocks, whose operands may be panels that generated functions fill.

A panel is in a thread's scratch memory: rows of A over the whole depth, or columns of B. It is filled when a thread
moves to other rows (columns), and serves all blocks beside (below) each other, which are consecutive tasks. If both
operands are panels, that of A is kept, and B's columns are recomputed for every block of rows.
"""

from __future__ import annotations

from dataclasses import replace

from shlo_disc.device.headers import integer_macros
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, Sym, const, maximum, minimum, of, product
from shlo_disc.expr.facts import Facts
from shlo_disc.host_ir import Selection
from shlo_disc.kernels.index_set_splitting import split_stage
from shlo_disc.kernels.kernel import DotKernel, MatrixView, Panel, Param, RowKernel, Stage, Store
from shlo_disc.kernels.strip_mining import mine_stage
from shlo_disc.lower_cpu.products.multiplication import Multiplication
from shlo_disc.lower_cpu.products.selection import block_of
from shlo_disc.lower_cpu.products.small import decode_batch, print_small
from shlo_disc.lower_cpu.rows import SEAMS, RowPrinter, pointer
from shlo_disc.lower_cpu.spelling import LANES, VectorSpelling
from shlo_disc.lower_cpu.templates import CallBack, KernelBody, call_back, epilogue, start, union
from shlo_disc.records import record
from shlo_disc.schedules.candidates import FORMS, MicroKernel

PANEL_BYTES = 1 << 20  # of a panel of A, which stays in a second-level cache
FEWEST_ROWS = 48  # of a panel, to amortize the packing of B
FEW_COLUMNS = 8  # as many as rows of a dot product
PANEL_COLUMNS = 64  # of B: as many as the prelude packs at a time


def read_transposed(kernel: DotKernel) -> DotKernel:
    """The transposed product, if the epilogue's results are contiguous along the row index; else the product.

    Examples: a product of one column; a gradient, which JAX contracts as `dy^T x` and then transposes.
    """
    if not _stored_along_rows(kernel):
        return kernel
    a, b = (_transposed(x) for x in (kernel.b, kernel.a))
    return replace(kernel, row=kernel.column, column=kernel.row, a=a, b=b)


def _stored_along_rows(kernel: DotKernel) -> bool:
    """Whether rows, and not columns, of every result are adjacent. A dim of size 1 has no adjacent elements."""
    if 1 in (kernel.row.extent.constant, kernel.column.extent.constant):
        return kernel.row.extent.constant != 1
    steps = [[store.offset.linear(axis.symbol) for axis in (kernel.row, kernel.column)] for store in kernel.epilogue]
    return all(
        row is not None and row[0].constant == 1 and (column is None or column[0].constant != 1)
        for row, column in steps
    )


def _transposed(operand: MatrixView | Panel) -> MatrixView | Panel:
    """The operand on the other side: strides are swapped; the lines of a panel may be rows or columns."""
    if isinstance(operand, Panel):
        return operand
    return replace(operand, row_stride=operand.column_stride, column_stride=operand.row_stride)


@record
class Blocks:
    """Rows and columns of the blocks that a product is computed in, and the candidates for its schedule.

    `is_packed`: the buffer after the kernel's params is B as `packing.py` packs it, or null.
    """

    rows: Dim
    columns: Dim
    chosen: Selection[Dim]
    is_packed: bool = False

    @property
    def is_told(self) -> bool:
        """Whether the kernel gets a schedule: some micro-kernel is not the prelude's own choice."""
        return any(one.kernel.form != "own" for one in self.chosen.candidates)

    @property
    def table(self) -> tuple[str, ...]:
        """The schedules of the candidates, as C."""
        if not self.is_told:
            return ()
        rows = [_in_c(one.kernel) for one in self.chosen.candidates]
        return (f"static const ShloSchedule {NAME}_schedules[] = {{{', '.join(rows)}}};",)


def _in_c(kernel: MicroKernel) -> str:
    """The fields of `ShloSchedule` up to the last one that is not 0."""
    known = f"{FORMS.index(kernel.form)}, {kernel.tile_rows}"
    if kernel.depth:
        return f"{{{known}, {kernel.vectors}, 0, 0, {kernel.depth}}}"
    return f"{{{known}, {kernel.vectors}}}" if kernel.vectors else f"{{{known}}}"


def packed_bytes(kind: Multiplication, depth: Dim, columns: Dim) -> Dim:
    """Bytes of all of B as `shlo_pack_NAME` packs it; equal to `shlo_packed_bytes_NAME`."""
    sizes = integer_macros("gemm/gemm.h")
    panel, step, element = (sizes[f"SHLO_GEMM_{name}"] for name in ("PANEL", f"STEP_{kind.name}", f"BYTES_{kind.name}"))
    return (columns + (panel - 1)) // panel * panel * ((depth + (step - 1)) // step * step) * element


def blocks_of(kernel: DotKernel, chosen: Selection[Dim], *, is_packed: bool) -> Blocks:
    """The blocks of the schedule, as far as panels allow; the prelude's default if there are no candidates."""
    sizes = integer_macros("gemm/gemm.h")
    rows, columns = const(sizes["SHLO_GEMM_ROWS"]), const(sizes["SHLO_GEMM_COLUMNS"])
    if chosen.candidates:
        rows, columns = block_of(chosen)
    if isinstance(kernel.a, Panel):
        fitting = const(PANEL_BYTES // kernel.a.dtype.bytes) // kernel.depth
        rows = minimum(rows, maximum(FEWEST_ROWS, fitting))
    if isinstance(kernel.b, Panel):
        columns = const(PANEL_COLUMNS)
    return Blocks(rows, columns, chosen, is_packed)


def dot_extent(kernel: DotKernel, blocks: Blocks) -> Dim:
    """Number of blocks of the results."""
    row_blocks = (kernel.row.extent + (blocks.rows - 1)) // blocks.rows
    return product(axis.extent for axis in kernel.batch) * row_blocks * column_blocks(kernel, blocks)


def column_blocks(kernel: DotKernel, blocks: Blocks) -> Dim:
    """Number of blocks beside each other."""
    return (kernel.column.extent + (blocks.columns - 1)) // blocks.columns


def is_by_rows(kernel: DotKernel) -> bool:
    """Whether blocks of the same rows are consecutive tasks, of a single product."""
    return not kernel.batch and _keeps(kernel) != "b"


def dot_scratch(kernel: DotKernel, kind: Multiplication, blocks: Blocks) -> Dim:
    """Bytes of private memory for packing and for panels."""
    found = const(kind.scratch)
    for operand, lines in ((kernel.a, blocks.rows), (kernel.b, blocks.columns)):
        if isinstance(operand, Panel):
            found += panel_bytes(operand, lines)
    return found


def panel_pitch(panel: Panel, lines: Dim) -> Dim:
    """The distance from one line of a panel to the next, or from one depth to the next."""
    width = panel.depth.extent if panel.along_depth else minimum(lines, panel.line.extent)
    return (width + (LANES - 1)) // LANES * LANES


def panel_bytes(panel: Panel, lines: Dim) -> Dim:
    count = minimum(lines, panel.line.extent) if panel.along_depth else panel.depth.extent
    return count * panel_pitch(panel, lines) * panel.dtype.bytes


def print_dot(kernel: DotKernel, kind: Multiplication, name: str, blocks: Blocks, facts: Facts) -> KernelBody:
    """Each task is one block of rows and columns of one batch; in the form for small sizes, one product."""
    emit = Emitter(VectorSpelling())
    operands = [x.source for x in (kernel.a, kernel.b) if not isinstance(x, Panel)]
    lines = [pointer(VectorSpelling(), k, p, written=False) for k, p in enumerate(kernel.params) if p in operands]
    lines += [f"const int64_t m = {emit.dim_scalar(kernel.row.extent)}, n = {emit.dim_scalar(kernel.column.extent)};"]
    small = print_small(kernel, kind, name, emit)
    functions = list[CallBack]()
    if small is not None:
        functions.append(small.epilogue)
        lines += small.statements
    always = small is not None and small.always
    if not always:
        functions += [*_fills(kernel, name, facts), epilogue(name, kernel, kernel.batch, kind.sums)]
        lines += _print_blocks(kernel, kind, name, emit, blocks)
    statements = (*emit.scopes[0].lines, *lines)
    sizes = union(*(function.sizes for function in functions), tuple(emit.sizes))
    texts = (*blocks.table, *(line for function in functions for line in function.lines))
    libraries = (f"gemm_small_{kind.small}",) * (small is not None) + (f"gemm_{kind.name}",) * (not always)
    return KernelBody(texts, statements, sizes, libraries)


def _print_blocks(kernel: DotKernel, kind: Multiplication, name: str, emit: Emitter, blocks: Blocks) -> list[str]:
    """The loop over blocks."""
    lines = [
        *([f"const char* const packed = (const char*)buffers[{len(kernel.params)}];"] if blocks.is_packed else ()),
        *_partition(emit, kernel, kind, blocks),
        "for (int64_t task = begin, run; task < end; task += run) {",
        f"{INDENT}run = {_run(kernel)};",
        *(INDENT + line for line in _position(kernel)),
        *([f"{INDENT}int64_t rest = task / column_blocks / row_blocks;"] if kernel.batch else ()),
    ]
    with emit.inside(*(axis.symbol.name for axis in kernel.batch)) as scope:
        decode_batch(emit, kernel.batch, scope.lines)
        batch = ", ".join(axis.symbol.name.removeprefix("%") for axis in kernel.batch)
        scope.lines += [
            f"ShloTask at = {{buffers, dims, {{{batch}}}}};",
            "const int64_t i1 = min_(i0 + block_rows, m), j1 = min_(j0 + run * block_columns, n);",
            *_filled(emit, kernel, kind, name, blocks),
            f"shlo_gemm_{kind.name}(&product, {_range(kernel.a, 'i')}, {_range(kernel.b, 'j')}, scratch,"
            f" {name}_store, &at);",
        ]
    return [*lines, *(INDENT + line for line in scope.lines), "}"]


def _run(kernel: DotKernel) -> str:
    """Number of tasks per call: adjacent blocks of the same rows, so that B is read along its rows."""
    if isinstance(kernel.a, Panel) or isinstance(kernel.b, Panel):
        return "1"
    return "min_(end - task, column_blocks - task % column_blocks)"


def _partition(emit: Emitter, kernel: DotKernel, kind: Multiplication, blocks: Blocks) -> list[str]:
    """Declarations of the numbers of blocks, and of the panels."""
    rows, columns = blocks.rows, blocks.columns
    lines = [
        f"const int64_t block_rows = {emit.dim_scalar(rows)}, block_columns = {emit.dim_scalar(columns)};",
        "const int64_t row_blocks = (m + block_rows - 1) / block_rows;",
        "const int64_t column_blocks = (n + block_columns - 1) / block_columns;",
    ]
    offset = const(kind.scratch)
    for letter, operand, count in (("a", kernel.a, rows), ("b", kernel.b, columns)):
        if isinstance(operand, Panel):
            element = VectorSpelling().memory_type(operand.dtype)
            place = emit.dim_scalar(offset)
            lines.append(f"{element}* const panel_{letter} = ({element}*)((char*)scratch + {place});")
            offset += panel_bytes(operand, count)
    if _keeps(kernel):
        lines.append("int64_t filled = -1;")
    return lines


def _keeps(kernel: DotKernel) -> str:
    """Which panel serves several blocks: a, b or none."""
    return "a" if isinstance(kernel.a, Panel) else "b" if isinstance(kernel.b, Panel) else ""


def _position(kernel: DotKernel) -> list[str]:
    """The block of a task: blocks that share the panel that is kept are consecutive."""
    if _keeps(kernel) == "b":
        return [
            "const int64_t i0 = task % row_blocks * block_rows;",
            "const int64_t j0 = task / row_blocks % column_blocks * block_columns;",
        ]
    return [
        "const int64_t i0 = task / column_blocks % row_blocks * block_rows;",
        "const int64_t j0 = task % column_blocks * block_columns;",
    ]


def _filled(emit: Emitter, kernel: DotKernel, kind: Multiplication, name: str, blocks: Blocks) -> list[str]:
    """Statements that fill the panels where necessary, and declare the operands of the product."""
    rows, columns = blocks.rows, blocks.columns
    keeps, lines = _keeps(kernel), list[str]()
    depth = emit.dim_scalar(kernel.depth)
    sides = (("a", "i", "row", kernel.a, rows), ("b", "j", "column", kernel.b, columns))
    for letter, index, field, operand, count in sides:
        if not isinstance(operand, Panel):
            continue
        pitch = emit.dim_scalar(panel_pitch(operand, count))
        call = f"{name}_fill_{letter}(&at, panel_{letter}, {pitch}, {depth}, {index}0, {index}1);"
        lines.append(f"at.{field} = {index}0;")
        unless = "packed == nullptr" if blocks.is_packed and letter == "b" else ""
        if letter == keeps:
            place = f"task / {'column' if letter == 'a' else 'row'}_blocks"
            lines.append(f"if ({' && '.join(filter(None, (unless, f'filled != {place}')))}) {call}")
            lines.append(f"filled = {place};")
        else:
            lines.append(f"if ({unless}) {call}" if unless else call)
    a, b = kernel.a, kernel.b
    starts = [
        "panel_a" if isinstance(a, Panel) else start(emit, a),
        "panel_b" if isinstance(b, Panel) else start(emit, b),
    ]
    left = [panel_pitch(a, rows), const(1)] if isinstance(a, Panel) else [a.row_stride, a.column_stride]
    right = [panel_pitch(b, columns), const(1)] if isinstance(b, Panel) else [b.column_stride, b.row_stride]
    if isinstance(a, Panel) and not a.along_depth:
        left.reverse()
    if isinstance(b, Panel) and not b.along_depth:
        right.reverse()
    strides = ", ".join(emit.dim_scalar(d) for d in (*left, *reversed(right)))
    fields = [*starts, strides, "m", "n", depth]
    if blocks.is_packed or blocks.is_told:
        fields.append(_packed(emit, kernel, kind) if blocks.is_packed else "nullptr")
    if blocks.is_told:
        chosen = f"&{NAME}_schedules[{emit.dim_scalar(blocks.chosen.number)}]"
        count = kernel.column.extent.constant
        # Without a schedule, the prelude transposes a product of few columns.
        if count is None or count <= FEW_COLUMNS:
            chosen = f"n <= {FEW_COLUMNS} ? nullptr : {chosen}"
        fields.append(chosen)
    return [*lines, f"const ShloGemm product = {{{', '.join(fields)}}};"]


def _packed(emit: Emitter, kernel: DotKernel, kind: Multiplication) -> str:
    """The address of packed B; if B is a panel, that of the current panel."""
    if not isinstance(kernel.b, Panel):
        return "packed"
    size = emit.dim_scalar(packed_bytes(kind, kernel.depth, const(PANEL_COLUMNS)))
    return f"packed == nullptr ? nullptr : packed + j0 / {PANEL_COLUMNS} * {size}"


def _range(operand: object, index: str) -> str:
    """The range of lines of a block; a panel is used whole."""
    return f"0, {index}1 - {index}0" if isinstance(operand, Panel) else f"{index}0, {index}1"


def _fills(kernel: DotKernel, name: str, facts: Facts) -> list[CallBack]:
    sides = (("a", kernel.a), ("b", kernel.b))
    return [fill(f"{name}_fill_{letter}", kernel, panel, facts) for letter, panel in sides if isinstance(panel, Panel)]


def fill(name: str, kernel: DotKernel, panel: Panel, facts: Facts) -> CallBack:
    """The function that computes lines `first` to `last` of a panel.

    A line along the depth is split at the seams of concatenations, and strip-mined at those of reshapes.
    """
    line, depth = panel.line, panel.depth
    above = of(line.symbol) - of(Sym("%first"))
    pitch = of(Sym("%ld"))
    place = above * pitch + of(depth.symbol) if panel.along_depth else of(depth.symbol) * pitch + above
    store = Store(Param("panel", panel.dtype), place, panel.value)
    rows, inner = (line, depth) if panel.along_depth else (depth, line)
    ranges = {} if panel.along_depth else {line.symbol: ("first", "last")}
    stages = [Stage((inner,), (False,), (store,), ())]
    if panel.along_depth:
        same = (*kernel.batch, line)
        stages = [mine_stage(stage, same, facts) for stage in split_stage(stages[0], same, facts, SEAMS)]
    printer = RowPrinter(RowKernel(kernel.params, (rows,), tuple(stages), ()), ranges)
    kind = printer.spell.memory_type(panel.dtype)
    begin, end = ("first", "last") if panel.along_depth else ("0", "depth")
    head = [
        f"static void {name}(const ShloTask* at, {kind}* __restrict__ const panel, const int64_t ld,",
        f"{' ' * (len(name) + 13)}const int64_t depth, const int64_t first, const int64_t last) {{",
        f"{INDENT}const int64_t begin = {begin}, end = {end};",
    ]
    return call_back(head, printer, kernel.batch)
