"""Common subexpression elimination: results of an op that repeats an earlier one are replaced by the earlier ones.

Exported programs repeat shape computations, broadcasts and masks in every layer.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

from shlo_disc.dynamic_ops.custom import has_side_effect
from shlo_disc.dynamic_ops.program import Body, Op, Program, Tensor
from shlo_disc.passes.rewriting import Pass, renamed, with_ops, with_values


@dataclass(slots=True)
class _Scopes:
    """The values computed so far, innermost body last, and the tensors that were replaced."""

    known: list[dict[Hashable, tuple[Tensor, ...]]] = field(default_factory=list[dict[Hashable, tuple[Tensor, ...]]])
    replaced: dict[Tensor, Tensor] = field(default_factory=dict[Tensor, Tensor])

    def body(self, body: Body) -> Body:
        self.known.append({})
        kept: list[Op[Any]] = []
        for old in body.ops:
            op = self._current(old)
            first = op.results if has_side_effect(op) else self._first(_key(op, {}), op.results)
            if first is op.results:
                kept.append(op)
            else:
                self.replaced.update(zip(op.results, first, strict=True))
        self.known.pop()
        return with_ops(body, tuple(kept), renamed(body.results, self.replaced))

    def _first(self, key: Hashable, results: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The results of the first equal op in this body or one around it; else `results`."""
        *around, here = self.known
        for scope in around:
            if (earlier := scope.get(key)) is not None:
                return earlier
        return here.setdefault(key, results)

    def _current(self, op: Op[Any]) -> Op[Any]:
        return with_values(op, renamed(op.operands, self.replaced), tuple(map(self.body, op.bodies)))


def _key(op: Op[Any], local: dict[Tensor, int]) -> Hashable:
    """A key that only ops with equal results share; values defined inside a body are identified by position."""
    operands = tuple([local.get(x, x) for x in op.operands]) if local else op.operands
    results = tuple([(x.dtype, x.shape) for x in op.results])
    bodies = tuple([_body_key(body, local) for body in op.bodies])
    return (op.name, operands, op.attrs, results, bodies)


def _body_key(body: Body, outer: dict[Tensor, int]) -> Hashable:
    local = dict(outer)
    for x in body.arguments:
        local[x] = len(local)
    keys: list[Hashable] = []
    for op in body.ops:
        keys.append(_key(op, local))
        for x in op.results:
            local[x] = len(local)
    arguments = tuple((x.dtype, x.shape) for x in body.arguments)
    return (arguments, tuple(keys), tuple(local.get(x, x) for x in body.results))


def share_common_ops(program: Program) -> Program:
    """Compute equal values once."""
    return replace(program, body=_Scopes().body(program.body))


CSE = Pass("cse", share_common_ops)
