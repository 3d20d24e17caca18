"""Index algebra that element rules share: scalars as dims, conditions, linear positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from shlo_disc.dynamic_ops.program import Shape
from shlo_disc.expr.dim import Data, Dim, const, maximum, minimum, of, product
from shlo_disc.expr.scalar import Binary, Const, Convert, FromDim, Index, InRange, Scalar, Select
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType

ZERO, ONE = const(0), const(1)
BEYOND = 1 << 62  # larger than any index of a tensor; adding sizes to it does not overflow 64 bits


def as_dim(x: Scalar) -> Dim:
    """Use an integer element as an index or a size."""
    match x:
        case FromDim(dim=dim, dtype=dtype) if dtype.is_integer:
            return dim
        case Const(value=int(value)):
            return const(int(value))
        case Convert(x=inner, dtype=dtype) if dtype.is_integer and inner.dtype.is_integer and dtype.holds(inner.dtype):
            return as_dim(inner)
        case _ if x.dtype is DType.UI64:  # dims are signed: clamped, so that an index out of bounds stays out of bounds
            return of(Data(Binary(BinaryFn.MINIMUM, x, Const(BEYOND, x.dtype), x.dtype)))
        case _:
            return of(Data(x))


def clamped(start: Dim, size: Dim, window: Dim) -> Dim:
    """Move a window's start so that the window lies inside `size`."""
    return ZERO if size == window else maximum(ZERO, minimum(start, size - window))


def select_all(conditions: Iterable[Scalar], then: Scalar, other: Scalar) -> Scalar:
    """`then` if all conditions hold, else `other`; without conditions it is `then`."""
    tests = tuple(conditions)
    if not tests:
        return then
    return Select(reduce(lambda a, b: Binary(BinaryFn.AND, a, b, DType.I1), tests), then, other)


def in_range(index: Dim, size: Dim) -> InRange:
    """Whether `index` is an index of a dim of this size."""
    return InRange(index, ZERO, size)


def linear(index: Sequence[Dim], shape: Sequence[Dim]) -> Dim:
    """The row-major position of `index` in `shape`."""
    return reduce(lambda at, step: at * step[1] + step[0], zip(index, shape, strict=True), ZERO)


def delinearize(position: Dim, shape: Sequence[Dim]) -> Index:
    """The index of the element at a row-major position of `shape`."""
    index: list[Dim] = []
    for size in reversed(shape[1:]):
        index.append(position % size)
        position = position // size
    return (position, *reversed(index)) if shape else ()


def reshaped(index: Index, source: Shape, target: Shape) -> Index:
    """The index of `target` (the operand) at the same row-major position as `index` of `source`.

    Dims are matched in groups of equal size from the left, so that only dims that merge or split are linearized:
    (b, s, h*d) -> (b, s, h, d) leaves b and s alone.
    """
    found: list[Dim] = []
    rest_index, rest_source, rest_target = list(index), list(source), list(target)
    while rest_source or rest_target:
        taken = _group(rest_source, rest_target)
        found += _regroup(rest_index[: taken[0]], rest_source[: taken[0]], rest_target[: taken[1]])
        del rest_index[: taken[0]], rest_source[: taken[0]], rest_target[: taken[1]]
    return tuple(found)


def _group(source: list[Dim], target: list[Dim]) -> tuple[int, int]:
    """How many leading dims of each side make up the first pair of groups with equal products."""
    if source and source[0] == ONE:
        return 1, 0
    if target and target[0] == ONE:
        return 0, 1
    for i in range(1, len(source) + 1):
        for j in range(1, len(target) + 1):
            if product(source[:i]) == product(target[:j]):
                return i, j
    return len(source), len(target)


def _regroup(index: Sequence[Dim], source: Sequence[Dim], target: Sequence[Dim]) -> list[Dim]:
    if len(index) == len(target) == 1:
        return list(index)
    found = delinearize(linear(index, source), target)
    return [ZERO, *found[1:]] if target and target[0] == ONE else list(found)
