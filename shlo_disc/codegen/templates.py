"""Groups around an op that has a kernel template of its own: contractions, convolutions, sort, scatter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import cast

from shlo_disc.analysis.access import AffineView, affine_view, flat_offset, is_free
from shlo_disc.analysis.formula import Formulas, Producers, inline_region
from shlo_disc.codegen.contraction import (
    EpilogueIndex,
    delinearize,
    epilogue_index,
    holds_position,
    holds_zeros,
    matrix_form,
    row_major,
)
from shlo_disc.codegen.dependence import Dependence
from shlo_disc.codegen.groups import Group
from shlo_disc.codegen.kernel import (
    Axis,
    ConvKernel,
    DotKernel,
    MatrixView,
    ScatterKernel,
    Slabs,
    SortKernel,
    Start,
    Store,
    WindowScatterKernel,
)
from shlo_disc.codegen.panels import PanelReader, computed_operands
from shlo_disc.codegen.stages import Params
from shlo_disc.dynamic_ops.contract import ConvAttrs, DotAttrs
from shlo_disc.dynamic_ops.indexing import as_dim
from shlo_disc.dynamic_ops.order import ScatterAttrs, SelectAndScatterAttrs, SortAttrs
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.expr.dim import Dim, Sym, const, of, product, total
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Arg, Binary, BinaryFn, Const, Index, InRange, Scalar

ROW, COLUMN, DEPTH = Sym("%i"), Sym("%j"), Sym("%d")


def build_dot(group: Group, facts: Facts, producers: Producers) -> tuple[DotKernel, tuple[Tensor, ...]]:
    """A matrix product with the group's elementwise ops as its prologue and its epilogue."""
    op = cast("Op[DotAttrs]", group.anchor)
    computed = computed_operands(group, producers)
    form = matrix_form(op, facts, producers, computed)
    result = op.results[0]
    axes, loop_index = list[Axis](), list[Dim]()
    for number, loop in enumerate(form.batch):
        if loop.extent.constant == 1:
            loop_index.append(const(0))
            continue
        symbol = Sym(f"%b{number}")
        axes.append(Axis(symbol, loop.extent))
        loop_index.append(of(symbol))
    row, column, depth = Axis(ROW, form.m), Axis(COLUMN, form.n), Axis(DEPTH, form.k)
    for axis in (*axes, row, column):
        facts = facts.with_index(axis.symbol, axis.extent)
    where = dict(zip(form.batch_dims, loop_index, strict=True))
    for dims, symbol in ((form.row_dims, ROW), (form.column_dims, COLUMN)):
        shape = tuple(result.shape[d] for d in dims)
        where.update(zip(dims, delinearize(of(symbol), shape), strict=True))
    index = tuple(facts.canonical(where[d]) for d in range(len(result.shape)))
    params = Params()
    loops = tuple(loop_index)
    reader = PanelReader(group, form, loops, depth, facts, producers, params)
    if form.a is None:
        a = reader.panel(0, row)
    else:
        moves = _moved(loops, [loop.a_stride for loop in form.batch])
        a = MatrixView(params.of(form.a.base), form.a.offset + moves, form.a_row, form.a_k)
    if form.b is None:
        b = reader.panel(1, column)
    else:
        moves = _moved(loops, [loop.b_stride for loop in form.batch])
        b = MatrixView(params.of(form.b.base), form.b.offset + moves, form.b_k, form.b_column)
    accumulator = Arg("acc", result.dtype)
    stores = epilogue_stores(group, index, accumulator, facts, producers, params)
    kernel = DotKernel(
        params=tuple(params.tensors.values()),
        batch=tuple(axes),
        row=row,
        column=column,
        depth=form.k,
        a=a,
        b=b,
        accumulator=accumulator,
        epilogue=stores,
        precision=op.attrs.precision,
    )
    return kernel, tuple(params.tensors)


