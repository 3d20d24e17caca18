"""Orders of a host program's steps that may need less memory than the given one, by `scheduling`.

Bodies of loops and branches are ordered separately; a loop, or a case, is one task of the list that it is in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TypeAlias, assert_never

import numpy as np

from shlo_disc.host.program import HostStep, InPlace, LaunchStep
from shlo_disc.host.scheduling import AtPoints, Task, Tasks
from shlo_disc.host_ir import Case, Copy, LaunchGroup, While

_KEPT = 2  # orders that are returned
_Steps: TypeAlias = tuple[HostStep, ...]


def other_orders(steps: _Steps, sizes: AtPoints) -> Iterator[_Steps]:
    """Orders whose peak is estimated (without placement) to be at no point higher; the best first.

    `sizes` in bytes by slot and point, 0 for slots that need no temporary memory.
    """
    inner, tasks = _Program(steps, sizes).tasks(steps)
    is_new = any(new is not old for new, old in zip(inner, steps, strict=True))
    orders = (order for order, _ in tasks.ranked() if is_new or order != sorted(order))
    yield from (tuple(inner[k] for k in order) for order in islice(orders, _KEPT))


def pairs_in_place(step: LaunchStep | Copy) -> InPlace:
    """Pairs of slots: one that a step reads, and one that it may write in its place."""
    match step:
        case LaunchStep(kernel, slots):
            return tuple((slots[read], slots[written]) for read, written in kernel.in_place)
        case Copy(source, target):
            return ((source, target),)
        case _:
            assert_never(step)


class _Program:
    """Orders the steps of one program, list by list, from the inside out."""

    def __init__(self, steps: _Steps, sizes: AtPoints) -> None:
        self._sizes = sizes
        self._uses = _uses(steps)

    def tasks(self, steps: _Steps) -> tuple[_Steps, Tasks]:
        """A list with its bodies ordered, and its tasks. Slots that are used outside of it are live all the time."""
        own = np.zeros_like(self._sizes)
        for slot in self._only_in(steps):
            own[slot] = self._sizes[slot]
        found = [self._task(step) for step in steps]
        return tuple(step for step, _ in found), Tasks([task for _, task in found], own)

    def _only_in(self, steps: _Steps) -> Iterator[int]:
        return (slot for slot, count in _uses(steps).items() if count == self._uses[slot])

    def _ordered(self, steps: _Steps) -> tuple[_Steps, AtPoints]:
        """The best order of a list, and its peak."""
        inner, tasks = self.tasks(steps)
        order, held = tasks.ranked()[0]
        is_same = order == sorted(order) and all(new is old for new, old in zip(inner, steps, strict=True))
        return steps if is_same else tuple(inner[k] for k in order), held

    def _task(self, step: HostStep) -> tuple[HostStep, Task]:
        match step:
            case LaunchStep() | Copy():
                inside = np.zeros(self._sizes.shape[1], np.int64)
                return step, Task(frozenset(_reads(step)), frozenset(_writes(step)), pairs_in_place(step), inside)
            case While(condition, _, body):
                (first, _), (second, _) = found = self._ordered(condition), self._ordered(body)
                is_same = first is condition and second is body
                ordered = step if is_same else replace(step, condition=first, body=second)
            case Case(_, _, branches):
                found = [self._ordered(branch) for branch in branches]
                is_same = all(new is old for (new, _), old in zip(found, branches, strict=True))
                ordered = step if is_same else replace(step, branches=tuple(new for new, _ in found))
            case LaunchGroup():
                raise AssertionError("launches are put together when their order and memory is known")
            case _:
                assert_never(step)
        hidden = {slot for body in _bodies(step) for slot in self._only_in(body)}
        inside = np.max([held for _, held in found], axis=0)
        return ordered, Task(frozenset(_reads(step)) - hidden, frozenset(_writes(step)) - hidden, (), inside)


def _bodies(step: HostStep) -> tuple[_Steps, ...]:
    match step:
        case LaunchStep() | Copy() | LaunchGroup():
            return ()
        case While(condition, _, body):
            return condition, body
        case Case(_, _, branches):
            return branches
        case _:
            assert_never(step)


def _uses(steps: _Steps) -> Counter[int]:
    """How often slots are named."""
    return Counter(slot for step in steps for slot in (*_reads(step), *_writes(step)))


def _reads(step: HostStep) -> Iterator[int]:
    match step:
        case LaunchStep(slots=slots, written=written):
            yield from (slot for slot in slots if slot not in written)
        case Copy(source, _):
            yield source
        case While(_, flag, _):
            yield flag
        case Case(index, _, _):
            yield index
        case LaunchGroup():
            raise AssertionError("launches are put together when their order and memory is known")
        case _:
            assert_never(step)
    yield from (slot for body in _bodies(step) for inner in body for slot in _reads(inner))


def _writes(step: HostStep) -> Iterator[int]:
    match step:
        case LaunchStep(written=written):
            yield from written
        case Copy(_, target):
            yield target
        case While() | Case():
            yield from (slot for body in _bodies(step) for inner in body for slot in _writes(inner))
        case LaunchGroup():
            raise AssertionError("launches are put together when their order and memory is known")
        case _:
            assert_never(step)
