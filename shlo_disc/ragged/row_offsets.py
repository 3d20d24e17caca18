"""Where each row begins among the positions of all rows: computed once in a call, before anything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shlo_disc.dynamic_ops.indexing import ZERO
from shlo_disc.dynamic_ops.program import Check, Parameter, Relation, Shape, Tensor
from shlo_disc.expr.dim import Dim, Sym, const, of
from shlo_disc.expr.facts import Facts
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.ir.dtypes import DType
from shlo_disc.ragged.building import OpList
from shlo_disc.ragged.pairs import Pair
from shlo_disc.ragged.program import RaggedSize

_GREATEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class LateSize:
    """A size that is read during a call, and the rank-0 tensor that it is read from."""

    symbol: Sym
    tensor: Tensor


class RowOffsets:
    """The tensors that say which position of which row an element of a packed tensor is.

    `total`: the sum of the lengths. `lengths` and `starts` are i64 [rows]: a row has `lengths` positions of packed
    tensors, from `starts` on.
    """

    def __init__(self, size: RaggedSize, parameter: Parameter, names: Sequence[Sym], ops: OpList) -> None:
        """`names`: of the sum, the least and the greatest length, and of the mask's elements that are no length's."""
        self._size, self._given, self._ops, self._names = size, parameter.tensor, ops, names
        self._span = parameter.tensor.span
        self.total: Dim = of(names[0])
        self.lengths = self._lengths()
        self.starts = ops.binary(
            BinaryFn.SUBTRACT, ops.running_sums(self.lengths, self._span), self.lengths, self._span
        )
        self._parts, self._elements = dict[int, Tensor](), dict[bool, Tensor]()

    @property
    def rows(self) -> Dim:
        """How many rows there are."""
        return self.lengths.shape[0]

    @property
    def positions(self) -> Dim:
        """The size of the padded axis."""
        return self._size.size

    def _lengths(self) -> Tensor:
        given, ops, span = self._given, self._ops, self._span
        if not self._size.is_mask:
            return ops.convert(given, DType.I64, span)
        ones = ops.compare(given, Direction.NE, ops.constant(0, given.dtype, given.shape, span), span)
        along = 0 if given.shape[0] == self._size.size else 1
        return ops.fold(ops.convert(ones, DType.I64, span), BinaryFn.ADD, 0, (along,), span)

    def late_sizes(self) -> list[LateSize]:
        """The sizes that a call reads: the sum, the extremes and, of a mask, how many elements contradict them."""
        ops, span, lengths = self._ops, self._span, self.lengths
        found = [
            ops.fold(lengths, BinaryFn.ADD, 0, (0,), span),
            ops.fold(lengths, BinaryFn.MINIMUM, _GREATEST, (0,), span),
            ops.fold(lengths, BinaryFn.MAXIMUM, 0, (0,), span),
        ]
        if self._size.is_mask:
            found.append(self._contradictions())
        return [LateSize(symbol, tensor) for symbol, tensor in zip(self._names, found, strict=False)]

    def _contradictions(self) -> Tensor:
        """How many elements of a mask are not what its rows' lengths say."""
        given, ops, span = self._given, self._ops, self._span
        along = 0 if given.shape[0] == self._size.size else 1
        at = ops.iota(given.shape, along, span)
        inside = ops.compare(at, Direction.LT, ops.broadcast(self.lengths, given.shape, (1 - along,), span), span)
        expected = ops.convert(inside, given.dtype, span)
        differ = ops.convert(ops.compare(given, Direction.NE, expected, span), DType.I64, span)
        return ops.fold(differ, BinaryFn.ADD, 0, (0, 1), span)

    def checks(self, name: str, least: int, facts: Facts) -> list[Check]:
        """The demands on lengths. `name`: of the argument; `least`: the least length that is allowed."""
        total, low, high, wrong = map(of, self._names)
        size, span = facts.in_raw(self._size.size), self._span
        room = facts.in_raw(self._size.size * self._size.batch)
        found = [
            Check(
                low,
                Relation.GE,
                const(least),
                f"{name} holds lengths: found {{0}}, expected at least {least}",
                (low,),
                span,
            ),
            Check(
                size,
                Relation.GE,
                high,
                f"{name} holds lengths along {self._size.name}: found {{0}}, expected at most {{1}}, the size",
                (high, size),
                span,
            ),
            Check(
                total,
                Relation.GE,
                ZERO,
                f"the sum of {name} is a size: found {{0}}, expected at least 0",
                (total,),
                span,
            ),
            Check(
                room, Relation.GE, total, f"the sum of {name}: found {{0}}, expected at most {{1}}", (total, room), span
            ),
        ]
        if self._size.is_mask:
            message = f"{name} is 1 up to a length in each row, then 0: found {{0}} elements that are not, expected 0"
            found.append(Check(wrong, Relation.EQ, ZERO, message, (wrong,), span))
        return found

    @cached_property
    def places(self) -> Tensor:
        """The row and the position of each element of a packed tensor, i64 [total, 2]."""
        ops, span, shape = self._ops, self._span, (self.total, self.rows)
        begun = ops.compare(ops.broadcast(self.starts, shape, (1,), span), Direction.LE, ops.iota(shape, 0, span), span)
        counted = ops.fold(ops.convert(begun, DType.I64, span), BinaryFn.ADD, 0, (1,), span)
        one = ops.constant(1, DType.I64, (self.total,), span)
        row = ops.binary(BinaryFn.SUBTRACT, counted, one, span)
        first = ops.gather(self.starts, row, (0,), (0,), span)
        position = ops.binary(BinaryFn.SUBTRACT, ops.iota((self.total,), 0, span), first, span)
        parts = [ops.reshape(each, (self.total, const(1)), span) for each in (row, position)]
        return ops.concatenate(parts, 1, span)

    def part_of_places(self, number: int) -> Tensor:
        """The row (0) or the position (1) of each element of a packed tensor, i64 [total]."""
        if number not in self._parts:
            ops, span = self._ops, self._span
            column = ops.column(self.places, number, span)
            self._parts[number] = ops.reshape(column, (self.total,), span)
        return self._parts[number]

    def elements(self, *, is_marked: bool) -> Tensor:
        """For each row and position, the element of a packed tensor with one more at the end, i64 [rows, size].

        Beyond the length it is that one (`is_marked`), or the last one of the row; of rows of length 0 it is that one.
        """
        if is_marked not in self._elements:
            ops, span, shape = self._ops, self._span, (self.rows, self.positions)
            at = ops.iota(shape, 1, span)
            length, start = (ops.broadcast(x, shape, (0,), span) for x in (self.lengths, self.starts))
            end = ops.broadcast(ops.from_dim(self.total, span), shape, (), span)
            if is_marked:
                inside = ops.compare(at, Direction.LT, length, span)
            else:
                one = ops.constant(1, DType.I64, shape, span)
                at = ops.binary(BinaryFn.MINIMUM, at, ops.binary(BinaryFn.SUBTRACT, length, one, span), span)
                inside = ops.compare(length, Direction.GE, one, span)
            found = ops.select(inside, ops.binary(BinaryFn.ADD, start, at, span), end, span)
            self._elements[is_marked] = found
        return self._elements[is_marked]

    def inside(self, shape: Shape, pair: Pair) -> Tensor:
        """Whether each element of a shape, along its dims of rows and positions, is within the length, i1."""
        ops, span = self._ops, self._span
        length = ops.broadcast(self.lengths, shape, (pair.row,), span)
        return ops.compare(ops.iota(shape, pair.position, span), Direction.LT, length, span)
