"""`tensor`, and conversions between the types of several dialects, as StableHLO."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import TensorType
from shlo_disc.legalize.other_dialects.builder import Rule, SizeClaim, StableHloBuilder, stablehlo_type


def _result(emit: StableHloBuilder) -> TensorType | None:
    """The type of the result; None for a shape, whose rank its value has."""
    type_ = stablehlo_type(emit.op.results[0].type)
    return type_ if isinstance(type_, TensorType) else None


def dimension(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    """The size of a dimension, also of one whose number is computed."""
    tensor, number = operands
    known = emit.constants.get(number)
    if known is None:
        return (emit.element(emit.shape_of(tensor), (number,)),)
    rank = len(emit.type(tensor).shape)
    if not 0 <= known < rank:
        raise emit.unsupported(f"of dimension {known} of a tensor of rank {rank}")
    return (emit.dimension(tensor, known),)


def _from_elements(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    type_ = _result(emit)
    assert type_ is not None, "the verifier checked the result"
    if not type_.shape:
        return operands
    if not operands:
        return (emit.empty(type_),)
    found = emit.joined(operands)
    return (found if len(type_.shape) == 1 else emit.make("reshape", (found,), type_),)


def _extract(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    tensor, *indices = operands
    return (emit.element(tensor, indices),)


def _cast(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    """The value itself where its type says as much as the result's; else its sizes are checked."""
    (x,), wanted = operands, _result(emit)
    assert wanted is not None, "the verifier checked the result"
    shape, claims, sizes = list[int | None](), list[SizeClaim](), list[ir.Value]()
    for number, (a, b) in enumerate(zip(emit.type(x).shape, wanted.shape, strict=True)):
        if None not in (a, b) and a != b:
            raise emit.unsupported(f"to size {b} of dimension {number}, which has size {a}")
        size = emit.dimension(x, number)
        if a is None and b is not None:
            same = emit.compare("EQ", size, emit.constant(b))
            claims.append(SizeClaim(emit.op, same, f"expected size {b} of dimension {number}, found {{0}}", (size,)))
            size = emit.constant(b)
        sizes.append(size)
        shape.append(b if a is None else a)
    if not claims:
        return operands
    emit.demand(claims)
    return (emit.make("dynamic_reshape", (x, emit.joined(sizes)), TensorType(tuple(shape), wanted.dtype)),)


def _convert(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    """A scalar, a tensor of rank 0 or a shape as the other: of integers, all of the same numbers."""
    (x,), wanted = operands, _result(emit)
    if wanted is None:
        return operands
    found = emit.type(x)
    if len(found.shape) != len(wanted.shape):
        raise emit.unsupported(f"from rank {len(found.shape)} to rank {len(wanted.shape)}")
    return (emit.convert(x, wanted.dtype),)


RULES: Mapping[str, Rule] = {
    "tensor.dim": dimension,
    "tensor.from_elements": _from_elements,
    "tensor.extract": _extract,
    "tensor.cast": _cast,
    "builtin.unrealized_conversion_cast": _convert,
}
