"""`without_tuples`: replaces tuples by their members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import Attribute, FunctionType
from shlo_disc.legalize.attribute_values import integer

ABOUT_TUPLES = frozenset({"stablehlo.tuple", "stablehlo.get_tuple_element"})


def without_tuples(module: ir.Module) -> ir.Module:
    """Flatten tuples among arguments, operands and results, of functions as of ops and regions."""
    if not any(_is_tuple(value) for function in module.functions.values() for value in function.values()):
        return module
    contents = [_Flattened().function(one) if isinstance(one, ir.Function) else one for one in module.contents]
    return replace(module, contents=tuple(contents))


def _is_tuple(value: ir.Value) -> bool:
    return isinstance(value.type, ir.TupleType)


def _leaves(type_: ir.Type) -> tuple[ir.Type, ...]:
    """The leaves of a type that may be a tuple, in order."""
    return (
        tuple(leaf for one in type_.members for leaf in _leaves(one)) if isinstance(type_, ir.TupleType) else (type_,)
    )


class _Flattened:
    """Flattens one function; `_members` maps each tuple to the values that replace it."""

    def __init__(self) -> None:
        self._members: dict[ir.Value, tuple[ir.Value, ...]] = {}

    def function(self, function: ir.Function) -> ir.Function:
        inputs, results = function.type.inputs, function.type.results
        return replace(
            function,
            type=FunctionType(_all_leaves(inputs), _all_leaves(results)),
            argument_attributes=_repeated(function.argument_attributes, inputs),
            result_attributes=_repeated(function.result_attributes, results),
            body=self._block(function.body),
        )

    def _block(self, block: ir.Block) -> ir.Block:
        arguments = self._made(block.arguments)
        return ir.Block(arguments, tuple(found for op in block.ops if (found := self._op(op)) is not None))

    def _op(self, op: ir.Op) -> ir.Op | None:
        """The op on members; None if it only makes or takes apart a tuple."""
        operands = self._found(op.operands)
        if op.name == "stablehlo.tuple":
            self._members[op.results[0]] = operands
            return None
        if op.name == "stablehlo.get_tuple_element":
            self._members[op.results[0]] = _member(op, operands)
            return None
        results = self._made(op.results)
        if not op.regions and operands == op.operands and results == op.results:
            return op
        regions = tuple(ir.Region(tuple(map(self._block, region.blocks))) for region in op.regions)
        return replace(op, operands=operands, results=results, regions=regions)

    def _found(self, values: Sequence[ir.Value]) -> tuple[ir.Value, ...]:
        return tuple(member for value in values for member in self._members.get(value, (value,)))

    def _made(self, values: Sequence[ir.Value]) -> tuple[ir.Value, ...]:
        """Replace tuples by new values, named after them."""
        for value in filter(_is_tuple, values):
            self._members[value] = tuple(
                replace(value, name=f"{value.name}.{k}", type=type_) for k, type_ in enumerate(_leaves(value.type))
            )
        return self._found(values)


def _all_leaves(types: Sequence[ir.Type]) -> tuple[ir.Type, ...]:
    return tuple(leaf for one in types for leaf in _leaves(one))


def _repeated(
    attributes: Sequence[Mapping[str, Attribute]], types: Sequence[ir.Type]
) -> tuple[Mapping[str, Attribute], ...]:
    """Repeat the attributes of a tuple for each of its members."""
    return tuple(one for one, type_ in zip(attributes, types, strict=True) for _ in _leaves(type_))


def _member(op: ir.Op, leaves: Sequence[ir.Value]) -> tuple[ir.Value, ...]:
    """The leaves of the member that `get_tuple_element` reads."""
    whole, index = op.operands[0].type, integer(op, "index")
    assert isinstance(whole, ir.TupleType), "the verifier checked the operand"
    first = len(_all_leaves(whole.members[:index]))
    return tuple(leaves[first : first + len(_leaves(whole.members[index]))])
