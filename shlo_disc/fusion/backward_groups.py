"""Finds groups of a fusion plan that together are attention and its backward pass.

Both passes read the scores. The forward pass becomes attention as in a program without gradients, and everything else
becomes one kernel that recomputes the scores. That kernel stores those intermediate values that other groups read, such
as the gradient of a bias.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.formula import Formulas
from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.fusion.plan_view import PlanView, is_mask
from shlo_disc.kernels.attention.backward import read_backward
from shlo_disc.kernels.attention.forward import read_attention
from shlo_disc.kernels.attention.score_dims import Scores
from shlo_disc.kernels.groups import Context, Decision, FusionPlan, Group, GroupKind
from shlo_disc.kernels.op_graph import all_operands, users_of
from shlo_disc.kernels.softmax import GREATEST, reduction_name
from shlo_disc.kernels.verify_kernel import read_and_written
from shlo_disc.records import record


def merge_backward(plan: FusionPlan, body: Body, context: Context) -> FusionPlan:
    """Merge attention and its gradients into two groups, wherever both are found."""
    decisions, known = list[Decision](), set[Op[object]]()
    while True:
        merger = _BackwardMerger(PlanView(plan, body, context), context)
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
        if not isinstance(found, _FoundBackward):
            return FusionPlan(plan.groups, (*plan.decisions, *decisions))
        decisions.append(Decision(found.scores, found.backward.roots[0].name, merged=True, reason=found.reason))
        plan = FusionPlan(merger.replaced(found), plan.decisions)


WAITS = "no attention: one gradient needs another one"


@record
class _FoundBackward:
    """The two groups, the groups that they replace (`gone`), and what is left of these (`apart`).

    `stored`: intermediate tensors that others read. A program that returns gradients alone may have no forward pass.
    """

    scores: Op[object]
    forward: Group | None
    backward: Group
    stored: tuple[Tensor, ...]
    gone: tuple[Group, ...]
    apart: tuple[Group, ...]

    @property
    def reason(self) -> str:
        """The merge's reason in reports."""
        stored = ", ".join(f"%{tensor.name}" for tensor in self.stored)
        rest = f"of what is between the products, {stored} alone is stored" if stored else "and never stored"
        return f"attention and its backward pass: the scores are computed twice, {rest}"


@record
class _ScoreRegion:
    """`tensors` depend on the scores, `ends` multiply them; `inner` groups compute them and the gradients of weights.

    `stored` are the tensors that others read. An inner group may also compute something else from stored tensors.
    """

    tensors: set[Tensor]
    stored: tuple[Tensor, ...]
    ends: tuple[Group, ...]
    anchors: tuple[Op[object], ...]
    inner: tuple[Group, ...]


