"""`without_tokens`: removes tokens, which only order side effects; programs run in the order of the text anyway."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import compress

from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import FunctionType

ABOUT_TOKENS = frozenset({"stablehlo.create_token", "stablehlo.after_all"})


def without_tokens(module: ir.Module) -> ir.Module:
    """Drop tokens from arguments, operands and results, and the ops that only make tokens."""
    if not any(_is_token(value) for function in module.functions.values() for value in function.values()):
        return module
    contents = [_function(one) if isinstance(one, ir.Function) else one for one in module.contents]
    return replace(module, contents=tuple(contents))


def _is_token(value: ir.Value) -> bool:
    return isinstance(value.type, ir.TokenType)


def _kept(values: Iterable[ir.Value]) -> tuple[ir.Value, ...]:
    return tuple(value for value in values if not _is_token(value))


def _function(function: ir.Function) -> ir.Function:
    type_ = function.type
    takes, gives = _flags(type_.inputs), _flags(type_.results)
    return replace(
        function,
        type=FunctionType(tuple(compress(type_.inputs, takes)), tuple(compress(type_.results, gives))),
        body=_block(function.body),
        argument_attributes=tuple(compress(function.argument_attributes, takes)),
        result_attributes=tuple(compress(function.result_attributes, gives)),
    )


def _flags(types: Sequence[ir.Type]) -> list[bool]:
    return [not isinstance(one, ir.TokenType) for one in types]


def _block(block: ir.Block) -> ir.Block:
    ops = tuple(_op(op) for op in block.ops if op.name not in ABOUT_TOKENS)
    return ir.Block(_kept(block.arguments), ops)


def _op(op: ir.Op) -> ir.Op:
    operands, results = _kept(op.operands), _kept(op.results)
    if not op.regions and len(operands) == len(op.operands) and len(results) == len(op.results):
        return op
    regions = tuple(ir.Region(tuple(map(_block, region.blocks))) for region in op.regions)
    return replace(op, operands=operands, results=results, regions=regions)
