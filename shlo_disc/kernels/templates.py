"""Kernels of groups whose anchor has a template: contractions, convolutions, sort, select_and_scatter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from shlo_disc.analysis.access import AffineView, affine_view, is_free
from shlo_disc.analysis.formula import Formulas, Producers, inline_region
from shlo_disc.analysis.structure import Structures
from shlo_disc.dynamic_ops.contract import ConvAttrs, DotAttrs
from shlo_disc.dynamic_ops.indexing import delinearize, linear
from shlo_disc.dynamic_ops.order import SelectAndScatterAttrs, SortAttrs
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.expr.dim import Dim, Sym, const, of, product, total
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Arg, Index, Load, Scalar
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.contraction import EpilogueIndex, epilogue_index, holds_position, matrix_form, row_major
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import (
    Axis,
    ConvKernel,
    DotKernel,
    MatrixView,
    SortKernel,
    Store,
    WindowScatterKernel,
)
from shlo_disc.kernels.panels import PanelReader, computed_operands
from shlo_disc.kernels.stages import Params

ROW, COLUMN, DEPTH = Sym("%i"), Sym("%j"), Sym("%d")


def build_dot(
    group: Group,
    facts: Facts,
    producers: Producers,
    read_as: Callable[[DType], DType] = lambda dtype: dtype,
) -> tuple[DotKernel, tuple[Tensor, ...]]:
    """A matrix product with the group's elementwise ops as its prologue and its epilogue.

    `read_as`: the type in which the template reads an operand of each type; a prologue converts operands of other
    types.
    """
    op = cast("Op[DotAttrs]", group.anchor)
    types = [read_as(operand.dtype) for operand in op.operands]
    form = matrix_form(op, Structures(facts, producers), _computed(op, computed_operands(group, producers), types))
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
        a = reader.panel(0, row, types[0])
    else:
        moves = _moved(loops, [loop.a_stride for loop in form.batch])
        a = MatrixView(params.of(form.a.base), form.a.offset + moves, form.a_row, form.a_k)
    if form.b is None:
        b = reader.panel(1, column, types[1])
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


def _computed(op: Op[DotAttrs], computed: Sequence[bool], types: Sequence[DType]) -> tuple[bool, ...]:
    """Which operands of a product a prologue computes, including those that it only converts."""
    flags = zip(computed, op.operands, types, strict=True)
    return tuple([is_computed or operand.dtype is not dtype for is_computed, operand, dtype in flags])


def _moved(loops: Index, strides: Sequence[Dim]) -> Dim:
    """The offset of an operand at the current point of the batch loops."""
    return total(loop * stride for loop, stride in zip(loops, strides, strict=True))


def epilogue_stores(
    group: Group,
    index: Index,
    accumulator: Scalar,
    facts: Facts,
    producers: Producers,
    params: Params,
) -> tuple[Store, ...]:
    """The stores for element `index` of the anchor's result, whose value is `accumulator`."""
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
        Store(params.of(root), facts.canonical(linear(root_index, root.shape)), value)
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
        operand_bounds=(op.operands[0].bounds, op.operands[1].bounds),
        accumulator=accumulator,
        epilogue=stores,
    )
    return built, tuple(params.tensors)


def _strided(tensor: Tensor, facts: Facts, producers: Producers) -> AffineView:
    return affine_view(tensor, facts, producers) or row_major(tensor)


def element_reader(group: Group, facts: Facts, producers: Producers, params: Params | None) -> Formulas:
    """Formulas for scalars around a template: free ops and the group's own are inlined, all else is loaded.

    Without `params`, loads name tensors and their indices.
    """
    inside = {t for op in group.ops if op is not group.anchor for t in op.results}

    def inlined(tensor: Tensor) -> bool:
        made = producers.get(tensor)
        return made is not None and (tensor in inside or is_free(made[0]))

    return Formulas(facts, producers, inlined, {}, Load if params is None else params.load(facts))


def pass_in_order(params: Params, tensors: Sequence[Tensor]) -> None:
    """Number these tensors' buffers next, in this order."""
    for tensor in tensors:
        params.of(tensor)


def build_sort(group: Group, facts: Facts, producers: Producers) -> tuple[SortKernel, tuple[Tensor, ...]]:
    """Sort along one dim, as `outer x extent x inner`."""
    op = cast("Op[SortAttrs]", group.anchor)
    params = Params()
    stored = [t for t in op.operands if not holds_position(t, op.attrs.dim, facts, producers)]
    pass_in_order(params, (*distinct(stored), *op.results))
    shape, dim = op.operands[0].shape, op.attrs.dim
    (body,) = op.bodies
    arguments = tuple(Arg(f"{'ab'[k % 2]}{k // 2}", t.dtype) for k, t in enumerate(body.arguments))
    (before,) = inline_region(element_reader(group, facts, producers, params), body, arguments, facts)
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


def distinct(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Each tensor once."""
    return tuple(dict.fromkeys(tensors))


def build_window_scatter(
    group: Group, facts: Facts, producers: Producers
) -> tuple[WindowScatterKernel, tuple[Tensor, ...]]:
    """select_and_scatter, one window after the other."""
    op = cast("Op[SelectAndScatterAttrs]", group.anchor)
    params, attrs = Params(), op.attrs
    operand, source, init = op.operands
    (result,) = op.results
    pass_in_order(params, (*distinct((operand, source)), result))
    read = element_reader(group, facts, producers, params)
    select_arguments = (Arg("best", operand.dtype), Arg("next", operand.dtype))
    scatter_arguments = (Arg("old", result.dtype), Arg("update", source.dtype))
    (select,) = inline_region(read, op.bodies[0], select_arguments, facts)
    (scatter,) = inline_region(read, op.bodies[1], scatter_arguments, facts)
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
