"""Which groups of a fusion plan are attention together."""

from __future__ import annotations

from collections.abc import Collection

from shlo_disc.analysis.access import is_free
from shlo_disc.codegen.attention import read_attention
from shlo_disc.codegen.groups import Context, Decision, FusionPlan, Group, GroupKind
from shlo_disc.codegen.op_graph import group_inputs
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs


def merge_attention(plan: FusionPlan, body: Body, context: Context) -> FusionPlan:
    """Make one group of a product, the softmax of its rows, and the product that alone reads the softmax."""
    merger = _Merger(plan, body, context)
    return merger.run()


class _Merger:
    def __init__(self, plan: FusionPlan, body: Body, context: Context) -> None:
        self.plan, self.facts, self.producers = plan, context.facts, context.producers
        self.order = {op: k for k, op in enumerate(body.ops)}
        self.outputs = set(body.results)
        self.home = {t: group for group in plan.groups for t in group.roots}
        self.inputs = {id(group): group_inputs(group, context.producers) for group in plan.groups}
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
                found = self._merge(chain)
                if found is not None:
                    merged[id(group)], parts = found
                    gone.update(id(part) for part in parts)
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

    def _merge(self, chain: tuple[Group, ...]) -> tuple[Group, tuple[Group, ...]] | None:
        """The group that stands for a chain, if need be with copies of its operands, and for which parts it does."""
        last = chain[-1]
        reason, producer = self._stored(chain), chain[0].anchor
        assert producer is not None, "a product has its op"
        found = None
        for parts in ((*self._copies(chain), *chain), chain) if not reason else ():
            ops = sorted({op for group in parts for op in group.ops}, key=self.order.__getitem__)
            whole = Group(GroupKind.ATTENTION, tuple(ops), last.roots, None, last.anchor)
            if not (reason := self._refusal(whole)):
                found = whole, parts
                break
        self.decisions.append(
            Decision(producer, last.roots[0].name, not reason, reason or "attention: the scores are never stored")
        )
        return found

    def _refusal(self, whole: Group) -> str:
        """Why these ops are not attention that reads what is in memory."""
        built = read_attention(whole, self.facts, self.producers)
        if isinstance(built, str):
            return built
        made = [t for t in built[1] if t in self.producers and self.producers[t][0] in self.order]
        absent = [t.name for t in made if t not in self.home]
        return f"no attention: %{absent[0]} is not in memory" if absent else ""

    def _copies(self, chain: tuple[Group, ...]) -> tuple[Group, ...]:
        """Groups that only bring queries, keys or values into another form for these products."""
        below = [g for group in (chain[0], chain[-1]) for g in self._below(group, GroupKind.ROWS) if g not in chain]
        free = [g for g in dict.fromkeys(below) if all(map(is_free, g.ops))]
        return tuple(g for g in free if not self._stored((g, *chain)))

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
