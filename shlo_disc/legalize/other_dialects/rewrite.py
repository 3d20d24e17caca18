"""`without_other_dialects`: replaces ops of other dialects that compute sizes by ops of StableHLO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shlo_disc.diagnostics import Span, UnsupportedOpError
from shlo_disc.dialects.table import OTHER_OPS
from shlo_disc.dialects.types import types_agree
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import Attribute, DenseAttr, FunctionType, OpaqueType, TensorType, Type
from shlo_disc.ir.spelling import spell_type
from shlo_disc.legalize.other_dialects import integers, shapes, tensors
from shlo_disc.legalize.other_dialects.builder import Rule, SizeClaim, StableHloBuilder, stablehlo_type

_RULES: Mapping[str, Rule] = {**integers.RULES, **tensors.RULES, **shapes.RULES}


def without_other_dialects(module: ir.Module) -> ir.Module:
    """Express arithmetic of sizes and shapes in StableHLO. A module that has none stays as it is.

    `shape.broadcast` stays, on tensors of sizes: its formula depends on what is known of them.
    """
    if not any(op.name in OTHER_OPS for op in module.walk()):
        return module
    contents = [_Rewritten().function(one) if isinstance(one, ir.Function) else one for one in module.contents]
    return replace(module, contents=tuple(contents))


class _Rewritten:
    """Rewrites one function; `_values` maps each value to the one that replaces it."""

    def __init__(self) -> None:
        self._values: dict[ir.Value, ir.Value] = {}
        self._elements: dict[ir.Value, tuple[ir.Value, ...]] = {}
        self._constants: dict[ir.Value, int] = {}
        self._claims: dict[ir.Value, tuple[SizeClaim, ...]] = {}

    def function(self, function: ir.Function) -> ir.Function:
        inputs, results = (
            tuple([_in_signature(type_, function.span) for type_ in types])
            for types in (function.type.inputs, function.type.results)
        )
        return replace(function, type=FunctionType(inputs, results), body=self._block(function.body))

    def _block(self, block: ir.Block) -> ir.Block:
        arguments, ops = self._made(block.arguments), list[ir.Op]()
        for op in block.ops:
            self._op(op, ops)
        return ir.Block(arguments, tuple(ops))

    def _op(self, op: ir.Op, ops: list[ir.Op]) -> None:
        operands = tuple([self._values.get(x, x) for x in op.operands])
        if op.name == "shape.assuming":
            self._assuming(op, ops)
        elif op.name in OTHER_OPS:
            emit = self._emitter(op, ops)
            found = _RULES[op.name](emit, operands)
            for result, value in zip(op.results, found, strict=True):
                wanted = stablehlo_type(result.type)
                if isinstance(wanted, TensorType) and not types_agree(wanted, value.type):
                    raise emit.unsupported(f"with a result {spell_type(result.type)} that is {spell_type(value.type)}")
                self._values[result] = value
        else:
            regions = tuple([ir.Region(tuple(map(self._block, region.blocks))) for region in op.regions])
            attributes = {name: _stablehlo_attribute(value) for name, value in op.attributes.items()}
            made = self._made(op.results)
            ops.append(replace(op, operands=operands, results=made, regions=regions, attributes=attributes))

    def _assuming(self, op: ir.Op, ops: list[ir.Op]) -> None:
        """Check the claims of the witness, then run the region where the op stands."""
        self._emitter(op, ops).demand(self._claims[op.operands[0]])
        *inner, end = op.regions[0].block.ops
        for each in inner:
            self._op(each, ops)
        self._values.update(zip(op.results, [self._values.get(x, x) for x in end.operands], strict=True))

    def _emitter(self, op: ir.Op, ops: list[ir.Op]) -> StableHloBuilder:
        return StableHloBuilder(self._elements, self._constants, self._claims, ops, op)

    def _made(self, values: Sequence[ir.Value]) -> tuple[ir.Value, ...]:
        """The values of StableHLO's types in place of these."""
        for value in values:
            type_ = _in_signature(value.type, value.span)
            if type_ is not value.type:
                self._values[value] = replace(value, type=type_)
        return tuple([self._values.get(value, value) for value in values])


def _in_signature(type_: Type, span: Span) -> Type:
    """The plain type of what a function or a region takes or returns; a shape has none, as its rank is not known."""
    found = stablehlo_type(type_)
    if isinstance(found, OpaqueType):
        message = (
            f"values of type {spell_type(type_)} are not supported where functions and regions take or return them"
        )
        raise UnsupportedOpError(message, span)
    return found


def _stablehlo_attribute(attribute: Attribute) -> Attribute:
    """A literal of indices as one of i64."""
    if not isinstance(attribute, DenseAttr):
        return attribute
    type_ = stablehlo_type(attribute.type)
    assert isinstance(type_, TensorType), "a literal is a tensor"
    return attribute if type_ is attribute.type else replace(attribute, type=type_)
