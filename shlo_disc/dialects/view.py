"""A constraint's view of an op: operands, results and attributes by the names of the specification."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from shlo_disc.dialects.types import Element, Shape, Tensor, element_type
from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DenseAttr,
    EnumAttr,
    IntegerAttr,
    RecordAttr,
    Type,
    UnitAttr,
)
from shlo_disc.ir.core import Block, Module, Op, Value
from shlo_disc.ir.dtypes import numpy_dtype
from shlo_disc.records import record


@record
class Refusal:
    """Why an op is refused: what a constraint expects, and what there is; `at` is the value that it is about."""

    expected: str
    found: str
    at: Value | None = None


@record
class OpView:
    """An op whose slots have been checked."""

    op: Op
    module: Module
    values: Mapping[str, tuple[Value, ...]]  # by the name of the operand or result
    defaults: Mapping[str, Attribute]  # of attributes that may be left out
    constants: Mapping[Value, tuple[int, ...]]  # small integer tensors that a `stablehlo.constant` defines

    def value(self, name: str) -> Value:
        """The operand or result of a name, where there is just one."""
        (value,) = self.values[name]
        return value

    def type(self, name: str) -> Type:
        return self.value(name).type

    def types(self, name: str) -> tuple[Type, ...]:
        """The types of a variadic operand or result."""
        return tuple([value.type for value in self.values[name]])

    def tensor(self, name: str) -> Tensor:
        """The type of an operand or result whose slot takes tensors only."""
        (value,) = self.values[name]
        type_ = value.type
        assert isinstance(type_, Tensor), "the slot takes tensors only"
        return type_

    def tensors(self, name: str) -> tuple[Tensor, ...]:
        """The types of a variadic operand or result whose slot takes tensors only."""
        values = self.values[name]
        types = [value.type for value in values if isinstance(value.type, Tensor)]
        assert len(types) == len(values), "the slot takes tensors only"
        return tuple(types)

    def shape(self, name: str) -> Shape:
        return self.tensor(name).shape

    def rank(self, name: str) -> int:
        return len(self.tensor(name).shape)

    def element(self, name: str) -> Element:
        return element_type(self.tensor(name))

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of a name, its default where it is left out, or None."""
        found = self.op.attributes.get(name)
        return self.defaults.get(name) if found is None else found

    def has(self, name: str) -> bool:
        return name in self.op.attributes

    def integer(self, name: str) -> int:
        """An integer attribute."""
        found = self.attribute(name)
        assert isinstance(found, IntegerAttr), "the slot takes an integer"
        return found.value

    def integers(self, name: str, default: tuple[int, ...] = ()) -> tuple[int, ...]:
        """An attribute `array<i64: …>`; `default` where it is left out and the record gives none."""
        found = self.attribute(name)
        if found is None:
            return default
        assert isinstance(found, DenseArrayAttr), "the slot takes a list of integers"
        return tuple([int(value) for value in found.values])

    def rows(self, name: str) -> tuple[tuple[int, ...], ...] | None:
        """An attribute `dense<[[1, 2], …]> : tensor<…xi64>`, row by row; None where it is left out."""
        found = self.attribute(name)
        if found is None:
            return None
        assert isinstance(found, DenseAttr), "the slot takes a literal"
        count, width = (size or 0 for size in found.type.shape)
        numbers = numbers_of(found)
        return tuple([numbers[row * width : (row + 1) * width] for row in range(count)])

    def flag(self, name: str) -> bool:
        """A boolean or unit attribute; one that is left out is false."""
        found = self.attribute(name)
        return isinstance(found, UnitAttr) or (isinstance(found, BoolAttr) and found.value)

    def enum(self, name: str) -> str | None:
        """The value of an enumeration, None where it is left out."""
        found = self.attribute(name)
        return found.value if isinstance(found, EnumAttr) else None

    def field(self, record: str, name: str) -> tuple[int, ...]:
        """A list of numbers in a record such as `#stablehlo.gather<offset_dims = [1]>`; one left out is empty."""
        found = self.attribute(record)
        assert isinstance(found, RecordAttr), "the slot takes a record"
        listed = found.fields.get(name)
        if not isinstance(listed, ArrayAttr):
            return ()
        return tuple([item.value for item in listed.items if isinstance(item, IntegerAttr)])

    def field_number(self, record: str, name: str) -> int:
        """A number in a record; one left out is 0."""
        found = self.attribute(record)
        assert isinstance(found, RecordAttr), "the slot takes a record"
        number = found.fields.get(name)
        return number.value if isinstance(number, IntegerAttr) else 0

    def block(self, region: int) -> Block:
        """The block of a region."""
        return self.op.regions[region].block

    def returned(self, region: int) -> tuple[Type, ...]:
        """The types that a region returns."""
        return tuple([value.type for value in self.block(region).ops[-1].operands])

    def constant(self, name: str) -> tuple[int, ...] | None:
        """The elements of an operand if it is a small integer constant, else None."""
        return self.constants.get(self.value(name))


def numbers_of(literal: DenseAttr) -> tuple[int, ...]:
    """Return the elements of an integer literal; that of a splat is repeated."""
    numbers: list[int] = np.frombuffer(literal.data, numpy_dtype(literal.type.dtype)).tolist()
    if literal.splat:
        numbers *= math.prod([size or 0 for size in literal.type.shape])
    return tuple(numbers)
