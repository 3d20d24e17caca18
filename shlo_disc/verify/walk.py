"""Walk over a module for its constraints; of ops that are alike, only the first is visited."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from shlo_disc.dialects.view import numbers_of
from shlo_disc.ir.attributes import (
    BoolAttr,
    DenseArrayAttr,
    DenseAttr,
    EnumAttr,
    IntegerAttr,
    StringAttr,
    SymbolAttr,
    TensorType,
)
from shlo_disc.ir.core import Function, Module, Op, Value

_MOST_ELEMENTS = 64  # of a constant that constraints read
_COMPARED = frozenset({BoolAttr, DenseArrayAttr, EnumAttr, IntegerAttr, StringAttr, SymbolAttr})


class Walk:
    """The state of a walk over a module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._seen = set[tuple[object, ...]]()
        self._constants: dict[Value, tuple[int, ...]] = {}

    @property
    def constants(self) -> Mapping[Value, tuple[int, ...]]:
        """The small integer tensors that a `stablehlo.constant` has defined so far."""
        return self._constants

    def ops(self) -> Iterator[Op]:
        """Yield every op that is not like an earlier one, outer before inner, in text order.

        Ops are alike if they differ in names and places only. Ops with regions are like no others.
        """
        for function in self.module.contents:
            if isinstance(function, Function):
                yield from self._ops_of(function)

    def _ops_of(self, function: Function) -> Iterator[Op]:
        waiting = [iter(function.body.ops)]
        while waiting:
            for op in waiting[-1]:
                if op.regions:
                    yield op
                    blocks = [block for region in op.regions for block in region.blocks]
                    waiting += [iter(block.ops) for block in reversed(blocks)]
                    break
                if op.name == "stablehlo.constant":
                    self._keep(op)
                key = self._key(op)
                if key not in self._seen:
                    yield op
                    self._seen.add(key)
            else:
                waiting.pop()

    def _keep(self, op: Op) -> None:
        value = op.attributes.get("value")
        if isinstance(value, DenseAttr) and len(op.results) == 1 and _is_small(value.type):
            self._constants[op.results[0]] = numbers_of(value)

    def _key(self, op: Op) -> tuple[object, ...]:
        """Return the key that ops share which are alike. The parser makes one object of equal types."""
        constants = self._constants
        key: list[object] = [op.name]
        for operand in op.operands:
            key.append(id(operand.type))
            if operand in constants:
                key.append(constants[operand])
        key.append(None)
        for result in op.results:
            key.append(id(result.type))  # noqa: PERF401 - faster than a list on the side
        for name, attribute in op.attributes.items():
            key.append(name)
            key.append(attribute if type(attribute) in _COMPARED else id(attribute))
        return tuple(key)


def _is_small(type_: TensorType) -> bool:
    count = math.prod([size or 0 for size in type_.shape])
    return type_.dtype.is_integer and type_.dtype.bits >= 8 and count <= _MOST_ELEMENTS
