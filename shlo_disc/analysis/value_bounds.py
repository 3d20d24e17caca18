"""Bounds of the integers of a program: op by op, through loops and branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from shlo_disc.analysis.element_bounds import element_bounds, formula_of
from shlo_disc.dynamic_ops import control
from shlo_disc.dynamic_ops.elementwise import names_of
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.expr.bounds import bounds_where, joined
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import NO_BOUNDS, Bounds, Load
from shlo_disc.functions.binary import BinaryFn

_SUMS = names_of(BinaryFn.ADD, BinaryFn.SUBTRACT)
_DEEPEST = 4  # nesting of loops whose invariants are searched; each level repeats the walks of all loops inside it


def with_bounds(body: Body, facts: Facts) -> tuple[Body, Mapping[Tensor, Tensor]]:
    """Give every integer tensor the bounds that its op implies; also return which tensors were replaced."""
    walk = _BoundsWalk(facts)
    return walk.body(body, [x.bounds for x in body.arguments]), walk.replaced


@dataclass(slots=True)
class _BoundsWalk:
    facts: Facts
    replaced: dict[Tensor, Tensor] = field(default_factory=dict[Tensor, Tensor])
    _formulas: dict[Tensor, Op[Any]] = field(default_factory=dict[Tensor, Op[Any]])
    _depth: int = 0

    def body(self, body: Body, arguments: Sequence[Bounds]) -> Body:
        """The body with these bounds of its arguments."""
        made = self._bounded(body.arguments, arguments)
        ops, results = tuple(map(self._op, body.ops)), self._current(body.results)
        same = (made, ops, results) == (body.arguments, body.ops, body.results)
        return body if same else Body(made, ops, results)

    def _bounded(self, tensors: tuple[Tensor, ...], known: Sequence[Bounds]) -> tuple[Tensor, ...]:
        for tensor, each in zip(tensors, known, strict=True):
            if each != self.replaced.get(tensor, tensor).bounds:
                self.replaced[tensor] = replace(tensor, bounds=each)
        return self._current(tensors)

    def _current(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if self.replaced.keys().isdisjoint(tensors):  # the common case
            return tensors
        return tuple([self.replaced.get(x, x) for x in tensors])

    def _op(self, op: Op[Any]) -> Op[Any]:
        operands = self._current(op.operands)
        if control.WHILE.defines(op):
            bodies, known = self._while(op, operands)
        elif control.CASE.defines(op):
            bodies, known = self._case(op)
        else:
            bodies = tuple([self.body(inner, [NO_BOUNDS] * len(inner.arguments)) for inner in op.bodies])
            same = (operands, bodies) == (op.operands, op.bodies)
            bare = op if same else replace(op, operands=operands, bodies=bodies)
            known = [element_bounds(bare, k, self.facts, self._formulas) for k in range(len(op.results))]
        results = self._bounded(op.results, known)
        if (operands, bodies, results) != (op.operands, op.bodies, op.results):
            op = replace(op, operands=operands, bodies=bodies, results=results)
        if results and (results[0].dtype.is_bool or op.name in _SUMS):
            self._formulas[results[0]] = op  # conditions, and values with tighter bounds on one side of a selection
        return op

    def _case(self, op: Op[Any]) -> tuple[tuple[Body, ...], list[Bounds]]:
        """The branches, and the union of the bounds of their results, as any of them may run."""
        bodies = tuple([self.body(branch, ()) for branch in op.bodies])
        return bodies, [
            reduce(self._joined, [x.bounds for x in results])
            for results in zip(*(branch.results for branch in bodies), strict=True)
        ]

    def _while(self, op: Op[Any], operands: tuple[Tensor, ...]) -> tuple[tuple[Body, ...], list[Bounds]]:
        """Find bounds that hold at every evaluation of the condition, as Houdini does (Flanagan and Leino 2001).

        Assume the first candidate for every end; where an iteration does not preserve it, take the next one, and start
        again. The candidates, each with the initial value: that alone; what one iteration reaches from the assumed
        bounds; what an iteration reaches from any value, which needs no assumption.
        """
        start = [x.bounds for x in operands]
        self._depth += 1
        bodies, after = self._turn(op, [NO_BOUNDS] * len(start))
        if self._depth <= _DEEPEST and any(x.dtype.is_integer for x in operands):
            safe = [self._joined(a, b.bounds) for a, b in zip(start, bodies[1].results, strict=True)]
            assumed, kept = _Assumed(start, safe, self.facts), False
            while not kept:
                bodies, after = self._turn(op, assumed.bounds)
                kept = assumed.kept_by([x.bounds for x in bodies[1].results])
        self._depth -= 1
        return bodies, after

    def _turn(self, op: Op[Any], assumed: Sequence[Bounds]) -> tuple[tuple[Body, ...], list[Bounds]]:
        """Both bodies with these bounds of the carried values at the condition, and their bounds after the loop."""
        condition = self.body(op.bodies[0], assumed)
        holds = formula_of(condition.results[0], self._formulas, self.facts)

        def narrowed(x: Tensor, *, side: bool) -> Bounds:
            if x.shape or not x.dtype.is_integer:
                return x.bounds
            return self._canonical(bounds_where(Load(x, ()), holds, side, self.facts.judge))

        inside = [narrowed(x, side=True) for x in condition.arguments]
        after = [narrowed(x, side=False) for x in condition.arguments]
        outer, self.facts = self.facts, self._entered(inside, op)
        body = self.body(op.bodies[1], list(map(self._canonical, inside)))
        self.facts = outer
        return (condition, body), after

    def _entered(self, inside: Sequence[Bounds], op: Op[Any]) -> Facts:
        """The facts in a loop body: where it runs, each argument's lower bound is at most its upper bound."""
        facts = self.facts
        for low, high in inside:
            if low is not None and high is not None and not facts.at_least(high, low).known:
                facts = facts.assume_at_least(high, low, "the body of a loop runs", op.span)
        return facts

    def _joined(self, a: Bounds, b: Bounds) -> Bounds:
        return self._canonical(joined(a, b, self.facts.judge))

    def _canonical(self, known: Bounds) -> Bounds:
        low, high = (None if end is None else self.facts.canonical(end) for end in known)
        return low, high


class _Assumed:
    """The assumed bounds of the carried values of a loop: the current candidate per value and end."""

    def __init__(self, start: Sequence[Bounds], safe: Sequence[Bounds], facts: Facts) -> None:
        self._start, self._safe, self._facts = start, safe, facts
        self._ends = [list(each) for each in start]
        self._tried = [[0, 0] for _ in start]

    @property
    def bounds(self) -> list[Bounds]:
        return [(low, high) for low, high in self._ends]

    def kept_by(self, reached: Sequence[Bounds]) -> bool:
        """Whether an iteration preserves the assumed bounds; if not, advance to the next candidates."""
        kept = True
        for k, (ends, after) in enumerate(zip(self._ends, reached, strict=True)):
            wider = joined(self._start[k], after, self._facts.judge)
            for side, (end, new) in enumerate(zip(ends, after, strict=True)):
                sign = -1 if side else 1
                if end is None or self._tried[k][side] == 2:
                    continue
                if new is not None and self._facts.at_least((new - end) * sign, 0).is_true:
                    continue
                kept = False
                self._tried[k][side] += 1 if new is not None else 2 - self._tried[k][side]
                ends[side] = self._safe[k][side] if self._tried[k][side] == 2 else wider[side]
        return kept
