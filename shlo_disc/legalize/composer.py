"""Decompositions of StableHLO ops: `Composer` emits the DHLO ops."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.diagnostics import Span
from shlo_disc.dynamic_ops.create import FromDimsAttrs
from shlo_disc.dynamic_ops.elementwise import CompareAttrs
from shlo_disc.dynamic_ops.move import TransposeAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Body, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.slices import SliceAttrs
from shlo_disc.expr.dim import ONE, Dim
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.builder import OpBuilder
from shlo_disc.legalize.frame import Frame
from shlo_disc.legalize.rules_move import broadcast, reshape
from shlo_disc.records import record


@record
class Composer:
    """Emits ops at one place of a program. Operands of elementwise functions have equal shapes."""

    frame: Frame
    span: Span

    @property
    def build(self) -> OpBuilder:
        return self.frame.build

    # elementwise

    def unary(self, fn: UnaryFn, x: Tensor) -> Tensor:
        """Apply a function that keeps the type."""
        return self.build.one(fn.value.name, (x,), NoAttrs(), x.shape, x.dtype, self.span)

    def binary(self, fn: BinaryFn, a: Tensor, b: Tensor | float) -> Tensor:
        """Combine two tensors, or a tensor and a number."""
        other = b if isinstance(b, Tensor) else self.full(b, a.shape, a.dtype)
        return self.build.one(fn.value.name, (a, other), NoAttrs(), a.shape, a.dtype, self.span)

    def add(self, a: Tensor, b: Tensor | float) -> Tensor:
        """A + b."""
        return self.binary(BinaryFn.ADD, a, b)

    def subtract(self, a: Tensor, b: Tensor | float) -> Tensor:
        """A - b."""
        return self.binary(BinaryFn.SUBTRACT, a, b)

    def multiply(self, a: Tensor, b: Tensor | float) -> Tensor:
        """A * b."""
        return self.binary(BinaryFn.MULTIPLY, a, b)

    def divide(self, a: Tensor, b: Tensor | float) -> Tensor:
        """A / b."""
        return self.binary(BinaryFn.DIVIDE, a, b)

    def compare(self, direction: Direction, a: Tensor, b: Tensor | float) -> Tensor:
        """Compare two tensors, or a tensor and a number."""
        other = b if isinstance(b, Tensor) else self.full(b, a.shape, a.dtype)
        return self.build.one("compare", (a, other), CompareAttrs(direction), a.shape, DType.I1, self.span)

    def select(self, condition: Tensor, then: Tensor, other: Tensor) -> Tensor:
        """`then` where the condition holds, else `other`."""
        return self.build.one("select", (condition, then, other), NoAttrs(), then.shape, then.dtype, self.span)

    def convert(self, x: Tensor, dtype: DType) -> Tensor:
        """Convert unless the type is the wanted one already."""
        return x if x.dtype is dtype else self.build.one("convert", (x,), NoAttrs(), x.shape, dtype, self.span)

    def bitcast(self, x: Tensor, dtype: DType) -> Tensor:
        """Reinterpret as a type of the same width."""
        if x.dtype is dtype:
            return x
        return self.build.one("bitcast_convert", (x,), NoAttrs(), x.shape, dtype, self.span)

    def parts(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The real and the imaginary parts of complex numbers."""
        real, imag = (
            self.build.one(part, (x,), NoAttrs(), x.shape, x.dtype.part, self.span) for part in ("real", "imag")
        )
        return real, imag

    def complex(self, real: Tensor, imag: Tensor) -> Tensor:
        """Combine real and imaginary parts into complex numbers."""
        dtype = DType.C64 if real.dtype is DType.F32 else DType.C128
        return self.build.one("complex", (real, imag), NoAttrs(), real.shape, dtype, self.span)

    # tensors without operands

    def full(self, value: complex, shape: Shape, dtype: DType) -> Tensor:
        """Repeat a number, truncated for an integer type."""
        whole = value if dtype.is_float or dtype.is_complex else int(value.real)
        return self.build.constant(bool(whole) if dtype.is_bool else whole, shape, dtype, self.span)

    def iota(self, dim: int, shape: Shape, dtype: DType) -> Tensor:
        """Count up along a dim."""
        return self.build.iota(dim, shape, dtype, self.span)

    def size(self, size: Dim, dtype: DType) -> Tensor:
        """A size as a rank-0 tensor."""
        return self.build.one("d_from_dims", (), FromDimsAttrs((size,)), (), dtype, self.span)

    # other shapes

    def broadcast(self, x: Tensor, dims: Sequence[int], shape: Shape) -> Tensor:
        """Broadcast; `dims` are the result's dims at which the operand's dims are."""
        return broadcast(self.frame, x, tuple(dims), shape, self.span)

    def reshape(self, x: Tensor, shape: Shape) -> Tensor:
        """Give the elements another shape."""
        return reshape(self.frame, x, shape, self.span)

    def transpose(self, x: Tensor, permutation: Sequence[int]) -> Tensor:
        """Result dim k is operand dim `permutation[k]`."""
        if tuple(permutation) == tuple(range(len(x.shape))):
            return x
        shape = [x.shape[k] for k in permutation]
        return self.build.one("d_transpose", (x,), TransposeAttrs(tuple(permutation)), shape, x.dtype, self.span)

    def slice(self, x: Tensor, starts: Sequence[Dim], sizes: Shape) -> Tensor:
        """Take a contiguous slice; its bounds are not checked."""
        attrs = SliceAttrs(tuple(starts), (ONE,) * len(sizes))
        return self.build.one("d_slice", (x,), attrs, sizes, x.dtype, self.span)

    def sum(self, x: Tensor, dims: Sequence[int]) -> Tensor:
        """Add up along dims."""
        if not dims:
            return x
        build = self.build
        zero = self.full(0, (), x.dtype)
        kept = [size for k, size in enumerate(x.shape) if k not in dims]
        attrs = ReduceAttrs(tuple(sorted(dims)))
        return build.emit("d_reduce", (x, zero), attrs, [(kept, x.dtype)], self.span, (self.adder(x.dtype),))[0]

    def adder(self, dtype: DType) -> Body:
        """The body of a sum."""
        self.build.begin()
        carry, element = (self.build.tensor((), dtype, self.span) for _ in range(2))
        return self.build.end((carry, element), (self.add(carry, element),))
