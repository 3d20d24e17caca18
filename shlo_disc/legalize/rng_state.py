"""RNG state of `stablehlo.rng`: a count of iterations is passed to it (`with_iteration_counts`), so that draws differ.

XLA keeps one hidden state that every draw advances. Here a draw is a function of its place in the program, of the count
and of the element's number. The count passes through calls, branches and loops as an ordinary value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from shlo_disc.diagnostics import Span, UnsupportedOpError
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import Attribute, DenseArrayAttr, FunctionType
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import integers, string
from shlo_disc.records import record

# Internal ops, which no text contains.
FIRST_ITERATION, NEXT_ITERATION = "shlo_disc.first_iteration", "shlo_disc.next_iteration"
_COUNT = ir.TensorType((), DType.UI64)
_CALLEES = {"func.call": "callee", "stablehlo.composite": "decomposition"}
_LOOPS = frozenset({"stablehlo.while", "chlo.scan"})
_ONCE = frozenset({  # their regions run at most once, and capture what they use
    "stablehlo.case", "stablehlo.if", "stablehlo.async_start", "sdy.manual_computation", "sdy.named_computation",
})  # fmt: skip
_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")  # of chlo.scan: what it carries comes last


def with_iteration_counts(module: ir.Module, entry: ir.Function) -> ir.Module:
    """Pass a count of iterations to every `rng`, if one is in a loop.

    Raises `UnsupportedOpError` for one in a region without an order of evaluation, such as a reduction's.
    """
    counts = _IterationCounts(module.functions, entry)
    drawing = [
        op for function in module.functions.values() for op in function.walk() if op.regions and counts.draws(op)
    ]
    for op in drawing:
        if op.name not in _ONCE | _LOOPS:
            raise UnsupportedOpError(f"op '{op.name}' draws random numbers in a region without an order", op.span)
    if not any(op.name in _LOOPS for op in drawing):
        return module
    contents = [counts.function(one) if isinstance(one, ir.Function) else one for one in module.contents]
    return replace(module, contents=tuple(contents))


@record
class _IterationCounts:
    """The functions of a module, and which of them draw."""

    functions: Mapping[str, ir.Function]
    entry: ir.Function
    _drawing: dict[str, bool] = field(default_factory=dict[str, bool])

    def draws(self, op: ir.Op) -> bool:
        """Whether an op draws: itself, in a region, or in a function that it calls."""
        if op.name == "stablehlo.rng":
            return True
        if op.name in _CALLEES and self._function_draws(string(op, _CALLEES[op.name])):
            return True
        return any(self.draws(inner) for region in op.regions for block in region.blocks for inner in block.ops)

    def _function_draws(self, name: str) -> bool:
        if name not in self._drawing:
            self._drawing[name] = False  # a recursive call adds nothing
            function = self.functions.get(name)
            self._drawing[name] = function is not None and any(map(self.draws, function.body.ops))
        return self._drawing[name]

    def function(self, function: ir.Function) -> ir.Function:
        """The function with a count as its last argument and result; the entry starts its own count."""
        if not self._function_draws(function.name):
            return function
        count = _count(function.span)
        if function is self.entry:
            first = ir.Op(FIRST_ITERATION, (), {}, (count,), (), function.span)
            inner = self._block(function.body, count, returns=False)
            return replace(function, body=replace(inner, ops=(first, *inner.ops)))
        inner, type_ = self._block(function.body, count), function.type
        return replace(
            function,
            type=FunctionType((*type_.inputs, _COUNT), (*type_.results, _COUNT)),
            body=replace(inner, arguments=(*inner.arguments, count)),
            argument_attributes=(*function.argument_attributes, {}),
            result_attributes=(*function.result_attributes, {}),
        )

    def _block(self, block: ir.Block, count: ir.Value, *, returns: bool = True, iterates: bool = False) -> ir.Block:
        """A block that starts at a count: it `returns` its last one, and one more if it `iterates` (a loop's body)."""
        ops = list[ir.Op]()
        for op in block.ops[:-1]:
            made = self._op(op, count) if self.draws(op) else op
            ops.append(made)
            if len(made.results) > len(op.results):
                count = made.results[-1]
        end = block.ops[-1]
        if iterates:
            after = _count(end.span)
            ops.append(ir.Op(NEXT_ITERATION, (count,), {}, (after,), (), end.span))
            count = after
        if returns:
            end = replace(end, operands=(*end.operands, count))
        return replace(block, ops=(*ops, end))

    def _op(self, op: ir.Op, count: ir.Value) -> ir.Op:
        """An op that draws, with the count as its last operand; all but `rng` also return the count after them."""
        if op.name == "stablehlo.rng":
            return replace(op, operands=(*op.operands, count))
        if op.name in _ONCE:
            regions = [ir.Region((self._block(region.block, count),)) for region in op.regions]
            return _with_count(op, op.operands, regions)
        if op.name in _CALLEES:
            return _with_count(op, (*op.operands, count), op.regions)
        assert op.name in _LOOPS, f"{op.name} was not refused"
        regions = list[ir.Region]()
        for region in op.regions:
            own = _count(op.span)
            is_condition = op.name == "stablehlo.while" and region is op.regions[0]
            inner = self._block(region.block, own, returns=not is_condition, iterates=not is_condition)
            regions.append(ir.Region((replace(inner, arguments=(*inner.arguments, own)),)))
        return _with_count(op, (*op.operands, count), regions)


def _count(span: Span) -> ir.Value:
    return ir.Value("turn", _COUNT, span)


def _with_count(op: ir.Op, operands: Sequence[ir.Value], regions: Sequence[ir.Region]) -> ir.Op:
    return replace(
        op,
        operands=tuple(operands),
        regions=tuple(regions),
        results=(*op.results, _count(op.span)),
        attributes=_with_segments(op) if op.name == "chlo.scan" else op.attributes,
    )


def _with_segments(op: ir.Op) -> Mapping[str, Attribute]:
    """A scan's attributes, with one more carried value."""
    segments = {name: integers(op, name) for name in _SEGMENTS}
    longer = {name: DenseArrayAttr(DType.I32, (first, last + 1)) for name, (first, last) in segments.items()}
    return {**op.attributes, **longer}
