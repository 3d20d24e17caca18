"""Limits of a program's sizes: its tensors, and the positions that its ops count, must fit into 64 bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from shlo_disc.diagnostics import ShapeError, Span
from shlo_disc.dynamic_ops.contract import ConvAttrs
from shlo_disc.dynamic_ops.move import PadAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Program, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceWindowAttrs
from shlo_disc.expr.dim import ZERO, Dim, const, maximum
from shlo_disc.expr.magnitude import LARGEST, Magnitude, Magnitudes, least, multiply
from shlo_disc.records import record

# Least bytes that an element counts as. So no tensor has more than 2**61 elements, and indices that ops shift and scale
# on the way still fit.
_NARROWEST = 4


@record
class Limit:
    """The product of `dims` (those of size 0 left out) and `unit` has to be at most 2**63 - 1.

    `of` is the tensor that has these dims, or the op that counts positions; `span` is its place in the source.
    """

    dims: Shape
    unit: int
    of: Tensor | Op[object]
    span: Span

    @property
    def what(self) -> str:
        """The limited tensor or positions, as text for error messages."""
        counted = f"the positions that {self.of.name.removeprefix('d_')} counts"
        return repr(self.of) if isinstance(self.of, Tensor) else counted


def limits(program: Program) -> tuple[Limit, ...]:
    """The distinct limits of a program, without those of its arguments, which are existing arrays and so keep theirs.

    Raises `ShapeError` for a limit that every call exceeds.
    """
    magnitudes = known_magnitudes(program)
    found = {_key(limit): limit for limit in _of_parameters(program)}
    given = set(found)
    for limit in _of_body(program.body):
        if found.setdefault(_key(limit), limit) is limit and least(magnitude_of(limit, magnitudes)) > LARGEST:
            raise _impossible(limit)
    return tuple(
        limit for key, limit in found.items() if key not in given and any(d.constant is None for d in limit.dims)
    )


def known_magnitudes(program: Program) -> Magnitudes:
    """The magnitudes of a program's symbols."""
    found = Magnitudes(raw.symbol for raw in program.raw_dims)  # sizes of arrays, which are never negative
    for symbol, dim in program.definitions:
        found.define(symbol, dim)
    return found


def magnitude_of(limit: Limit, magnitudes: Magnitudes) -> Magnitude:
    """An upper bound of the limited product."""
    total: Magnitude = {(): limit.unit}
    for dim in limit.dims:
        if dim != ZERO:
            total = multiply(total, magnitudes.of(dim))
    return total


def _key(limit: Limit) -> tuple[frozenset[tuple[Dim, int]], int]:
    return frozenset(Counter(limit.dims).items()), limit.unit


def _impossible(limit: Limit) -> ShapeError:
    return ShapeError(
        f"the size of {limit.what} does not fit into 64 bits",
        limit.span,
        hint=f"an array has at most 2**63 - 1 bytes and 2**63 // {_NARROWEST} elements; padding and dilation count too",
    )


def _of_parameters(program: Program) -> Iterator[Limit]:
    for parameter in program.parameters:
        yield _of_tensor(parameter.tensor)


def _of_body(body: Body) -> Iterator[Limit]:
    for op in body.walk():
        for tensor in op.results:
            yield _of_tensor(tensor)
        for dim in _counted(op):
            yield Limit((dim,), _NARROWEST, op, op.span)


def _of_tensor(tensor: Tensor) -> Limit:
    return Limit(tensor.shape, max(_NARROWEST, tensor.dtype.bytes), tensor, tensor.span)


def _counted(op: Op[object]) -> Iterator[Dim]:
    """Bounds of the positions that an op counts beyond its operands and results: in padding, between elements."""
    match op.attrs:
        case PadAttrs(low, interior):
            sizes = zip(op.operands[0].shape, low, interior, op.results[0].shape, strict=True)
            for size, before, between, padded in sizes:
                yield _magnitude(before) + (_magnitude(between) + 1) * size + padded
        case ReduceWindowAttrs():
            attrs = op.attrs
            for k, size in enumerate(op.operands[0].shape):
                spread = _magnitude(attrs.base_dilations[k]) * size
                yield _magnitude(attrs.low[k]) + spread + attrs.window[k] * _magnitude(attrs.window_dilations[k])
        case ConvAttrs():
            yield from _of_convolution(op.operands, op.attrs)
        case _:
            pass


def _of_convolution(operands: tuple[Tensor, ...], attrs: ConvAttrs) -> Iterator[Dim]:
    x, kernel = operands[:2]
    for k, (low, high) in enumerate(attrs.padding):
        yield (
            _magnitude(low)
            + _magnitude(high)
            + _magnitude(attrs.lhs_dilation[k]) * x.shape[attrs.input.spatial[k]]
            + _magnitude(attrs.rhs_dilation[k]) * kernel.shape[attrs.kernel.spatial[k]]
        )


def _magnitude(dim: Dim) -> Dim:
    return const(abs(dim.constant)) if dim.constant is not None else maximum(dim, -dim)