def _moved(loops: Index, strides: Sequence[Dim]) -> Dim:
    """How far the loops of a batch have moved an operand."""
    return total(loop * stride for loop, stride in zip(loops, strides, strict=True))


def epilogue_stores(
    group: Group,
    index: Index,
    accumulator: Arg,
    facts: Facts,
    producers: Producers,
    params: Params,
) -> tuple[Store, ...]:
    """What is stored for element `index` of the anchor's result, which is in `accumulator`."""
    op = cast("Op[object]", group.anchor)
    result = op.results[0]
    found = epilogue_index(result, group.roots, group.ops, facts, producers)
    assert found is not None, "fusion accepted the epilogue"
    root_index = _substituted(found, index, facts)
    members = {t for member in group.ops for t in member.results if member is not op}

    def inlined(tensor: Tensor) -> bool:
        made = producers.get(tensor)
        return made is not None and (tensor in members or is_free(made[0]))

    formulas = Formulas(facts, producers, inlined, {result: lambda _: accumulator}, params.load(facts))
    values = [formulas.at(root, root_index) for root in group.roots]
    return tuple(
        Store(params.of(root), facts.canonical(flat_offset(root_index, root.shape)), value)
        for root, value in zip(group.roots, values, strict=True)
    )


def _substituted(found: EpilogueIndex, index: Index, facts: Facts) -> Index:
    change = {symbol: dim for place, dim in zip(found.accumulator, index, strict=True) for symbol in place.symbols()}
    return tuple(facts.canonical(d.substitute(change)) for d in found.root)


def build_convolution(group: Group, facts: Facts, producers: Producers) -> tuple[ConvKernel, tuple[Tensor, ...]]:
    """An implicit matrix product over output positions, with the group's elementwise ops as its epilogue."""
    op = cast("Op[ConvAttrs]", group.anchor)
    attrs, result = op.attrs, op.results[0]
    data, kernel = (_strided(t, facts, producers) for t in op.operands)
    out = attrs.output
    positions = (out.batch, *out.spatial)
    row = Axis(ROW, product(result.shape[d] for d in positions))
    column = Axis(COLUMN, result.shape[out.feature])
    for axis in (row, column):
        facts = facts.with_index(axis.symbol, axis.extent)
    shape = tuple(result.shape[d] for d in positions)
    where = dict(zip(positions, delinearize(of(ROW), shape), strict=True)) | {out.feature: of(COLUMN)}
    index = tuple(facts.canonical(where[d]) for d in range(len(result.shape)))
    params = Params()
    input_param, kernel_param = params.of(data.base), params.of(kernel.base)
    accumulator = Arg("acc", result.dtype)
    stores = epilogue_stores(group, index, accumulator, facts, producers, params)
    input_dims = (attrs.input.batch, attrs.input.feature, *attrs.input.spatial)
    kernel_dims = (attrs.kernel.input_feature, attrs.kernel.output_feature, *attrs.kernel.spatial)
    built = ConvKernel(
        params=tuple(params.tensors.values()),
        attrs=attrs,
        row=row,
        column=column,
        input=MatrixView(input_param, data.offset, const(0), const(0)),
        input_sizes=tuple(op.operands[0].shape[d] for d in input_dims),
        input_strides=tuple(data.strides[d] for d in input_dims),
        kernel=MatrixView(kernel_param, kernel.offset, const(0), const(0)),
        kernel_sizes=tuple(op.operands[1].shape[d] for d in kernel_dims),
        kernel_strides=tuple(kernel.strides[d] for d in kernel_dims),
        output_spatial=tuple(result.shape[d] for d in out.spatial),
        accumulator=accumulator,
        epilogue=stores,
    )
    return built, tuple(params.tensors)


def _strided(tensor: Tensor, facts: Facts, producers: Producers) -> AffineView:
    return affine_view(tensor, facts, producers) or row_major(tensor)


