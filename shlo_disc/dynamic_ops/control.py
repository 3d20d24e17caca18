"""Data-dependent control flow on bodies or programs: while, case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shlo_disc.dynamic_ops.opdef import Arrays, NoAttrs, OpDef, RunBody, Template, Trait
from shlo_disc.dynamic_ops.program import Body, Op, Program
from shlo_disc.records import record


@record(eq=False)
class OutlinedAttrs:
    """Regions as programs: the condition and the body of a loop, or branches.

    The body of a loop returns the carried values, then whether there is another iteration; the condition runs before
    the first iteration only. `is_guard`: the branches are a loop without iterations, which returns its initial values,
    and the loop with at least one. Program k takes the operands numbered `takes[k]`. The last result of the op is an
    i64 vector: the sizes of the other results that are known only after it ran, listed in `sized` as (result, axis).
    """

    programs: tuple[Program, ...]
    takes: tuple[tuple[int, ...], ...]
    sized: tuple[tuple[int, int], ...]
    is_guard: bool = False

    def with_sizes(self, results: Arrays) -> Arrays:
        """The results, then the vector of their sizes that are known only now."""
        return (*results, np.array([results[k].shape[axis] for k, axis in self.sized], np.int64))


def _while_reference(op: Op[NoAttrs], inputs: Arrays, run: RunBody) -> Arrays:
    condition, body = op.bodies
    carries = inputs
    while bool(run(condition, carries)[0]):
        carries = run(body, carries)
    return carries


def _case_reference(op: Op[NoAttrs], inputs: Arrays, run: RunBody) -> Arrays:
    return run(op.bodies[_chosen(inputs, op.bodies)], ())


def _chosen(inputs: Arrays, branches: Sequence[Body | Program]) -> int:
    last = len(branches) - 1
    chosen = int(inputs[0])
    return chosen if 0 <= chosen <= last else last


def _outlined_while_reference(op: Op[OutlinedAttrs], inputs: Arrays, run: RunBody) -> Arrays:
    count = len(op.results) - 1
    carries, captured = inputs[:count], inputs[count:]

    def computed(number: int) -> Arrays:
        values = (*carries, *captured)
        return run(op.attrs.programs[number], tuple([values[k] for k in op.attrs.takes[number]]))

    (holds,) = computed(0)
    while bool(holds):
        *after, holds = computed(1)
        carries = tuple(after)
    return op.attrs.with_sizes(carries)


def _outlined_case_reference(op: Op[OutlinedAttrs], inputs: Arrays, run: RunBody) -> Arrays:
    number = _chosen(inputs, op.attrs.programs)
    taken = tuple([inputs[k] for k in op.attrs.takes[number]])
    return op.attrs.with_sizes(run(op.attrs.programs[number], taken))


# bodies: condition, body; operands: the initial carries
WHILE = OpDef(
    name="d_while",
    attrs=NoAttrs,
    template=Template.WHILE,
    element=None,
    reference=_while_reference,
    traits=frozenset({Trait.EXACT}),
)
# one body without arguments per case; an index out of range takes the last
CASE = OpDef(
    name="d_case",
    attrs=NoAttrs,
    template=Template.CASE,
    element=None,
    reference=_case_reference,
    traits=frozenset({Trait.EXACT}),
)
# programs: condition, body; operands: the initial carries, then what the programs capture
OUTLINED_WHILE = OpDef(
    name="d_outlined_while",
    attrs=OutlinedAttrs,
    template=Template.OUTLINED,
    element=None,
    reference=_outlined_while_reference,
    traits=frozenset({Trait.EXACT}),
)
# one program per case; operands: the index, then what the programs capture
OUTLINED_CASE = OpDef(
    name="d_outlined_case",
    attrs=OutlinedAttrs,
    template=Template.OUTLINED,
    element=None,
    reference=_outlined_case_reference,
    traits=frozenset({Trait.EXACT}),
)
OPS = (
    WHILE,
    CASE,
    OUTLINED_WHILE,
    OUTLINED_CASE,
)
