"""Dead code elimination: removes what no result depends on: ops, literals, carries of loops, results of branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

from shlo_disc.dynamic_ops.control import CASE, WHILE
from shlo_disc.dynamic_ops.custom import has_side_effect
from shlo_disc.dynamic_ops.program import Body, Op, Program, Tensor
from shlo_disc.passes.rewriting import Pass, with_ops, with_values


def eliminate_dead_ops(program: Program) -> Program:
    """Keep an op only if a result of the program depends on it, or if it has side effects."""
    live = set[Tensor](program.body.results)
    _mark(program.body.ops, live)
    body = with_ops(program.body, _kept(program.body.ops, live), program.body.results)
    constants = {tensor: array for tensor, array in program.constants.items() if tensor in live}
    return replace(program, body=body, constants=constants)


def _mark(ops: Sequence[Op[Any]], live: set[Tensor]) -> None:
    """Add to the live tensors all those that they depend on."""
    for op in reversed(ops):
        if live.isdisjoint(op.results) and not has_side_effect(op):
            continue
        if WHILE.defines(op):
            _mark_loop(op, live)
            continue
        live.update(op.operands)
        for inner in op.bodies:
            live.update(compress(inner.results, _needed(op, live)) if CASE.defines(op) else inner.results)
            _mark(inner.ops, live)


def _mark_loop(op: Op[Any], live: set[Tensor]) -> None:
    """A carry is live if its result is, or if the condition or a live carry of the next iteration depends on it."""
    condition, body = op.bodies
    before: list[bool] | None = None  # at least one iteration, also of a loop without carries
    while (needed := _needed(op, live)) != before:
        before = needed
        live.update(condition.results, compress(body.results, needed))
        _mark(body.ops, live)
        _mark(condition.ops, live)
        carries = zip(op.results, condition.arguments, body.arguments, strict=True)
        live.update([result for result, *arguments in carries if not live.isdisjoint(arguments)])
    live.update(compress(op.operands, needed))


def _needed(op: Op[Any], live: set[Tensor]) -> list[bool]:
    return [result in live for result in op.results]


def _kept(ops: Sequence[Op[Any]], live: set[Tensor]) -> tuple[Op[Any], ...]:
    return tuple([_pruned(op, live) for op in ops if not live.isdisjoint(op.results) or has_side_effect(op)])


def _pruned(op: Op[Any], live: set[Tensor]) -> Op[Any]:
    """The op with the live ops of its bodies; loops and branches with their live results alone."""
    bodies = tuple([with_ops(inner, _kept(inner.ops, live), inner.results) for inner in op.bodies])
    needed = _needed(op, live)
    if all(needed) or not (WHILE.defines(op) or CASE.defines(op)):
        return with_values(op, op.operands, bodies)

    def chosen(values: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(compress(values, needed))

    if CASE.defines(op):
        fewer = tuple([Body(one.arguments, one.ops, chosen(one.results)) for one in bodies])
        return replace(op, results=chosen(op.results), bodies=fewer)
    condition, body = bodies
    fewer = (
        Body(chosen(condition.arguments), condition.ops, condition.results),
        Body(chosen(body.arguments), body.ops, chosen(body.results)),
    )
    return replace(op, operands=chosen(op.operands), results=chosen(op.results), bodies=fewer)


DCE = Pass("dce", eliminate_dead_ops)
