"""Finds groups of a fusion plan that together are attention."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import product

from shlo_disc.analysis.access import is_free
from shlo_disc.dynamic_ops.program import Body, Op
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.fusion.plan_view import PlanView, is_mask
from shlo_disc.kernels.attention.forward import read_attention
from shlo_disc.kernels.groups import Context, Decision, FusionPlan, Group, GroupKind
from shlo_disc.kernels.op_graph import group_inputs


def merge_attention(plan: FusionPlan, body: Body, context: Context) -> FusionPlan:
    """Merge a product, the softmax of its rows, and the only product that reads the softmax into one group."""
    merger = _AttentionMerger(plan, body, context)
    merged = merger.run()
    if not merger.split:
        return merged
    # the layers recompute a mask only if it is a group of its own, also the one that stored it for the others
    groups = [part for group in plan.groups for part in merger.split.get(id(group), (group,))]
    return merge_attention(replace(plan, groups=tuple(groups)), body, context)


class _AttentionMerger:
    def __init__(self, plan: FusionPlan, body: Body, context: Context) -> None:
        assert context.abilities.attention is not None, "the target has a kernel for attention"
        self.plan, self.view = plan, PlanView(plan, body, context)
        self.ability = context.abilities.attention
        self.decisions = list[Decision]()
        self.again = set[int]()  # ids of groups that merged kernels recompute
        self.split = dict[int, tuple[Group, ...]]()  # of merged groups, by id: masks stored for others, and the rest

    def run(self) -> FusionPlan:
        merged, gone = dict[int, Group](), set[int]()
        for group in self.plan.groups:
            for chain in self._chains(group):
                if gone.intersection(map(id, chain)):
                    continue
                found = self._merge(chain)
                if found is not None:
                    merged[id(group)], parts, split = found
                    gone.update(id(part) for part in parts)
                    self.split.update(split)
                    break
        kept = [group for group in self.plan.groups if id(group) in merged or id(group) not in gone]
        groups = [merged.get(id(group), group) for group in kept]
        before = [d for d in self.plan.decisions if self._keep_decision(d, merged.values())]
        return FusionPlan(self._read(groups), (*before, *self.decisions))

    def _read(self, groups: Sequence[Group]) -> tuple[Group, ...]:
        """All groups except recomputed ones that no group reads any more."""
        read = {t for group in groups for t in self.view.read_by(group)} | self.view.outputs
        return tuple(group for group in groups if id(group) not in self.again or not read.isdisjoint(group.roots))

    def _chains(self, last: Group) -> list[tuple[Group, ...]]:
        """Candidates that end in `last`: a first product, row groups with two reductions in all, and `last`."""
        if last.kind is not GroupKind.DOT:
            return []
        chains = list[tuple[Group, ...]]()
        for middle in self.view.below(last, GroupKind.ROWS):
            for first in self.view.below(middle, GroupKind.DOT):
                rows = [g for root in first.roots for g in self.view.readers.get(root, []) if g.kind is GroupKind.ROWS]
                between = tuple(dict.fromkeys((*rows, middle)))
                reduces = [op for g in between for op in g.ops if isinstance(op.attrs, ReduceAttrs)]
                if len(reduces) == 2 and any(_takes_maximum(op) for op in reduces):
                    chains.append((first, *between, last))
        return chains

    def _merge(self, chain: tuple[Group, ...]) -> tuple[Group, tuple[Group, ...], dict[int, tuple[Group, ...]]] | None:
        """Merge a chain; return its group, the groups it replaces, and those of them that were split, by id.

        The group also computes its masks, and copies of its operands in another layout, if the kernel can be built so.
        """
        last = chain[-1]
        inner, split = self._without_masks(chain)
        inside = {id(group) for group in (*chain, *inner)}
        reason, producer = self._stored(inner, inside), chain[0].anchor
        assert producer is not None, "a product has its op"
        found, attempts = None, product(dict.fromkeys((self._conditions(chain), ())), (self._copies(chain), ()))
        for again, copies in attempts if not reason else ():
            parts = (*copies, *again, *inner)
            ops = sorted({op for group in parts for op in group.ops}, key=self.view.order.__getitem__)
            whole = Group(GroupKind.ATTENTION, tuple(ops), last.roots, None, last.anchor)
            if not (reason := self._refusal(whole)):
                found = whole, (*copies, *chain), split
                self.again.update(map(id, again))
                break
        self.decisions.append(
            Decision(producer, last.roots[0].name, not reason, reason or "attention: the scores are never stored")
        )
        return found

    def _without_masks(self, chain: tuple[Group, ...]) -> tuple[tuple[Group, ...], dict[int, tuple[Group, ...]]]:
        """The chain without masks that it stores for other layers; and these masks as groups, and the rest, by id."""
        inside = {id(group) for group in chain}
        inner, split = list[Group](), dict[int, tuple[Group, ...]]()
        for group in chain:
            makers = {t: op for op in group.ops for t in op.results}
            found = list[Group]()
            for root in group.roots if group.kind is GroupKind.ROWS else ():
                if all(id(reader) in inside for reader in self.view.readers.get(root, [])):
                    continue
                ops = self.view.needed([root], makers, frozenset())
                if not any(isinstance(op.attrs, ReduceAttrs) or self._reads_product(op, chain[0]) for op in ops):
                    found.append(Group(GroupKind.ROWS, ops, (root,), None, None))
            stored = frozenset(root for mask in found for root in mask.roots)
            if found and (kept := tuple(root for root in group.roots if root not in stored)):
                rest = replace(group, ops=self.view.needed(kept, makers, stored), roots=kept)
                split[id(group)] = (*found, rest)
            inner.append(split.get(id(group), (group,))[-1])
        return tuple(inner), split

    def _reads_product(self, op: Op[object], product: Group) -> bool:
        return any(
            t in product.roots for t in group_inputs(Group(GroupKind.ROWS, (op,), (), None, None), self.view.producers)
        )

    def _refusal(self, whole: Group) -> str:
        """Why these ops are not attention on operands in memory; empty if they are."""
        built = read_attention(whole, self.view.facts, self.view.producers)
        if isinstance(built, str):
            return built
        kernel, tensors = built
        if kernel.q.dtype not in self.ability.dtypes:
            known = ", ".join(sorted(dtype.value for dtype in self.ability.dtypes))
            return f"its operands are {kernel.q.dtype.value}, none of {known}"
        if (widest := max(kernel.depth, kernel.width)) > self.ability.width:
            return f"queries or values are {widest} wide, more than {self.ability.width}"
        return self.view.absent(tensors)

    def _copies(self, chain: tuple[Group, ...]) -> tuple[Group, ...]:
        """Groups that only copy queries, keys or values into another layout for these products."""
        below = [g for group in (chain[0], chain[-1]) for g in self.view.below(group, GroupKind.ROWS) if g not in chain]
        free = [g for g in dict.fromkeys(below) if all(map(is_free, g.ops))]
        return tuple(g for g in free if not self._stored((g, chain[-1]), {id(part) for part in (g, *chain)}))

    def _conditions(self, chain: tuple[Group, ...]) -> tuple[Group, ...]:
        """Groups that store masks of the scores: if recomputed, they let the kernel skip hidden blocks."""
        below = [g for group in chain[1:-1] for g in self.view.below(group, GroupKind.ROWS) if g not in chain]
        return tuple(filter(is_mask, dict.fromkeys(below)))

    def _keep_decision(self, decision: Decision, wholes: Collection[Group]) -> bool:
        """Whether a decision still matters: refusals between two sides that are now merged do not."""
        return decision.merged or not any(
            decision.producer in whole.ops and decision.consumer == whole.roots[0].name for whole in wholes
        )

    def _stored(self, chain: tuple[Group, ...], inside: set[int]) -> str:
        """Why an intermediate result must be stored: something outside of `inside` reads it."""
        return next(filter(None, (self.view.stored(group, inside) for group in chain[:-1])), "")


def _takes_maximum(op: Op[object]) -> bool:
    """Whether a reduction looks like a maximum, without which this is no candidate for attention."""
    return any(inner.name == BinaryFn.MAXIMUM.value.name for body in op.bodies for inner in body.ops)
