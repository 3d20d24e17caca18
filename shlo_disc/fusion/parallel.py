"""Horizontal fusion: independent groups that take less time than their launch share a launch.

This is the third layer of fusion in Zhao et al., "Apollo: Automatic Partition-based Operator Fusion through Layer by
Layer Optimization" (MLSys 2022): after producers and consumers are fused, independent groups run side by side.

Every group has a window in the order of the plan: after all groups that it reads from, before all that read from it.
Groups whose windows share a point are independent, even transitively, for positions grow along every path. So a launch
is a point, and groups whose windows contain it. Points are chosen greedily, as in stabbing intervals with few points:
the window that opens last, and all that are open then. A launched group keeps its place, which narrows the windows of
its neighbours. Nothing else moves, so memory is tracked exactly: groups are moved only while the longer lifetimes of
buffers leave the peak, at likely sizes, nearly unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import ceil, floor
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.analysis.access import is_free
from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.program import Body, Op, Shape, Tensor
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import product
from shlo_disc.kernels.groups import Context, Decision, FusionPlan, Group, GroupKind
from shlo_disc.kernels.op_cost import element_cost
from shlo_disc.kernels.op_graph import all_operands, space_of

AtPoints: TypeAlias = NDArray[np.int64]  # a number for each likely point

MOST_BUFFERS = 64  # per launch: every part passes its own
MOST_OPS = 256  # per launch; bounds code size and compile time
MOST_TRIES = 3  # launches that a group is tried with
_MOST_ELEMENTS = 1 << 40  # cap for a tensor: no machine has more, and sums stay far from overflow
MORE_MEMORY = 1 / 16  # of the peak: how much longer lifetimes may add to it


def merge_parallel(plan: FusionPlan, body: Body, context: Context) -> FusionPlan:
    """Merge small independent groups into common launches, and order all groups legally."""
    if len(plan.groups) < 2 or not context.points:
        return plan
    launches = _ParallelMerger(plan.groups, body, context).run()
    made = [(launch.place, launch.group()) for launch in launches]
    inside = {k for launch in launches for k in launch.members}
    kept = [(float(k), group) for k, group in enumerate(plan.groups) if k not in inside]
    order = sorted((*kept, *made), key=lambda placed: placed[0])
    decisions = [d for launch, (_, group) in zip(launches, made, strict=True) for d in launch.decisions(group)]
    return FusionPlan(tuple(group for _, group in order), (*plan.decisions, *decisions))


@dataclass(slots=True, eq=False)
class _JointLaunch:
    """Groups, by number, that run together at one place of the plan, and those refused for the memory they need."""

    place: float
    groups: Sequence[Group]
    members: list[int] = field(default_factory=list[int])
    refused: list[int] = field(default_factory=list[int])
    buffers: set[Tensor] = field(default_factory=set[Tensor])
    ops: int = 0

    def has_room(self, buffers: set[Tensor], ops: int) -> bool:
        return len(self.buffers | buffers) <= MOST_BUFFERS and self.ops + ops <= MOST_OPS

    def add(self, k: int, buffers: set[Tensor]) -> None:
        self.members.append(k)
        self.buffers |= buffers
        self.ops += len(self.groups[k].ops)

    def group(self) -> Group:
        parts = tuple(self.groups[k] for k in sorted(self.members))
        ops = tuple(dict.fromkeys(op for part in parts for op in part.ops))
        roots = tuple(root for part in parts for root in part.roots)
        return Group(GroupKind.PARALLEL, ops, roots, None, None, parts)

    def decisions(self, group: Group) -> Iterator[Decision]:
        label = group.roots[0].name
        reason = f"one launch of {len(group.parts)} groups: none needs another, each is done sooner than launched"
        for part in group.parts:
            yield Decision(_named(part), label, True, reason)
        for k in self.refused:
            why = "what it reads or writes would have to live while the peak is reached"
            yield Decision(_named(self.groups[k]), label, False, why)


def _named(group: Group) -> Op[object]:
    return group.anchor or group.ops[-1]


class _ParallelMerger:
    """One pass over the groups of one body."""

    def __init__(self, groups: Sequence[Group], body: Body, context: Context) -> None:
        self.groups, self.context = groups, context
        self.place = [float(k) for k in range(len(groups))]
        self.home = {t: k for k, group in enumerate(groups) for t in group.roots}
        self._stored_in = dict[Tensor, frozenset[Tensor]]()
        self._counts = dict[Shape, AtPoints]()
        self._sizes = dict[Tensor, AtPoints]()
        self.reads = [self._reads(group) for group in groups]
        self.buffers = [reads.union(group.roots) for reads, group in zip(self.reads, groups, strict=True)]
        self.readers = dict[Tensor, list[int]]()
        for k, tensors in enumerate(self.reads):
            for tensor in tensors:
                self.readers.setdefault(tensor, []).append(k)
        results = set(body.results)  # their memory is the caller's, or that of a loop's carries
        self.temporaries = {t for t in self.home if t not in results}
        self.live = self._liveness()
        self.most = self.live.max(axis=1, initial=0) * (1 + MORE_MEMORY)
        self.tries = Counter[int]()
        self.small = {k for k in range(len(groups)) if self._is_small(k)}

    # -- what groups read, and what they cost

    def _reads(self, group: Group) -> set[Tensor]:
        """The buffers that a group reads: free ops are seen through, unless their results are stored."""
        inside = {t for op in group.ops for t in op.results}
        return {s for op in group.ops for t in all_operands(op) for s in self._stored(t)} - inside

    def _stored(self, tensor: Tensor) -> frozenset[Tensor]:
        if (known := self._stored_in.get(tensor)) is None:
            made = self.context.producers.get(tensor)
            if tensor in self.home or made is None or not is_free(made[0]):
                known = frozenset((tensor,))
            else:
                known = frozenset[Tensor]().union(*map(self._stored, made[0].operands))
            self._stored_in[tensor] = known
        return known

    def _elements(self, shape: Shape) -> AtPoints:
        if (known := self._counts.get(shape)) is None:
            count = product(shape)
            counts = [min(count.evaluate(point), _MOST_ELEMENTS) for point in self.context.points]
            known = self._counts[shape] = np.array(counts, np.int64)
        return known

    def _bytes(self, tensor: Tensor) -> AtPoints:
        if (known := self._sizes.get(tensor)) is None:
            known = self._sizes[tensor] = self._elements(tensor.shape) * tensor.dtype.bytes
        return known

    def _total(self, tensors: Iterable[Tensor]) -> AtPoints:
        return sum(map(self._bytes, tensors), start=np.zeros(len(self.context.points), np.int64))

    def _is_small(self, k: int) -> bool:
        """Whether a launch takes longer than the group itself, at half of the likely points or more."""
        group, launches = self.groups[k], self.context.abilities.parallel
        if launches is None or group.kind not in launches.kinds:
            return False
        small = self._total((*self.reads[k], *group.roots)) <= launches.bytes
        if not _holds_mostly(small):
            return False
        return _holds_mostly(small & (np.sum([self._work(op) for op in group.ops], axis=0) <= launches.work))

    def _work(self, op: Op[object]) -> NDArray[np.float64]:
        """The additions of an op; a reduction has one per element, a matrix product one per step of its sums."""
        space = self._elements(space_of(op, 0)).astype(np.float64)
        if isinstance(op.attrs, DotAttrs):
            return space * self._elements(tuple(op.operands[0].shape[k] for k in op.attrs.lhs_contract))
        return space * (1 if definition(op).template is Template.REDUCE else round(element_cost(op)))

    # -- memory

    def _lifetime(self, tensor: Tensor) -> slice:
        """The groups during which a buffer is live. A launch between two groups counts to both."""
        begin = self.place[self.home[tensor]]
        end = max((self.place[k] for k in self.readers.get(tensor, ())), default=begin)
        return slice(max(0, floor(begin)), ceil(end) + 1)

    def _liveness(self) -> NDArray[np.int64]:
        """The bytes of temporaries that live while each group runs, per point."""
        change = np.zeros((len(self.context.points), len(self.groups) + 1), np.int64)
        for tensor in self.temporaries:
            life = self._lifetime(tensor)
            change[:, life.start] += self._bytes(tensor)
            change[:, life.stop] -= self._bytes(tensor)
        return np.cumsum(change, axis=1)[:, :-1]

    def _move(self, k: int, place: float) -> None:
        touched = self.buffers[k] & self.temporaries
        for tensor in touched:
            self.live[:, self._lifetime(tensor)] -= self._bytes(tensor)[:, None]
        self.place[k] = place
        for tensor in touched:
            self.live[:, self._lifetime(tensor)] += self._bytes(tensor)[:, None]

    def _moves(self, k: int, place: float) -> bool:
        """Move a group if live memory stays below its limit; return whether it was moved."""
        before = self.place[k]
        self._move(k, place)
        around = slice(max(0, floor(min(before, place))), ceil(max(before, place)) + 1)
        if (self.live[:, around].max(axis=1) <= self.most).all():
            return True
        self._move(k, before)
        return False

    # -- launches

    def run(self) -> list[_JointLaunch]:
        """The launches of at least two groups."""
        opening = [(*self._key(k), k) for k in self.small]
        closing = [(-self._window(k)[1], k) for k in self.small]
        heapify(opening)
        heapify(closing)
        launches, done = list[_JointLaunch](), set[int]()
        while opening:
            *key, k = heappop(opening)
            if k in done:
                continue
            if tuple(key) != (now := self._key(k)):
                heappush(opening, (*now, k))
                continue
            launch = self._launch(k, closing, done)
            if launch is not None:
                launches.append(launch)
        return launches

    def _key(self, k: int) -> tuple[float, float]:
        """Sort by the window: the one that opens last comes first, then the one that closes first."""
        opens, closes = self._window(k)
        return -opens, closes

    def _window(self, k: int) -> tuple[float, float]:
        """The places between which a group may stand: after the producers of what it reads, before its readers."""
        opens = max((self.place[self.home[t]] for t in self.reads[k] if t in self.home), default=-1.0)
        readers = (self.place[r] for t in self.groups[k].roots for r in self.readers.get(t, ()))
        return opens, min(readers, default=float(len(self.groups)))

    def _first_place(self, k: int) -> float:
        """Right after all that a group reads, or right before its readers, whichever needs less memory."""
        opens, closes = self._window(k)
        dying = [t for t in self.reads[k] & self.temporaries if len(self.readers[t]) == 1]
        made = self.temporaries.intersection(self.groups[k].roots)
        if (self._total(dying) >= self._total(made)).all():
            return (opens + min(closes, floor(opens) + 1)) / 2
        return (max(opens, ceil(closes) - 1) + closes) / 2

    def _launch(self, first: int, closing: list[tuple[float, int]], done: set[int]) -> _JointLaunch | None:
        """A launch of one group, and of all that may join it at its place; None if none does."""
        done.add(first)
        before, launch = self.place[first], _JointLaunch(self._first_place(first), self.groups)
        if not self._join(launch, first):
            return None
        again = list[tuple[float, int]]()
        while closing and -closing[0][0] > launch.place:
            closes, k = heappop(closing)
            if k in done:
                continue
            if (now := self._window(k)[1]) < -closes:  # a reader of it has moved
                heappush(closing, (-now, k))
                continue
            if not launch.has_room(self.buffers[k], len(self.groups[k].ops)):
                again.append((closes, k))
                break
            if self._join(launch, k):
                done.add(k)
            elif (tries := self.tries[k]) < MOST_TRIES:
                self.tries[k] = tries + 1
                again.append((closes, k))
        for entry in again:
            heappush(closing, entry)
        if len(launch.members) == 1:
            self._move(first, before)
            return None
        for k in launch.members:  # producers of the members may now run later
            for made in {self.home[t] for t in self.reads[k] if t in self.home} & self.small - done:
                heappush(closing, (-self._window(made)[1], made))
        return launch

    def _join(self, launch: _JointLaunch, k: int) -> bool:
        """Add a group to a launch if its window and memory allow it; return whether it was added."""
        opens, closes = self._window(k)
        if not opens < launch.place < closes:
            return False
        if not self._moves(k, launch.place):
            launch.refused.append(k)
            return False
        launch.add(k, self.buffers[k])
        return True


def _holds_mostly(flags: NDArray[np.bool_]) -> bool:
    return 2 * int(flags.sum()) >= len(flags)
