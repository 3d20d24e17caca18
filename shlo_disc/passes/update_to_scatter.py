"""Turns dynamic_update_slice of a loop carry into a scatter of one window, so that the rest stays in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shlo_disc.dynamic_ops import control, move, order, slices
from shlo_disc.dynamic_ops.move import ConcatenateAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.order import ScatterAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Program, Tensor
from shlo_disc.expr.dim import const
from shlo_disc.passes.rewriting import Pass, Producers, rewrite, with_ops


def scatter_updates(program: Program) -> Program:
    """Replace an update of a carry whose result is the next value of the same carry by `d_scatter`.

    As an element formula, an update fuses with its readers, but visits all elements in every iteration.
    """

    def change(op: Op[Any], _producers: Producers) -> Op[Any]:
        if not control.WHILE.defines(op):
            return op
        condition, body = op.bodies
        return replace(op, bodies=(condition, _scattered(body)))

    return rewrite(program, change)


def _scattered(body: Body) -> Body:
    handed_on = dict(zip(body.results, body.arguments, strict=True))
    ops = list[Op[Any]]()
    for op in body.ops:
        found = slices.DYNAMIC_UPDATE_SLICE.defines(op) and handed_on.get(op.results[0]) is op.operands[0]
        ops += _scatter(op) if found else [op]
    return with_ops(body, tuple(ops), body.results)


def _scatter(op: Op[Any]) -> Sequence[Op[Any]]:
    """The update as a scatter of one window, whose start is clamped."""
    target, update, *starts = op.operands
    moving = [k for k, size in enumerate(target.shape) if size != update.shape[k]]
    if not moving:
        return [op]
    name, span = op.results[0].name, op.span
    made = list[Op[Any]]()
    if len(moving) == 1:
        place = starts[moving[0]]
    else:
        parts = tuple(Tensor(f"{name}_start{k}", (const(1),), starts[k].dtype, span) for k in moving)
        made += [move.RESHAPE.op((starts[k],), NoAttrs(), (part,), span) for k, part in zip(moving, parts, strict=True)]
        place = Tensor(f"{name}_starts", (const(len(moving)),), parts[0].dtype, span)
        made.append(move.CONCATENATE.op(parts, ConcatenateAttrs(0), (place,), span))
    old, new = (Tensor(f"{name}_{which}", (), target.dtype, span) for which in ("old", "new"))
    attrs = ScatterAttrs(
        update_window_dims=tuple(range(len(target.shape))),
        inserted_window_dims=(),
        input_batching_dims=(),
        scatter_indices_batching_dims=(),
        scatter_dims_to_operand_dims=tuple(moving),
        index_vector_dim=0,
        unique_indices=True,
        clamps=True,
    )
    return [*made, order.SCATTER.op((target, place, update), attrs, op.results, span, (Body((old, new), (), (new,)),))]


UPDATE_TO_SCATTER = Pass("update_to_scatter", scatter_updates)
