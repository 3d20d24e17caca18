"""Fusion plans by the rules of DISC and BladeDISC, in the form that our code generators take.

Where their compilers need a kernel for a view that stands alone (a broadcast, a reshape that copies), none is counted:
it is inlined where it is read, like ours. Products read transposed operands in place, which theirs copy first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarks.fusion_rules.clusters import Cluster, Contraction, Graph, Node, Rules, candidate
from benchmarks.fusion_rules.rules import BaseRules, StitchRules, is_fusible, is_separate_transpose
from benchmarks.fusion_rules.shapes import ShapeConstraints
from shlo_disc.analysis.access import LEAVES, is_free
from shlo_disc.analysis.reads import ReadTable
from shlo_disc.dynamic_ops.program import Body, Op, Shape, Tensor
from shlo_disc.fusion.fuse import plan_unfused
from shlo_disc.kernels.groups import Context, Decision, FusionPlan, Group, GroupKind
from shlo_disc.kernels.op_graph import all_operands, row_space, space_of


def plan_disc(body: Body, context: Context) -> FusionPlan:
    """Fuse as DISC does: loop fusion and input fusion (EuroMLSys 2021)."""
    return _Planner(body, context).run(stitch=False)


def plan_bladedisc(body: Body, context: Context) -> FusionPlan:
    """Fuse as BladeDISC does (SIGMOD 2024; `makeFusionPipeline`).

    DISC's two kinds come first, then stitch fusion, each with horizontal fusion.
    """
    return _Planner(body, context).run(stitch=True)


class _Planner:
    """One body: its ops as nodes, clusters of them, groups of these."""

    def __init__(self, body: Body, context: Context) -> None:
        self.body, self.context = body, context
        self.single = {group.ops[0]: group for group in plan_unfused(body, context).groups}
        self.position = {op: k for k, op in enumerate(body.ops)}
        self.scalars = self._scalars()
        self.separate = self._separate_transposes()
        self.graph = self._graph()

    def run(self, *, stitch: bool) -> FusionPlan:
        shapes = ShapeConstraints(self.context.producers)
        growing = Contraction(self.graph)
        last: Rules = BaseRules(self.graph, shapes)
        growing.run(last, horizontal=stitch)
        if stitch:
            last = StitchRules(self.graph, shapes)
            growing.run(last, horizontal=True)
        groups = tuple(map(self._group, growing.producers_first()))
        merged = [
            Decision(node.op, cluster.nodes[-1].op.results[0].name, merged=True, reason="the rules allow it")
            for cluster in growing.clusters
            for node in cluster.nodes[:-1]
        ]
        refused = [
            Decision(lhs.nodes[-1].op, rhs.nodes[-1].op.results[0].name, merged=False, reason=refusal)
            for lhs, rhs in growing.edges()
            if (refusal := growing.refusal(lhs, rhs, last))
        ]
        return FusionPlan(groups, (*merged, *refused))

    # -- nodes

    def _scalars(self) -> frozenset[Op[object]]:
        """Scalars that follow from sizes: computed on the host there (disc_mhlo_placer), and in each kernel here."""
        found = set[Op[object]]()
        for op in self.single:
            if self._is_fusible(op) and op.results[0].shape == () and row_space(op) is None:
                free = [made[0] for t in op.operands if (made := self.context.producers.get(t)) is not None]
                known = len(free) == len(op.operands) and all(maker in found or maker.name in LEAVES for maker in free)
                if known and not set(op.results).intersection(self.body.results):
                    found.add(op)
        for op in self.single:
            if not self._is_fusible(op):
                found.difference_update(self._below(op, lambda maker: maker in found or is_free(maker)))
        return frozenset(found)

    def _separate_transposes(self) -> frozenset[Op[object]]:
        """Transposes between operations that fuse: kernels of their own there, which we see through."""
        found = set[Op[object]]()
        for op in self.single:
            if self._is_fusible(op):
                found.update(filter(is_separate_transpose, self._below(op, is_free)))
        return frozenset(found.difference(self.single))

    def _below(self, op: Op[object], through: Callable[[Op[object]], bool]) -> list[Op[object]]:
        """The ops that `op` reads through."""
        found, stack, seen = list[Op[object]](), all_operands(op), set[Tensor]()
        while stack:
            tensor = stack.pop()
            made = self.context.producers.get(tensor)
            if tensor in seen or made is None or not through(made[0]):
                continue
            seen.add(tensor)
            found.append(made[0])
            stack.extend(made[0].operands)
        return found

    def _graph(self) -> Graph:
        nodes = list[Node]()
        for op in self.body.ops:
            if (op in self.single or op in self.separate) and op not in self.scalars:
                nodes.append(Node(op, len(nodes), self._is_fusible(op), self._reads(op)))
        makers = {t: node for node in nodes for t in node.op.results}
        readers = dict[Tensor, list[Node]]()
        for node in nodes:
            for tensor in node.reads:
                readers.setdefault(tensor, []).append(node)
        found = {tensor: tuple(users) for tensor, users in readers.items()}
        return Graph(tuple(nodes), makers, found, frozenset(self.body.results), self.context.producers)

    def _is_fusible(self, op: Op[object]) -> bool:
        group = self.single.get(op)
        return group is not None and group.kind is GroupKind.ROWS and op.name not in LEAVES and is_fusible(op)

    def _is_inlined(self, op: Op[object]) -> bool:
        """Whether the op is no node: what reads it reads its operands."""
        return op in self.scalars or (is_free(op) and op not in self.single and op not in self.separate)

    def _reads(self, op: Op[object]) -> tuple[Tensor, ...]:
        read = dict.fromkeys(all_operands(op))
        for view in self._below(op, self._is_inlined):
            read.update(dict.fromkeys(view.operands))
        return tuple(
            t for t in read if (made := self.context.producers.get(t)) is None or not self._is_inlined(made[0])
        )

    # -- groups

    def _group(self, cluster: Cluster) -> Group:
        ops = tuple(node.op for node in cluster.nodes)
        group = self.single.get(ops[0])
        if group is None or len(ops) > 1:
            roots = self._stored(cluster)
            group = Group(GroupKind.ROWS, ops, roots, self._rows(ops, roots), None)
        scalars = {s for op in ops for s in self._below(op, self._is_inlined) if s in self.scalars}
        return replace(group, ops=tuple(sorted((*scalars, *ops), key=self.position.__getitem__)))

    def _stored(self, cluster: Cluster) -> tuple[Tensor, ...]:
        """What a kernel stores. Other kernels read a view by its formula, so what it is a view of is stored, too."""
        roots, made = candidate(cluster.nodes, self.graph).results, {t for n in cluster.nodes for t in n.op.results}
        inside = set(cluster.nodes)
        seen = [
            tensor
            for node in cluster.nodes
            if is_free(node.op) and any(r not in inside for r in self.graph.readers.get(node.op.results[0], ()))
            for tensor in node.op.operands
            if tensor in made
        ]
        return tuple(dict.fromkeys([*roots, *seen]))

    def _rows(self, ops: Sequence[Op[object]], roots: Sequence[Tensor]) -> Shape | None:
        """The leading dims that a kernel can take one by one; none of them if it needs all at once."""
        spaces = {rows for op in ops if (rows := row_space(op)) is not None}
        shapes = {root.shape for root in roots}
        if not spaces:
            return None if len(shapes) == 1 else _common_prefix(list(shapes))
        rows = min(spaces, key=len)
        if len(spaces) > 1 or any(shape[: len(rows)] != rows for shape in shapes):
            return ()
        return rows if keeps_rows(ops, rows, self.context) else ()


def _common_prefix(shapes: Sequence[Shape]) -> Shape:
    same = itertools.takewhile(lambda sizes: len(set(sizes)) == 1, zip(*shapes, strict=False))
    return tuple(sizes[0] for sizes in same)


def keeps_rows(ops: Sequence[Op[object]], rows: Shape, context: Context) -> bool:
    """Whether whatever is computed from a reduction of these ops reads it in its own row."""
    users = dict[Op[object], list[Op[object]]]()
    table = ReadTable(context.structures)
    reads = {op: [(found.space.index, access) for found in table.of(op) for access in found.accesses] for op in ops}
    makers = {t: op for op in ops for t in op.results}
    for op, found in reads.items():
        for _, access in found:
            if (maker := makers.get(access.tensor)) is not None:
                users.setdefault(maker, []).append(op)
    pending = [op for op in ops if row_space(op) is not None]
    seen = set(pending)
    while pending:
        producer = pending.pop()
        for user in dict.fromkeys(users.get(producer, ())):
            for here, access in reads[user]:
                if access.tensor in producer.results and access.index[: len(rows)] != here[: len(rows)]:
                    return False
            if space_of(user, 0)[: len(rows)] != rows:
                return False
            if user not in seen:
                seen.add(user)
                pending.append(user)
    return True
