"""Keys of group structure: equal groups, as in the layers of a model, share one kernel.

The key of a group has everything that a kernel is made from: kind, rows, roots, and every op with its attributes, the
types of its results, its bodies, and the numbers of its operands, including the free ops through which they are read.
Tensors are numbered in the order of first use, so groups with equal keys differ only in the names of tensors.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.kernels.groups import Group, GroupKind
from shlo_disc.records import record


@record
class GroupStructure:
    """Groups with equal keys differ at most in their tensors, which correspond by position."""

    key: Hashable
    tensors: tuple[Tensor, ...]

    def renamed(self, tensors: tuple[Tensor, ...], other: GroupStructure) -> tuple[Tensor, ...]:
        """The tensors of `other`, a group with the same key, that correspond to some of this group."""
        named = dict(zip(self.tensors, other.tensors, strict=True))
        return tuple(named[t] for t in tensors)


def group_structure(group: Group, producers: Producers) -> GroupStructure:
    """The key of `group`, and its tensors in the order of their numbers."""
    walk = _TensorNumbering(producers)
    key = walk.group(group)
    return GroupStructure((key, tuple(walk.entries)), tuple(walk.numbers))


@dataclass(slots=True, eq=False)
class _TensorNumbering:
    """Numbers tensors in the order of first use; entries describe ops, and the types of tensors from outside."""

    producers: Producers
    numbers: dict[Tensor, int] = field(default_factory=dict[Tensor, int])
    entries: list[Hashable] = field(default_factory=list[Hashable])

    def group(self, group: Group) -> Hashable:
        if group.kind is GroupKind.PARALLEL:
            return (group.kind, *map(self.group, group.parts))
        inside = {t for op in group.ops for t in op.results}
        for op in group.ops:
            self._op(op, inside)
        roots = tuple(self.numbers[t] for t in group.roots)
        anchor = None if group.anchor is None else group.ops.index(group.anchor)
        parts = tuple(self._part(part, group) for part in group.parts)
        return group.kind, len(group.ops), roots, group.rows, anchor, parts

    def _part(self, part: Group, group: Group) -> Hashable:
        """A part by positions: its ops and roots within the group, and its anchor within the part."""
        ops = tuple(group.ops.index(op) for op in part.ops)
        anchor = None if part.anchor is None else part.ops.index(part.anchor)
        return ops, tuple(self.numbers[t] for t in part.roots), anchor

    def _op(self, op: Op[object], inside: set[Tensor]) -> None:
        operands = tuple(self._number(t, inside) for t in op.operands)
        bodies = tuple(self._body(body, inside) for body in op.bodies)
        self.entries.append((op.name, op.attrs, operands, bodies, tuple(map(_type, op.results))))
        for tensor in op.results:
            self.numbers[tensor] = len(self.numbers)

    def _number(self, tensor: Tensor, inside: set[Tensor]) -> int:
        if (known := self.numbers.get(tensor)) is not None:
            return known
        assert tensor not in inside, f"{tensor!r} is read before its op, so no group holds it"
        made = self.producers.get(tensor)
        if made is not None and is_free(made[0]):
            self._op(made[0], inside)
        else:
            self.entries.append(_type(tensor))
            self.numbers[tensor] = len(self.numbers)
        return self.numbers[tensor]

    def _body(self, body: Body, inside: set[Tensor]) -> Hashable:
        """A region; the tensors that it defines are numbered like all others."""
        arguments = tuple(map(_type, body.arguments))
        first = len(self.entries)
        for tensor in body.arguments:
            self.numbers[tensor] = len(self.numbers)
        for op in body.ops:
            self._op(op, inside)
        results = tuple(self._number(t, inside) for t in body.results)
        return arguments, len(self.entries) - first, results


def _type(tensor: Tensor) -> Hashable:
    return tensor.shape, tensor.dtype, tensor.bounds
