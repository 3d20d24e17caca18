"""Constant folding: ops on splat constants, and chains of broadcasts, reshapes and transposes, become one op.

So do ops on elements whose result has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from shlo_disc.dynamic_ops import create, gather, move, slices
from shlo_disc.dynamic_ops.create import ConstantAttrs
from shlo_disc.dynamic_ops.elementwise import BITCAST_CONVERT, CONVERT, SELECT, names_of
from shlo_disc.dynamic_ops.elementwise import OPS as ELEMENTWISE
from shlo_disc.dynamic_ops.move import BroadcastAttrs, TransposeAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Program, Tensor
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import Sym
from shlo_disc.expr.evaluate import evaluate
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Const, Index, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.passes.rewriting import Pass, Producers, rewrite
from shlo_disc.records import record

_Rule: TypeAlias = Callable[[Op[Any], Producers], Op[Any] | Tensor]
_ELEMENTWISE = frozenset(one.name for one in ELEMENTWISE) - {BITCAST_CONVERT.name}
_FUNCTIONS = (BinaryFn.ADD, BinaryFn.COMPLEX, BinaryFn.SUBTRACT, UnaryFn.IMAG, UnaryFn.NEGATE, UnaryFn.REAL)
_EXACT = names_of(*_FUNCTIONS) | {CONVERT.name, SELECT.name}
_MOVES = (
    *(move.BROADCAST, move.RESHAPE, move.TRANSPOSE, move.REVERSE),
    *(slices.SLICE, slices.DYNAMIC_SLICE, gather.GATHER),
)


def _constant(tensor: Tensor, producers: Producers) -> Const | None:
    """The value of all elements of a splat constant; None for other tensors."""
    producer = producers.get(tensor)
    return producer.attrs.value if producer is not None and create.CONSTANT.defines(producer) else None


def _filled(op: Op[Any], value: Const) -> Op[ConstantAttrs]:
    return create.CONSTANT.op((), ConstantAttrs(value), op.results, op.span)


def _move(op: Op[Any], producers: Producers) -> Op[Any] | Tensor:
    """Fold data movement of a splat, which moves equal elements, or compose it with its producer."""
    value = _constant(op.operands[0], producers)
    return _filled(op, value) if value is not None else _compose(op, producers)


def _compose(op: Op[Any], producers: Producers) -> Op[Any] | Tensor:
    inner = producers.get(op.operands[0])
    if inner is None or inner.name != op.name or op.name not in _COMPOSITIONS:
        return op
    (source,) = inner.operands
    composed = replace(op, operands=(source,), attrs=_COMPOSITIONS[op.name](op.attrs, inner.attrs))
    return source if source.shape == op.results[0].shape and _is_identity(composed) else composed


def _is_identity(op: Op[Any]) -> bool:
    match op.attrs:
        case TransposeAttrs(permutation=order) | BroadcastAttrs(dims=order):
            return order == tuple(range(len(order)))
        case _:
            return True


def _broadcasts(outer: BroadcastAttrs, inner: BroadcastAttrs) -> BroadcastAttrs:
    dims = tuple(outer.dims[k] for k in inner.dims)
    expand = tuple(_either(a, outer.expand[k]) for a, k in zip(inner.expand, inner.dims, strict=True))
    return BroadcastAttrs(dims, expand)


def _either(a: bool | None, b: bool | None) -> bool | None:
    if a or b:
        return True
    return None if a is None or b is None else False


def _transposes(outer: TransposeAttrs, inner: TransposeAttrs) -> TransposeAttrs:
    return TransposeAttrs(tuple(inner.permutation[k] for k in outer.permutation))


_COMPOSITIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    move.BROADCAST.name: _broadcasts,
    move.TRANSPOSE.name: _transposes,
    move.RESHAPE.name: lambda outer, _inner: outer,
}


@record
class _Constants:
    """The element query for an op whose operands are all constants."""

    values: Mapping[Tensor, Const]

    def at(self, tensor: Tensor, _index: Index, /) -> Scalar:
        return self.values[tensor]

    def symbol(self, hint: str, /) -> Sym:
        raise AssertionError(f"elementwise ops have no axes, found {hint}")

    def region(self, body: Body, _arguments: tuple[Scalar, ...], /) -> tuple[Scalar, ...]:
        raise AssertionError(f"elementwise ops have no bodies, found {body}")


def _elementwise(op: Op[Any], producers: Producers) -> Op[Any] | Tensor:
    known = {x: _constant(x, producers) for x in op.operands}
    values = {x: value for x, value in known.items() if value is not None}
    if SELECT.defines(op) and (condition := known[op.operands[0]]) is not None:
        return op.operands[1 if condition.value else 2]
    rule, result = definition(op).element, op.results[0]
    if len(values) < len(known) or rule is None:
        return op
    if any(x.dtype.is_complex for x in (result, *op.operands)) and op.name not in _EXACT:
        return op  # functions of infinite parts must agree with generated code
    found = evaluate(rule(op, _Constants(values), 0, result.shape), {}, {})
    value = found.item()
    plain = value if isinstance(value, bool | int | float | complex) else float(value)
    return _filled(op, Const(plain, result.dtype))


_RULES: Mapping[str, _Rule] = {
    **{one.name: _move for one in _MOVES},
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
}


def fold_constants(program: Program) -> Program:
    """Fold the whole program; one walk suffices for all chains, since producers come first."""

    def change(op: Op[Any], producers: Producers) -> Op[Any] | Tensor:
        if _is_empty(op, program.facts):
            return _filled(op, Const(0, op.results[0].dtype))
        return _RULES[op.name](op, producers) if op.name in _RULES else op

    return rewrite(program, change)


def _is_empty(op: Op[Any], facts: Facts) -> bool:
    """Whether an op on elements gives a tensor that has none.

    In its kernel all indices would be 0. The emitter hoists a load at a fixed index out of the loops, and this one
    would read an operand that has no element 0 either.
    """
    if definition(op).element is None or len(op.results) != 1:
        return False
    return any(facts.canonical(size).constant == 0 for size in op.results[0].shape)


FOLD = Pass("fold", fold_constants)
