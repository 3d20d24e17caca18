"""Edge contraction: how BladeDISC's `FusionPlanner` (lhlo_fusion.cc) grows clusters, whatever the rules are.

Consumers first, a cluster is merged with each cluster that reads it if the rules allow it and no cycle appears, over
and over until nothing changes; then, in horizontal fusion, with clusters that it has nothing to do with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.program import Op, Tensor

ARGUMENTS = 64  # of a kernel; `max_num_arguments_per_kernel` in fusion_utils.h


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An op, or a view that is a kernel of its own. `reads` are the tensors it needs in memory, views seen through.

    `position` counts the nodes in an order in which they can run.
    """

    op: Op[object]
    position: int
    fusible: bool
    reads: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """The nodes of a body, in order. `outputs` are tensors that must be in memory whatever happens to their readers."""

    nodes: tuple[Node, ...]
    makers: Mapping[Tensor, Node]
    readers: Mapping[Tensor, tuple[Node, ...]]
    outputs: frozenset[Tensor]
    producers: Producers


@dataclass(slots=True, eq=False)
class Cluster:
    """Nodes that share a kernel. `stitched`: rows wait in shared memory between its reductions.

    `bits` are the positions of its nodes, `reach` those of all nodes outside that depend on them.
    """

    nodes: tuple[Node, ...]
    bits: int
    reach: int
    fusible: bool = False
    stitched: bool = False
    after: set[Cluster] = field(default_factory=set["Cluster"])


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """What a merged cluster would be. `outside` are the results that no node of it reads."""

    nodes: tuple[Node, ...]
    results: tuple[Tensor, ...]
    outside: tuple[Tensor, ...]
    operands: tuple[Tensor, ...]


class Rules(Protocol):
    """What one strategy of a fusion pipeline allows."""

    def begins(self, cluster: Cluster) -> bool:
        """Whether a cluster of one op may grow."""
        ...

    def refusal(self, lhs: Cluster, rhs: Cluster, target: Candidate) -> str:
        """Why two clusters may not become `target`; empty if they may."""
        ...

    def stitches(self, target: Candidate) -> bool:
        """Whether the kernel of `target` keeps rows between reductions."""
        ...


def candidate(nodes: Sequence[Node], graph: Graph) -> Candidate:
    """Inputs and results of the kernel of some nodes (`calculateOperandsAndResults`, fusion_utils.cc)."""
    inside = set(nodes)
    results, outside = list[Tensor](), list[Tensor]()
    for node in nodes:
        for tensor in node.op.results:
            readers = graph.readers.get(tensor, ())
            if tensor in graph.outputs or any(r not in inside for r in readers):
                results.append(tensor)
                if not any(r in inside for r in readers):
                    outside.append(tensor)
    made = {t for node in nodes for t in node.op.results}
    operands = dict.fromkeys(t for node in nodes for t in node.reads if t not in made)
    return Candidate(tuple(nodes), tuple(results), tuple(outside), tuple(operands))


class Contraction:
    """The clusters of one body while they grow."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        home = {node: Cluster((node,), 1 << node.position, 0) for node in graph.nodes}
        for node in reversed(graph.nodes):
            cluster = home[node]
            for tensor in node.op.results:
                cluster.after.update(home[reader] for reader in graph.readers.get(tensor, ()))
            for reader in cluster.after:
                cluster.reach |= reader.bits | reader.reach
        self.clusters = list(home.values())

    def run(self, rules: Rules, *, horizontal: bool) -> None:
        """Merge until the rules allow no more."""
        for cluster in self.clusters:
            if len(cluster.nodes) == 1:
                cluster.fusible = rules.begins(cluster)
        while self._contract_edges(rules):
            pass
        while horizontal and (self._contract_edges(rules) or self._contract_unrelated(rules)):
            pass

    def edges(self) -> Iterator[tuple[Cluster, Cluster]]:
        """Pairs of which the second reads the first, consumers first."""
        for lhs in self._consumers_first():
            yield from ((lhs, rhs) for rhs in _in_order(lhs.after))

    def producers_first(self) -> list[Cluster]:
        """The clusters in an order in which they can run."""
        return self._consumers_first()[::-1]

    def refusal(self, lhs: Cluster, rhs: Cluster, rules: Rules) -> str:
        """Why `rhs` may not be put into `lhs`; empty if it may."""
        if not (lhs.fusible and rhs.fusible):
            return "only memory-bound operations are fused"
        if any(c.reach & rhs.bits for c in lhs.after if c is not rhs):
            return "another kernel between them must run first"
        return rules.refusal(lhs, rhs, self._target(lhs, rhs))

    def _target(self, lhs: Cluster, rhs: Cluster) -> Candidate:
        return candidate(sorted((*lhs.nodes, *rhs.nodes), key=lambda n: n.position), self.graph)

    def _merge(self, lhs: Cluster, rhs: Cluster, rules: Rules) -> bool:
        if self.refusal(lhs, rhs, rules):
            return False
        target = self._target(lhs, rhs)
        lhs.nodes, lhs.stitched = target.nodes, rules.stitches(target)
        lhs.bits |= rhs.bits
        lhs.reach = (lhs.reach | rhs.reach) & ~lhs.bits
        lhs.after = (lhs.after | rhs.after) - {lhs, rhs}
        rhs.nodes, rhs.after = (), set()
        self.clusters.remove(rhs)
        for cluster in self.clusters:
            if cluster.reach & lhs.bits and cluster is not lhs:
                cluster.reach |= lhs.bits | lhs.reach
                if rhs in cluster.after:
                    cluster.after.remove(rhs)
                    cluster.after.add(lhs)
        return True

    def _consumers_first(self) -> list[Cluster]:
        """Order the clusters so that each comes after all that depend on it."""
        return sorted(self.clusters, key=lambda c: (c.reach.bit_count(), -c.nodes[0].position))

    def _contract_edges(self, rules: Rules) -> bool:
        changed = False
        for lhs in self._consumers_first():
            for rhs in _in_order(lhs.after):
                if rhs in lhs.after and self._merge(lhs, rhs, rules):
                    changed = True
        return changed

    def _contract_unrelated(self, rules: Rules) -> bool:
        changed = False
        order = [c for c in self._consumers_first() if c.fusible]
        for lhs in order:
            for rhs in order:
                gone = not (lhs.nodes and rhs.nodes)
                if lhs is rhs or gone or lhs.reach & rhs.bits or rhs.reach & lhs.bits:
                    continue
                if self._merge(lhs, rhs, rules):
                    changed = True
        return changed


def _in_order(clusters: set[Cluster]) -> list[Cluster]:
    return sorted(clusters, key=lambda c: c.nodes[0].position)