def _reader(group: Group, facts: Facts, producers: Producers, params: Params) -> Formulas:
    """Formulas for scalars around a template: free ops and the group's own are inlined, everything else is memory."""
    inside = {t for op in group.ops if op is not group.anchor for t in op.results}

    def inlined(tensor: Tensor) -> bool:
        made = producers.get(tensor)
        return made is not None and (tensor in inside or is_free(made[0]))

    return Formulas(facts, producers, inlined, {}, params.load(facts))


def _memory(params: Params, tensors: Sequence[Tensor]) -> None:
    for tensor in tensors:
        params.of(tensor)


def build_sort(group: Group, facts: Facts, producers: Producers) -> tuple[SortKernel, tuple[Tensor, ...]]:
    """Sort along one dim, as `outer x extent x inner`."""
    op = cast("Op[SortAttrs]", group.anchor)
    params = Params()
    stored = [t for t in op.operands if not holds_position(t, op.attrs.dim, facts, producers)]
    _memory(params, (*_distinct(stored), *op.results))
    shape, dim = op.operands[0].shape, op.attrs.dim
    (body,) = op.bodies
    arguments = tuple(Arg(f"{'ab'[k % 2]}{k // 2}", t.dtype) for k, t in enumerate(body.arguments))
    (before,) = inline_region(_reader(group, facts, producers, params), body, arguments)
    kernel = SortKernel(
        params=tuple(params.tensors.values()),
        inputs=tuple(params.of(t) if t in stored else None for t in op.operands),
        outputs=tuple(params.of(t) for t in op.results),
        outer=product(shape[:dim]),
        extent=shape[dim],
        inner=product(shape[dim + 1 :]),
        keep=shape[dim] if op.attrs.keep is None else op.attrs.keep,
        stable=op.attrs.stable,
        comparator_arguments=arguments,
        comparator=before,
    )
    return kernel, tuple(params.tensors)


