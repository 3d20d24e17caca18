"""Checks how a module is connected: uses follow definitions, symbols are defined, calls match their functions' types.

Recursion is allowed: a function may call itself, directly or through others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from shlo_disc.diagnostics import Note, Span, VerifyError
from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    FunctionType,
    RecordAttr,
    StringAttr,
    SymbolAttr,
    Type,
)
from shlo_disc.ir.core import Block, Declaration, Function, Module, Op, Value
from shlo_disc.ir.depth import with_room

_Content: TypeAlias = Function | Declaration | Op
_Spell: TypeAlias = Callable[[Type], str]

_END_OF_FUNCTION, _END_OF_REGION = "func.return", "stablehlo.return"
_ENDS: Mapping[str, str] = {"sdy": "sdy.return", "shape": "shape.assuming_yield"}  # of regions, by the op's dialect
TERMINATORS = frozenset({_END_OF_FUNCTION, _END_OF_REGION, *_ENDS.values()})
_HOLDERS = (SymbolAttr, ArrayAttr, DictAttr, RecordAttr)  # attributes that may contain symbols


@with_room
def verify_module(module: Module, spell: _Spell) -> None:
    """Raise `VerifyError` if the module is not well connected; `spell` gives the text of a type for errors."""
    _ModuleVerifier(_symbols(module), spell).module(module)


def _symbols(module: Module) -> Mapping[str, _Content]:
    """Map names to what the module defines."""
    symbols: dict[str, _Content] = {}
    for content in module.contents:
        name = _name(content)
        if name is None:
            continue
        if name in symbols:
            note = Note("it is defined here", symbols[name].span)
            raise VerifyError(f"expected one definition of '@{name}', found another", content.span, notes=(note,))
        symbols[name] = content
    return symbols


def _name(content: _Content) -> str | None:
    if not isinstance(content, Op):
        return content.name
    name = content.attributes.get("sym_name")
    return name.value if isinstance(name, StringAttr) else None


class _ModuleVerifier:
    """Walks a module once."""

    def __init__(self, symbols: Mapping[str, _Content], spell: _Spell) -> None:
        self._symbols = symbols
        self._spell = spell
        self._visible = set[Value]()

    def module(self, module: Module) -> None:
        for content in module.contents:
            match content:
                case Function():
                    self._function(content)
                case Op():
                    self._references(content)
                case Declaration():
                    pass

    def _function(self, function: Function) -> None:
        self._block(function.body, _END_OF_FUNCTION, function.span)
        end = function.body.ops[-1]
        found = FunctionType(_types(function.body.arguments), _types(end.operands))
        if found.inputs != function.type.inputs:
            expected = f"expected the arguments of '@{function.name}' to be {self._listed(function.type.inputs)}"
            raise VerifyError(f"{expected}, found {self._listed(found.inputs)}", function.span)
        if found.results != function.type.results:
            expected = f"expected '@{function.name}' to return {self._listed(function.type.results)}"
            notes = (Note("the result types are stated here", function.span),)
            raise VerifyError(f"{expected}, found {self._listed(found.results)}", end.span, notes=notes)

    def _block(self, block: Block, terminator: str, around: Span) -> None:
        """Check a block whose ops may use its own values and those of enclosing blocks."""
        visible, end = self._visible, block.ops[-1] if block.ops else None
        if end is None or end.name != terminator:
            name, span = ("nothing", around) if end is None else (f"'{end.name}'", end.span)
            raise VerifyError(f"expected '{terminator}' at the end of the block, found {name} at the end", span)
        self._define(block.arguments)
        own = list(block.arguments)
        for position, op in enumerate(block.ops, 1):
            if op.name in TERMINATORS and position < len(block.ops):
                raise VerifyError(f"expected one return per block, found '{op.name}' before the end", op.span)
            for operand in op.operands:
                if operand not in visible:
                    raise _undefined(op, operand)
            if op.attributes or op.name == "func.call":
                self._references(op)
            for region in op.regions:
                for inner in region.blocks:
                    self._block(inner, _ENDS.get(op.name.partition(".")[0], _END_OF_REGION), op.span)
            self._define(op.results)
            own += op.results
        visible.difference_update(own)

    def _define(self, values: tuple[Value, ...]) -> None:
        for value in values:
            if value in self._visible:
                raise VerifyError(f"expected one definition of '%{value.name}', found another", value.span)
            self._visible.add(value)

    def _references(self, op: Op) -> None:
        """Check the symbols that an op names, except in attributes of other dialects (`sdy.sharding`)."""
        for name, attribute in op.attributes.items():
            if isinstance(attribute, _HOLDERS) and "." not in name:
                for symbol in _named(attribute):
                    if symbol not in self._symbols:
                        raise VerifyError(
                            f"expected '{name}' to name a function of this module, found '@{symbol}', which is none",
                            op.span,
                        )
        if op.name == "func.call":
            self._call(op)

    def _call(self, op: Op) -> None:
        callee = op.attributes.get("callee")
        function = self._symbols[callee.name] if isinstance(callee, SymbolAttr) else None
        if function is None or isinstance(function, Op):
            raise VerifyError("expected an attribute 'callee' that names a function, found another or none", op.span)
        found = FunctionType(_types(op.operands), _types(op.results))
        if found != function.type:
            expected = f"expected the types of '@{function.name}' at its call, {self._spell(function.type)}"
            notes = (Note("the function is defined here", function.span),)
            raise VerifyError(f"{expected}, found {self._spell(found)}", op.span, notes=notes)

    def _listed(self, types: tuple[Type, ...]) -> str:
        return ", ".join(map(self._spell, types)) or "nothing"


def _types(values: tuple[Value, ...]) -> tuple[Type, ...]:
    return tuple([value.type for value in values])


def _undefined(op: Op, operand: Value) -> VerifyError:
    return VerifyError(
        f"expected '%{operand.name}' to be defined before it is used, in the same block or one around it, "
        "found it defined elsewhere",
        op.span,
        notes=(Note("it is defined here", operand.span),),
    )


def _named(attribute: Attribute) -> Iterator[str]:
    """Yield the symbols in an attribute."""
    match attribute:
        case SymbolAttr(name):
            yield name
        case ArrayAttr(items):
            for item in items:
                yield from _named(item)
        case DictAttr(items) | RecordAttr(fields=items):
            for item in items.values():
                yield from _named(item)
        case _:
            pass
