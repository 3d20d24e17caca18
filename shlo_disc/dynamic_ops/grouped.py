"""Products of groups of rows: each group has a matrix of its own, or is summed for itself."""

from __future__ import annotations

from enum import Enum

import numpy as np

from shlo_disc.dynamic_ops.contract import Precision, accumulator, matrix_product, sum_of_products, sums_in
from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.elementwise import converted
from shlo_disc.dynamic_ops.indexing import ZERO, as_dim, in_range, select_all
from shlo_disc.dynamic_ops.opdef import Arrays, ElementQuery, OpDef, Template, Trait, plain
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.expr.dim import Dim, maximum, minimum, of
from shlo_disc.expr.scalar import Arg, Binary, Const, Fold, FoldResult, FromDim, Index, InRange, Scalar, Select
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.references.formats import rounded
from shlo_disc.ir.dtypes import Array, DType
from shlo_disc.records import record

_COUNT = DType.I64


class Ragged(Enum):
    """What groups of rows of the left operand are: rows of the result, or depths that are summed."""

    ROWS = "rows"
    DEPTH = "depth"


@record
class GroupedDotAttrs:
    """A product whose left operand, [m, k], consists of groups of rows; the third operand has their g sizes.

    ROWS: the right operand is [g, k, n], the result [m, n]; rows of group p are multiplied by matrix p.
    DEPTH: the right operand is [m, n], the result [g, k, n]; its matrix p is the sum over the rows of group p.
    The groups follow each other from row 0 on. A negative size counts as 0, rows beyond m do not exist, and rows
    beyond the last group are 0 in the result, or in no sum.
    """

    ragged: Ragged
    precision: Precision = Precision.DEFAULT


def _element(op: Op[GroupedDotAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    return _of_rows(op, ask, index) if op.attrs.ragged is Ragged.ROWS else _of_depth(op, ask, index)


def _of_rows(op: Op[GroupedDotAttrs], ask: ElementQuery, index: Index) -> Scalar:
    lhs, rhs, sizes = op.operands
    (row, column), dtype, groups = index, accumulator(op.results[0].dtype), sizes.shape[0]
    each, end, number = ask.symbol("g"), *(Arg(ask.symbol(name).name, _COUNT) for name in ("end", "number"))
    next_end = _added(end, FromDim(_size(op, ask, of(each)), _COUNT))
    is_before = InRange(as_dim(next_end), ZERO, row + 1)
    zero = Const(0, _COUNT)
    next_number = _added(number, Select(is_before, Const(1, _COUNT), zero))
    fold = Fold(((each, groups),), (end, number), (zero, zero), (next_end, next_number))
    group, depth = as_dim(FoldResult(fold, 1)), ask.symbol("k")
    a = converted(ask.at(lhs, (row, of(depth))), dtype)
    b = converted(ask.at(rhs, (maximum(ZERO, minimum(group, groups - 1)), of(depth), column)), dtype)
    found = sum_of_products(ask, ((depth, lhs.shape[1]),), a, b, op.results[0].dtype)
    return select_all([in_range(group, groups)], found, _zero(found.dtype))


def _of_depth(op: Op[GroupedDotAttrs], ask: ElementQuery, index: Index) -> Scalar:
    lhs, rhs, _ = op.operands
    (group, row, column), dtype = index, accumulator(op.results[0].dtype)
    each, first = ask.symbol("g"), Arg(ask.symbol("first").name, _COUNT)
    before = _added(first, FromDim(_size(op, ask, of(each)), _COUNT))
    fold = Fold(((each, group),), (first,), (Const(0, _COUNT),), (before,))
    start, depth = as_dim(FoldResult(fold, 0)), ask.symbol("k")
    inside = [InRange(of(depth), start, start + _size(op, ask, group))]
    a, b = (
        select_all(inside, converted(ask.at(x, (of(depth), at)), dtype), _zero(dtype))
        for x, at in ((lhs, row), (rhs, column))
    )
    return sum_of_products(ask, ((depth, lhs.shape[0]),), a, b, op.results[0].dtype)


def _zero(dtype: DType) -> Const:
    return Const(complex(0) if dtype.is_complex else 0.0 if dtype.is_float else 0, dtype)


def _size(op: Op[GroupedDotAttrs], ask: ElementQuery, group: Dim) -> Dim:
    """The size of a group: at least 0, and at most all rows, so that sums of sizes do not overflow."""
    return maximum(ZERO, minimum(as_dim(ask.at(op.operands[2], (group,))), op.operands[0].shape[0]))


def _added(a: Scalar, b: Scalar) -> Scalar:
    return Binary(BinaryFn.ADD, a, b, _COUNT)


def group_bounds(sizes: Array, rows: int) -> list[tuple[int, int]]:
    """The first row of each group, and the one after its last.

    >>> group_bounds(np.array([2, -1, 0, 9]), 5)
    [(0, 2), (2, 2), (2, 2), (2, 5)]
    """
    ends = list[int]()
    for size in sizes.tolist():
        first = ends[-1] if ends else 0
        ends.append(min(rows, first + max(0, int(size))))
    return list(zip([0, *ends[:-1]], ends, strict=True)) if ends else []


def _reference(op: Op[GroupedDotAttrs], inputs: Arrays) -> Arrays:
    lhs, rhs = (x.astype(sums_in(op)) for x in inputs[:2])
    found = np.zeros(concrete_shape(op.results[0].shape), sums_in(op))
    for group, (first, last) in enumerate(group_bounds(inputs[2], lhs.shape[0])):
        if op.attrs.ragged is Ragged.ROWS:
            found[first:last] = matrix_product(lhs[first:last], rhs[group])
        else:
            found[group] = matrix_product(lhs[first:last].T, rhs[first:last])
    return (rounded(found, op.results[0].dtype),)


GROUPED_DOT = OpDef(
    name="d_grouped_dot",
    attrs=GroupedDotAttrs,
    template=Template.GROUPED_DOT,
    element=_element,
    reference=plain(_reference),
    traits=frozenset({Trait.SUM}),
)
OPS = (GROUPED_DOT,)
