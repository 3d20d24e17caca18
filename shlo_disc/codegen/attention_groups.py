"""Which groups of a fusion plan are attention together."""

from __future__ import annotations

from collections.abc import Collection

from shlo_disc.analysis.formula import Producers
from shlo_disc.codegen.attention import attention_refusal
from shlo_disc.codegen.groups import Decision, FusionPlan, Group, GroupKind
from shlo_disc.codegen.op_graph import group_inputs
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.expr.facts import Facts


def merge_attention(plan: FusionPlan, body: Body, facts: Facts, producers: Producers) -> FusionPlan:
    """Make one group of a product, the softmax of its rows, and the product that alone reads the softmax."""
    merger = _Merger(plan, body, facts, producers)
    return merger.run()


class _Merger:
    def __init__(self, plan: FusionPlan, body: Body, facts: Facts, producers: Producers) -> None:
        self.plan, self.facts, self.producers = plan, facts, producers
        self.order = {op: k for k, op in enumerate(body.ops)}
        self.outputs = set(body.results)
        self.home = {t: group for group in plan.groups for t in group.roots}
        self.inputs = {id(group): group_inputs(group, producers) for group in plan.groups}
        self.readers = dict[Tensor, list[Group]]()
        for group in plan.groups:
            for tensor in self.inputs[id(group)]:
                if tensor in self.home and self.home[tensor] is not group:
                    self.readers.setdefault(tensor, []).append(group)
        self.decisions = list[Decision]()

    def run(self) -> FusionPlan:
        merged, gone = dict[int, Group](), set[int]()
        for group in self.plan.groups:
            for chain in self._chains(group):
                if gone.intersection(map(id, chain)):
                    continue
                whole = self._merge(chain)
                if whole is not None:
                    gone.update(id(part) for part in chain)
                    merged[id(group)] = whole
                    break
        groups = [merged.get(id(g), g) for g in self.plan.groups if id(g) in merged or id(g) not in gone]
        before = [d for d in self.plan.decisions if self._keep_decision(d, merged.values())]
        return FusionPlan(tuple(groups), (*before, *self.decisions))

    def _chains(self, last: Group) -> list[tuple[Group, ...]]:
        """First product, groups of rows with two reductions in all, and this product: whatever could be attention."""
        if last.kind is not GroupKind.DOT:
            return []
        chains = list[tuple[Group, ...]]()
        for middle in self._below(last, GroupKind.ROWS):
            for first in self._below(middle, GroupKind.DOT):
                rows = [g for root in first.roots for g in self.readers.get(root, []) if g.kind is GroupKind.ROWS]
                between = tuple(dict.fromkeys((*rows, middle)))
                reduces = [op for g in between for op in g.ops if isinstance(op.attrs, ReduceAttrs)]
                if len(reduces) == 2 and any(_takes_maximum(op) for op in reduces):
                    chains.append((first, *between, last))
        return chains

    def _below(self, group: Group, kind: GroupKind) -> list[Group]:
        homes = [self.home[t] for t in self.inputs[id(group)] if t in self.home]
        return list({id(g): g for g in homes if g is not group and g.kind is kind}.values())

    def _merge(self, chain: tuple[Group, ...]) -> Group | None:
        first, last = chain[0], chain[-1]
        ops = sorted({op for group in chain for op in group.ops}, key=self.order.__getitem__)
        whole = Group(GroupKind.ATTENTION, tuple(ops), last.roots, None, last.anchor)
        reason = self._stored(chain) or attention_refusal(whole, self.facts, self.producers)
        producer: Op[object] | None = first.anchor
        assert producer is not None, "a product has its op"
        self.decisions.append(
            Decision(producer, last.roots[0].name, not reason, reason or "attention: the scores are never stored")
        )
        return None if reason else whole

    def _keep_decision(self, decision: Decision, wholes: Collection[Group]) -> bool:
        """Whether a refusal still matters: a merge of both sides has made some pointless."""
        return decision.merged or not any(
            decision.producer in whole.ops and decision.consumer == whole.roots[0].name for whole in wholes
        )

    def _stored(self, chain: tuple[Group, ...]) -> str:
        """Why a result in between needs memory anyway."""
        inside = {id(group) for group in chain}
        for group in chain[:-1]:
            for root in group.roots:
                if root in self.outputs:
                    return f"no attention: %{root.name} is a result of the program"
                if any(id(reader) not in inside for reader in self.readers.get(root, [])):
                    return f"no attention: %{root.name} is read by another group too"
        return ""


def _takes_maximum(op: Op[object]) -> bool:
    """Whether a reduction looks like a maximum: otherwise nobody would expect attention here."""
    return any(inner.name == "maximum" for body in op.bodies for inner in body.ops)