def _distinct(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(dict.fromkeys(tensors))


def build_scatter(group: Group, facts: Facts, producers: Producers) -> tuple[ScatterKernel, tuple[Tensor, ...]]:
    """Combine updates into a copy of the operands, in the order of the updates."""
    op = cast("Op[ScatterAttrs]", group.anchor)
    attrs, params = op.attrs, Params()
    half = len(op.operands) // 2
    tensors, indices, updates = op.operands[:half], op.operands[half], op.operands[half + 1 :]
    stored = [t for t in tensors if not holds_zeros(t, facts, producers)]
    _memory(params, (*_distinct(stored), *op.results))
    starts = tuple(
        Start(params.of(x) if x in stored else None, params.of(y), product(x.shape))
        for x, y in zip(tensors, op.results, strict=True)
    )
    shape = updates[0].shape
    axes, at = list[Axis](), list[Dim]()
    for number, extent in enumerate(shape):
        symbol = Sym(f"%u{number}")
        axes.append(Axis(symbol, extent))
        at.append(of(symbol))
        facts = facts.with_index(symbol, extent)
    read = _reader(group, facts, producers, params)
    first, window = _scatter_window(attrs, tensors[0], indices, shape, tuple(at), read)
    bounds = [
        InRange(start, const(0), size - extent + 1)
        for start, (_, extent), size in zip(first, window, tensors[0].shape, strict=True)
        if start.constant != 0 or size != extent
    ]
    target = tuple(start + step for start, (step, _) in zip(first, window, strict=True))
    offset = flat_offset(target, tensors[0].shape)
    positions = [axis for k, axis in enumerate(axes) if k not in attrs.update_window_dims]
    names, depends = {axis.symbol.name for axis in positions}, Dependence()
    # Along a dim where windows are one element wide, or start at one place, two of them are the same or do not meet.
    whole = all(
        extent.constant == 1 or not names.intersection(depends.of(start))
        for start, (_, extent) in zip(first, window, strict=True)
    )
    carries = tuple(Arg(f"old{k}", t.dtype) for k, t in enumerate(op.results))
    news = tuple(read.at(u, tuple(at)) for u in updates)
    values = inline_region(read, op.bodies[0], (*carries, *news))
    true: Scalar = Const(True, DType.I1)
    kernel = ScatterKernel(
        params=tuple(params.tensors.values()),
        starts=starts,
        axes=tuple(axes),
        window=tuple(axes[k].symbol for k in attrs.update_window_dims) if whole else (),
        unique=attrs.unique_indices or product(axis.extent for axis in positions).constant == 1,
        slabs=_slabs(tensors[0].shape, first, window, axes),
        in_bounds=reduce(lambda a, b: Binary(BinaryFn.AND, a, b, DType.I1), bounds, true),
        carries=carries,
        targets=tuple(Store(params.of(t), offset, value) for t, value in zip(op.results, values, strict=True)),
    )
    return kernel, tuple(params.tensors)


def _slabs(shape: Shape, first: Sequence[Dim], window: Sequence[tuple[Dim, Dim]], axes: Sequence[Axis]) -> Slabs | None:
    """Where updates go along the outermost dim of a scatter's operand; None if it has one element."""
    by_point = {of(axis.symbol): axis for axis in axes}
    for dim, size in enumerate(shape):
        if size.constant != 1:
            return Slabs(first[dim], by_point.get(window[dim][0]), size, product(shape[dim + 1 :]))
    return None


def _scatter_window(
    attrs: ScatterAttrs, tensor: Tensor, indices: Tensor, updates: Shape, at: Index, read: Formulas
) -> tuple[list[Dim], list[tuple[Dim, Dim]]]:
    """Per dim of the tensor: where the window starts, and the position in and extent of the window."""
    batch = [at[k] for k in range(len(updates)) if k not in attrs.update_window_dims]
    rank = len(tensor.shape)
    first = [const(0)] * rank
    for position, dim in enumerate(attrs.scatter_dims_to_operand_dims):
        where = list(batch)
        if attrs.index_vector_dim < len(indices.shape):
            where.insert(attrs.index_vector_dim, const(position))
        first[dim] = as_dim(read.at(indices, tuple(where)))
    pairs = zip(attrs.input_batching_dims, attrs.scatter_indices_batching_dims, strict=True)
    for dim, k in pairs:
        first[dim] = batch[k - (k > attrs.index_vector_dim)]
    dropped = {*attrs.inserted_window_dims, *attrs.input_batching_dims}
    window_dims = iter(attrs.update_window_dims)
    window = list[tuple[Dim, Dim]]()
    for dim in range(rank):
        if dim in dropped:
            window.append((const(0), const(1)))
        else:
            k = next(window_dims)
            window.append((at[k], updates[k]))
    return first, window


def build_window_scatter(
    group: Group, facts: Facts, producers: Producers
) -> tuple[WindowScatterKernel, tuple[Tensor, ...]]:
    """select_and_scatter, one window after the other."""
    op = cast("Op[SelectAndScatterAttrs]", group.anchor)
    params, attrs = Params(), op.attrs
    operand, source, init = op.operands
    (result,) = op.results
    _memory(params, (*_distinct((operand, source)), result))
    read = _reader(group, facts, producers, params)
    select_arguments = (Arg("best", operand.dtype), Arg("next", operand.dtype))
    scatter_arguments = (Arg("old", result.dtype), Arg("update", source.dtype))
    (select,) = inline_region(read, op.bodies[0], select_arguments)
    (scatter,) = inline_region(read, op.bodies[1], scatter_arguments)
    start = read.at(init, ())
    kernel = WindowScatterKernel(
        params=tuple(params.tensors.values()),
        operand=params.of(operand),
        source=params.of(source),
        target=params.of(result),
        init=start,
        operand_shape=operand.shape,
        source_shape=source.shape,
        window=attrs.window,
        strides=attrs.strides,
        low=attrs.low,
        select_arguments=select_arguments,
        select=select,
        scatter_arguments=scatter_arguments,
        scatter=scatter,
    )
    return kernel, tuple(params.tensors)
