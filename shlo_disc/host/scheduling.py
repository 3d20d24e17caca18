"""Orders of dependent tasks that need little memory.

The order that needs least is NP-hard to find (Sethi, "Complete Register Allocation Problems", STOC 1973), so two
searches are tried at several sizes. The greedy one takes, of the ready tasks, the one after which least memory is live,
as BladeDISC++ schedules ops (Yuan et al., arXiv 2412.16985); here from the last task back, which accounts for what a
task keeps alive before it, and not only for what it writes. The other one is a depth-first search from the last tasks,
which takes the dependence that needs most memory first (Sethi and Ullman, JACM 17(4), 1970, for trees).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.records import record

AtPoints: TypeAlias = NDArray[np.int64]  # bytes at each likely point

_BUDGET = 2000  # tasks put in order, all in all: some 20 ms


@record
class Task:
    """The memory effects of a step: the slots that it reads, writes, or (the second of a pair) may write in place."""

    reads: frozenset[int]
    writes: frozenset[int]
    in_place: tuple[tuple[int, int], ...]
    inside: AtPoints  # needed inside of it alone

    @property
    def slots(self) -> frozenset[int]:
        """All slots that it accesses."""
        return self.reads | self.writes


class Tasks:
    """Tasks in a legal order, and the other orders that respect their dependences."""

    def __init__(self, tasks: Sequence[Task], sizes: AtPoints) -> None:
        """`sizes` in bytes by slot and point; 0 for slots that are live all the time, or not in the arena."""
        self._tasks, self._sizes = tasks, sizes
        self._before = _dependences(tasks)
        self._after = [list[int]() for _ in tasks]
        for k, earlier in enumerate(self._before):
            for j in earlier:
                self._after[j].append(k)
        self._users = dict[int, list[int]]()
        for k, task in enumerate(tasks):
            for slot in task.slots:
                self._users.setdefault(slot, []).append(k)

    def ranked(self) -> list[tuple[list[int], AtPoints]]:
        """Orders whose peak is at no point higher than that of the given one, with their peaks; the best first.

        The given order is one of them, before others that are as good.
        """
        count = len(self._tasks)
        given = list(range(count))
        held = self._held(given)
        found = [(given, held)]
        for order in islice(self._searches(), max(2, _BUDGET // max(1, count))):
            if all(order != known for known, _ in found) and np.all((most := self._held(order)) <= held):
                found.append((order, most))
        return sorted(found, key=lambda each: float((each[1] / np.maximum(held, 1)).sum()))

    def _searches(self) -> Iterator[list[int]]:
        for point in range(self._sizes.shape[1]):
            sizes: list[int] = self._sizes[:, point].tolist()
            yield self._greedy(sizes)
            yield self._depth_first(sizes)

    def _held(self, order: Sequence[int]) -> AtPoints:
        """Peak of live bytes, by point."""
        first, last = dict[int, int](), dict[int, int]()
        for moment, k in enumerate(order):
            for slot in self._tasks[k].slots:
                first.setdefault(slot, moment)
                last[slot] = moment
        changes: AtPoints = np.zeros((len(order) + 2, self._sizes.shape[1]), np.int64)
        inside: AtPoints = np.zeros_like(changes)
        for moment, k in enumerate(order):
            inside[moment] = self._tasks[k].inside
            handed_on = set[int]()
            for source, target in self._tasks[k].in_place:
                ends, sizes = last[source] == moment == first[target], self._sizes
                if ends and source not in handed_on and np.array_equal(sizes[source], sizes[target]):
                    handed_on.add(source)
                    first[target] = moment + 1
        for slot, moment in first.items():
            changes[moment] += self._sizes[slot]
            changes[last[slot] + 1] -= self._sizes[slot]
        return (changes.cumsum(axis=0) + inside).max(axis=0, initial=0)

    def _greedy(self, sizes: Sequence[int]) -> list[int]:
        """From the last task back, take the task before which least is live; of equals, the later one."""
        waiting = [len(after) for after in self._after]
        left = {slot: len(users) for slot, users in self._users.items()}
        held, done, order = set[int](), [False] * len(waiting), list[int]()

        def growth(k: int) -> int:
            slots = self._tasks[k].slots
            new = sum(sizes[slot] for slot in slots if slot not in held)
            return new - sum(sizes[slot] for slot in slots if left[slot] == 1)

        ready = [(growth(k), -k) for k, count in enumerate(waiting) if not count]
        heapify(ready)
        while ready:
            found, negative = heappop(ready)
            k = -negative
            if done[k]:
                continue
            if (now := growth(k)) > found:
                heappush(ready, (now, -k))
                continue
            done[k] = True
            order.append(k)
            changed = list(self._before[k])
            for j in changed:
                waiting[j] -= 1
            for slot in self._tasks[k].slots:
                left[slot] -= 1
                if left[slot] == 1 or slot not in held:
                    changed += self._users[slot]
                held.add(slot)
            for j in dict.fromkeys(changed):
                if not waiting[j] and not done[j]:
                    heappush(ready, (growth(j), -j))
        return order[::-1]

    def _depth_first(self, sizes: Sequence[int]) -> list[int]:
        """Each task just before the first that needs it; those that need most beyond what they leave go first."""
        spare = list[int]()  # what computing a task, as in a tree, takes beyond what it leaves
        left = [sum(sizes[slot] for slot in task.writes) for task in self._tasks]
        for k, earlier in enumerate(self._before):
            held = most = 0
            for j in sorted(earlier, key=lambda j: -spare[j]):
                most = max(most, held + left[j] + spare[j])
                held += left[j]
            spare.append(max(most - left[k], held))
        done, order = [False] * len(left), list[int]()
        for last in (k for k, after in enumerate(self._after) if not after):
            stack = [(last, False)]
            while stack:
                k, is_ready = stack.pop()
                if done[k]:
                    continue
                if is_ready:
                    done[k] = True
                    order.append(k)
                    continue
                stack.append((k, True))
                stack += [(j, False) for j in sorted(self._before[k], key=lambda j: (spare[j], -j)) if not done[j]]
        return order


def _dependences(tasks: Sequence[Task]) -> list[set[int]]:
    """The tasks that each task must follow: writers of what it reads, and users of what it overwrites."""
    writer, readers = dict[int, int](), dict[int, list[int]]()
    found = list[set[int]]()
    for k, task in enumerate(tasks):
        before = {writer[slot] for slot in task.slots if slot in writer}
        for slot in task.writes:
            before.update(readers.pop(slot, ()))
            writer[slot] = k
        for slot in task.reads - task.writes:
            readers.setdefault(slot, []).append(k)
        found.append(before)
    return found
