"""Loop counters: what a loop's condition and step say about a carried integer inside the body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shlo_disc.dynamic_ops.attribute_values import string
from shlo_disc.dynamic_ops.builder import Bound, Contents, tensor_type
from shlo_disc.dynamic_ops.frame import Frame
from shlo_disc.expr.bounds import fits
from shlo_disc.expr.dim import Dim
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.scalar import NO_BOUNDS, Bounds
from shlo_disc.ir import core as ir


def carried_bounds(frame: Frame, op: ir.Op) -> tuple[Bounds, ...]:
    """Bounds of each carried value inside the body of a while; its condition held, so they are never in disorder.

    A counter that starts at `a`, is compared `< n` and grows by a constant stays in [a, n - 1] if it cannot wrap;
    a condition alone gives the end that it names.
    """
    condition, body = (region.block for region in op.regions)
    returned = body.ops[-1].operands
    demands = list(_demands(_Block.of(frame, condition), condition.ops[-1].operands[0]))
    inner = _Block.of(frame, body)
    found: list[Bounds] = []
    for k, argument in enumerate(condition.arguments):
        type_ = tensor_type(argument.type, op.span)
        if type_.shape or not type_.dtype.is_signed:
            found.append(NO_BOUNDS)
            continue
        limits = [(at_least, end) for value, at_least, end in demands if value is argument]
        low = next((end for at_least, end in limits if at_least), None)
        high = next((end for at_least, end in limits if not at_least), None)
        step = inner.step(returned[k], body.arguments[k])
        start = _ends(frame.bound(op.operands[k]))
        found.append(_reached((low, high), step, start, type_.dtype, frame))
    return tuple(found)


def _reached(limits: Bounds, step: int, start: Bounds, dtype: DType, frame: Frame) -> Bounds:
    """Add the end that a counter comes from, if its steps cannot wrap around."""
    low, high = limits
    judge = frame.build.facts.judge
    if step > 0 and low is None and high is not None and start[0] is not None:
        return (start[0] if fits((start[0], high + step), dtype, judge) else None), high
    if step < 0 and high is None and low is not None and start[1] is not None:
        return low, (start[1] if fits((low + step, start[1]), dtype, judge) else None)
    return limits


def _ends(value: Bound) -> Bounds:
    return (value.scalar, value.scalar) if isinstance(value, Contents) else value.bounds


@dataclass(frozen=True, slots=True)
class _Block:
    """The values of a block that has not been walked yet."""

    frame: Frame
    producers: dict[ir.Value, ir.Op]

    @staticmethod
    def of(frame: Frame, block: ir.Block) -> _Block:
        return _Block(frame, {value: op for op in block.ops for value in op.results})

    def ends(self, value: ir.Value) -> Bounds:
        """Bounds of a value from outside, or of a constant."""
        op = self.producers.get(value)
        if op is None:
            known = self.frame.find(value)
            return NO_BOUNDS if known is None else _ends(known)
        made = self.frame.legalizer.arithmetic.evaluate(op, ()) if op.name == "stablehlo.constant" else None
        return NO_BOUNDS if made is None or made.shape else (made.scalar, made.scalar)

    def step(self, value: ir.Value, argument: ir.Value) -> int:
        """The constant by which a carried value grows in one turn; 0 if it is none."""
        op = self.producers.get(value)
        if op is None or op.name not in {"stablehlo.add", "stablehlo.subtract"}:
            return 0
        a, b = op.operands
        if b is argument and op.name == "stablehlo.add":
            a, b = b, a
        low, high = self.ends(b) if a is argument else NO_BOUNDS
        if low is None or low != high or (size := low.constant) is None:
            return 0
        return size if op.name == "stablehlo.add" else -size


_AT_LEAST: dict[str, tuple[bool, int]] = {"GE": (True, 0), "GT": (True, 1), "LE": (False, 0), "LT": (False, -1)}
_SWAPPED = {"GE": "LE", "GT": "LT", "LE": "GE", "LT": "GT"}


def _demands(block: _Block, condition: ir.Value) -> Iterator[tuple[ir.Value, bool, Dim]]:
    """What a condition demands of values, one by one: (value, whether it is at least, the end)."""
    op = block.producers.get(condition)
    if op is None:
        return
    if op.name == "stablehlo.and":
        for value in op.operands:
            yield from _demands(block, value)
    if op.name != "stablehlo.compare" or (direction := string(op, "comparison_direction")) not in _SWAPPED:
        return
    a, b = op.operands
    for value, other, sense in ((a, b, direction), (b, a, _SWAPPED[direction])):
        at_least, offset = _AT_LEAST[sense]
        end = block.ends(other)[0 if at_least else 1]
        if end is not None:
            yield value, at_least, end + offset
