"""What a module says, whatever its values are called."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TypeAlias

from shlo_disc.ir.attributes import Attribute, Location, Type
from shlo_disc.ir.core import Block, Declaration, Function, Module, Op, Value

Structure: TypeAlias = tuple[object, ...]


class _Numbering:
    """Numbers values in the order of their definitions."""

    def __init__(self) -> None:
        self._numbers: dict[Value, int] = {}
        self._next = count()

    def define(self, values: tuple[Value, ...], *, locations: bool) -> Structure:
        for value in values:
            self._numbers[value] = next(self._next)
        return tuple((value.type, value.location if locations else None) for value in values)

    def use(self, values: tuple[Value, ...]) -> tuple[int, ...]:
        return tuple(self._numbers[value] for value in values)


def structure(module: Module, *, locations: bool = False) -> Structure:
    """Give everything but names: equal for two spellings of one program."""
    contents = tuple(_content(content, locations=locations) for content in module.contents)
    aliases = dict(module.location_aliases) if locations else {}
    return module.name, dict(module.attributes), contents, aliases, module.resources


def _content(content: Function | Declaration | Op, *, locations: bool) -> Structure:
    if isinstance(content, Op):
        return _op(content, _Numbering(), locations=locations)
    return (
        content.name,
        content.type,
        content.visibility,
        _attributes(content.argument_attributes),
        _attributes(content.result_attributes),
        dict(content.attributes),
        _block(content.body, _Numbering(), locations=locations) if isinstance(content, Function) else None,
        content.location if locations else None,
    )


def _attributes(
    dictionaries: tuple[Mapping[str, Attribute], ...],
) -> tuple[dict[str, Attribute], ...]:
    return tuple(map(dict, dictionaries))


def _block(block: Block, numbers: _Numbering, *, locations: bool) -> Structure:
    arguments = numbers.define(block.arguments, locations=locations)
    return arguments, tuple(_op(op, numbers, locations=locations) for op in block.ops)


def _op(op: Op, numbers: _Numbering, *, locations: bool) -> Structure:
    regions = tuple(_block(region.block, numbers, locations=locations) for region in op.regions)
    types: tuple[Type, ...] = tuple(result.type for result in op.results)
    place: Location | None = op.location if locations else None
    operands = numbers.use(op.operands)
    numbers.define(op.results, locations=False)
    return op.name, operands, dict(op.attributes), types, regions, place
