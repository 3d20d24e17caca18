"""Folds reductions over dims of size 1 into elementwise ops: one application of their body."""

from __future__ import annotations

from typing import Any, cast

from shlo_disc.dynamic_ops import move
from shlo_disc.dynamic_ops.move import BroadcastAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.expr.facts import Facts
from shlo_disc.passes.rewriting import Changed, Pass, Producers, rewrite


def unroll_unit_reductions(program: Program) -> Program:
    """Combine the initial value with the only element, where the body is one op."""

    def change(op: Op[Any], _producers: Producers) -> Changed:
        return _step(cast("Op[ReduceAttrs]", op)) if _is_unit(op, program.facts) else op

    return rewrite(program, change)


def _is_unit(op: Op[Any], facts: Facts) -> bool:
    if not isinstance(op.attrs, ReduceAttrs) or len(op.results) != 1:
        return False
    (body,) = op.bodies
    if len(body.ops) != 1 or body.results != body.ops[0].results or set(body.ops[0].operands) != set(body.arguments):
        return False
    sizes = (op.operands[0].shape[dim] for dim in op.attrs.dims)
    return bool(op.attrs.dims) and all(facts.canonical(size).constant == 1 for size in sizes)


def _step(op: Op[ReduceAttrs]) -> Changed:
    (x, init), (result,), (body,) = op.operands, op.results, op.bodies
    element, start = (
        Tensor(f"{result.name}_{name}", result.shape, result.dtype, op.span) for name in ("element", "start")
    )
    stands_for = dict(zip(body.arguments, (start, element), strict=True))
    (combine,) = body.ops
    return (
        move.RESHAPE.op((x,), NoAttrs(), (element,), op.span),
        move.BROADCAST.op((init,), BroadcastAttrs((), ()), (start,), op.span),
        Op(combine.name, tuple(stands_for[t] for t in combine.operands), combine.attrs, (result,), (), op.span),
    )


UNIT_DIM_REDUCTION = Pass("unit_dim_reduction", unroll_unit_reductions)
