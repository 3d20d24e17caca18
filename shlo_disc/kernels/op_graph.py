"""The graph of ops: who reads what, nested bodies included, and the space an op visits."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.program import Body, Op, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.kernels.groups import Group


def group_inputs(group: Group, producers: Producers) -> tuple[Tensor, ...]:
    """Every tensor that the ops of a group may read from memory, in nested bodies too; none that it computes."""
    found, stack, seen = (
        dict[Tensor, None](),
        [t for op in group.ops for t in all_operands(op)],
        set[Tensor](),
    )
    inside = {t for op in group.ops for t in op.results}
    while stack:
        tensor = stack.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        found[tensor] = None
        made = producers.get(tensor)
        if made is not None and tensor not in inside and is_free(made[0]):
            stack.extend(made[0].operands)
    return tuple(tensor for tensor in found if tensor not in inside)


def all_operands(op: Op[object]) -> list[Tensor]:
    """Everything an op reads, through its bodies too."""
    return [*op.operands, *(t for body in op.bodies for t in captured(body))]


def captured(body: Body) -> list[Tensor]:
    """Tensors that a body reads from outside."""
    inside = set(body.arguments)
    inside.update(t for op in body.walk() for t in op.results)
    inside.update(t for op in body.walk() for b in op.bodies for t in b.arguments)
    used = [t for op in body.walk() for t in (*op.operands, *(r for b in op.bodies for r in b.results))]
    return [t for t in (*used, *body.results) if t not in inside]


def users_of(body: Body) -> Mapping[Tensor, list[Op[object]]]:
    """The ops of `body` that read each tensor."""
    users = dict[Tensor, list[Op[object]]]()
    for op in body.ops:
        for tensor in dict.fromkeys(all_operands(op)):
            users.setdefault(tensor, []).append(op)
    return users


def is_control(op: Op[object]) -> bool:
    """Whether the op's bodies are run by the host program."""
    return definition(op).template in (Template.WHILE, Template.CASE)


def row_space(op: Op[object]) -> Shape | None:
    """The leading dims that a reduction keeps; None for other ops, which fit any row space."""
    if not isinstance(op.attrs, ReduceAttrs):
        return None
    return op.operands[0].shape[: min(op.attrs.dims, default=0)]


def reduced_dims(op: Op[object]) -> tuple[int, ...]:
    """The dims that a reduction reduces; none for other ops."""
    return op.attrs.dims if isinstance(op.attrs, ReduceAttrs) else ()


def space_of(op: Op[object], k: int) -> Shape:
    """The points an op visits: its result's elements, or its operand's for a reduction; one if it has no result."""
    if isinstance(op.attrs, ReduceAttrs):
        return op.operands[0].shape
    return op.results[k].shape if op.results else ()
