"""The group builder: draft groups in topological order.

The order is maintained by the algorithm of Pearce and Kelly (A dynamic topological sort algorithm for directed acyclic
graphs, JEA 2006): a merge visits only the groups between the two in the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.kernels.groups import GroupKind


@dataclass(slots=True, eq=False)
class GroupDraft:
    """A group while it grows; `visits`: how often each op computes an element, at each of the likely sizes.

    `places`: the numbers of the different indices at which each op is computed for one point of a root; each place has
    a formula of its own. `indirections`: the depth of nested indexing through each op that is used as an index. `work`
    is that of all ops, in additions. `loaded` are the tensors that the ops added so far read from memory; `memory` is
    the cost of reading these and of writing the roots.
    """

    kind: GroupKind
    ops: list[Op[object]]
    roots: list[Tensor]
    anchor: Op[object] | None
    rows: Shape | None = None
    visits: dict[Op[object], tuple[float, ...]] = field(default_factory=dict[Op[object], tuple[float, ...]])
    places: dict[Op[object], frozenset[int]] = field(default_factory=dict[Op[object], frozenset[int]])
    indirections: dict[Op[object], int] = field(default_factory=dict[Op[object], int])
    work: tuple[float, ...] = ()
    memory: tuple[float, ...] = ()
    loaded: dict[Tensor, None] = field(default_factory=dict[Tensor, None])
    place: int = 0
    before: dict[GroupDraft, None] = field(default_factory=dict["GroupDraft", None])
    after: dict[GroupDraft, None] = field(default_factory=dict["GroupDraft", None])

    @property
    def label(self) -> str:
        """Its name in reports."""
        return self.roots[0].name if self.roots else self.ops[0].name

    @property
    def reduces(self) -> list[Op[object]]:
        """Its reductions."""
        return [op for op in self.ops if isinstance(op.attrs, ReduceAttrs)]


class DraftOrder:
    """The drafts of one body, each after those that it reads from."""

    def __init__(self) -> None:
        self.drafts = dict[GroupDraft, None]()
        self._first = 0

    def ordered(self) -> list[GroupDraft]:
        """All drafts in topological order."""
        return sorted(self.drafts, key=lambda draft: draft.place)

    def open(self, draft: GroupDraft, readers: Iterable[GroupDraft]) -> None:
        """Add a draft that `readers` read, and that reads from none yet."""
        self._first -= 1
        draft.place = self._first
        self.drafts[draft] = None
        for reader in readers:
            _connect(draft, reader)

    def dependent(self, drafts: Sequence[GroupDraft], readers: Sequence[GroupDraft]) -> set[GroupDraft]:
        """Those of `drafts` that depend on another of `readers`: what all `readers` read cannot be computed there."""
        if not drafts or len(readers) < 2:
            return set()
        last = max(draft.place for draft in drafts)
        starts = [after for draft in readers for after in draft.after]
        return _reached_after(starts, last).intersection(drafts)

    def extend(self, draft: GroupDraft, readers: Iterable[GroupDraft]) -> None:
        """Add `readers` of `draft`; this must not close a cycle."""
        readers = [r for r in readers if r is not draft]
        late = _reached_after(readers, draft.place - 1)
        for reader in readers:
            _connect(draft, reader)
        if not late:
            return
        first = min(d.place for d in late)
        early = _reached_before(draft, first)
        moved = [*sorted(early, key=lambda d: d.place), *sorted(late, key=lambda d: d.place)]
        for place, each in zip(sorted(d.place for d in moved), moved, strict=True):
            each.place = place

    def independent(self, a: GroupDraft, b: GroupDraft) -> bool:
        """Whether neither depends on the other."""
        first, last = (a, b) if a.place < b.place else (b, a)
        return last not in _reached_after([first], last.place)

    def merge(self, kept: GroupDraft, gone: GroupDraft) -> None:
        """Merge `gone` into `kept`; they must be independent."""
        del self.drafts[gone]
        for producer in gone.before:
            del producer.after[gone]
        for reader in gone.after:
            del reader.before[gone]
        for producer in gone.before:
            self.extend(producer, [kept])
        self.extend(kept, gone.after)


def _connect(producer: GroupDraft, reader: GroupDraft) -> None:
    producer.after[reader] = None
    reader.before[producer] = None


def _reached_after(starts: Iterable[GroupDraft], last: int) -> set[GroupDraft]:
    """The drafts that depend on one of `starts`, these included, up to place `last`."""
    stack = [draft for draft in starts if draft.place <= last]
    found = set(stack)
    while stack:
        for each in stack.pop().after:
            if each.place <= last and each not in found:
                found.add(each)
                stack.append(each)
    return found


def _reached_before(draft: GroupDraft, first: int) -> set[GroupDraft]:
    """The drafts that `draft` depends on, itself included, after place `first`."""
    stack, found = [draft], {draft}
    while stack:
        for each in stack.pop().before:
            if each.place > first and each not in found:
                found.add(each)
                stack.append(each)
    return found
