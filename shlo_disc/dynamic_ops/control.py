"""Ops that run a body as often as the data says: while, case."""

from __future__ import annotations

from shlo_disc.dynamic_ops.opdef import Arrays, NoAttrs, OpDef, RunBody, Template
from shlo_disc.dynamic_ops.program import Op


def _while_reference(op: Op[NoAttrs], inputs: Arrays, run: RunBody) -> Arrays:
    condition, body = op.bodies
    carries = inputs
    while bool(run(condition, carries)[0]):
        carries = run(body, carries)
    return carries


def _case_reference(op: Op[NoAttrs], inputs: Arrays, run: RunBody) -> Arrays:
    last = len(op.bodies) - 1
    chosen = int(inputs[0])
    return run(op.bodies[chosen if 0 <= chosen <= last else last], ())


OPS = (
    # bodies: condition, body; operands: the initial carries
    OpDef(
        name="d_while",
        attrs=NoAttrs,
        template=Template.WHILE,
        element=None,
        reference=_while_reference,
    ),
    # one body without arguments per case; an index out of range takes the last
    OpDef(
        name="d_case",
        attrs=NoAttrs,
        template=Template.CASE,
        element=None,
        reference=_case_reference,
    ),
)
