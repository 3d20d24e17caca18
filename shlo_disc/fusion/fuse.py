"""Fusion: which ops share a kernel.

Ops are visited from the results backwards; each joins the groups of its consumers if that is legal and pays. Legality
follows from the element rules: everything between a reduction and the results of its group must stay within the row,
identified by its number (`row_spaces`), and a merge must not close a cycle (`group_builder`). Profitability is a matter
of bytes and work at likely sizes (`fusion.cost`). Free ops (reshape, broadcast, transpose, slice, iota, constants) need
no decision: they are inlined wherever they are read. Finally, separate groups that read the same memory may be merged
(`siblings`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from functools import reduce

from shlo_disc.analysis.access import LEAVES
from shlo_disc.dynamic_ops import move
from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.program import Body, Op, Shape
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.fusion.cost import Amounts, largest, minus, plus, ratio, times
from shlo_disc.fusion.group_builder import GroupDraft
from shlo_disc.fusion.group_structure import group_structure
from shlo_disc.fusion.product_chains import product_chains
from shlo_disc.fusion.row_fit import joined_rows, result_refusal
from shlo_disc.fusion.siblings import merge_siblings
from shlo_disc.fusion.state import FusionState, MergeRefusal
from shlo_disc.kernels.contraction import epilogue_index, is_direct_convolution, is_grouped_product, is_matrix_product
from shlo_disc.kernels.groups import Context, FusionPlan, Group, GroupKind
from shlo_disc.kernels.row_spaces import without_ones
from shlo_disc.kernels.scan import is_scan
from shlo_disc.kernels.scatter import accumulators
from shlo_disc.limits import LARGEST_GROUP, MOST_INDIRECTIONS, MOST_JOINED
from shlo_disc.records import record

MOST_COPIES = 16  # copies of one op's formula in a group: each place where it is read may add one
MOST_FORMULAS = 64  # copies of all ops in a group: bounds code size and compile time
MERGED = "row-local, no more work than apart"
REPEATED = "cheaper to compute again than to read"

_CONTRACTIONS = (GroupKind.DOT, GroupKind.GROUPED_DOT, GroupKind.CONVOLUTION)
_TEMPLATES = {
    Template.SORT: GroupKind.SORT,
    Template.SCATTER: GroupKind.SCATTER,
    Template.SELECT_AND_SCATTER: GroupKind.WINDOW_SCATTER,
    Template.LIBRARY: GroupKind.LIBRARY,
    Template.WHILE: GroupKind.WHILE,
    Template.CASE: GroupKind.CASE,
}


def plan_fusion(body: Body, context: Context) -> FusionPlan:
    """Partition the ops of one body (not of the bodies nested in it) into groups."""
    planner = _Planner(FusionState(body, context))
    planner.run()
    merge_siblings(planner.state)
    return planner.state.plan()


@record
class _Option:
    """One way to place an op: in these groups of its readers, with what it costs."""

    drafts: tuple[GroupDraft, ...]
    cost: Amounts


class _Planner:
    """One pass over one body."""

    def __init__(self, state: FusionState) -> None:
        self.state, self.costs = state, state.costs
        self.chains = product_chains(state)
        self.epilogues = dict[Hashable, MergeRefusal | None]()  # by the structure of the group
        self.rows = dict[GroupDraft, Shape]()  # rows with the current reduction, per group that it may join
        self.of_sizes = dict[Op[object], bool]()

    def run(self) -> None:
        for op in reversed(self.state.nodes.nodes):
            kind = group_kind(op, self.state.context)
            if kind in _CONTRACTIONS or (kind is GroupKind.SCATTER and len(op.results) == 1):
                self._place_product(op, kind)
            elif kind is GroupKind.ROWS:
                self._place(op)
            else:
                self.state.open(op, kind)

    # -- elementwise ops, reductions

    def _place(self, op: Op[object]) -> None:
        """Compute an op where it is read if that is legal and pays, else in a group of its own."""
        readers = self.state.readers(op)
        if not readers:
            self.state.open(op, GroupKind.ROWS)
            return
        self.rows.clear()
        unfit = {draft: self._unfit(op, draft) for draft in readers}
        if not any(unfit.values()) and self._is_of_sizes(op):
            self._enter(op, tuple(readers))
            return
        dependent = self.state.order.dependent([draft for draft in readers if unfit[draft] is None], readers)
        refusals = {draft: unfit[draft] or self._refusal(op, draft, dependent) for draft in readers}
        options = self._options(op, [d for d, refusal in refusals.items() if refusal is None])
        apart = self._apart(op)
        best = min(options, key=lambda option: ratio(option.cost, apart), default=None)
        if best is not None and ratio(best.cost, apart) <= 1 + 1e-9:
            self._enter(op, best.drafts)
            return
        for draft in readers:
            self.state.decide(op, draft, refusals[draft] or self._loss(op, best, apart))
        self.state.open(op, GroupKind.ROWS)

    def _is_of_sizes(self, op: Op[object]) -> bool:
        """Whether `op` is a scalar of sizes and literals alone, which is recomputed in each kernel and not stored."""
        known, waiting = self.of_sizes, [op]
        while op not in known:
            current = waiting.pop()
            made = [self.state.producers.get(t) for t in current.operands]
            inner = [m[0] for m in made if m is not None and m[0].name not in LEAVES]
            is_stored = any(t in self.state.outputs for t in current.results)
            is_number = definition(current).template is Template.ELEMENT and not any(t.shape for t in current.results)
            if is_stored or not is_number or not made or None in made:
                known[current] = False
            elif missing := [each for each in inner if each not in known]:
                waiting += [current, *missing]
            else:
                known[current] = all(known[each] for each in inner)
        return known[op]

    def _enter(self, op: Op[object], drafts: tuple[GroupDraft, ...]) -> None:
        for draft in drafts:
            self.state.decide(op, draft, None, REPEATED if len(drafts) > 1 or self._repeats(op, draft) else MERGED)
            draft.rows = self.rows.get(draft, draft.rows)
        if len(drafts) == 1:
            self.state.join(op, drafts[0])
        else:
            self.state.duplicate(op, drafts)

    def _repeats(self, op: Op[object], draft: GroupDraft) -> bool:
        """Whether a group computes elements more than once, possibly in different rows."""
        visits, _ = self.state.visits(op, draft)
        return any(visit > size for visit, size in zip(visits, self.state.size(op), strict=True))

    def _options(self, op: Op[object], drafts: list[GroupDraft]) -> list[_Option]:
        """Ways to merge `op` into groups of its readers: all of them, or one that stores it for the others."""
        readers, stored = self.state.readers(op), any(t in self.state.outputs for t in op.results)
        added = {draft: self._added(op, draft) for draft in drafts}
        options = list[_Option]()
        if len(drafts) == len(readers) and (len(readers) == 1 or self._may_repeat(op, stored)):
            options.append(_Option(tuple(drafts), self._inside(op, added)))
        if len(readers) > 1:
            passed = self._passed(op, len(readers) - 1)
            options += [
                _Option((d,), plus(self._inside(op, {d: added[d]}), passed))
                for d in drafts
                if self._storage_refusal(op, d) is None and (d.rows is None or without_ones(d.rows))
            ]
        return options

    def _may_repeat(self, op: Op[object], stored: bool) -> bool:
        return not stored and definition(op).template is Template.ELEMENT and len(op.results) == 1

    def _passed(self, op: Op[object], readers: int) -> Amounts:
        """The cost of writing the results of `op`, and reading them in so many groups."""
        return times(self.costs.memory(t for t in op.results if self.state.nodes.is_read(t)), 1 + readers)

    def _apart(self, op: Op[object]) -> Amounts:
        """The cost of `op` in a group of its own, or as the epilogue of a product, which is launched anyway."""
        loaded, chain = self.state.loaded(op), self.chains.get(op)
        passed, work = self._passed(op, len(self.state.readers(op))), self.state.work(op, self.state.size(op))
        if chain is not None:
            return plus(passed, self.costs.memory(t for t in loaded if t not in chain.tensors))
        return plus(largest(plus(passed, self.costs.memory(loaded)), work), self.costs.launch)

    def _added(self, op: Op[object], draft: GroupDraft) -> Amounts:
        """The added cost of a group with `op`: for more reads, and for its work as often as it is computed there."""
        visits, _ = self.state.visits(op, draft)
        more = self.costs.memory(t for t in self.state.loaded(op) if t not in draft.loaded)
        memory, work = minus(draft.memory, self.costs.memory(op.results)), self.state.work(op, visits)
        return minus(largest(plus(memory, more), plus(draft.work, work)), largest(memory, draft.work))

    def _inside(self, op: Op[object], added: Mapping[GroupDraft, Amounts]) -> Amounts:
        """The cost of `op` in groups of its readers, given what it adds to each."""
        cost = reduce(plus, added.values())
        chain = self.chains.get(op)
        if chain is not None and not (len(added) == 1 and self._takes_product(op, next(iter(added)))):
            cost = plus(cost, self.costs.memory([chain.product]))
        return cost

    def _takes_product(self, op: Op[object], draft: GroupDraft) -> bool:
        """Whether a group with `op` in it may still become the epilogue of the product that `op` reads."""
        if draft.kind is not GroupKind.ROWS or draft.reduces:
            return False
        return self.state.visits(op, draft)[0] == self.state.size(op)

    def _loss(self, op: Op[object], best: _Option | None, apart: Amounts) -> MergeRefusal:
        """Why no way to merge `op` pays."""
        if (count := len(self.state.readers(op))) > 1 or best is None:
            return MergeRefusal(f"{count} groups read it: it is stored once")
        if op in self.chains:
            return MergeRefusal("a product computes it, as its epilogue")
        return MergeRefusal(
            f"it would be computed again for every row, at {ratio(best.cost, apart):.3g} times the cost"
        )

    def _unfit(self, op: Op[object], draft: GroupDraft) -> MergeRefusal | None:
        """Why a group of this kind or size cannot take an op that is read as `op` is."""
        if draft.kind not in (GroupKind.ROWS, GroupKind.DOT, GroupKind.GROUPED_DOT, GroupKind.SCATTER):
            return MergeRefusal(f"its consumer is a {draft.kind.value} kernel, which reads memory")
        if draft.anchor is not None and draft.anchor in self.state.nodes.consumers[op]:
            return MergeRefusal(f"the {draft.kind.value} reads its operands from memory")
        if len(draft.ops) >= LARGEST_GROUP:
            return MergeRefusal(f"the group has {LARGEST_GROUP} ops already")
        if move.CONCATENATE.defines(op) and _joined_by(op, *draft.ops) > 2 * MOST_JOINED:
            return MergeRefusal(f"the group would choose among more than {2 * MOST_JOINED} operands of concatenations")
        return None

    def _refusal(self, op: Op[object], draft: GroupDraft, dependent: Collection[GroupDraft]) -> MergeRefusal | None:
        """Why `op` may not join a fit group; `dependent` groups depend on another reader."""
        if draft in dependent:
            return MergeRefusal("another group between them must run first")
        if definition(op).template is Template.REDUCE:
            return self._reduce_refusal(op, draft)
        if self.state.indirections(op, draft) > MOST_INDIRECTIONS:
            return MergeRefusal(f"it would be an index of an index, more than {MOST_INDIRECTIONS} times")
        if (copies := len(self.state.visits(op, draft)[1])) > MOST_COPIES:
            return MergeRefusal(f"it would be computed at more than {MOST_COPIES} places")
        if copies > 1 and copies + sum(map(len, draft.places.values())) > MOST_FORMULAS:
            return MergeRefusal(f"the group has {MOST_FORMULAS} formulas already")
        if any(t in self.state.outputs for t in op.results):
            return self._storage_refusal(op, draft)
        return None

    def _reduce_refusal(self, op: Op[object], draft: GroupDraft) -> MergeRefusal | None:
        if draft.kind is not GroupKind.ROWS:
            return MergeRefusal("an epilogue sees one element at a time")
        rows = joined_rows(self.state, op, draft)
        if isinstance(rows, MergeRefusal):
            return rows
        self.rows[draft] = rows
        return None

    def _storage_refusal(self, op: Op[object], draft: GroupDraft) -> MergeRefusal | None:
        """Why `draft` may not store the results of `op`, besides using them."""
        if definition(op).template is Template.REDUCE:
            return None  # it has the rows of the group
        return result_refusal(self.state, op, draft)

    # -- products

    def _place_product(self, op: Op[object], kind: GroupKind) -> None:
        """Place a contraction or a scatter, with a single elementwise consumer group as its epilogue if legal."""
        readers = self.state.readers(op)
        if len(readers) == 1 and op.results[0] not in self.state.outputs:
            refusal = self._epilogue_refusal(op, readers[0], kind)
            self.state.decide(op, readers[0], refusal, MERGED)
            if refusal is None:
                self.state.join(op, readers[0])
                readers[0].kind, readers[0].anchor = kind, op
                return
        self.state.open(op, kind)

    def _epilogue_refusal(self, op: Op[object], draft: GroupDraft, kind: GroupKind) -> MergeRefusal | None:
        if draft.kind is not GroupKind.ROWS or draft.reduces:
            return MergeRefusal("its consumer is no elementwise kernel")
        if any(root.shape != draft.roots[0].shape for root in draft.roots):
            return MergeRefusal("the consumer's results differ in shape")
        ops = sorted((op, *draft.ops), key=self.state.nodes.position.__getitem__)
        group = Group(kind, tuple(ops), tuple(draft.roots), None, op)
        key = group_structure(group, self.state.producers).key
        if key not in self.epilogues:
            self.epilogues[key] = _index_refusal(op, group, self.state)
        return self.epilogues[key]


def _joined_by(*ops: Op[object]) -> int:
    """The number of operands of the concatenations among these ops."""
    return sum(len(op.operands) for op in ops if move.CONCATENATE.defines(op))


def _index_refusal(op: Op[object], group: Group, state: FusionState) -> MergeRefusal | None:
    """Why the rest of the group cannot be the epilogue of a contraction or a scatter: the indices it reads."""
    if epilogue_index(op.results[0], group.roots, group.ops, state.facts, state.producers) is None:
        return MergeRefusal("the consumer does not read each element exactly once")
    if group.kind is GroupKind.SCATTER and accumulators(group, state.facts, state.producers) is None:
        return MergeRefusal("no result of the consumer has the type and the order of the scatter's")
    return None


def plan_unfused(body: Body, context: Context) -> FusionPlan:
    """Give every op that is not free a group of its own."""
    state = FusionState(body, context)
    for op in reversed(state.nodes.nodes):
        state.open(op, group_kind(op, context))
    return state.plan()


def group_kind(op: Op[object], context: Context) -> GroupKind:
    """The kind of a group around `op`."""
    template = definition(op).template
    if (kind := _TEMPLATES.get(template)) is not None:
        return kind
    if template is Template.DOT and is_matrix_product(op, context.abilities):
        return GroupKind.DOT
    if template is Template.GROUPED_DOT and is_grouped_product(op, context.abilities):
        return GroupKind.GROUPED_DOT
    if template is Template.CONVOLUTION and is_direct_convolution(op, context.abilities):
        return GroupKind.CONVOLUTION
    return GroupKind.SCAN if is_scan(op, context.facts, context.producers) else GroupKind.ROWS
