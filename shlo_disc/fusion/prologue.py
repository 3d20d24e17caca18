"""Prologues: elementwise ops that a product or a scatter computes as it reads, so that their results are not stored.

This runs after grouping. For every result of a row group that only products read as operands, and scatters as indices
or updates, the ops that compute it move into these groups, as far up as elements are cheap: a reduction, a sum per
element, and a costly value that is broadcast stay behind and are stored. A move pays if the bytes saved are worth the
repeated work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shlo_disc.dynamic_ops.program import Body, Tensor
from shlo_disc.fusion.changing_groups import ChangingGroups
from shlo_disc.fusion.prologue_cost import PrologueCost, PrologueMove
from shlo_disc.fusion.prologue_ops import READERS, PrologueOps
from shlo_disc.kernels.contraction import epilogue_index
from shlo_disc.kernels.groups import Context, Decision, FusionPlan, Group, GroupKind
from shlo_disc.kernels.op_graph import group_inputs
from shlo_disc.limits import LARGEST_GROUP

LEFT = "what is left of its reader is its epilogue"


def merge_prologues(plan: FusionPlan, body: Body, context: Context) -> FusionPlan:
    """Move ops into the groups that read them, where it pays; retry a result when its readers have changed."""
    merger = _PrologueMerger(plan, body, context)
    roots = [root for group in plan.groups if group.kind is GroupKind.ROWS for root in group.roots]
    asked = dict[Tensor, frozenset[int]]()
    readers = merger.groups.readers
    while waiting := [root for root in roots if merger.is_stored(root) and asked.get(root) != readers(root)]:
        for root in waiting:
            asked[root] = readers(root)
            merger.consider(root)
    return merger.finished()


class _PrologueMerger:
    """Moves ops between the groups of one body, which stay in a legal order."""

    def __init__(self, plan: FusionPlan, body: Body, context: Context) -> None:
        self.plan, self.context = plan, context
        self.groups = ChangingGroups(plan.groups, context.producers)
        self.ops, self.cost = PrologueOps(body, context), PrologueCost(context)
        self.outputs = set(body.results)
        self.decisions = list[Decision]()

    def is_stored(self, root: Tensor) -> bool:
        """Whether a row group still computes `root` for others."""
        number = self.groups.stored_by(root)
        return number is not None and self.groups[number].kind is GroupKind.ROWS

    def consider(self, root: Tensor) -> None:
        """Move what computes a root of a row group into the groups that read it, or say why not."""
        source = self.groups.home[root]
        readers = sorted(self.groups.readers(root))
        if not any(self.ops.is_operand(root, self.groups[k]) for k in readers):
            return
        found = self._refusal(root, readers)
        producer = self.context.producers[root][0]
        move = found if isinstance(found, PrologueMove) else None
        reason = "" if isinstance(found, PrologueMove) else found
        for k in readers:
            kind, label = self.groups[k].kind, self.groups[k].roots[0].name
            if kind in READERS:
                merged = f"the {kind.value} computes it as it reads it"
                self.decisions.append(Decision(producer, label, not reason, reason or merged))
        if move is not None:
            self._apply(source, readers, move)

    def _refusal(self, root: Tensor, readers: Sequence[int]) -> PrologueMove | str:
        """The move of the ops that compute `root`, or why there is none."""
        if root in self.outputs:
            return "its result is needed in memory"
        group, reading = self.groups[self.groups.home[root]], [self.groups[k] for k in readers]
        if not all(self.ops.is_operand(root, one) for one in reading):
            return "a group that is no product and no scatter reads it too"
        moved = self.ops.closure(root, group, self.ops.operands_in_memory(reading))
        if not moved:
            return "it is no elementwise formula"
        if any(self.ops.overwrites(one, moved) for one in reading):
            return "it reads what the scatter may update in place"
        if any(len(one.ops) + len(moved) > LARGEST_GROUP for one in reading):
            return f"the group would have more than {LARGEST_GROUP} ops"
        changed = tuple(self.ops.joined(one, moved) for one in reading)
        homes = {t: self.groups.stored_by(t) for t in self.ops.read_of(group, moved)}
        if any(home is not None and home >= readers[0] for home in homes.values()):
            return "a later group stores what it reads of its group"
        rest = self.ops.without(root, group, [t for t, home in homes.items() if home is None])
        if rest is not None and not self.ops.has_common_rows(rest):
            return "what it reads of its group, and what is left of that, would not have the same rows"
        move = PrologueMove((group, *reading), rest, changed, moved)
        return move if self.cost.pays(move) else "computing it where it is read saves less than it costs"

    # -- the result

    def _apply(self, source: int, readers: Sequence[int], move: PrologueMove) -> None:
        self.groups.replace({source: move.rest, **dict(zip(readers, move.readers, strict=True))})
        if move.rest is not None:
            self._take_product(source, move.rest)

    def _take_product(self, number: int, group: Group) -> None:
        """Make what is left of a row group the epilogue of a product whose only reader it is.

        What prevented that may have moved. The product moves to the place of the group: nothing else needs it earlier.
        """
        for tensor in group_inputs(group, self.context.producers):
            before = self.groups.home.get(tensor, number)
            found = self.groups[before]
            if before != number and self._is_epilogue(group, number, found):
                assert found.anchor is not None, "a product has its op"
                ops = self.ops.in_order((*found.ops, *group.ops))
                self.groups.replace({before: None, number: replace(found, ops=ops, roots=group.roots)})
                self.decisions.append(Decision(found.anchor, group.roots[0].name, True, LEFT))
                return

    def _is_epilogue(self, group: Group, number: int, product_: Group) -> bool:
        """Whether a product of one result, with no other readers, can compute all of a group as its epilogue."""
        if (
            product_.kind not in (GroupKind.DOT, GroupKind.GROUPED_DOT, GroupKind.CONVOLUTION)
            or product_.anchor is None
        ):
            return False
        result, shape = product_.anchor.results[0], group.roots[0].shape
        if product_.roots != (result,) or self.groups.readers(result) != frozenset({number}) or result in self.outputs:
            return False
        if group.rows is not None or any(root.shape != shape for root in group.roots):
            return False
        facts, producers = self.context.facts, self.context.producers
        return epilogue_index(result, group.roots, group.ops, facts, producers) is not None

    def finished(self) -> FusionPlan:
        """The plan. Refusals of ops that have moved since are dropped; of other decisions the last one holds."""
        latest = {(d.producer, d.consumer): d for d in self.decisions}
        moved = {d.producer for d in latest.values() if d.merged}
        found = (*self.plan.decisions, *latest.values())
        return FusionPlan(self.groups.remaining, tuple(d for d in found if d.merged or d.producer not in moved))
