"""The state of fusion: decisions made so far, and memoized properties of a body."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TypeAlias

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.reads import ReadTable, Space
from shlo_disc.dynamic_ops.program import Body, Op, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.expr.dim import Dim
from shlo_disc.expr.scalar import Index
from shlo_disc.fusion.cost import Amounts, Costs, largest, minus, plus, times
from shlo_disc.fusion.group_builder import DraftOrder, GroupDraft
from shlo_disc.fusion.op_nodes import OpNodes
from shlo_disc.kernels.groups import Claim, Context, Decision, FusionPlan, Group, GroupKind
from shlo_disc.kernels.op_cost import element_cost, is_counting
from shlo_disc.kernels.op_graph import all_operands, row_space, space_of
from shlo_disc.records import record

Places: TypeAlias = frozenset[int]
_OWN: Places = frozenset((0,))  # of a root: the point that a group computes


@record
class MergeRefusal:
    """Why a merge is illegal, or does not pay; `claims` as in `Decision`."""

    reason: str
    claims: tuple[Claim, ...] = ()


@record
class _Record:
    op: Op[object]
    draft: GroupDraft
    refusal: MergeRefusal | None
    reason: str


class FusionState:
    """The drafts of one body while they grow."""

    def __init__(self, body: Body, context: Context) -> None:
        self.context, self.facts, self.producers = context, context.facts, context.producers
        self.nodes = OpNodes(body, context)
        self.outputs = self.nodes.outputs
        self.reads = ReadTable(context.structures)
        self.costs = Costs.at(context.abilities.machine, context.points)
        self.order = DraftOrder()
        self.homes = dict[Op[object], list[GroupDraft]]()
        self.same_row = dict[tuple[Space, Index, Shape, Dim], bool]()  # memo of `row_fit`
        self._records = list[_Record]()
        self._merged = dict[GroupDraft, GroupDraft]()
        self._loaded = dict[Op[object], tuple[Tensor, ...]]()
        self._element_costs = dict[Op[object], float]()
        self._indexing = dict[Op[object], frozenset[Tensor]]()
        self._counting = dict[Op[object], bool]()
        # Ops are placed from the results backwards, so the readers of an op are final when it is placed.
        self._readers = dict[Op[object], list[GroupDraft]]()
        self._visits = dict[tuple[Op[object], GroupDraft], tuple[Amounts, Places]]()
        self._numbers = dict[tuple[Index, Op[object] | None, int], int]()

    # -- growing

    def open(self, op: Op[object], kind: GroupKind) -> GroupDraft:
        """Give `op` a group of its own."""
        rows = kind is GroupKind.ROWS
        roots = [t for t in op.results if self.nodes.is_read(t)] if rows else []
        draft = GroupDraft(kind, [op], roots or list(op.results), None if rows else op)
        draft.rows = row_space(op) if rows else None
        draft.visits[op], draft.places[op] = self.size(op), _OWN
        draft.work = self.work(op, self.size(op))
        draft.loaded.update(dict.fromkeys(self.loaded(op)))
        draft.memory = self._memory(draft)
        readers = self.readers(op)
        self.homes[op] = [draft]
        self.order.open(draft, readers)
        return draft

    def join(self, op: Op[object], draft: GroupDraft) -> None:
        """Compute `op` in a group of its readers; others read it from memory, unless they compute it too."""
        others = self.others(op, draft)
        visits, places = self.visits(op, draft)
        draft.ops.append(op)
        self.homes.setdefault(op, []).append(draft)
        stored = [t for t in op.results if t in self.outputs]
        roots = [t for t in op.results if self.nodes.is_read(t)] if others else stored
        if roots:
            draft.roots += roots
            visits = largest(visits, self.size(op))
        draft.visits[op], draft.places[op] = visits, places
        if depth := self.indirections(op, draft):
            draft.indirections[op] = depth
        draft.work = plus(draft.work, self.work(op, visits))
        for tensor in (own := [t for t in op.results if t in draft.loaded]):
            del draft.loaded[tensor]
        more = [t for t in self.loaded(op) if t not in draft.loaded]
        draft.loaded.update(dict.fromkeys(more))
        draft.memory = minus(plus(draft.memory, self.costs.memory((*roots, *more))), self.costs.memory(own))
        self.order.extend(draft, others)

    def duplicate(self, op: Op[object], drafts: Sequence[GroupDraft]) -> None:
        """Compute `op` in each of its readers' groups."""
        self.homes[op] = list(drafts)
        for draft in drafts:
            self.join(op, draft)
        self.homes[op] = list(drafts)

    def merge(self, kept: GroupDraft, gone: GroupDraft) -> None:
        """Merge two independent groups."""
        self.order.merge(kept, gone)
        for op in gone.ops:
            homes = [d for d in self.homes[op] if d is not gone]
            self.homes[op] = homes if kept in homes else [*homes, kept]
        kept.ops += [op for op in gone.ops if op not in kept.visits]
        kept.roots += [t for t in gone.roots if t not in kept.roots]
        for op, visits in gone.visits.items():
            kept.visits[op] = largest(kept.visits[op], visits) if op in kept.visits else visits
            kept.places[op] = kept.places.get(op, frozenset()) | gone.places[op]
        for op, depth in gone.indirections.items():
            kept.indirections[op] = max(kept.indirections.get(op, 0), depth)
        kept.work = plus(kept.work, gone.work)
        kept.loaded.update(gone.loaded)
        kept.memory = self._memory(kept)
        self._merged[gone] = kept
        self._readers.clear()
        self._visits.clear()

    # -- properties

    def readers(self, op: Op[object]) -> list[GroupDraft]:
        """The groups that read `op`."""
        if (known := self._readers.get(op)) is None:
            found = dict.fromkeys([d for user in self.nodes.consumers[op] for d in self.homes[user]])
            known = self._readers[op] = list(found)
        return known

    def others(self, op: Op[object], draft: GroupDraft) -> list[GroupDraft]:
        """The groups that have to read `op` from memory if `draft` computes it."""
        own = (draft, *self.homes.get(op, ()))
        return [d for d in self.readers(op) if d not in own]

    def size(self, op: Op[object]) -> Amounts:
        """How many elements an op computes; a reduction, how many it combines."""
        return self.costs.size(space_of(op, 0))

    def work(self, op: Op[object], visits: Amounts) -> Amounts:
        """The additions of an op that is computed `visits` times; ops that only compute indices are free."""
        if (known := self._element_costs.get(op)) is None:
            known = self._element_costs[op] = self._element_cost(op)
        return times(visits, known)

    def _element_cost(self, op: Op[object]) -> float:
        if isinstance(op.attrs, ReduceAttrs):
            return 1.0
        return 0.0 if is_counting(op, self.producers, self._counting) else element_cost(op)

    def _memory(self, draft: GroupDraft) -> Amounts:
        return self.costs.memory((*draft.loaded, *draft.roots))

    def loaded(self, op: Op[object]) -> tuple[Tensor, ...]:
        """The tensors that `op` reads, free ones seen through."""
        if (known := self._loaded.get(op)) is None:
            reads = self.reads.of(op)
            found = [a.tensor for r in reads for a in r.accesses] if reads or is_free(op) else all_operands(op)
            known = self._loaded[op] = tuple(dict.fromkeys(found))
        return known

    def visits(self, op: Op[object], draft: GroupDraft) -> tuple[Amounts, Places]:
        """How often `draft` would compute an element of `op` that it does not store, and at which places."""
        if (known := self._visits.get((op, draft))) is None:
            known = self._visits[op, draft] = self._visits_of(op, draft)
        return known

    def _visits_of(self, op: Op[object], draft: GroupDraft) -> tuple[Amounts, Places]:
        if isinstance(op.attrs, ReduceAttrs):  # once per row, by a stage of its own
            return self.size(op), _OWN
        found = dict[tuple[Index, Op[object] | None], Amounts]()
        places = set[int]()
        for user in self.nodes.consumers[op]:
            if (around := draft.visits.get(user)) is None:
                continue
            for reads in self.reads.of(user):
                for access in reads.accesses:
                    if access.tensor in op.results:
                        visits = self.costs.visits(reads, access, around)
                        way = access.index, user if reads.moves(access) else None
                        found[way] = largest(found[way], visits) if way in found else visits
                        is_same = access.index == reads.space.index
                        places |= draft.places[user] if is_same else {self._place(*way, k) for k in draft.places[user]}
        if not found:  # a region reads it
            return self.size(op), _OWN
        return reduce(plus, found.values()), frozenset(places)

    def _place(self, index: Index, loops: Op[object] | None, around: int) -> int:
        """The number of a place: an index, perhaps in the loops of an op, seen from another place."""
        return self._numbers.setdefault((index, loops, around), len(self._numbers) + 1)

    def indirections(self, op: Op[object], draft: GroupDraft) -> int:
        """The most dependent loads in `draft`, each giving an index of the next, if `op` joins it."""
        users = [user for user in self.nodes.consumers[op] if user in draft.visits]
        depths = [draft.indirections.get(user, 0) + (not self._indices(user).isdisjoint(op.results)) for user in users]
        return max(depths, default=0)

    def _indices(self, op: Op[object]) -> frozenset[Tensor]:
        if (known := self._indexing.get(op)) is None:
            known = self._indexing[op] = frozenset[Tensor]().union(*(reads.indices() for reads in self.reads.of(op)))
        return known

    # -- the result

    def decide(self, op: Op[object], draft: GroupDraft, refusal: MergeRefusal | None, reason: str = "") -> None:
        """Record a merge that was made, for `reason`, or refused."""
        self._records.append(_Record(op, draft, refusal, reason))

    def plan(self) -> FusionPlan:
        """The groups, each after those it reads from."""
        groups = tuple(self._finished(draft) for draft in self.order.ordered())
        return FusionPlan(groups, tuple(map(self._decision, self._records)))

    def _finished(self, draft: GroupDraft) -> Group:
        ops = sorted(draft.ops, key=self.nodes.position.__getitem__)
        return Group(draft.kind, tuple(ops), tuple(dict.fromkeys(draft.roots)), draft.rows, draft.anchor)

    def _decision(self, record: _Record) -> Decision:
        draft = record.draft
        while draft in self._merged:
            draft = self._merged[draft]
        if (refusal := record.refusal) is None:
            return Decision(record.op, draft.label, True, record.reason)
        return Decision(record.op, draft.label, False, refusal.reason, refusal.claims)
