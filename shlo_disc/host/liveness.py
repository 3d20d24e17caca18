"""Liveness of the buffers of a host program.

Backward data-flow analysis over the structured steps: a step uses what it reads, and kills what it overwrites whole.
Moments number the leaf steps of the program, and each read of a loop's flag or a branch's index by the host. A moment
inside a loop stands for that moment of every iteration. Sets of slots, and sets of moments, are integers with a bit for
each member: what is live at a moment of a training step grows with its layers, and so would the cost of a Python set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce
from typing import assert_never

from shlo_disc.host.program import HostStep, LaunchStep
from shlo_disc.host_ir import Case, Copy, LaunchGroup, While
from shlo_disc.records import record


class Liveness:
    """The moments at which each slot must not be overwritten, and what each moment reads and writes."""

    def __init__(self, steps: Sequence[HostStep], slots: int, at_end: Collection[int]) -> None:
        """`at_end` are the slots that are read after the last step."""
        self.alive = [0] * slots  # per slot, a bit per moment
        self.reads, self.writes = list[tuple[int, ...]](), list[tuple[int, ...]]()
        self.numbered = dict[int, int]()  # the moment of a leaf, a loop's flag or a branch's index, by the step's id
        self.after = list[int]()  # the slots that are needed after each moment, a bit per slot
        self._effects = dict[int, _Effect]()  # of loops and branches, by the step's id
        self._number(steps)
        self._read, self._written = [[_bits(slots) for slots in each] for each in (self.reads, self.writes)]
        self.after = [0] * len(self.reads)
        self._flow(steps, _bits(at_end))
        self._find_moments()

    def _find_moments(self) -> None:
        """Fill `alive`; only moments at which a slot's liveness changes cost work."""
        held, since = 0, [0] * len(self.alive)
        for moment in range(self.moments + 1):
            now = self.held(moment) if moment < self.moments else 0
            for slot in members(held ^ now):
                if now >> slot & 1:
                    since[slot] = moment
                else:
                    self.alive[slot] |= (1 << moment) - (1 << since[slot])
            held = now

    def held(self, moment: int) -> int:
        """The slots that must not be overwritten at a moment, a bit per slot."""
        return self.after[moment] | self._read[moment] | self._written[moment]

    @property
    def moments(self) -> int:
        """The number of moments."""
        return len(self.reads)

    def _moment(self, step: HostStep, reads: Sequence[int], writes: Sequence[int]) -> None:
        self.numbered[id(step)] = len(self.reads)
        self.reads.append(tuple(reads))
        self.writes.append(tuple(writes))

    def _number(self, steps: Sequence[HostStep]) -> None:
        for step in steps:
            match step:
                case LaunchStep(slots=slots, written=written):
                    self._moment(step, [slot for slot in slots if slot not in written], written)
                case Copy(source, target):
                    self._moment(step, (source,), (target,))
                case While(condition, flag, body):
                    self._number(condition)
                    self._moment(step, (flag,), ())
                    self._number(body)
                case Case(index, _, branches):
                    self._moment(step, (index,), ())
                    for branch in branches:
                        self._number(branch)
                case LaunchGroup():
                    raise AssertionError("launches are put together when their order and memory is known")
                case _:
                    assert_never(step)

    def _flow(self, steps: Sequence[HostStep], needed: int) -> int:
        """What is needed before `steps`, if `needed` is needed after them."""
        for step in reversed(steps):
            match step:
                case LaunchStep() | Copy():
                    needed = self._before(step, needed)
                case While(condition, _, body):
                    needed = self._loop(step, condition, body, needed)
                case Case(_, _, branches):
                    entries = [self._flow(branch, needed) for branch in branches]
                    needed = self._before(step, reduce(int.__or__, entries, 0))
                case LaunchGroup():
                    raise AssertionError("launches are put together when their order and memory is known")
                case _:
                    assert_never(step)
        return needed

    def _before(self, step: HostStep, needed: int) -> int:
        moment = self.numbered[id(step)]
        self.after[moment] |= needed
        return needed & ~self._written[moment] | self._read[moment]

    def _loop(self, step: HostStep, condition: Sequence[HostStep], body: Sequence[HostStep], needed: int) -> int:
        """The slots needed before a loop, and at the end of its body: from the effects of both, without a fixpoint."""
        head = self._effect_of(step).before(needed)
        entry = self._flow(body, head)
        self._flow(condition, self._before(step, needed | entry))
        return head

    def _effect(self, steps: Sequence[HostStep]) -> _Effect:
        """The effect of running `steps` on the slots needed before them."""
        found = _NOTHING
        for step in reversed(steps):
            found = self._effect_of(step).then(found)
        return found

    def _effect_of(self, step: HostStep) -> _Effect:
        """The effect of one step; that of a loop or branches is cached, so that nesting does not multiply the work."""
        if (known := self._effects.get(id(step))) is not None:
            return known
        moment = self.numbered[id(step)]
        found = _Effect(self._read[moment], self._written[moment])
        match step:
            case While(condition, _, body):
                # One iteration of the body reaches the fixpoint: another one adds no needs.
                asked = self._effect(condition).then(found)
                found = _Effect(asked.before(self._effect(body).needs), asked.ends)
            case Case(_, _, branches):
                found = found.then(reduce(_Effect.either, map(self._effect, branches), _UNREACHED))
            case _:
                return found
        self._effects[id(step)] = found
        return found


@record
class _Effect:
    """Transfer function of steps (gen and kill): before them their `needs`, and what is needed after but not `ends`."""

    needs: int
    ends: int

    def before(self, needed: int) -> int:
        """What is needed before, if `needed` is needed after it."""
        return needed & ~self.ends | self.needs

    def then(self, later: _Effect) -> _Effect:
        """The effect of this, and then of `later`."""
        return _Effect(self.before(later.needs), self.ends | later.ends)

    def either(self, other: _Effect) -> _Effect:
        """The effect if one of the two runs."""
        return _Effect(self.needs | other.needs, self.ends & other.ends)


_NOTHING, _UNREACHED = _Effect(0, 0), _Effect(0, -1)


def members(bits: int) -> Iterator[int]:
    """The members of a bit set, in order."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _bits(numbers: Iterable[int]) -> int:
    return reduce(int.__or__, (1 << number for number in numbers), 0)
