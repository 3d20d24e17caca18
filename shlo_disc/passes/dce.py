"""Dead code elimination: removes ops and literals that no result depends on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shlo_disc.dynamic_ops.custom import has_side_effect
from shlo_disc.dynamic_ops.program import Body, Op, Program, Tensor
from shlo_disc.passes.rewriting import Pass, with_ops, with_values


def eliminate_dead_ops(program: Program) -> Program:
    """Keep an op only if a result of the program depends on it, or if it has side effects."""
    live = set[Tensor]()
    body = _live_body(program.body, live)
    constants = {tensor: array for tensor, array in program.constants.items() if tensor in live}
    return replace(program, body=body, constants=constants)


def _live_body(body: Body, live: set[Tensor]) -> Body:
    live.update(body.results)
    kept: list[Op[Any]] = []
    for op in reversed(body.ops):
        if not live.isdisjoint(op.results) or has_side_effect(op):
            live.update(op.operands)
            kept.append(with_values(op, op.operands, tuple([_live_body(inner, live) for inner in op.bodies])))
    return with_ops(body, tuple(kept[::-1]), body.results)


DCE = Pass("dce", eliminate_dead_ops)
