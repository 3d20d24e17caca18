"""Where each row begins among the positions of all rows: computed once in a call, before anything else."""

from __future__ import annotations

from functools import cached_property

from shlo_disc.diagnostics import one_line
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


class RowOffsets:
    """The tensors that say which position of which row an element of a packed tensor is.

    `total`: the sum of the lengths. `lengths` and `starts` are i64 [rows]: a row has `lengths` positions of packed
    tensors, from `starts` on.
    """

    def __init__(self, size: RaggedSize, parameter: Parameter, total: Sym, ops: OpList) -> None:
        self._size, self._given, self._ops, self.total = size, parameter.tensor, ops, of(total)
        self._span = parameter.tensor.span
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
        return ops.fold(ops.convert(ones, DType.I64, span), BinaryFn.ADD, 0, (self._along,), span)

    @property
    def _along(self) -> int:
        """The dim of a mask's positions."""
        return 0 if self._given.shape[0] == self._size.size else 1

    def late_size(self, least: int) -> Tensor:
        """The sum of the lengths or, if a row has none that is allowed, its number's complement: -1 for row 0, i64.

        `least`: the least length that is allowed.
        """
        ops, span, shape = self._ops, self._span, self.lengths.shape
        low = ops.constant(least, DType.I64, shape, span)
        high = ops.broadcast(ops.from_dim(self.positions, span), shape, (), span)
        allowed = ops.binary(
            BinaryFn.AND,
            ops.compare(self.lengths, Direction.GE, low, span),
            ops.compare(self.lengths, Direction.LE, high, span),
            span,
        )
        if self._size.is_mask:
            allowed = ops.binary(BinaryFn.AND, allowed, self._is_mask_of_length(), span)
        count = ops.broadcast(ops.from_dim(self.rows, span), shape, (), span)
        wrong = ops.select(allowed, count, ops.iota(shape, 0, span), span)
        first = ops.fold(wrong, BinaryFn.MINIMUM, _GREATEST, (0,), span)
        are_allowed = ops.compare(first, Direction.GE, ops.from_dim(self.rows, span), span)
        complement = ops.binary(BinaryFn.SUBTRACT, ops.constant(-1, DType.I64, (), span), first, span)
        return ops.select(
            are_allowed, ops.fold(self.lengths, BinaryFn.ADD, 0, (0,), span), complement, span, "sum_of_lengths"
        )

    def _is_mask_of_length(self) -> Tensor:
        """Whether each row of a mask is ones up to its length, then zeros, i1 [rows]."""
        given, ops, span = self._given, self._ops, self._span
        inside = ops.compare(
            ops.iota(given.shape, self._along, span),
            Direction.LT,
            ops.broadcast(self.lengths, given.shape, (1 - self._along,), span),
            span,
        )
        differ = ops.compare(given, Direction.NE, ops.convert(inside, given.dtype, span), span)
        count = ops.fold(ops.convert(differ, DType.I64, span), BinaryFn.ADD, 0, (self._along,), span)
        return ops.compare(count, Direction.EQ, ops.constant(0, DType.I64, count.shape, span), span)

    def check(self, name: str, least: int, facts: Facts) -> Check:
        """The demand on lengths. `name`: of the argument; `least`: the least length that is allowed."""
        size, name = facts.in_raw(self._size.size), _as_text(name)
        to = f"from {least} to {{0}}, the size {_as_text(self._size.name)}"
        why = ", as results for one of length 0 may depend on its padding" if least else ""
        if self._size.is_mask:
            message = f"{name} has ones up to a length {to}, then zeros, in each row{why}: found others in row {{1}}"
        else:
            message = f"{name} has a length {to}, in each row{why}: found another number in row {{1}}"
        return Check(self.total, Relation.GE, ZERO, message, (size, const(-1) - self.total), self._span)

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


def _as_text(name: str) -> str:
    """A name for the message of a check, in which braces stand for numbers."""
    return one_line(name).replace("{", "(").replace("}", ")")
