"""DHLO ops that packing adds to a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from shlo_disc.diagnostics import Span
from shlo_disc.dynamic_ops import create, elementwise, gather, move, reduce, slices
from shlo_disc.dynamic_ops.create import ConstantAttrs, FromDimsAttrs, IotaAttrs
from shlo_disc.dynamic_ops.elementwise import CompareAttrs
from shlo_disc.dynamic_ops.gather import GatherAttrs
from shlo_disc.dynamic_ops.indexing import ONE, ZERO
from shlo_disc.dynamic_ops.move import BroadcastAttrs, ConcatenateAttrs, PadAttrs, TransposeAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs, ReduceWindowAttrs
from shlo_disc.dynamic_ops.slices import SliceAttrs
from shlo_disc.expr.dim import Dim, const
from shlo_disc.expr.scalar import Const
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.ir.dtypes import DType
from shlo_disc.ragged.states import Number


@dataclass(slots=True)
class OpList:
    """Ops in the order of a program, and the names of the tensors that they make."""

    prefix: str
    ops: list[Op[Any]] = field(default_factory=list[Op[Any]])
    _count: int = 0

    def tensor(self, shape: Shape, dtype: DType, span: Span, name: str = "") -> Tensor:
        """A tensor with a name of its own, that begins with `name`."""
        self._count += 1
        return Tensor(f"{name or self.prefix}{self._count}", shape, dtype, span)

    def add(self, op: Op[Any]) -> Tensor:
        """Add an op with one result."""
        self.ops.append(op)
        return op.results[0]

    def constant(self, value: Number, dtype: DType, shape: Shape, span: Span) -> Tensor:
        """A tensor of one number."""
        if dtype.is_complex:
            value = complex(value)
        elif dtype.is_float:
            value = float(value.real)
        elif dtype.is_bool:
            value = bool(value)
        else:
            value = int(value.real)
        result = self.tensor(shape, dtype, span)
        return self.add(create.CONSTANT.op((), ConstantAttrs(Const(value, dtype)), (result,), span))

    def iota(self, shape: Shape, dim: int, span: Span) -> Tensor:
        """Positions along a dim, i64."""
        return self.add(create.IOTA.op((), IotaAttrs(dim), (self.tensor(shape, DType.I64, span),), span))

    def from_dim(self, dim: Dim, span: Span) -> Tensor:
        """A size, i64 of rank 0."""
        made = self.tensor((), DType.I64, span)
        return self.add(create.FROM_DIMS.op((), FromDimsAttrs((dim,)), (made,), span))

    def column(self, x: Tensor, number: int, span: Span) -> Tensor:
        """The column of a matrix, as a matrix of one column."""
        made = self.tensor((x.shape[0], ONE), x.dtype, span)
        attrs = SliceAttrs((ZERO, const(number)), (ONE, ONE))
        return self.add(slices.SLICE.op((x,), attrs, (made,), span))

    def broadcast(self, x: Tensor, shape: Shape, dims: Sequence[int], span: Span) -> Tensor:
        """`x` along `dims` of a shape that has its sizes there."""
        attrs = BroadcastAttrs(tuple(dims), (False,) * len(x.shape))
        return self.add(move.BROADCAST.op((x,), attrs, (self.tensor(shape, x.dtype, span),), span))

    def reshape(self, x: Tensor, shape: Shape, span: Span, result: Tensor | None = None) -> Tensor:
        """`x` in another shape; `x` itself if it has it, unless there is a tensor for the result."""
        if result is None and x.shape == shape:
            return x
        made = result or self.tensor(shape, x.dtype, span)
        return self.add(move.RESHAPE.op((x,), NoAttrs(), (made,), span))

    def transpose(self, x: Tensor, permutation: Sequence[int], span: Span) -> Tensor:
        """`x` with its dims in another order."""
        made = self.tensor(tuple([x.shape[dim] for dim in permutation]), x.dtype, span)
        return self.add(move.TRANSPOSE.op((x,), TransposeAttrs(tuple(permutation)), (made,), span))

    def with_one_more(self, x: Tensor, dim: int, value: Number, span: Span) -> Tensor:
        """`x` with an element `value` at the end of a dim."""
        shape = tuple([size + 1 if k == dim else size for k, size in enumerate(x.shape)])
        attrs = PadAttrs((ZERO,) * len(shape), (ZERO,) * len(shape))
        operands = x, self.constant(value, x.dtype, (), span)
        return self.add(move.PAD.op(operands, attrs, (self.tensor(shape, x.dtype, span),), span))

    def gather(self, x: Tensor, indices: Tensor, dims: Sequence[int], places: Sequence[int], span: Span) -> Tensor:
        """Slices of `x` at indices along `dims`.

        Args:
            x: the tensor.
            indices: [..., len(dims)], or [...] for one dim.
            dims: of `x`, dropped in the result.
            places: the dims of the result that are those of the indices, ascending.
            span: of the op.
        """
        is_vector = len(dims) > 1
        batch = indices.shape[:-1] if is_vector else indices.shape
        others = [size for k, size in enumerate(x.shape) if k not in dims]
        rank = len(batch) + len(others)
        offsets = tuple([k for k in range(rank) if k not in places])
        shape = [ZERO] * rank
        for place, size in (*zip(places, batch, strict=True), *zip(offsets, others, strict=True)):
            shape[place] = size
        attrs = GatherAttrs(
            offset_dims=offsets,
            collapsed_slice_dims=tuple(sorted(dims)),
            operand_batching_dims=(),
            start_indices_batching_dims=(),
            start_index_map=tuple(dims),
            index_vector_dim=len(batch),
            slice_sizes=tuple([ONE if k in dims else size for k, size in enumerate(x.shape)]),
        )
        return self.add(gather.GATHER.op((x, indices), attrs, (self.tensor(tuple(shape), x.dtype, span),), span))

    def concatenate(self, parts: Sequence[Tensor], dim: int, span: Span) -> Tensor:
        """Tensors one after the other along a dim."""
        size = ZERO
        for part in parts:
            size = size + part.shape[dim]
        shape = tuple([size if k == dim else own for k, own in enumerate(parts[0].shape)])
        made = self.tensor(shape, parts[0].dtype, span)
        return self.add(move.CONCATENATE.op(tuple(parts), ConcatenateAttrs(dim), (made,), span))

    def binary(self, function: BinaryFn, a: Tensor, b: Tensor, span: Span) -> Tensor:
        """A function of two tensors of one shape."""
        made = self.tensor(a.shape, a.dtype, span)
        return self.add(Op(function.value.name, (a, b), NoAttrs(), (made,), (), span))

    def compare(self, a: Tensor, direction: Direction, b: Tensor, span: Span) -> Tensor:
        """Where `a` is less than `b`, or equal, and so on."""
        made = self.tensor(a.shape, DType.I1, span)
        return self.add(elementwise.COMPARE.op((a, b), CompareAttrs(direction), (made,), span))

    def select(self, where: Tensor, then: Tensor, other: Tensor, span: Span, name: str = "") -> Tensor:
        """`then` where a condition holds, else `other`. `name`: of the result, for people."""
        made = self.tensor(then.shape, then.dtype, span, name)
        return self.add(elementwise.SELECT.op((where, then, other), NoAttrs(), (made,), span))

    def convert(self, x: Tensor, dtype: DType, span: Span) -> Tensor:
        """`x` in another type."""
        if x.dtype is dtype:
            return x
        made = self.tensor(x.shape, dtype, span)
        return self.add(elementwise.CONVERT.op((x,), NoAttrs(), (made,), span))

    def fold(self, x: Tensor, function: BinaryFn, initial: int, dims: Sequence[int], span: Span) -> Tensor:
        """The sum, the least or the greatest element along dims of integers."""
        carry, element, found = (self.tensor((), x.dtype, span) for _ in range(3))
        step = Op(function.value.name, (carry, element), NoAttrs(), (found,), (), span)
        body = Body((carry, element), (step,), (found,))
        shape = tuple([size for k, size in enumerate(x.shape) if k not in dims])
        operands = x, self.constant(initial, x.dtype, (), span)
        made = self.tensor(shape, x.dtype, span)
        return self.add(reduce.REDUCE.op(operands, ReduceAttrs(tuple(dims)), (made,), span, (body,)))

    def running_sums(self, x: Tensor, span: Span) -> Tensor:
        """The sum of each integer of a vector and those before it."""
        (size,) = x.shape
        carry, element, found = (self.tensor((), x.dtype, span) for _ in range(3))
        step = Op(BinaryFn.ADD.value.name, (carry, element), NoAttrs(), (found,), (), span)
        body = Body((carry, element), (step,), (found,))
        attrs = ReduceWindowAttrs((size,), (ONE,), (ONE,), (ONE,), (size - 1,))
        operands = x, self.constant(0, x.dtype, (), span)
        made = self.tensor(x.shape, x.dtype, span)
        return self.add(reduce.REDUCE_WINDOW.op(operands, attrs, (made,), span, (body,)))
