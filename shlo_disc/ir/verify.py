"""Check how a module is connected: every use has a definition before it, every call a function."""

from __future__ import annotations

from collections.abc import Iterator

from shlo_disc.diagnostics import Note, VerifyError
from shlo_disc.ir.attributes import ArrayAttr, SymbolAttr
from shlo_disc.ir.core import Block, Module, Op, Value

TERMINATORS = frozenset({"func.return", "sdy.return", "stablehlo.return"})


def verify_module(module: Module) -> None:
    """Raise `VerifyError` where the module is not well connected."""
    for function in module.functions.values():
        _verify_block(function.body, set())
    for op in module.walk():
        for symbol in _symbols(op):
            if symbol.name not in module.callees:
                raise VerifyError(
                    f"expected a function of this module, found '@{symbol.name}', which is none",
                    op.span,
                )
        if op.name == "func.call":
            _verify_call(module, op)


def _verify_block(block: Block, visible: set[Value]) -> None:
    """Check a block whose ops may use its own values and `visible`, those of the blocks around."""
    own = set(block.arguments)
    _require_new(block.arguments, visible)
    visible |= own
    for position, op in enumerate(block.ops, 1):
        is_last = position == len(block.ops)
        if (op.name in TERMINATORS) != is_last:
            where = "at the end" if is_last else "before the end"
            raise VerifyError(f"expected one return per block, found '{op.name}' {where}", op.span)
        for operand in op.operands:
            if operand not in visible:
                raise VerifyError(
                    f"expected '%{operand.name}' to be defined before it is used, found it after",
                    op.span,
                    notes=(Note("it is defined here", operand.span),),
                )
        for region in op.regions:
            for inner in region.blocks:
                _verify_block(inner, visible)
        _require_new(op.results, visible)
        visible.update(op.results)
        own.update(op.results)
    visible -= own


def _require_new(values: tuple[Value, ...], visible: set[Value]) -> None:
    for value in values:
        if value in visible:
            raise VerifyError(f"expected one definition of '%{value.name}', found another", value.span)


def _symbols(op: Op) -> Iterator[SymbolAttr]:
    """Give the functions that an op names."""
    for name in ("callee", "decomposition", "called_computations"):
        attribute = op.attributes.get(name)
        if isinstance(attribute, SymbolAttr):
            yield attribute
        elif isinstance(attribute, ArrayAttr):
            yield from (item for item in attribute.items if isinstance(item, SymbolAttr))


def _verify_call(module: Module, op: Op) -> None:
    callee = op.attributes.get("callee")
    if not isinstance(callee, SymbolAttr):
        raise VerifyError("expected an attribute 'callee' that names a function, found none", op.span)
    function = module.callees[callee.name]
    operands = tuple([operand.type for operand in op.operands])
    results = tuple([result.type for result in op.results])
    if (operands, results) != (function.type.inputs, function.type.results):
        raise VerifyError(
            f"expected the types of '@{function.name}' at its call, found others",
            op.span,
            notes=(Note("the function is defined here", function.span),),
        )
