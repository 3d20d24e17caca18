"""Which groups of a fusion plan are attention and its backward pass together.

Scores are read by the forward pass and by the backward pass. If nobody else reads what lies between the products, the
forward pass becomes attention as in a program without gradients, and everything else one kernel that computes the
scores again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shlo_disc.analysis.formula import Formulas
from shlo_disc.codegen.attention import read_attention
from shlo_disc.codegen.attention_backward import read_backward
from shlo_disc.codegen.groups import Context, Decision, FusionPlan, Group, GroupKind
from shlo_disc.codegen.op_graph import users_of
from shlo_disc.codegen.plan_view import PlanView, is_mask
from shlo_disc.codegen.softmax import GREATEST, reduction_name
from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.registry import definition


def merge_backward(plan: FusionPlan, body: Body, context: Context) -> FusionPlan:
    """Make two groups of attention and its gradients, wherever both are found."""
    decisions, known = list[Decision](), set[Op[object]]()
    while True:
        merger = _Merger(PlanView(plan, body, context), context)
        found = None
        for group in plan.groups:
            if group.kind is not GroupKind.DOT or group.anchor is None or group.anchor in known:
                continue
            known.add(group.anchor)
            found = merger.find(group)
            if isinstance(found, str):
                decisions.append(Decision(group.anchor, group.roots[0].name, merged=False, reason=found))
            elif found is not None:
                break
        if not isinstance(found, _Found):
            return FusionPlan(plan.groups, (*plan.decisions, *decisions))
        decisions.append(Decision(found.scores, found.backward.roots[0].name, merged=True, reason=REASON))
        plan = FusionPlan(merger.replaced(found), plan.decisions)


REASON = "attention and its backward pass: the scores are computed twice, and never stored"


@dataclass(frozen=True, slots=True)
class _Found:
    """Both groups, those that they replace, and what these stored for others.

    Programs whose results are gradients alone may have no forward pass.
    """

    scores: Op[object]
    forward: Group | None
    backward: Group
    gone: tuple[Group, ...]
    apart: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class _Region:
    """`tensors` depend on the scores, `ends` multiply them; `inner` groups make them, from the `second` product too."""

    tensors: set[Tensor]
    ends: tuple[Group, ...]
    anchors: tuple[Op[object], ...]
    inner: tuple[Group, ...]


class _Merger:
    def __init__(self, view: PlanView, context: Context) -> None:
        assert context.abilities.attention is not None, "the target has a kernel for attention"
        self.view, self.ability = view, context.abilities.attention
        self.users = users_of(view.body)
        self.member = {op: group for group in view.groups for op in group.ops}
        self.formulas = Formulas(context.facts, context.producers, lambda t: t in context.producers)

    def find(self, first: Group) -> _Found | str | None:
        """Both groups around the product `first`; why there are none, or None if nobody would expect them."""
        readers = [g for root in first.roots for g in self.view.readers.get(root, []) if g.kind is GroupKind.ROWS]
        if not any(self._is_maximum(op) for group in readers for op in group.ops):
            return None
        region = self._region(first)
        if region is None or len(region.ends) < 2:
            return None
        if reason := self._stored(first, region):
            return reason
        for last, op in zip(region.ends, region.anchors, strict=True):
            forward = self._forward(last, op, region)
            if not isinstance(forward, str):
                return self._backward(first, region, last, forward)
        return self._backward(first, region, None, None)

    def _is_maximum(self, op: Op[object]) -> bool:
        return isinstance(op.attrs, ReduceAttrs) and reduction_name(self.formulas, op) == GREATEST

    def _region(self, first: Group) -> _Region | None:
        """Everything that depends on the scores up to the next products, and the gradients that it meets."""
        assert first.anchor is not None, "a product has its op"
        tensors, stack, ends = set(first.anchor.results), list(first.anchor.results), list[Op[object]]()
        inner = {id(first): first}
        while stack:
            for op in self.users.get(stack.pop(), []):
                if isinstance(op.attrs, DotAttrs):
                    ends += [op] if op not in ends else []
                    continue
                if definition(op).element is None:
                    return None
                if op in self.member:
                    inner[id(self.member[op])] = self.member[op]
                stack += [t for t in op.results if t not in tensors]
                tensors.update(op.results)
        ends.sort(key=self.view.order.__getitem__)
        groups = [self.member[op] for op in ends]
        if len({id(g) for g in groups}) < len(ends) or any(id(g) in inner for g in groups):
            return None
        inside = {*inner, *map(id, groups)}
        for group in list(inner.values()):
            for below in self._below(group):
                is_read_here = _is_product(below) and not self.view.stored(below, inside)
                is_gradient = is_read_here and group.kind is GroupKind.ROWS  # others are operands of products
                if id(below) not in inside and (is_gradient or is_mask(below)):
                    inner[id(below)] = below
        return _Region(tensors, tuple(groups), tuple(ends), tuple(inner.values()))

    def _below(self, group: Group) -> list[Group]:
        homes = [self.view.home[t] for t in self.view.inputs[id(group)] if t in self.view.home]
        return list({id(g): g for g in homes}.values())

    def _stored(self, first: Group, region: _Region) -> str:
        """Why scores, or what is made of them, are needed in memory."""
        inside = {id(group) for group in (*region.inner, *region.ends)}
        for group in region.inner:
            roots = tuple(root for root in group.roots if root in region.tensors or group is first)
            if roots and (reason := self.view.stored(replace(group, roots=roots), inside)):
                return reason
        return ""

    def _forward(self, last: Group, op: Op[object], region: _Region) -> Group | str:
        """The group that computes attention's result."""
        makers = {t: op for group in (*region.inner, last) for op in group.ops for t in op.results}
        ops = self.view.needed(last.roots, makers, frozenset())
        forward = Group(GroupKind.ATTENTION, ops, last.roots, None, op)
        built = read_attention(forward, self.view.facts, self.view.producers)
        if isinstance(built, str):
            return built
        kernel, tensors = built
        return self._refusal(kernel.q.dtype, (kernel.depth, kernel.width), tensors, forward) or forward

    def _backward(self, first: Group, region: _Region, last: Group | None, forward: Group | None) -> _Found | str:
        """The group that computes all gradients; `last`: which ends the forward pass, if there is need of that."""
        assert first.anchor is not None, "a product has its op"
        parts = tuple(
            replace(group, anchor=op)
            for group, op in zip(region.ends, region.anchors, strict=True)
            if group is not last
        )
        makers = {t: op for group in (*region.inner, *parts) for op in group.ops for t in op.results}
        roots = tuple(root for part in parts for root in part.roots)
        ops = self.view.needed(roots, makers, frozenset())
        parts = tuple(replace(part, ops=tuple(op for op in part.ops if op in ops)) for part in parts)
        backward = Group(GroupKind.ATTENTION_BACKWARD, ops, roots, None, first.anchor, parts)
        built = read_backward(backward, self.view.facts, self.view.producers)
        if isinstance(built, str):
            return f"no attention, as for its backward pass {built}"
        kernel, tensors = built
        widths = (kernel.depth, kernel.width, *(one.column.extent.constant or 0 for one in kernel.products))
        if reason := self._refusal(kernel.q.dtype, widths, tensors, backward):
            return reason
        gone = (*region.inner, *region.ends)
        if self._waits_for(backward, gone, forward):
            return "no attention: one gradient needs another one"
        return _Found(first.anchor, forward, backward, gone, tuple(self._apart(region, gone)))

    def _refusal(self, dtype: object, widths: Sequence[int], tensors: Sequence[Tensor], group: Group) -> str:
        """Why a target cannot compute this, or not from what is in memory."""
        if dtype not in self.ability.backward:
            known = ", ".join(sorted(one.value for one in self.ability.backward))
            return f"its operands are none of {known}"
        if max(widths) > self.ability.width:
            return f"queries or values are {max(widths)} wide, more than {self.ability.width}"
        made = {t for op in group.ops for t in op.results} - set(group.roots)
        lost = [t.name for t in tensors if t in made]
        return f"no attention: %{lost[0]} is not stored" if lost else self.view.absent(tensors)

    def _waits_for(self, backward: Group, gone: Sequence[Group], forward: Group | None) -> bool:
        """Whether what the gradients are made from needs some of them."""
        replaced = {id(group) for group in gone}
        inside = {t for op in backward.ops for t in op.results}
        stack = [t for op in backward.ops for t in op.operands if t not in inside]
        seen = set[Tensor]()
        while stack:
            tensor = stack.pop()
            if tensor in seen or tensor not in self.view.producers:
                continue
            seen.add(tensor)
            home = self.view.home.get(tensor)
            if home is None:
                stack += self.view.producers[tensor][0].operands
            elif forward is not None and tensor in forward.roots:
                made = {t for op in forward.ops for t in op.results}
                stack += [t for op in forward.ops for t in op.operands if t not in made]
            elif id(home) in replaced and tensor in backward.roots:
                return True
            else:
                stack += self.view.inputs[id(home)]
        return False

    def _apart(self, region: _Region, gone: Sequence[Group]) -> list[Group]:
        """What other groups read of these without need of the scores, as masks: a group for each."""
        inside, found = {id(group) for group in gone}, list[Group]()
        for group in region.inner:
            makers = {t: op for op in group.ops for t in op.results}
            for root in group.roots:
                others = [g for g in self.view.readers.get(root, []) if id(g) not in inside]
                if root not in region.tensors and (others or root in self.view.outputs):
                    ops = self.view.needed([root], makers, frozenset())
                    found.append(Group(GroupKind.ROWS, ops, (root,), None, None))
        return found

    def replaced(self, found: _Found) -> tuple[Group, ...]:
        """All groups, in an order in which they can run."""
        gone = {id(group) for group in found.gone}
        rest = [group for group in self.view.groups if id(group) not in gone]
        made = (found.backward,) if found.forward is None else (found.forward, found.backward)
        return _sorted((*rest, *found.apart, *made), self.view)


def _is_product(group: Group) -> bool:
    return sum(isinstance(op.attrs, DotAttrs) for op in group.ops) == 1


def _sorted(groups: Sequence[Group], view: PlanView) -> tuple[Group, ...]:
    """Groups in the order of their last ops, or sooner if others read them."""
    home = {t: group for group in groups for t in group.roots}
    found, done = list[Group](), set[int]()

    def add(group: Group) -> None:
        if id(group) in done:
            return
        done.add(id(group))
        for tensor in view.read_by(group):
            if tensor in home and home[tensor] is not group:
                add(home[tensor])
        found.append(group)

    for group in sorted(groups, key=lambda one: max((view.order.get(op, -1) for op in one.ops), default=-1)):
        add(group)
    return tuple(found)
