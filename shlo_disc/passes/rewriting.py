"""What passes share: the record of a pass, and walking a program with its values replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from shlo_disc.dynamic_ops.program import Body, Op, Program, Tensor

Producers: TypeAlias = Mapping[Tensor, Op[Any]]
Changed: TypeAlias = Op[Any] | Tensor | Sequence[Op[Any]]


@dataclass(frozen=True, slots=True)
class Pass:
    """One rewrite of DHLO: a name and a pure function."""

    name: str
    run: Callable[[Program], Program]


@dataclass(slots=True)
class _Walk:
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
        return Body(body.arguments, tuple(kept), self._all(body.results))

    def _all(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(self.replaced.get(x, x) for x in tensors)

    def _current(self, op: Op[Any]) -> Op[Any]:
        operands = self._all(op.operands)
        if not op.bodies:
            return op if operands == op.operands else replace(op, operands=operands)
        return replace(op, operands=operands, bodies=tuple(map(self.body, op.bodies)))


def rewrite(program: Program, change: Callable[[Op[Any], Producers], Changed]) -> Program:
    """Give every op, inner ones first, to `change`.

    It returns an op with the same results, several of which the last one has them, or the tensor that stands for the
    op's only result from there on.
    """
    return replace(program, body=_Walk(change).body(program.body))
