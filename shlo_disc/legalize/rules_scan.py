"""StableHLO to DHLO: `chlo.scan`, a loop over one dim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Body, Shape, Tensor
from shlo_disc.expr.dim import ONE, Dim, const
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.ir import core as ir
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import integer, integers
from shlo_disc.legalize.builder import Bound, tensor_type
from shlo_disc.legalize.composer import Composer
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.rules_control import keep_shapes
from shlo_disc.legalize.rules_elementwise import result_dtype
from shlo_disc.legalize.rules_move import stated
from shlo_disc.records import record

_COUNTER = DType.I64


@record
class _Scan:
    """A `while` over a counter: each iteration reads one slice of every input and writes one of every output."""

    frame: Frame
    op: ir.Op
    compose: Composer
    dim: int
    length: Dim
    backwards: bool

    def starts(self, number: Tensor, rank: int) -> tuple[Tensor, ...]:
        """The start indices of slice `number`."""
        zero = self.compose.full(0, (), _COUNTER)
        return tuple(number if k == self.dim else zero for k in range(rank))

    def place(self, counter: Tensor) -> Tensor:
        """The number of the slice that an iteration processes."""
        if not self.backwards:
            return counter
        return self.compose.subtract(self.compose.size(self.length - 1, _COUNTER), counter)

    def read(self, x: Tensor, place: Tensor) -> Tensor:
        """One slice, without its dim."""
        shape = (*x.shape[: self.dim], ONE, *x.shape[self.dim + 1 :])
        operands = (x, *self.starts(place, len(shape)))
        found = self.frame.build.one("d_dynamic_slice", operands, NoAttrs(), shape, x.dtype, self.op.span)
        return self.compose.reshape(found, (*shape[: self.dim], *shape[self.dim + 1 :]))

    def written(self, x: Tensor, part: Tensor, place: Tensor) -> Tensor:
        """The tensor with one slice replaced."""
        slice_ = self.compose.reshape(part, (*part.shape[: self.dim], ONE, *part.shape[self.dim :]))
        operands = (x, slice_, *self.starts(place, len(x.shape)))
        return self.frame.build.one("d_dynamic_update_slice", operands, NoAttrs(), x.shape, x.dtype, self.op.span)

    def slice_shapes(self, inputs: Sequence[Tensor], inits: Sequence[Tensor]) -> list[Shape]:
        """The shapes that an iteration returns, found by a trial build: the text may leave them open."""
        build, block = self.frame.build, self.op.regions[0].block
        build.begin()
        zero = self.compose.full(0, (), _COUNTER)
        for value, bound in zip(block.arguments, (*(self.read(x, zero) for x in inputs), *inits), strict=True):
            self.frame.bind(value, bound)
        found = [build.materialized(x, self.op.span).shape for x in self.frame.run(block)]
        build.end((), ())
        return found

    def condition(self, carries: Sequence[Tensor]) -> Body:
        """The condition: whether there is another iteration."""
        build = self.frame.build
        build.begin()
        arguments = [build.tensor(x.shape, x.dtype, self.op.span) for x in carries]
        length = self.compose.size(self.length, _COUNTER)
        return build.end(arguments, (self.compose.compare(Direction.LT, arguments[0], length),))

    def body(self, inputs: Sequence[Tensor], carries: Sequence[Tensor], outputs: int) -> Body:
        """One iteration; the carries are the counter, the outputs so far, and the carries of the scan."""
        build, block = self.frame.build, self.op.regions[0].block
        build.begin()
        counter, *rest = (build.tensor(x.shape, x.dtype, self.op.span) for x in carries)
        place = self.place(counter)
        for value, bound in zip(
            block.arguments, (*(self.read(x, place) for x in inputs), *rest[outputs:]), strict=True
        ):
            self.frame.bind(value, bound)
        made = [build.materialized(x, self.op.span) for x in self.frame.run(block)]
        parts = zip(rest[:outputs], made[:outputs], strict=True)
        next_counter = self.compose.binary(BinaryFn.ADD, counter, 1)
        after = [next_counter, *(self.written(x, part, place) for x, part in parts), *made[outputs:]]
        return build.end((counter, *rest), after)


def _scan(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    count, outputs = integers(op, "operandSegmentSizes")[0], integers(op, "resultSegmentSizes")[0]
    dim, compose = integer(op, "dimension"), Composer(frame, op.span)
    inputs, inits = frame.tensors(op.operands[:count]), frame.tensors(op.operands[count:])
    scan = _Scan(frame, op, compose, dim, _length(frame, op, dim, inputs), bool(integer(op, "is_reverse", 0)))
    empty = [
        compose.full(0, stated(frame, op, (*part[:dim], scan.length, *part[dim:]), k), result_dtype(op, k))
        for k, part in enumerate(scan.slice_shapes(inputs, inits)[:outputs])
    ]
    carries = (compose.full(0, (), _COUNTER), *empty, *inits)
    bodies = (scan.condition(carries), scan.body(inputs, carries, outputs))
    keep_shapes(frame, op, bodies[1])
    types = [(x.shape, x.dtype) for x in carries]
    return frame.build.emit("d_while", carries, NoAttrs(), types, op.span, bodies)[1:]


def _length(frame: Frame, op: ir.Op, dim: int, inputs: Sequence[Tensor]) -> Dim:
    """The number of iterations: what the text states, or the size of an input."""
    type_ = tensor_type((op.results if not inputs else op.operands)[0].type, op.span)
    length = inputs[0].shape[dim] if inputs else const(integer(op, "scan_dim_size", type_.shape[dim]))
    for x in inputs[1:]:
        frame.build.demand_equal(x.shape[dim], length, "the inputs of chlo.scan have one length", op.span)
    return length


RULES: Mapping[str, Rule] = {"chlo.scan": _scan}
