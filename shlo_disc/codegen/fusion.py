"""Fusion: which ops share a kernel.

Ops are visited from the results backwards; each joins the group of its consumers if that is legal and pays.
Legality is read off the element rules: an access is row-local if the leading indices pass through unchanged; a merge
must not close a cycle. Free ops (reshape, broadcast, transpose, slice, iota, constants) are no decisions at all:
they are inlined wherever they are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from shlo_disc.analysis.access import Access, accesses, free_reads, index_symbols, is_free
from shlo_disc.analysis.formula import Producers
from shlo_disc.codegen.contraction import (
    epilogue_index,
    is_direct_convolution,
    is_matrix_product,
    template_operands,
)
from shlo_disc.codegen.groups import Context, Decision, FusionPlan, Group, GroupKind
from shlo_disc.codegen.op_graph import group_inputs, is_control, row_space, space_of, users_of
from shlo_disc.codegen.scan import is_scan
from shlo_disc.codegen.weights import weight
from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.program import Body, Op, Shape, Tensor
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Index

RECOMPUTE_BUDGET = 4  # element operations that may be done again instead of storing a value
LARGEST_GROUP = 96  # ops; keeps formulas and compile times bounded

_TEMPLATES = {
    Template.SORT: GroupKind.SORT,
    Template.SCATTER: GroupKind.SCATTER,
    Template.SELECT_AND_SCATTER: GroupKind.WINDOW_SCATTER,
    Template.WHILE: GroupKind.WHILE,
    Template.CASE: GroupKind.CASE,
}


@dataclass(slots=True, eq=False)
class _Draft:
    """A group while it grows."""

    kind: GroupKind
    ops: list[Op[object]]
    roots: list[Tensor]
    rows: Shape | None = None
    anchor: Op[object] | None = None
    budget: dict[Op[object], float] = field(default_factory=dict[Op[object], float])

    @property
    def label(self) -> str:
        return self.roots[0].name


def plan_fusion(body: Body, context: Context) -> FusionPlan:
    """Partition the ops of one body (not of the bodies nested in it) into groups."""
    return _plan(body, context, merge=True)


def plan_unfused(body: Body, context: Context) -> FusionPlan:
    """Give every op that is not free a group of its own."""
    return _plan(body, context, merge=False)


def _plan(body: Body, context: Context, *, merge: bool) -> FusionPlan:
    planner = _Planner(body, context, merge)
    planner.run()
    return FusionPlan(planner.ordered(), tuple(planner.decisions))


class _Planner:
    """One pass over one body."""

    def __init__(self, body: Body, context: Context, merge: bool) -> None:
        self.facts, self.producers, self.abilities = context.facts, context.producers, context.abilities
        self.merge = merge
        self.body = body
        self.decisions = list[Decision]()
        self.outputs = set(body.results)
        self.users = users_of(body)
        self.forced = self._forced()
        self.nodes = [op for op in body.ops if not is_free(op) or self._stored_view(op)]
        self.position = {op: k for k, op in enumerate(self.nodes)}
        self.consumers = {op: self._consumers(op) for op in self.nodes}
        self.reach = self._reachability()
        self.drafts = list[_Draft]()
        self.group_of = dict[Op[object], list[_Draft]]()

    # -- the graph of nodes, free ops seen through

    def _forced(self) -> set[Tensor]:
        """Views that must have memory: results, and operands that a template reads in a way only memory allows."""
        wanted = list[Tensor]()
        for op in self.body.walk():
            wanted += template_operands(op, self.facts, self.producers, self.abilities)
            wanted += [t for body in op.bodies if is_control(op) for t in body.results]
        own = {t for op in self.body.ops if is_free(op) for t in op.results}
        return own.intersection(wanted)

    def _stored_view(self, op: Op[object]) -> bool:
        return any(t in self.outputs or t in self.forced for t in op.results)

    def _consumers(self, op: Op[object]) -> tuple[Op[object], ...]:
        found, stack, seen = dict[Op[object], None](), list(op.results), set[Tensor]()
        while stack:
            tensor = stack.pop()
            if tensor in seen:
                continue
            seen.add(tensor)
            for user in self.users.get(tensor, ()):
                if not is_free(user) or self._stored_view(user):
                    found[user] = None
                if is_free(user):
                    stack.extend(user.results)
        return tuple(found)

    def _reachability(self) -> dict[Op[object], int]:
        """For each node the set of nodes that depend on it, as bits."""
        reach = dict[Op[object], int]()
        for op in reversed(self.nodes):
            bits = 0
            for user in self.consumers[op]:
                bits |= reach[user] | 1 << self.position[user]
            reach[op] = bits
        return reach

    # -- decisions

    def run(self) -> None:
        for op in reversed(self.nodes):
            template = definition(op).template
            if (kind := _TEMPLATES.get(template)) is not None:
                self._open(op, kind)
            elif template is Template.DOT and is_matrix_product(op, self.abilities):
                self._place_contraction(op, GroupKind.DOT)
            elif template is Template.CONVOLUTION and is_direct_convolution(op, self.abilities):
                self._place_contraction(op, GroupKind.CONVOLUTION)
            elif is_scan(op, self.facts, self.producers):
                self._open(op, GroupKind.SCAN)
            else:
                self._place(op)

    def _open(self, op: Op[object], kind: GroupKind) -> _Draft:
        anchor = None if kind is GroupKind.ROWS else op
        draft = _Draft(kind, [op], list(op.results), anchor=anchor)
        if kind is GroupKind.ROWS:
            draft.rows = row_space(op)
            draft.budget[op] = float("inf")
        self.drafts.append(draft)
        self.group_of[op] = [draft]
        return draft

    def _consumer_groups(self, op: Op[object]) -> list[_Draft]:
        return list(dict.fromkeys(d for user in self.consumers[op] for d in self.group_of[user]))

    def _place(self, op: Op[object]) -> None:
        """Merge an element or reduce op into its consumers, or open a group for it."""
        groups = self._consumer_groups(op)
        if not self.merge or not groups:
            self._open(op, GroupKind.ROWS)
            return
        stored = any(t in self.outputs for t in op.results)
        if len(groups) > 1:
            self._place_shared(op, groups, stored)
            return
        (group,) = groups
        reason = self._refusal(op, group, stored)
        self._decide(op, group, reason)
        if reason:
            self._open(op, GroupKind.ROWS)
        else:
            self._join(op, group, stored)

    def _place_shared(self, op: Op[object], groups: list[_Draft], stored: bool) -> None:
        """A value that several groups read: compute it again in each if that is cheap."""
        cheap = definition(op).template is Template.ELEMENT and weight(op) <= 1 and len(op.results) == 1
        if cheap and not stored and len(groups) <= 3 and self._reads_little(op):
            reasons = [self._refusal(op, group, False) for group in groups]
            if not any(reasons):
                for group in groups:
                    self._decide(op, group, "")
                    self._join(op, group, False)
                return
        self._decide(op, groups[0], f"{len(groups)} groups read it: it is stored once")
        self._open(op, GroupKind.ROWS)

    def _reads_little(self, op: Op[object]) -> bool:
        """Whether computing `op` again reads no more memory than loading its value would."""
        symbols, facts = index_symbols(op.results[0].shape, self.facts)
        reads = accesses(op, 0, tuple(map(of, symbols)), facts, self.producers)
        full = [a for a in reads if {s for d in a.index for s in d.symbols()}.issuperset(symbols)]
        return len(full) <= 1

    def _join(self, op: Op[object], group: _Draft, stored: bool) -> None:
        group.ops.append(op)
        group.budget[op] = self._budget(op, group)
        self.group_of.setdefault(op, []).append(group)
        if stored:
            group.roots.extend(op.results)
        if definition(op).template is Template.REDUCE and group.rows is None:
            group.rows = row_space(op)

    def _decide(self, op: Op[object], group: _Draft, reason: str) -> None:
        self.decisions.append(Decision(op, group.label, not reason, reason or "row-local, each element computed once"))

    def _refusal(self, op: Op[object], group: _Draft, stored: bool) -> str:
        """Why `op` may not join `group`; empty if it may."""
        if group.kind is not GroupKind.ROWS and group.kind is not GroupKind.DOT:
            return f"its consumer is a {group.kind.value} kernel, which reads memory"
        if group.anchor is not None and any(u is group.anchor for u in self.consumers[op]):
            return "the matrix product reads its operands from memory"
        if len(group.ops) >= LARGEST_GROUP:
            return f"the group has {LARGEST_GROUP} ops already"
        if self._closes_cycle(op, group):
            return "another group between them must run first"
        template = definition(op).template
        if template is Template.REDUCE:
            return self._reduce_refusal(op, group)
        if group.rows is not None and stored and not _has_prefix(op.results[0].shape, group.rows):
            return "its result is needed in memory and does not have the rows of the group"
        if group.rows is None and stored and op.results[0].shape != group.roots[0].shape:
            return "its result is needed in memory and has another shape than the group's"
        if weight(op) > self._budget_before(op, group):
            return "it would be computed again for every row"
        return ""

    def _closes_cycle(self, op: Op[object], group: _Draft) -> bool:
        members = 0
        for member in group.ops:
            members |= 1 << self.position[member]
        outside = [u for u in self.consumers[op] if group not in self.group_of[u]]
        return any(self.reach[u] & members or 1 << self.position[u] & members for u in outside)

    def _reduce_refusal(self, op: Op[object], group: _Draft) -> str:
        """A reduction joins if it shares the rows, and everything between it and the roots keeps to its row."""
        if group.kind is GroupKind.DOT:
            return "a matrix product's epilogue sees one element at a time"
        rows = row_space(op)
        assert rows is not None, "a reduction fixes a row space"
        if group.rows is not None and group.rows != rows:
            return f"its rows {_show(rows)} are not the group's rows {_show(group.rows)}"
        if not rows and any(t.shape for t in group.roots):
            return "it reduces everything, and the group has more than one row"
        if not all(_has_prefix(root.shape, rows) for root in group.roots):
            return f"a result of the group does not have the rows {_show(rows)}"
        if not self._row_local(op, group, rows):
            return "a consumer reads another row of it"
        return ""

    def _row_local(self, op: Op[object], group: _Draft, rows: Shape) -> bool:
        """Whether every path from `op` to the group's roots stays in one row."""
        members, pending, seen = set(group.ops), [op], {op}
        while pending:
            producer = pending.pop()
            for user in self.consumers[producer]:
                if user not in members:
                    continue
                if not self._same_row(producer, user, rows):
                    return False
                if user not in seen:
                    seen.add(user)
                    pending.append(user)
        return True

    def _same_row(self, producer: Op[object], user: Op[object], rows: Shape) -> bool:
        for k in range(len(user.results)):
            for shape, leading, index, tensor in self._reads(user, k, producer):
                del tensor
                if not _has_prefix(shape, rows) or index[: len(rows)] != leading[: len(rows)]:
                    return False
        return True

    def _reads(self, user: Op[object], k: int, producer: Op[object]) -> Iterable[tuple[Shape, Index, Index, Tensor]]:
        """Each read of `producer` by `user`: shape and index of the user's space, index read, tensor read."""
        shape = space_of(user, k)
        symbols, facts = index_symbols(shape, self.facts)
        here = tuple(facts.canonical(of(s)) for s in symbols)
        if definition(user).template is Template.REDUCE:
            from_operand = _operand_reads(user, here, facts, self.producers)
        else:
            from_operand = accesses(user, k, here, facts, self.producers)
        for access in from_operand:
            if access.tensor in producer.results:
                yield shape, here, access.index, access.tensor

    def _budget(self, op: Op[object], group: _Draft) -> float:
        return self._budget_before(op, group) - weight(op)

    def _budget_before(self, op: Op[object], group: _Draft) -> float:
        """How much work may be repeated for this value: unlimited if each element is computed once."""
        members, budget = set(group.ops), float("inf")
        for user in self.consumers[op]:
            if user not in members:
                continue
            budget = min(budget, group.budget.get(user, float("inf")))
            for k in range(len(user.results)):
                for _, here, index, _ in self._reads(user, k, op):
                    if _repeats(here, index):
                        budget = min(budget, RECOMPUTE_BUDGET)
        return budget

    def _place_contraction(self, op: Op[object], kind: GroupKind) -> None:
        """A contraction takes a single elementwise consumer group as its epilogue."""
        groups = self._consumer_groups(op)
        result = op.results[0]
        if self.merge and len(groups) == 1 and result not in self.outputs:
            (group,) = groups
            reason = self._epilogue_refusal(op, group)
            self._decide(op, group, reason)
            if not reason:
                group.kind, group.anchor = kind, op
                group.ops.append(op)
                self.group_of[op] = [group]
                return
        self._open(op, kind)

    def _epilogue_refusal(self, op: Op[object], group: _Draft) -> str:
        if group.kind is not GroupKind.ROWS or group.rows is not None:
            return "its consumer is no elementwise kernel"
        if any(root.shape != group.roots[0].shape for root in group.roots):
            return "the consumer's results differ in shape"
        if self._closes_cycle(op, group):
            return "another group between them must run first"
        if epilogue_index(op.results[0], group.roots, group.ops, self.facts, self.producers) is None:
            return "the consumer does not read each element exactly once"
        return ""

    # -- the result

    def ordered(self) -> tuple[Group, ...]:
        """The groups, each after those it reads from."""
        drafts = [self._finish(d) for d in self.drafts]
        home = {t: g for g in drafts for t in g.roots}
        done, order = set[int](), list[Group]()

        def visit(group: Group) -> None:
            if id(group) in done:
                return
            done.add(id(group))
            for tensor in group_inputs(group, self.producers):
                if (needed := home.get(tensor)) is not None and needed is not group:
                    visit(needed)
            order.append(group)

        for group in reversed(drafts):
            visit(group)
        return tuple(order)

    def _finish(self, draft: _Draft) -> Group:
        inside = set(draft.ops)
        roots = list(draft.roots)
        for op in draft.ops:
            duplicated = len(self.group_of[op]) > 1
            read_outside = any(u not in inside for u in self.consumers[op])
            if read_outside and not duplicated:
                roots.extend(t for t in op.results if t not in roots)
        ops = sorted(draft.ops, key=lambda op: self.position[op])
        return Group(draft.kind, tuple(ops), tuple(dict.fromkeys(roots)), draft.rows, draft.anchor)


def _operand_reads(op: Op[object], index: Index, facts: Facts, producers: Producers) -> list[Access]:
    count = len(op.operands) // 2
    return [a for operand in op.operands[:count] for a in free_reads(operand, index, facts, producers)]


def _repeats(here: Index, index: Index) -> bool:
    """Whether an element is read from several rows: an index that misses a symbol which is not innermost.

    An index that is read from data, or moves in a loop of the reader's own, may come to the same element often.
    Missing innermost symbols are free: what does not depend on the inner loops is computed outside them.
    """
    read = {s for dim in index for s in dim.symbols()}
    around = {s for dim in here for s in dim.symbols()}
    if any(dim.data() for dim in index) or any(s.name.startswith("%") for s in read - around):
        return True
    present = [bool(read.intersection(dim.symbols())) for dim in here if dim.constant is None]
    last = max((k for k, p in enumerate(present) if p), default=0)
    return not all(present[:last])


def _has_prefix(shape: Shape, rows: Shape) -> bool:
    return shape[: len(rows)] == rows


def _show(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]"
