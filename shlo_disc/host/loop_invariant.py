"""Loop-invariant buffers: arguments and constants, and in a loop what is made before it."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.dynamic_ops import control
from shlo_disc.dynamic_ops.program import Body, Program, Tensor
from shlo_disc.kernels.groups import Group


class LoopInvariant:
    """Which of the tensors that groups of a program read are loop-invariant."""

    def __init__(self, program: Program) -> None:
        self._given = {p.tensor for p in program.parameters}.union(program.constants)
        self._depths = dict[Tensor, int]()
        _number(program.body, 0, self._depths)

    def among(self, tensors: Sequence[Tensor], group: Group) -> Sequence[bool]:
        """Which of the tensors that a group reads are loop-invariant where it runs."""
        depth = self._depths[group.roots[0]]
        return [t in self._given or self._depths.get(t, depth) < depth for t in tensors]


def _number(body: Body, depth: int, found: dict[Tensor, int]) -> None:
    """Record inside how many loops each tensor is computed."""
    found.update(dict.fromkeys(body.arguments, depth))
    for op in body.ops:
        found.update(dict.fromkeys(op.results, depth))
        for inner in op.bodies:
            _number(inner, depth + control.WHILE.defines(op), found)
