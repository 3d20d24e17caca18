"""`tokens_as_values`: makes tokens tensors of one byte, so that data orders the side effects that tokens order.

The results of ops may be computed in any order that their operands allow, and every pass uses that. A token says which
side effect comes first, so it has to be an operand, too: a custom call takes its tokens behind its other operands, and
gives them behind its other results; their bytes mean nothing. The entry of a program takes and gives no tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import compress

from shlo_disc.diagnostics import Span
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DenseAttr,
    FunctionType,
    IntegerAttr,
    RecordAttr,
    StringAttr,
)
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import integers

ABOUT_TOKENS = frozenset({"stablehlo.create_token", "stablehlo.after_all"})
TOKENS = "shlo_disc.tokens"  # an attribute of custom calls: how many tokens they take, and give
_SHAPES, _ALIASES = "indices_of_shape_operands", "output_operand_aliases"
_VALUE = ir.TensorType((), DType.UI8)
_NOTHING = DenseAttr(_VALUE, b"\0", splat=True, spelling="0")


def tokens_as_values(module: ir.Module, entry: ir.Function, may_order: Callable[[str], bool]) -> ir.Module:
    """Replace all tokens of a module.

    `may_order`: whether custom calls of a target can have side effects, which need an order; those of others are made
    to take and give no tokens.
    """
    if not any(_is_token(value) for function in module.functions.values() for value in function.values()):
        return module
    contents = [
        _FunctionTokens(one, may_order, is_entry=one is entry).replaced() if isinstance(one, ir.Function) else one
        for one in module.contents
    ]
    return replace(module, contents=tuple(contents))


def _is_token(value: ir.Value) -> bool:
    return isinstance(value.type, ir.TokenType)


class _FunctionTokens:
    """Replaces the tokens of one function."""

    def __init__(self, function: ir.Function, may_order: Callable[[str], bool], *, is_entry: bool) -> None:
        self._function, self._may_order, self._is_entry = function, may_order, is_entry
        self._values = dict[ir.Value, ir.Value]()  # what stands for each token

    def replaced(self) -> ir.Function:
        function, type_ = self._function, self._function.type
        takes, gives = [
            [not (self._is_entry and isinstance(one, ir.TokenType)) for one in types]
            for types in (type_.inputs, type_.results)
        ]
        body, first = function.body, list[ir.Op]()
        for argument in body.arguments if self._is_entry else ():
            if _is_token(argument):
                first.append(self._created(argument, function.span))
        arguments = tuple([self._of(value) for value in compress(body.arguments, takes)])
        return replace(
            function,
            type=FunctionType(_types(compress(type_.inputs, takes)), _types(compress(type_.results, gives))),
            body=ir.Block(arguments, (*first, *self._ops(body.ops, drops=self._is_entry))),
            argument_attributes=tuple(compress(function.argument_attributes, takes)),
            result_attributes=tuple(compress(function.result_attributes, gives)),
        )

    def _of(self, value: ir.Value) -> ir.Value:
        """The value itself, or what stands for a token."""
        if not _is_token(value):
            return value
        return self._values.setdefault(value, replace(value, type=_VALUE))

    def _block(self, block: ir.Block) -> ir.Block:
        arguments = tuple(map(self._of, block.arguments))
        return ir.Block(arguments, tuple(self._ops(block.ops)))

    def _ops(self, ops: Sequence[ir.Op], *, drops: bool = False) -> Iterator[ir.Op]:
        """`drops`: what the last op returns are no tokens."""
        for op in ops:
            if op.name in ABOUT_TOKENS:
                yield from self._joined(op)
            elif op.name == "stablehlo.custom_call" and any(map(_is_token, (*op.operands, *op.results))):
                yield from self._custom_call(op)
            else:
                kept = [x for x in op.operands if not (drops and op is ops[-1] and _is_token(x))]
                regions = tuple([ir.Region(tuple(map(self._block, region.blocks))) for region in op.regions])
                operands, results = tuple(map(self._of, kept)), tuple(map(self._of, op.results))
                yield replace(op, operands=operands, results=results, regions=regions)

    def _created(self, token: ir.Value, span: Span) -> ir.Op:
        return ir.Op("stablehlo.constant", (), {"value": _NOTHING}, (self._of(token),), (), span)

    def _joined(self, op: ir.Op) -> Iterator[ir.Op]:
        """What follows all operands of the op: nothing, one of them, or a sum of bits."""
        (result,), operands = op.results, [self._of(x) for x in op.operands]
        if len(operands) == 1:
            self._values[result] = operands[0]
        elif not operands:
            yield self._created(result, op.span)
        else:
            last, joined = len(operands) - 1, operands[0]
            for k, operand in enumerate(operands[1:], start=1):
                made = self._of(result) if k == last else replace(result, name=f"{result.name}.{k}", type=_VALUE)
                yield ir.Op("stablehlo.or", (joined, operand), {}, (made,), (), op.span, op.location)
                joined = made

    def _custom_call(self, op: ir.Op) -> Iterator[ir.Op]:
        taken, given = [[x for x in values if _is_token(x)] for values in (op.operands, op.results)]
        plain = _without_tokens(op)
        own, results, target = plain.operands, plain.results, plain.attributes["call_target_name"]
        if isinstance(target, StringAttr) and self._may_order(target.value):
            counts = DenseArrayAttr(DType.I64, (len(taken), len(given)))
            operands, made = (*own, *map(self._of, taken)), (*results, *map(self._of, given))
            yield replace(op, operands=operands, results=made, attributes={**plain.attributes, TOKENS: counts})
            return
        for token in given:
            if taken:
                self._values[token] = self._of(taken[0])
            else:
                yield self._created(token, op.span)
        yield plain


def _without_tokens(op: ir.Op) -> ir.Op:
    """A custom call without its tokens and the operands that are shapes of tokens; attributes number what is left."""
    results = [k for k, x in enumerate(op.results) if not _is_token(x)]
    shapes = integers(op, _SHAPES, ())
    dropped = {k for k, x in enumerate(op.operands) if _is_token(x)}
    dropped |= {at for k, at in enumerate(shapes) if k not in results}
    operands = [k for k in range(len(op.operands)) if k not in dropped]
    attributes = dict(op.attributes)
    if shapes:
        attributes[_SHAPES] = DenseArrayAttr(DType.I64, tuple([operands.index(shapes[k]) for k in results]))
    if isinstance(aliases := attributes.get(_ALIASES), ArrayAttr):
        attributes[_ALIASES] = ArrayAttr(tuple([_renumbered(one, operands, results) for one in aliases.items]))
    kept = tuple([op.operands[k] for k in operands])
    return replace(op, operands=kept, results=tuple([op.results[k] for k in results]), attributes=attributes)


def _renumbered(alias: Attribute, operands: Sequence[int], results: Sequence[int]) -> Attribute:
    """An alias of a result and an operand, of which only these are left."""
    assert isinstance(alias, RecordAttr), "the verifier checked the aliases"
    operand, outputs = alias.fields["operand_index"], alias.fields.get("output_tuple_indices", ArrayAttr(()))
    assert isinstance(operand, IntegerAttr), "the verifier checked the aliases"
    assert isinstance(outputs, ArrayAttr), "the verifier checked the aliases"
    places = [replace(x, value=results.index(x.value)) for x in outputs.items if isinstance(x, IntegerAttr)]
    fields = {"operand_index": replace(operand, value=operands.index(operand.value))}
    return replace(alias, fields={**alias.fields, **fields, "output_tuple_indices": ArrayAttr(tuple(places))})


def _types(types: Iterator[ir.Type]) -> tuple[ir.Type, ...]:
    return tuple([_VALUE if isinstance(one, ir.TokenType) else one for one in types])
