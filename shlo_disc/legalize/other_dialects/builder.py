"""Writes the StableHLO that replaces an op of another dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from shlo_disc.diagnostics import UnsupportedOpError
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import (
    SIZE,
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DenseAttr,
    EnumAttr,
    IntegerAttr,
    ScalarType,
    StringAttr,
    TensorType,
    Type,
)
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.legalize.builder import tensor_type
from shlo_disc.records import record

SIZE_TENSOR = TensorType((), DType.I64)
TRUTH = TensorType((), DType.I1)


@record
class SizeClaim:
    """What a constraint demands: a truth value, and the message where it is false, with the numbers in it."""

    op: ir.Op  # the constraint
    condition: ir.Value
    message: str
    numbers: tuple[ir.Value, ...] = ()


@record
class StableHloBuilder:
    """The ops of a block so far. `elements`: the single numbers of tensors that were made of them."""

    elements: dict[ir.Value, tuple[ir.Value, ...]]
    constants: dict[ir.Value, int]  # single integers that are known
    claims: dict[ir.Value, tuple[SizeClaim, ...]]  # for which each witness stands
    ops: list[ir.Op]
    op: ir.Op  # that is being replaced

    def make(self, name: str, operands: Sequence[ir.Value], type_: TensorType, **attributes: Attribute) -> ir.Value:
        """One op with one result, at the place of the op that is being replaced."""
        op, number = self.op, len(self.ops)
        stem = op.results[0].name if op.results else "size"
        result = ir.Value(f"{stem}.{number}", type_, op.span, op.location)
        self.ops.append(ir.Op(f"stablehlo.{name}", tuple(operands), attributes, (result,), (), op.span, op.location))
        return result

    def like(self, name: str, *operands: ir.Value) -> ir.Value:
        """An elementwise op whose result has the type of its last operand."""
        return self.make(name, operands, self.type(operands[-1]))

    def type(self, value: ir.Value) -> TensorType:
        """The type of a value that replaces one of another dialect."""
        return tensor_type(value.type, self.op.span)

    def constant(self, number: int, type_: TensorType = SIZE_TENSOR) -> ir.Value:
        """A number, at every place of a tensor."""
        if any(size is None for size in type_.shape):
            raise self.unsupported("of tensors with unknown sizes")
        data = np.array(number).astype(numpy_dtype(type_.dtype)).tobytes()
        found = self.make("constant", (), type_, value=DenseAttr(type_, data, splat=True, spelling=str(number)))
        if not type_.shape and type_.dtype.is_integer:
            self.constants[found] = number
        return found

    def float_constant(self, number: float, type_: TensorType) -> ir.Value:
        """A float."""
        data = np.array(number).astype(numpy_dtype(type_.dtype)).tobytes()
        return self.make("constant", (), type_, value=DenseAttr(type_, data, splat=True))

    def empty(self, type_: TensorType) -> ir.Value:
        """A tensor without elements."""
        return self.make("constant", (), type_, value=DenseAttr(type_, b"", splat=False))

    def kept(self, operands: Sequence[ir.Value], type_: TensorType) -> ir.Value:
        """The op as it is, on other operands, where legalization has a rule for it."""
        result = replace(self.op.results[0], type=type_)
        self.ops.append(replace(self.op, operands=tuple(operands), results=(result,)))
        return result

    def convert(self, value: ir.Value, dtype: DType) -> ir.Value:
        """The value as one of another element type."""
        type_, number = self.type(value), self.constants.get(value)
        if type_.dtype is dtype:
            return value
        found = self.make("convert", (value,), TensorType(type_.shape, dtype))
        if number is not None and dtype.is_integer:
            self.constants[found] = dtype.wrapped(number)
        return found

    def compare(self, direction: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """Truth values, by StableHLO's name of the direction."""
        type_ = TensorType(self.type(a).shape, DType.I1)
        return self.make(
            "compare", (a, b), type_, comparison_direction=EnumAttr("stablehlo", "comparison_direction", direction)
        )

    def all(self, conditions: Iterable[ir.Value]) -> ir.Value:
        """Whether all conditions hold."""
        found = [*conditions]
        result = found[0] if found else self.constant(1, TRUTH)
        for condition in found[1:]:
            result = self.like("and", result, condition)
        return result

    # --- tensors of sizes

    def joined(self, elements: Sequence[ir.Value]) -> ir.Value:
        """The tensor of rank 1 of single numbers of one type."""
        dtype = self.type(elements[0]).dtype if elements else DType.I64
        parts = [self.make("reshape", (x,), TensorType((1,), dtype)) for x in elements]
        type_ = TensorType((len(parts),), dtype)
        if not parts:
            found = self.empty(type_)
        elif len(parts) == 1:
            (found,) = parts
        else:
            found = self.make("concatenate", parts, type_, dimension=IntegerAttr(0, DType.I64))
        self.elements[found] = tuple(elements)
        return found

    def extents(self, shape: ir.Value) -> tuple[ir.Value, ...]:
        """The sizes of a shape whose rank is known; the slices are of the current block, no other may use them."""
        if (known := self.elements.get(shape)) is not None:
            return known
        (rank,) = self.type(shape).shape
        if rank is None:
            raise self.unsupported("of a shape whose rank is not known")
        return tuple([self.element(shape, (self.constant(k),)) for k in range(rank)])

    def element(self, tensor: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
        """One element of a tensor."""
        type_ = self.type(tensor)
        scalar = TensorType((), type_.dtype)
        numbers = [self.constants.get(index) for index in indices]
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers):
            return self._element_at(tensor, indices, scalar)
        for number, size in zip(known, type_.shape, strict=True):
            if number < 0 or (size is not None and number >= size):
                raise self.unsupported(
                    f"with the index {number} of a dimension of size {'?' if size is None else size}"
                )
        if (elements := self.elements.get(tensor)) is not None and len(known) == 1:
            return elements[known[0]]
        if not known:
            return tensor
        starts, limits = DenseArrayAttr(DType.I64, tuple(known)), DenseArrayAttr(DType.I64, tuple(k + 1 for k in known))
        ones = DenseArrayAttr(DType.I64, (1,) * len(known))
        part = self.make(
            "slice", (tensor,), TensorType((1,) * len(known), type_.dtype),
            start_indices=starts, limit_indices=limits, strides=ones,
        )  # fmt: skip
        return self.make("reshape", (part,), scalar)

    def _element_at(self, tensor: ir.Value, indices: Sequence[ir.Value], scalar: TensorType) -> ir.Value:
        ones = (1,) * len(indices)
        part = self.make(
            "dynamic_slice", (tensor, *indices), TensorType(ones, scalar.dtype),
            slice_sizes=DenseArrayAttr(DType.I64, ones),
        )  # fmt: skip
        return self.make("reshape", (part,), scalar)

    def dimension(self, tensor: ir.Value, number: int) -> ir.Value:
        """The size of one dimension."""
        size = self.type(tensor).shape[number]
        if size is not None:
            return self.constant(size)
        found = self.make(
            "get_dimension_size", (tensor,), TensorType((), DType.I32), dimension=IntegerAttr(number, DType.I64)
        )
        return self.convert(found, DType.I64)

    def shape_of(self, tensor: ir.Value) -> ir.Value:
        """All sizes of a tensor."""
        return self.joined([self.dimension(tensor, k) for k in range(len(self.type(tensor).shape))])

    def demand(self, claims: Iterable[SizeClaim]) -> None:
        """Check claims at every call; they are known from here on."""
        for claim in claims:
            attributes: Mapping[str, Attribute] = {
                "call_target_name": StringAttr("shape_assertion"),
                "error_message": StringAttr(claim.message),
                "has_side_effect": BoolAttr(value=True),
            }
            operands, op = (claim.condition, *claim.numbers), claim.op
            self.ops.append(ir.Op("stablehlo.custom_call", operands, attributes, (), (), op.span, op.location))

    def unsupported(self, why: str) -> UnsupportedOpError:
        """The error that an op cannot be expressed in StableHLO."""
        return UnsupportedOpError(f"op '{self.op.name}' is not supported {why}", self.op.span)


Rule: TypeAlias = Callable[[StableHloBuilder, tuple[ir.Value, ...]], tuple[ir.Value, ...]]


def stablehlo_type(type_: Type) -> Type:
    """The type of StableHLO in place of a scalar, a size or a tensor of indices; others stay."""
    match type_:
        case ScalarType(dtype):
            return TensorType((), _stablehlo_dtype(dtype))
        case _ if type_ == SIZE:
            return SIZE_TENSOR
        case TensorType(shape, DType.INDEX, encoding):
            return TensorType(shape, DType.I64, encoding)
        case _:
            return type_


def _stablehlo_dtype(dtype: DType) -> DType:
    return DType.I64 if dtype is DType.INDEX else dtype
