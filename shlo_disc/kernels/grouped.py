"""Kernels of products of groups of rows, with the group's elementwise ops as their epilogue."""

from __future__ import annotations

from typing import cast

from shlo_disc.analysis.access import AffineView, affine_view
from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.grouped import GroupedDotAttrs, Ragged
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.expr.dim import Dim, Sym, const, of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Arg
from shlo_disc.kernels.contraction import row_major
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import Axis, DotKernel, GroupedDotKernel, MatrixView
from shlo_disc.kernels.stages import Params
from shlo_disc.kernels.templates import COLUMN, ROW, epilogue_stores

GROUP = Sym("%p")


def build_grouped(group: Group, facts: Facts, producers: Producers) -> tuple[GroupedDotKernel, tuple[Tensor, ...]]:
    """A product of groups of rows, whose operands are in memory."""
    op, params = cast("Op[GroupedDotAttrs]", group.anchor), Params()
    lhs, rhs, sizes = (affine_view(t, facts, producers) or row_major(t) for t in op.operands)
    result, by_rows = op.results[0], op.attrs.ragged is Ragged.ROWS
    row, column = Axis(ROW, result.shape[-2]), Axis(COLUMN, result.shape[-1])
    batch = () if by_rows else (Axis(GROUP, result.shape[0]),)
    for axis in (*batch, row, column):
        facts = facts.with_index(axis.symbol, axis.extent)
    views = [
        _matrix(params, lhs, *(lhs.strides if by_rows else reversed(lhs.strides))),
        _matrix(params, rhs, *rhs.strides[-2:]),
        _matrix(params, sizes, sizes.strides[0], const(0)),
    ]
    accumulator, index = Arg("acc", result.dtype), tuple([of(axis.symbol) for axis in (*batch, row, column)])
    stores = epilogue_stores(group, index, accumulator, facts, producers, params)
    memory = tuple(params.tensors.values())
    product = DotKernel(
        params=memory,
        batch=batch,
        row=row,
        column=column,
        depth=op.operands[0].shape[1 if by_rows else 0],
        a=views[0],
        b=views[1],
        accumulator=accumulator,
        epilogue=stores,
        precision=op.attrs.precision,
    )
    matrix = rhs.strides[0] if by_rows else None
    return GroupedDotKernel(memory, product, op.operands[2].shape[0], views[2], matrix), tuple(params.tensors)


def _matrix(params: Params, view: AffineView, row_stride: Dim, column_stride: Dim) -> MatrixView:
    return MatrixView(params.of(view.base), view.offset, row_stride, column_stride)
