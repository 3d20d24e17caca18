"""CHLO to DHLO: ops that broadcast their operands to a common shape first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shlo_disc.dynamic_ops.elementwise import CompareAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.dynamic_ops.size_values import KnownElements
from shlo_disc.expr.dim import ONE, Dim, maximum, minimum
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.record import Prefix
from shlo_disc.functions.table import BY_OP
from shlo_disc.ir import core as ir
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import integers, string
from shlo_disc.legalize.builder import Bound
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.rules_elementwise import demand_meaning, result_dtype
from shlo_disc.legalize.rules_move import broadcast, stated


def _joined(frame: Frame, a: Dim, b: Dim) -> Dim:
    """The size that two sizes broadcast to: the other one where one is 1."""
    if a in (ONE, b):
        return b
    if b == ONE or (a.constant is not None and b.constant is None):  # 0 or at least 2: b is that or 1
        return a
    if b.constant is not None or frame.build.facts.equal(a, b).is_true:
        return b
    return maximum(a, b) * minimum(a, b, 1)  # 0 and 1 make 0


def _broadcast(frame: Frame, op: ir.Op, placed: Sequence[tuple[Tensor, tuple[int, ...]]]) -> tuple[Tensor, ...]:
    """Broadcast operands to their common shape; each comes with the result's dims at which its own dims are."""
    shape = [ONE] * max([len(dims) for _, dims in placed])
    for x, dims in placed:
        for size, dim in zip(x.shape, dims, strict=True):
            shape[dim] = frame.build.size(_joined(frame, shape[dim], size))
    wanted = stated(frame, op, shape)
    return tuple([broadcast(frame, x, dims, wanted, op.span) for x, dims in placed])


def _from_the_right(x: Tensor, rank: int) -> tuple[int, ...]:
    return tuple(range(rank - len(x.shape), rank))


def _operands(frame: Frame, op: ir.Op) -> tuple[Tensor, ...]:
    """Both operands at one shape; `broadcast_dimensions` places the one with fewer dims."""
    tensors = frame.tensors(op.operands)
    rank = max([len(x.shape) for x in tensors])
    given = integers(op, "broadcast_dimensions") if "broadcast_dimensions" in op.attributes else None
    return _broadcast(
        frame,
        op,
        [(x, _from_the_right(x, rank) if given is None or len(x.shape) == rank else given) for x in tensors],
    )


def _binary(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    a, b = _operands(frame, op)
    name = op.name.removeprefix(Prefix.BROADCASTING)
    demand_meaning(op, name, a)
    return [frame.build.one(name, (a, b), NoAttrs(), a.shape, result_dtype(op), op.span)]


def _compare(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    a, b = _operands(frame, op)
    total = "compare_type" in op.attributes and string(op, "compare_type") == "TOTALORDER"
    attrs = CompareAttrs(Direction(string(op, "comparison_direction")), total)
    return [frame.build.one("compare", (a, b), attrs, a.shape, result_dtype(op), op.span)]


def _select(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    tensors = frame.tensors(op.operands)
    rank = max([len(x.shape) for x in tensors])
    same = _broadcast(frame, op, [(x, _from_the_right(x, rank)) for x in tensors])
    return [frame.build.one("select", same, NoAttrs(), same[1].shape, result_dtype(op), op.span)]


def _shapes(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """The shape that shapes broadcast to, as known sizes."""
    shapes = [frame.dims(x, op) for x in op.operands]
    found = [ONE] * max(map(len, shapes))
    for shape in shapes:
        for dim, size in enumerate(shape, len(found) - len(shape)):
            found[dim] = frame.build.size(_joined(frame, found[dim], size))
    return [KnownElements(tuple(found), (len(found),), DType.I64)]


RULES: Mapping[str, Rule] = {
    "shape.broadcast": _shapes,
    **{name: _binary for name, (_, op) in BY_OP.items() if op.prefix is Prefix.BROADCASTING},
    Prefix.BROADCASTING + "compare": _compare,
    Prefix.BROADCASTING + "select": _select,
}
