"""Replaces ops by others. Nothing is changed in place: the result is a new module.

Rules give the replacement of an op; `rewriting` is the interface for users to write them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeAlias

from shlo_disc.diagnostics import Note, VerifyError
from shlo_disc.ir.attributes import Location
from shlo_disc.ir.core import Block, Function, Module, Op, Region, Value
from shlo_disc.records import record


@record
class Replacement:
    """The ops that replace an op, and the values that replace its results.

    Without `values` the results must have no users.
    """

    ops: tuple[Op, ...]
    values: tuple[Value, ...]


@record
class Surroundings:
    """What a rule sees of the function around an op: names that are unused in it, and the producers so far."""

    names: Iterator[str]
    producers: Mapping[Value, Op]


Rule: TypeAlias = Callable[[Op, Surroundings], Replacement | None]


def replace_ops(module: Module, rules: Mapping[str, Rule]) -> Module:
    """Apply the rule for each op's name to replace the op; None keeps it.

    Rules are applied to inner ops before the op that contains them, and never to ops that a rule has made.
    """
    contents = [_Rewriter(one, rules).function() if isinstance(one, Function) else one for one in module.contents]
    return replace(module, contents=tuple(contents))


def copy_ops(ops: Sequence[Op], names: Iterator[str], location: Location | None) -> tuple[Op, ...]:
    """Copy ops to another place: their values get new names, and ops and values get the location.

    Operands defined outside the ops stay the same.
    """
    fresh = dict[Value, Value]()

    def copied(value: Value, name: str = "") -> Value:
        fresh[value] = replace(value, name=name or next(names), location=location)
        return fresh[value]

    def copied_results(values: tuple[Value, ...]) -> tuple[Value, ...]:
        if len(values) == 1:
            return (copied(values[0]),)
        stem = next(names) if values else ""
        return tuple([copied(value, f"{stem}#{k}") for k, value in enumerate(values)])

    def copied_block(block: Block) -> Block:
        return Block(tuple([copied(value) for value in block.arguments]), tuple(map(copied_op, block.ops)))

    def copied_op(op: Op) -> Op:
        operands = tuple([fresh.get(value, value) for value in op.operands])
        regions = tuple([Region(tuple(map(copied_block, region.blocks))) for region in op.regions])
        return replace(op, operands=operands, regions=regions, results=copied_results(op.results), location=location)

    return tuple(map(copied_op, ops))


class _Rewriter:
    """Rewrites one function."""

    def __init__(self, function: Function, rules: Mapping[str, Rule]) -> None:
        self._function = function
        self._rules = rules
        self._values: dict[Value, Value | None] = {}  # None: its op was removed
        self._producers: dict[Value, Op] = {}
        self._surroundings = Surroundings(_free_names(function), self._producers)

    def function(self) -> Function:
        return replace(self._function, body=self._block(self._function.body))

    def _block(self, block: Block) -> Block:
        ops = list[Op]()
        for op in block.ops:
            ops += self._op(op)
        return Block(block.arguments, tuple(ops))

    def _op(self, op: Op) -> tuple[Op, ...]:
        op = replace(
            self._with_new_operands(op),
            regions=tuple([Region(tuple(map(self._block, region.blocks))) for region in op.regions]),
        )
        rule = self._rules.get(op.name)
        found = None if rule is None else rule(op, self._surroundings)
        if found is None:
            found = Replacement((op,), op.results)
        ops = tuple(map(self._with_new_operands, found.ops))
        for made in ops:
            self._producers.update((result, made) for result in made.results)
        values = [self._current(value, op) for value in found.values] or [None] * len(op.results)
        self._values.update((old, new) for old, new in zip(op.results, values, strict=True) if old is not new)
        return ops

    def _with_new_operands(self, op: Op) -> Op:
        return replace(op, operands=tuple([self._current(value, op) for value in op.operands]))

    def _current(self, value: Value, op: Op) -> Value:
        """Return the current replacement of a value."""
        found = self._values.get(value, value)
        if found is None:
            note = Note("it was defined here", value.span)
            message = f"expected no use of '%{value.name}', whose op was removed, found one"
            raise VerifyError(message, op.span, notes=(note,))
        return found


def _free_names(function: Function) -> Iterator[str]:
    taken = {value.name.partition("#")[0] for value in function.values()}
    numbers = [int(name) for name in taken if name.isdecimal()]
    return map(str, count(max(numbers, default=-1) + 1))