class _BackwardMerger:
    def __init__(self, view: PlanView, context: Context) -> None:
        assert context.abilities.attention is not None, "the target has a kernel for attention"
        self.view, self.ability = view, context.abilities.attention
        self.users = users_of(view.body)
        self.member = {op: group for group in view.groups for op in group.ops}
        self.copies = dict[Op[object], list[Group]]()
        for group in view.groups:
            for op in group.ops:
                self.copies.setdefault(op, []).append(group)
        self.formulas = Formulas(context.facts, context.producers, lambda t: t in context.producers)

    def find(self, first: Group) -> _FoundBackward | str | None:
        """Both groups around the product `first`; the reason if there are none, or None if it is no candidate."""
        readers = [g for root in first.roots for g in self.view.readers.get(root, []) if g.kind is GroupKind.ROWS]
        if not any(self._is_maximum(op) for group in readers for op in group.ops):
            return None
        found = self._around(first, also=True)
        return self._around(first, also=False) if found == WAITS else found

    def _around(self, first: Group, *, also: bool) -> _FoundBackward | str | None:
        """See `find`; `also`: include ops on scores even if only other groups need their results."""
        region = self._region(first, also=also)
        if region is None or len(region.ends) < 2:
            return None
        for last, op in zip(region.ends, region.anchors, strict=True):
            forward = self._forward(last, op, region)
            if not isinstance(forward, str):
                return self._backward(first, region, last, forward)
        return self._backward(first, region, None, None)

    def _is_maximum(self, op: Op[object]) -> bool:
        return isinstance(op.attrs, ReduceAttrs) and reduction_name(self.formulas, op) == GREATEST

    def _region(self, first: Group, *, also: bool) -> _ScoreRegion | None:
        """Everything that depends on the scores up to the next products, and the gradient products that it reads."""
        assert first.anchor is not None, "a product has its op"
        ops, anchors, readers = self._reached(first.anchor)
        if not also:
            makers = {t: op for op in ops for t in op.results}
            needed = self.view.needed([t for op in anchors for t in op.operands], makers, frozenset())
            readers += [op for op in ops if op not in needed]
            ops = list(needed)
        groups = [self.member[op] for op in anchors]
        inner = {id(group): group for group in (first, *(self.member[op] for op in ops if op in self.member))}
        if len({id(g) for g in groups}) < len(anchors) or any(id(g) in inner for g in groups):
            return None
        ends = set(map(id, groups))
        inner |= {id(g): g for op in ops for g in self.copies.get(op, ()) if id(g) not in ends}
        inside = {*inner, *ends}
        for group in list(inner.values()):
            for below in self._below(group):
                is_read_here = _is_product(below) and not self.view.stored(below, inside)
                is_gradient = is_read_here and group.kind is GroupKind.ROWS  # others are operands of products
                if id(below) not in inside and (is_gradient or is_mask(below)):
                    inner[id(below)] = below
        tensors = {t for op in (first.anchor, *ops) for t in op.results}
        stored = [self._base(t, tensors) for op in readers for t in all_operands(op) if t in tensors]
        stored += [t for t in self.view.body.results if t in tensors]
        return _ScoreRegion(tensors, tuple(dict.fromkeys(stored)), tuple(groups), tuple(anchors), tuple(inner.values()))

    def _reached(self, product: Op[object]) -> tuple[list[Op[object]], list[Op[object]], list[Op[object]]]:
        """Ops with one number per score, or per row of them; products of these; and what else reads them."""
        ops, products, others = list[Op[object]](), list[Op[object]](), list[Op[object]]()
        scores = Scores(product, self.view.facts, self.view.producers)
        waiting, seen = list[int](), set[Op[object]]()

        def push(tensors: Sequence[Tensor]) -> None:
            for op in {op for t in tensors for op in self.users.get(t, []) if op not in seen}:
                seen.add(op)
                heappush(waiting, self.view.order[op])

        push(product.results)
        while waiting:
            op = self.view.body.ops[heappop(waiting)]
            if isinstance(op.attrs, DotAttrs):
                products.append(op)
            elif definition(op).element is None or self._is_taken(op) or not scores.extend(op):
                others.append(op)
            else:
                ops.append(op)
                push(op.results)
        return ops, products, others

    def _is_taken(self, op: Op[object]) -> bool:
        """Whether an op belongs to a group that takes no other ops, such as the gradients of another layer."""
        return op in self.member and self.member[op].kind not in (GroupKind.ROWS, GroupKind.DOT)

    def _base(self, tensor: Tensor, tensors: Collection[Tensor]) -> Tensor:
        """The base of a view within `tensors`."""
        while is_free(op := self.view.producers[tensor][0]) and op.operands[0] in tensors:
            tensor = op.operands[0]
        return tensor

    def _below(self, group: Group) -> list[Group]:
        homes = [self.view.home[t] for t in self.view.inputs[id(group)] if t in self.view.home]
        return list({id(g): g for g in homes}.values())

    def _forward(self, last: Group, op: Op[object], region: _ScoreRegion) -> Group | str:
        """The group that computes attention's result, or the reason why there is none."""
        makers = {t: op for group in (*region.inner, last) for op in group.ops for t in op.results}
        ops = self.view.needed(last.roots, makers, frozenset())
        forward = Group(GroupKind.ATTENTION, ops, last.roots, None, op)
        built = read_attention(forward, self.view.facts, self.view.producers)
        if isinstance(built, str):
            return built
        kernel, tensors = built
        return self._refusal(kernel.q.dtype, (kernel.depth, kernel.width), tensors, forward) or forward

    def _backward(
        self, first: Group, region: _ScoreRegion, last: Group | None, forward: Group | None
    ) -> _FoundBackward | str:
        """The group that computes all gradients, or a reason; `last` ends the forward pass, if there is one."""
        assert first.anchor is not None, "a product has its op"
        parts = tuple(
            replace(group, anchor=op)
            for group, op in zip(region.ends, region.anchors, strict=True)
            if group is not last
        )
        makers = {t: op for group in (*region.inner, *parts) for op in group.ops for t in op.results}
        parts, after = self._cut(parts, region)
        roots = (*(root for part in parts for root in part.roots), *region.stored)
        ops = self.view.needed(roots, makers, frozenset())
        parts = tuple(replace(part, ops=tuple(op for op in part.ops if op in ops)) for part in parts)
        backward = Group(GroupKind.ATTENTION_BACKWARD, ops, roots, None, first.anchor, parts)
        built = read_backward(backward, self.view.facts, self.view.producers)
        if isinstance(built, str):
            return f"no attention, as for its backward pass {built}"
        kernel, tensors = built
        if read_and_written(kernel):
            return WAITS
        widths = (kernel.depth, kernel.width, *(one.column.extent.constant or 0 for one in kernel.products))
        if reason := self._refusal(kernel.q.dtype, widths, tensors, backward):
            return reason
        gone = (*region.inner, *region.ends)
        apart = (*self._apart(region, gone), *after)
        made = (*apart, backward, *([] if forward is None else [forward]))
        if lost := self._lost(gone, apart, made):
            return f"no attention: %{lost} is read by another group too"
        if self._waits_for(backward, made):
            return WAITS
        return _FoundBackward(first.anchor, forward, backward, region.stored, gone, apart)

    def _cut(self, parts: Sequence[Group], region: _ScoreRegion) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
        """Cut from epilogues what reads another result of the launch; return them, and the ops cut off as groups.

        Such a result is complete only after the launch. This occurs where queries are also keys or values: their
        gradients are added.
        """
        made = {root for part in parts for root in part.roots}.union(region.stored)
        made.update(t for part in parts if part.anchor is not None for t in part.anchor.results)
        kept, after = list[Group](), list[Group]()
        for part in parts:
            assert part.anchor is not None, "a product has its op"
            others, late = made.difference(t for op in part.ops for t in op.results), list[Op[object]]()
            for op in part.ops:
                if not others.isdisjoint(self.view.read_by(replace(part, ops=(op,)))):
                    late.append(op)
                    others.update(op.results)
            if part.anchor in late or not late:
                kept.append(part)
                continue
            ops = tuple(op for op in part.ops if op not in late)
            read = {*part.roots, *self.view.read_by(replace(part, ops=tuple(late)))}
            roots = tuple(t for op in ops for t in op.results if t in read)
            follows = {t for op in late for t in op.results}
            kept.append(replace(part, ops=ops, roots=roots))
            after.append(Group(GroupKind.ROWS, tuple(late), tuple(t for t in part.roots if t in follows), None, None))
        return tuple(kept), tuple(after)

    def _refusal(self, dtype: object, widths: Sequence[int], tensors: Sequence[Tensor], group: Group) -> str:
        """Why a target cannot compute this from what is in memory; empty if it can."""
        if dtype not in self.ability.backward:
            known = ", ".join(sorted(one.value for one in self.ability.backward))
            return f"its operands are none of {known}"
        if max(widths) > self.ability.width:
            return f"queries or values are {max(widths)} wide, more than {self.ability.width}"
        made = {t for op in group.ops for t in op.results} - set(group.roots)
        lost = [t.name for t in tensors if t in made]
        return (
            f"no attention: %{lost[0]} is not stored"
            if lost
            else self.view.absent(t for t in tensors if t not in group.roots)
        )

    def _lost(self, gone: Sequence[Group], apart: Sequence[Group], made: Sequence[Group]) -> str:
        """The name of a tensor that groups read but none stores any more; empty if there is none."""
        lost = {root for group in gone for root in group.roots} - {root for group in made for root in group.roots}
        return next((t.name for group in apart for t in self.view.read_by(group) if t in lost), "")

    def _waits_for(self, backward: Group, made: Sequence[Group]) -> bool:
        """Whether the inputs of the backward group depend on its results."""
        reads = {root: self.view.read_by(group) for group in made for root in group.roots}
        stack = [t for t in self.view.read_by(backward) if t in self.view.home]  # others are views of what it computes
        seen = set[Tensor]()
        while stack:
            tensor = stack.pop()
            if tensor in backward.roots:
                return True
            if tensor in seen or tensor not in self.view.producers:
                continue
            seen.add(tensor)
            home = self.view.home.get(tensor)
            if tensor in reads:
                stack += reads[tensor]
            elif home is None:
                stack += self.view.producers[tensor][0].operands
            else:
                stack += self.view.inputs[id(home)]
        return False

    def _apart(self, region: _ScoreRegion, gone: Sequence[Group]) -> list[Group]:
        """What is left of the inner groups: masks that others read, and what reads stored tensors."""
        inside, found = {id(group) for group in gone}, list[Group]()
        for group in region.inner:
            makers, roots = {t: op for op in group.ops for t in op.results}, list[Tensor]()
            for root in group.roots:
                others = [g for g in self.view.readers.get(root, []) if id(g) not in inside]
                follows = not region.tensors.isdisjoint(self._needed_by((root,), makers, region)[1])
                if root not in region.tensors and (others or root in self.view.outputs or follows):
                    roots.append(root)
            if tuple(roots) == group.roots:
                found.append(replace(group, ops=self._needed_by(roots, makers, region)[0]))
                continue
            for root in roots:
                ops = self._needed_by((root,), makers, region)[0]
                rows = group.rows if any(isinstance(op.attrs, ReduceAttrs) for op in ops) else None
                found.append(Group(GroupKind.ROWS, ops, (root,), rows, None))
        return found

    def _needed_by(
        self, roots: Sequence[Tensor], makers: Mapping[Tensor, Op[object]], region: _ScoreRegion
    ) -> tuple[tuple[Op[object], ...], tuple[Tensor, ...]]:
        """The ops among `makers` that compute `roots` from what is stored, and what they read."""
        ops = self.view.needed(roots, makers, frozenset(region.stored))
        return ops, self.view.read_by(Group(GroupKind.ROWS, ops, tuple(roots), None, None))

    def replaced(self, found: _FoundBackward) -> tuple[Group, ...]:
        """All groups, in a legal order of execution."""
        gone = {id(group) for group in found.gone}
        rest = [group for group in self.view.groups if id(group) not in gone]
        made = (found.backward,) if found.forward is None else (found.forward, found.backward)
        return _sorted((*rest, *found.apart, *made), self.view)


def _is_product(group: Group) -> bool:
    return sum(isinstance(op.attrs, DotAttrs) for op in group.ops) == 1


def _sorted(groups: Sequence[Group], view: PlanView) -> tuple[Group, ...]:
    """Groups in the order of their last ops, or earlier if others read them."""
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
