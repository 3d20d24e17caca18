"""A view of a fusion plan for its rewriters: the readers of tensors, and what is in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shlo_disc.analysis.access import is_free
from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.kernels.groups import Context, FusionPlan, Group, GroupKind
from shlo_disc.kernels.op_graph import group_inputs


class PlanView:
    """`home`: the group that stores a tensor; `inputs` of a group, by its id; `readers` of a tensor: other groups."""

    def __init__(self, plan: FusionPlan, body: Body, context: Context) -> None:
        self.groups, self.body = plan.groups, body
        self.facts, self.producers = context.facts, context.producers
        self.order = {op: k for k, op in enumerate(body.ops)}
        self.outputs = set(body.results)
        self.home = {t: group for group in plan.groups for t in group.roots}
        self.inputs = {id(group): self.read_by(group) for group in plan.groups}
        self.readers = dict[Tensor, list[Group]]()
        for group in plan.groups:
            for tensor in self.inputs[id(group)]:
                if tensor in self.home and self.home[tensor] is not group:
                    self.readers.setdefault(tensor, []).append(group)

    def read_by(self, group: Group) -> tuple[Tensor, ...]:
        """Everything that a group may read from memory."""
        return group_inputs(group, self.producers)

    def below(self, group: Group, kind: GroupKind) -> list[Group]:
        """The groups of a kind that a group reads."""
        homes = [self.home[t] for t in self.inputs[id(group)] if t in self.home]
        return list({id(g): g for g in homes if g is not group and g.kind is kind}.values())

    def needed(
        self, roots: Iterable[Tensor], makers: Mapping[Tensor, Op[object]], stored: frozenset[Tensor]
    ) -> tuple[Op[object], ...]:
        """The ops among `makers` on which `roots` depend; `stored` tensors are read, not computed."""
        found, stack = set[Op[object]](), list(roots)
        seen = set(stored)
        while stack:
            tensor = stack.pop()
            op = makers.get(tensor) or (self.producers[tensor][0] if tensor in self.producers else None)
            if tensor in seen or op is None or not (tensor in makers or is_free(op)):
                continue
            seen.add(tensor)
            stack.extend(op.operands)
            if tensor in makers:
                found.add(op)
        return tuple(sorted(found, key=self.order.__getitem__))

    def stored(self, group: Group, inside: set[int]) -> str:
        """Why a result of a group must be stored: something outside of `inside` reads it. Empty if it need not be."""
        for root in group.roots:
            if root in self.outputs:
                return f"no attention: %{root.name} is a result of the program"
            if any(id(reader) not in inside for reader in self.readers.get(root, [])):
                return f"no attention: %{root.name} is read by another group too"
        return ""

    def absent(self, tensors: Iterable[Tensor]) -> str:
        """Why a kernel cannot read some tensors from memory; empty if it can."""
        made = [t for t in tensors if t in self.producers and self.producers[t][0] in self.order]
        names = [t.name for t in made if t not in self.home]
        return f"no attention: %{names[0]} is not in memory" if names else ""


def is_mask(group: Group) -> bool:
    """Whether a group stores only masks, which are cheap to recompute; a kernel that does so skips hidden blocks."""
    sums = any(isinstance(op.attrs, ReduceAttrs | DotAttrs) for op in group.ops)
    return group.kind is GroupKind.ROWS and not sums and all(root.dtype.is_bool for root in group.roots)
