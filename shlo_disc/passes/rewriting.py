"""Shared code of passes: the record of a pass, and a walk that rewrites ops and replaces values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from shlo_disc.dynamic_ops.program import Body, Op, Program, Tensor
from shlo_disc.records import record

Producers: TypeAlias = Mapping[Tensor, Op[Any]]
Changed: TypeAlias = Op[Any] | Tensor | Sequence[Op[Any]]


@record
class Pass:
    """One rewrite of DHLO: a name and a pure function."""

    name: str
    run: Callable[[Program], Program]


@dataclass(slots=True)
class _RewriteWalk:
    change: Callable[[Op[Any], Producers], Changed]
    producers: dict[Tensor, Op[Any]] = field(default_factory=dict[Tensor, Op[Any]])
    replaced: dict[Tensor, Tensor] = field(default_factory=dict[Tensor, Tensor])

    def body(self, body: Body) -> Body:
        kept: list[Op[Any]] = []
        for old in body.ops:
            changed = self.change(self._current(old), self.producers)
            if isinstance(changed, Tensor):
                self.replaced[old.results[0]] = changed
                continue
            for op in (changed,) if isinstance(changed, Op) else changed:
                self.producers.update(dict.fromkeys(op.results, op))
                kept.append(op)
        return with_ops(body, tuple(kept), renamed(body.results, self.replaced))

    def _current(self, op: Op[Any]) -> Op[Any]:
        return with_values(op, renamed(op.operands, self.replaced), tuple(map(self.body, op.bodies)))


def renamed(tensors: tuple[Tensor, ...], replaced: Mapping[Tensor, Tensor]) -> tuple[Tensor, ...]:
    """Substitute the tensors that replace others."""
    if replaced.keys().isdisjoint(tensors):  # the common case
        return tensors
    return tuple([replaced.get(x, x) for x in tensors])


def with_values(op: Op[Any], operands: tuple[Tensor, ...], bodies: tuple[Body, ...]) -> Op[Any]:
    """The op with these operands and bodies; the same object if nothing changes."""
    same = operands == op.operands and bodies == op.bodies
    return op if same else replace(op, operands=operands, bodies=bodies)


def with_ops(body: Body, ops: tuple[Op[Any], ...], results: tuple[Tensor, ...]) -> Body:
    """The body with these ops and results; the same object if nothing changes."""
    return body if ops == body.ops and results == body.results else Body(body.arguments, ops, results)


def rewrite(program: Program, change: Callable[[Op[Any], Producers], Changed]) -> Program:
    """Apply `change` to every op, inner ones first.

    `change` returns an op with the same results, several ops of which the last one has them, or a tensor that replaces
    the op's only result from there on.
    """
    return replace(program, body=_RewriteWalk(change).body(program.body))
