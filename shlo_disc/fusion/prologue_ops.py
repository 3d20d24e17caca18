"""Which ops a prologue may take along: what computes a result of a row group, and what is left of that group."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from shlo_disc.analysis.access import is_free
from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import product
from shlo_disc.kernels.groups import Context, Group, GroupKind
from shlo_disc.kernels.op_cost import LOOP, element_cost
from shlo_disc.kernels.op_graph import group_inputs
from shlo_disc.kernels.panels import computed_operands
from shlo_disc.kernels.row_spaces import leading, rows_of
from shlo_disc.kernels.scatter import reads_before_overwriting

COSTLY = 4  # cost of an element from which a broadcast value is stored rather than recomputed by every reader
READERS = frozenset({GroupKind.DOT, GroupKind.SCATTER})  # which may have a prologue


class PrologueOps:
    """The ops of one body, and the groups that there are with some of them moved."""

    def __init__(self, body: Body, context: Context) -> None:
        self._order = {op: k for k, op in enumerate(body.ops)}
        self._arguments, self._context = set(body.arguments), context

    def in_order(self, ops: Iterable[Op[object]]) -> tuple[Op[object], ...]:
        """Ops in the order of the body."""
        return tuple(sorted(ops, key=self._order.__getitem__))

    def is_operand(self, tensor: Tensor, group: Group) -> bool:
        """Whether a group reads `tensor`, or a view of it, only as operands that a prologue may compute."""
        if group.kind not in READERS or group.anchor is None:
            return False
        alone = replace(group, ops=(self._context.producers[tensor][0], group.anchor))
        flags = computed_operands(alone, self._context.producers)
        first = len(flags) // 2 if group.kind is GroupKind.SCATTER else 0
        return any(flags[first:]) and not any(flags[:first])

    def closure(self, root: Tensor, group: Group, in_memory: Collection[Tensor]) -> tuple[Op[object], ...]:
        """The ops that compute `root` from what is stored, or will be."""
        inside, producers = set(group.ops), self._context.producers
        summed = self._after_reductions(group)
        found, stack = dict[Op[object], None](), [root]
        while stack:
            tensor = stack.pop()
            if tensor in in_memory or (made := producers.get(tensor)) is None:
                continue
            op = made[0]
            if op in inside and op not in found:
                if definition(op).template is not Template.ELEMENT or element_cost(op) >= LOOP:
                    continue
                fewer = tensor is not root and product(tensor.shape) != product(root.shape)
                if fewer and (op in summed or element_cost(op) >= COSTLY):
                    continue
                found[op] = None
            elif op in found or not is_free(op):
                continue
            stack.extend(op.operands)
        return self.in_order(found)

    def _after_reductions(self, group: Group) -> set[Op[object]]:
        """The ops of a group that depend on one of its reductions."""
        found, producers = set[Op[object]](), self._context.producers

        def needs(tensor: Tensor) -> bool:
            made = producers.get(tensor)
            if made is None or not (made[0] in group.ops or is_free(made[0])):
                return False
            return made[0] in found or (made[0] not in group.ops and any(map(needs, made[0].operands)))

        for op in group.ops:
            if isinstance(op.attrs, ReduceAttrs) or any(map(needs, op.operands)):
                found.add(op)
        return found

    def joined(self, group: Group, moved: Iterable[Op[object]]) -> Group:
        """A group with the moved ops."""
        return replace(group, ops=self.in_order({*group.ops, *moved}))

    def operands_in_memory(self, readers: Iterable[Group]) -> set[Tensor]:
        """The operands that scatters copy, looking through free ops: they are stored whoever else reads them."""
        anchors = [op for group in readers if group.kind is GroupKind.SCATTER and (op := group.anchor)]
        stack = [t for op in anchors for t in op.operands[: len(op.operands) // 2]]
        found = set[Tensor]()
        while stack:
            tensor = stack.pop()
            found.add(tensor)
            made = self._context.producers.get(tensor)
            if made is not None and is_free(made[0]):
                stack.extend(made[0].operands)
        return found

    def overwrites(self, group: Group, moved: Sequence[Op[object]]) -> bool:
        """Whether moved ops would read an operand of a scatter after the scatter has overwritten it in place.

        An argument counts even if no call donates it: donation must not change what is fused, and so the order of sums.
        """
        if group.kind is not GroupKind.SCATTER or group.anchor is None:
            return False
        operands = group.anchor.operands[: len(group.anchor.operands) // 2]
        own = {x for x in operands if x in self._arguments or x in self._context.producers}
        reads = group_inputs(Group(GroupKind.ROWS, tuple(moved), (), None, None), self._context.producers)
        if own.isdisjoint(reads):
            return False
        return not reads_before_overwriting(self.joined(group, moved), self._context.facts, self._context.producers)

    def read_of(self, group: Group, moved: Sequence[Op[object]]) -> list[Tensor]:
        """What the moved ops read of the row group that they leave."""
        inside = {t for op in group.ops if op not in moved for t in op.results}
        alone = replace(group, ops=tuple(moved))
        return [t for t in group_inputs(alone, self._context.producers) if t in inside]

    def without(self, root: Tensor, group: Group, stored: Sequence[Tensor]) -> Group | None:
        """What is left of a row group without `root`: its other results, and what it has to store from now on."""
        roots = tuple(dict.fromkeys((*(t for t in group.roots if t is not root), *stored)))
        if not roots:
            return None
        needed, stack, producers = set[Op[object]](), list(roots), self._context.producers
        while stack:
            if (made := producers.get(stack.pop())) is None or made[0] in needed:
                continue
            if made[0] in group.ops:
                needed.add(made[0])
            elif not is_free(made[0]):
                continue
            stack.extend(made[0].operands)
        ops = tuple(op for op in group.ops if op in needed)
        reduces = any(isinstance(op.attrs, ReduceAttrs) for op in ops)
        return replace(group, ops=ops, roots=roots, rows=group.rows if reduces else None)

    def has_common_rows(self, group: Group) -> bool:
        """Whether the results of a row group lie in one row space."""
        if group.rows is None:
            return all(root.shape == group.roots[0].shape for root in group.roots)
        facts = self._context.facts
        count = rows_of(group.rows, facts)
        return all(leading(root.shape, count, facts) is not None for root in group.roots)
