"""`shape` as StableHLO. A witness is a list of claims, which `shape.assuming` checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations

from shlo_disc.dialects.view import numbers_of
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import BoolAttr, DenseAttr, TensorType
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import integer, string
from shlo_disc.legalize.other_dialects.builder import TRUTH, Rule, SizeClaim, StableHloBuilder
from shlo_disc.legalize.other_dialects.integers import floor_divide, refuse_zero
from shlo_disc.legalize.other_dialects.tensors import dimension

_BROADCAST = "expected sizes that are equal or 1, found {0} and {1}"
_EQUAL = "expected equal sizes, found {0} and {1}"


def _shape_of(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return (emit.shape_of(operands[0]),)


def _same(_emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return operands


def _from_extents(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return (emit.joined(operands),)


def _const_shape(emit: StableHloBuilder, _operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    literal = emit.op.attributes["shape"]
    assert isinstance(literal, DenseAttr), "the verifier checked the attribute"
    return (emit.joined([emit.constant(number) for number in numbers_of(literal)]),)


def _const_size(emit: StableHloBuilder, _operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return (emit.constant(integer(emit.op, "value")),)


def _broadcast(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    """Kept as an op: a rule of its own chooses the formula by what is known of the sizes."""
    rank = max([len(emit.extents(x)) for x in operands])
    return (emit.kept(operands, TensorType((rank,), DType.I64)),)


def _aligned(emit: StableHloBuilder, a: ir.Value, b: ir.Value) -> Sequence[tuple[ir.Value, ir.Value]]:
    """The sizes that meet if two shapes are aligned at their last dimensions."""
    return [*zip(reversed(emit.extents(a)), reversed(emit.extents(b)), strict=False)][::-1]


def _broadcastable(emit: StableHloBuilder, shapes: Sequence[ir.Value]) -> Sequence[SizeClaim]:
    claims = list[SizeClaim]()
    for one, other in combinations(shapes, 2):
        for a, b in _aligned(emit, one, other):
            unit = emit.constant(1)
            either = emit.like("or", emit.compare("EQ", a, unit), emit.compare("EQ", b, unit))
            claims.append(SizeClaim(emit.op, emit.like("or", emit.compare("EQ", a, b), either), _BROADCAST, (a, b)))
    return claims


def _equal(emit: StableHloBuilder, shapes: Sequence[ir.Value]) -> Sequence[SizeClaim]:
    first, *others = [emit.extents(x) for x in shapes]
    claims = list[SizeClaim]()
    for other in others:
        if len(other) != len(first):
            message = f"expected shapes of one rank, found {len(first)} and {len(other)} dimensions"
            return [SizeClaim(emit.op, emit.constant(0, TRUTH), message)]
        claims += [
            SizeClaim(emit.op, emit.compare("EQ", a, b), _EQUAL, (a, b)) for a, b in zip(first, other, strict=True)
        ]
    return claims


def _is_broadcastable(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return (emit.all([claim.condition for claim in _broadcastable(emit, operands)]),)


def _is_equal(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return (emit.all([claim.condition for claim in _equal(emit, operands)]),)


def _concat(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return (emit.joined([size for shape in operands for size in emit.extents(shape)]),)


def _split_at(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    shape, index = operands
    sizes, at = emit.extents(shape), emit.constants.get(index)
    if at is None or not -len(sizes) <= at <= len(sizes):
        raise emit.unsupported(f"but at a constant from {-len(sizes)} to {len(sizes)}")
    return emit.joined(sizes[:at]), emit.joined(sizes[at:])


def _get_extent(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    shape, number = operands
    return (emit.element(shape, (number,)),)


def _rank(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return (emit.constant(len(emit.extents(operands[0]))),)


def _num_elements(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    found, *others = emit.extents(operands[0]) or (emit.constant(1),)
    for size in others:
        found = emit.like("multiply", found, size)
    return (found,)


def _arithmetic(name: str, emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return (emit.like(name, *operands),)


def _divide(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    refuse_zero(emit, operands[1])
    return (floor_divide(emit, *operands),)


# --- witnesses


def _witness(emit: StableHloBuilder, claims: Sequence[SizeClaim]) -> tuple[ir.Value, ...]:
    emit.claims[emit.op.results[0]] = tuple(claims)
    return emit.op.results


def _cstr_broadcastable(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return _witness(emit, _broadcastable(emit, operands))


def _cstr_eq(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return _witness(emit, _equal(emit, operands))


def _cstr_require(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return _witness(emit, [SizeClaim(emit.op, operands[0], string(emit.op, "msg"))])


def _const_witness(emit: StableHloBuilder, _operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    holds = emit.op.attributes["passing"] == BoolAttr(value=True)
    return _witness(
        emit, [] if holds else [SizeClaim(emit.op, emit.constant(0, TRUTH), "the text says that it does not hold")]
    )


def _assuming_all(emit: StableHloBuilder, operands: tuple[ir.Value, ...]) -> tuple[ir.Value, ...]:
    return _witness(emit, [claim for witness in operands for claim in emit.claims[witness]])


RULES: Mapping[str, Rule] = {
    "shape.shape_of": _shape_of,
    "shape.broadcast": _broadcast,
    "shape.is_broadcastable": _is_broadcastable,
    "shape.shape_eq": _is_equal,
    "shape.cstr_broadcastable": _cstr_broadcastable,
    "shape.cstr_eq": _cstr_eq,
    "shape.cstr_require": _cstr_require,
    "shape.const_witness": _const_witness,
    "shape.assuming_all": _assuming_all,
    "shape.concat": _concat,
    "shape.split_at": _split_at,
    **dict.fromkeys(("shape.to_extent_tensor", "shape.from_extent_tensor"), _same),
    **dict.fromkeys(("shape.size_to_index", "shape.index_to_size"), _same),
    "shape.from_extents": _from_extents,
    "shape.const_shape": _const_shape,
    "shape.const_size": _const_size,
    "shape.dim": dimension,
    "shape.get_extent": _get_extent,
    "shape.rank": _rank,
    "shape.num_elements": _num_elements,
    "shape.add": partial(_arithmetic, "add"),
    "shape.mul": partial(_arithmetic, "multiply"),
    "shape.max": partial(_arithmetic, "maximum"),
    "shape.min": partial(_arithmetic, "minimum"),
    "shape.div": _divide,
}
