"""Matrix products by cuBLAS: directly into a result, or followed by a pass over the elements of the product.

An operand is never copied: it is passed as transposed or not by which of its strides is known to be 1. If neither is,
there is no variant by cuBLAS. Nested batch loops are collapsed where the strides of all operands allow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shlo_disc.emit.naming import NAME
from shlo_disc.expr.dim import Dim, Sym, const, maximum, of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Load
from shlo_disc.host_ir import BatchLoop, Guard, Product, Variant
from shlo_disc.kernels.kernel import Axis, DotKernel, MatrixView, Panel, Param, RowKernel, Stage, Store
from shlo_disc.kernels.rewrite import ArgRewriter, DimRewriter
from shlo_disc.kernels.simplify_kernel import merge_loops, rewrite_store
from shlo_disc.lower_cuda.maps import map_pieces
from shlo_disc.lower_cuda.products import compute_of
from shlo_disc.records import record

ONE = const(1)
ROW, COLUMN = Sym("%x0"), Sym("%x1")  # loop symbols of the pass after the product


@record
class Library:
    """Variants that call cuBLAS, the text of the passes that follow, and the bytes of workspaces."""

    text: tuple[str, ...]
    variants: tuple[Variant[Dim], ...]
    workspaces: tuple[Dim, ...]


@record
class _Matrix:
    """A matrix as passed to cuBLAS: `leading` is the distance of two rows, or of two columns if `transposed`."""

    offset: Dim  # at the start of the batch
    batch: tuple[Dim, ...]  # strides
    leading: Dim
    transposed: bool
    width: Dim  # contiguous elements: at most `leading`

    @property
    def turned(self) -> _Matrix:
        """The transposed matrix."""
        return replace(self, transposed=not self.transposed)


def library_variants(kernel: DotKernel, facts: Facts, workspaces: int) -> Library:
    """Variants by cuBLAS, if the operands have unit strides; `workspaces` others precede its own."""
    views = kernel.a, kernel.b
    if isinstance(views[0], Panel) or isinstance(views[1], Panel):
        return Library((), (), ())
    a = _operand(kernel, views[0], kernel.row.extent, kernel.depth)
    b = _operand(kernel, views[1], kernel.depth, kernel.column.extent)
    if a is None or b is None:
        return Library((), (), ())
    sources = views[0].source, views[1].source
    number, c, workspace = _target(kernel, facts, workspaces)
    call = _call(kernel, sources, (a, b, c), number)
    guards = tuple(Guard(x.leading, ">=", x.width) for x in (a, b, c) if not facts.at_least(x.leading, x.width).is_true)
    if _is_identity(kernel):
        return Library((), (Variant("cuBLAS", guards, False, (call,)),), ())
    source = kernel.params[number] if workspace is None else Param("product", kernel.accumulator.dtype)
    buffers = (
        kernel.params
        if workspace is None
        else (*kernel.params, *(replace(source, name=f"w{k}") for k in range(workspaces)), source)
    )
    pieces = map_pieces(_pass(kernel, facts, source, c), buffers, facts, f"{NAME}_pass")
    variants = tuple(
        replace(v, label=f"cuBLAS, then {v.label}", guards=(*guards, *v.guards), commands=(call, *v.commands))
        for v in (p.variant for p in pieces)
    )
    return Library(tuple(line for p in pieces for line in p.text), variants, () if workspace is None else (workspace,))


def _operand(kernel: DotKernel, view: MatrixView, rows: Dim, columns: Dim) -> _Matrix | None:
    """An operand as a matrix; None if neither its rows nor its columns are contiguous."""
    return _matrix(kernel, view.offset, (view.row_stride, view.column_stride), (rows, columns))


def _matrix(kernel: DotKernel, offset: Dim, strides: tuple[Dim, Dim], shape: tuple[Dim, Dim]) -> _Matrix | None:
    (row, column), (rows, columns) = strides, shape
    steps = list[Dim]()
    for axis in kernel.batch:
        split = offset.linear(axis.symbol)
        if split is None or split[0].symbols() & {a.symbol for a in kernel.batch}:
            return None
        steps.append(split[0])
        offset = split[1]
    if ONE in (column, columns):
        leading = maximum(columns, 1) if rows == ONE else row
        return _Matrix(offset, tuple(steps), leading, False, columns)
    if ONE in (row, rows):
        leading = maximum(rows, 1) if columns == ONE else column
        return _Matrix(offset, tuple(steps), leading, True, rows)
    return None


def _stored(kernel: DotKernel, store: Store) -> _Matrix | None:
    """A store as a matrix, if its offset is affine and has a unit stride."""
    if store.offset.data():
        return None
    i, j = kernel.row.symbol, kernel.column.symbol
    if (by_row := store.offset.linear(i)) is None or (by_column := by_row[1].linear(j)) is None:
        return None
    loops = {i, j, *(a.symbol for a in kernel.batch)}
    if (by_row[0].symbols() | by_column[0].symbols()) & loops:
        return None
    shape = kernel.row.extent, kernel.column.extent
    return _matrix(kernel, by_column[1], (by_row[0], by_column[0]), shape)


def _target(kernel: DotKernel, facts: Facts, workspaces: int) -> tuple[int, _Matrix, Dim | None]:
    """Target of the product: a result of its type that is laid out as a matrix, else a workspace (with its bytes)."""
    for store in kernel.epilogue:
        if store.target.dtype is kernel.accumulator.dtype and (found := _stored(kernel, store)) is not None:
            assert isinstance(store.target, Param), "epilogues write buffers"
            return kernel.params.index(store.target), found, None
    m, n = kernel.row.extent, kernel.column.extent
    strides, step = list[Dim](), m * n
    for axis in reversed(kernel.batch):
        strides.append(step)
        step = facts.canonical(step * axis.extent)
    matrix = _Matrix(const(0), tuple(reversed(strides)), maximum(n, 1), False, n)
    return len(kernel.params) + workspaces, matrix, step * kernel.accumulator.dtype.bytes


def _is_identity(kernel: DotKernel) -> bool:
    """Whether the only result is the product, unchanged."""
    (first, *more) = kernel.epilogue
    return not more and first.value == kernel.accumulator and _stored(kernel, first) is not None


def _call(
    kernel: DotKernel, sources: tuple[Param, Param], matrices: tuple[_Matrix, _Matrix, _Matrix], target: int
) -> Product[Dim]:
    """The call; a transposed result is computed as the product of the transposed operands, swapped."""
    a, b, c = matrices
    shape = (kernel.row.extent, kernel.column.extent)
    if c.transposed:
        a, b, c = b.turned, a.turned, c.turned
        sources, shape = (sources[1], sources[0]), (kernel.column.extent, kernel.row.extent)
    dtype = kernel.a.dtype
    return Product(
        a=kernel.params.index(sources[0]),
        b=kernel.params.index(sources[1]),
        c=target,
        a_offset=a.offset,
        b_offset=b.offset,
        c_offset=c.offset,
        a_leading=a.leading,
        b_leading=b.leading,
        c_leading=c.leading,
        a_transposed=a.transposed,
        b_transposed=b.transposed,
        m=shape[0],
        n=shape[1],
        k=kernel.depth,
        batch=_merged([
            BatchLoop(axis.extent, *strides)
            for axis, *strides in zip(kernel.batch, a.batch, b.batch, c.batch, strict=True)
        ]),
        dtypes=(dtype.numpy, kernel.accumulator.dtype.numpy),
        compute=compute_of(dtype, kernel.precision),
    )  # fmt: skip


def _merged(loops: Sequence[BatchLoop[Dim]]) -> tuple[BatchLoop[Dim], ...]:
    """Collapse nested loops where the strides of all three matrices allow it."""
    merged = list[BatchLoop[Dim]]()
    for loop in loops:
        if merged and all(
            outer == inner * loop.extent
            for outer, inner in (
                (merged[-1].a_stride, loop.a_stride),
                (merged[-1].b_stride, loop.b_stride),
                (merged[-1].c_stride, loop.c_stride),
            )
        ):
            merged.append(replace(loop, extent=merged.pop().extent * loop.extent))
        else:
            merged.append(loop)
    return tuple(merged)


def _pass(kernel: DotKernel, facts: Facts, source: Param, c: _Matrix) -> Stage:
    """The epilogue as a map that reads the product from memory."""
    steps = zip(c.batch, kernel.batch, strict=True)
    offset = c.offset
    for stride, axis in steps:
        offset += stride * of(axis.symbol)
    row, column = of(ROW), of(COLUMN)
    offset += row + column * c.leading if c.transposed else row * c.leading + column
    renaming = {kernel.row.symbol: row, kernel.column.symbol: column}
    rename = DimRewriter(lambda d: d.substitute(renaming))
    fill = ArgRewriter({kernel.accumulator.name: Load(source, (facts.canonical(offset),))})
    stores = tuple(rewrite_store(rewrite_store(s, rename), fill) for s in kernel.epilogue)
    inner = (Axis(ROW, kernel.row.extent), Axis(COLUMN, kernel.column.extent))
    axes = (*kernel.batch, *(reversed(inner) if c.transposed else inner))
    stage = Stage(axes, (False,) * len(axes), stores, ())
    (stage,) = merge_loops(RowKernel(kernel.params, (), (stage,), ())).stages
    return stage
