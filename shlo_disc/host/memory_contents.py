"""Where the buffers of a host program lie, and what their memory holds at each step; used by `host.verify`.

Memory is named by its *home*, one of the slots that lie there. Two homes in the arena count as disjoint only if their
bytes are proven to be apart, or every call checks that they are (`conditions`): otherwise a write to one discards the
contents of the other.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from shlo_disc.analysis.sizes import Point
from shlo_disc.diagnostics import InternalError
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.emit.remarks import remark
from shlo_disc.expr.dim import Dim, Sym, maximum, minimum
from shlo_disc.expr.facts import Facts
from shlo_disc.host.program import HostBuffer, HostProgram
from shlo_disc.host.size_order import SizeOrder
from shlo_disc.records import record

ALIGNMENT = 64  # bytes, of every buffer in the arena
_UNKNOWN_SIZE = 32  # assumed for all sizes if no legal ones are known
_LEAST_STEPS, _STEPS_PER_BUFFER = 1000, 30  # of all proofs together: most programs need less than a third


@record
class Packed:
    """The output of a packing kernel; `sources` are the values that it reads, each as the set of its names."""

    kernel: str
    sources: tuple[frozenset[Value], ...]


Value: TypeAlias = Tensor | Packed
_Place: TypeAlias = tuple[int, int, int]  # a home in the arena: its start and end (bytes) at a point, its slot


class Layout:
    """The homes of buffers and their bytes, for all sizes."""

    def __init__(
        self, host: HostProgram, facts: Facts, points: Sequence[Point], more: Callable[[], Sequence[Point]]
    ) -> None:
        self.buffers = host.buffers
        self._arena, self._facts = host.arena_bytes, facts
        self._below = dict[tuple[int, int], bool]()  # whether one home is proven to end before another begins
        self._apart = set[tuple[int, int]]()  # homes for which that is a condition, unless one is empty
        self._places = dict[int, _Place]()
        self._ends = dict[int, tuple[Dim, Dim]]()
        self._definitions = host.definitions
        looked_at = list(map(self._whole, points))
        most = _LEAST_STEPS + _STEPS_PER_BUFFER * len(host.buffers)
        self.order = SizeOrder(facts, host.definitions, looked_at, most, lambda: list(map(self._whole, more())))
        places = looked_at or [self._whole(dict.fromkeys(self._symbols(), _UNKNOWN_SIZE))]
        self._point = max(reversed(places), key=self._present)  # homes are sorted by it: a legal one if known

    def _whole(self, point: Point) -> Point:
        """A point with the values of defined symbols added."""
        values = dict(point)
        for symbol, dim in self._definitions:
            values[symbol] = dim.evaluate(values)
        return values

    def _symbols(self) -> set[Sym]:
        """The symbols of all sizes and offsets that are not defined by others."""
        dims = [dim for buffer in self.buffers for dim in (buffer.size, buffer.offset)]
        dims += [dim for _, dim in self._definitions]
        return {symbol for dim in dims for symbol in dim.symbols()} - {symbol for symbol, _ in self._definitions}

    def home(self, slot: int) -> int:
        """The slot that names the memory of a slot."""
        memory = self.buffers[slot].memory
        return slot if memory is None else memory

    def is_in_arena(self, home: int) -> bool:
        """Whether a home lies in the arena, where homes may overlap."""
        return self.buffers[home].kind == "arena"

    @property
    def conditions(self) -> tuple[Dim, ...]:
        """Unproven sums: no call may run at sizes at which one of them is negative."""
        return tuple(self.order.conditions)

    def is_equal(self, one: Dim, other: Dim) -> bool:
        """Whether two byte counts are equal: proven by facts, or made a condition."""
        if one == other:
            return True
        found = self._facts.equal(one, other)
        return found.is_true or (not found.is_false and self.order.make_condition(minimum(one - other, other - one)))

    def named(self, slot: int) -> str:
        """The description of a buffer in errors."""
        buffer = self.buffers[slot]
        where = f"arena at {buffer.offset}" if buffer.kind == "arena" else f"{buffer.kind} {buffer.number}"
        return f"buffer {slot} (%{remark(buffer.made.name)}, {buffer.size} bytes, {where})"

    def check(self, slots: Collection[int]) -> None:
        """Check that the buffers of these slots lie in memory that has room for them."""
        homes = dict[tuple[str, int], int]()
        for slot in sorted(slots):
            buffer, home = self.buffers[slot], self.buffers[self.home(slot)]
            self._require(home.memory == self.home(slot), slot, f"its memory is that of {home.memory}")
            same = (buffer.kind, buffer.number, buffer.offset) == (home.kind, home.number, home.offset)
            self._require(same, slot, f"it lies elsewhere than {self.named(self.home(slot))}, whose memory it has")
            self._require(self._has_room(buffer, home), slot, f"it is larger than {self.named(self.home(slot))}")
            if buffer.kind == "null":
                continue  # there is no memory
            if buffer.kind != "arena":
                other = homes.setdefault((buffer.kind, buffer.number), self.home(slot))
                self._require(other == self.home(slot), slot, f"it has the bytes of {self.named(other)} unsaid")
                continue
            if slot != self.home(slot) and self.home(slot) in slots:
                continue
            self._require(self.order.is_multiple(buffer.offset, ALIGNMENT), slot, f"it is not aligned to {ALIGNMENT}")
            self._require(self.order.holds_in_calls(buffer.offset), slot, "it begins before the arena")

    def check_arena(self) -> None:
        """Check that each home that was used ends within the arena, or below one that does; the highest first."""
        inside = set[int]()
        above = dict[int, set[int]]()
        for (low, high), is_below in self._below.items():
            if is_below:
                above.setdefault(low, set()).add(high)
        for *_, home in sorted(self._places.values(), reverse=True):
            buffer = self.buffers[home]
            if (
                above.get(home, set()) & inside
                or self._is_behind(self._arena, home)
                or self.order.make_condition(maximum(self._arena - buffer.offset - buffer.size, -buffer.size))
            ):
                inside.add(home)
            self._require(home in inside, home, f"it ends behind the arena ({self._arena})")

    def _has_room(self, buffer: HostBuffer, home: HostBuffer) -> bool:
        return buffer.size == home.size or self.order.holds_in_calls(home.size - buffer.size)

    def _require(self, holds: bool, slot: int, why: str) -> None:
        if not holds:
            raise InternalError(f"the layout of memory is wrong: {self.named(slot)}: {why}")

    def _present(self, point: Mapping[Sym, int]) -> int:
        """How many buffers are not empty at a point."""
        return sum(buffer.size.evaluate(point) > 0 for buffer in self.buffers)

    def place(self, home: int) -> _Place:
        """The place of a home in the arena at one point, by which homes are sorted."""
        if home not in self._places:
            start = self.buffers[home].offset.evaluate(self._point)
            self._places[home] = start, start + self.buffers[home].size.evaluate(self._point), home
        return self._places[home]

    def is_below(self, low: int, high: int) -> bool:
        """Whether home `low` is proven, or required by a condition, to end at or before the start of `high`."""
        key = low, high
        if key not in self._below:
            self._below[key] = self._is_behind(self.buffers[high].offset, low)
        return self._below[key] or key in self._apart

    @property
    def is_transitive(self) -> bool:
        """Whether being below is transitive: not with conditions, as a home between may be empty, and lie anywhere."""
        return not self._apart

    def make_apart(self, low: int, high: int) -> bool:
        """Make it a condition that `low` is below `high`, or one is empty; False if not new, or false at a point."""
        one, other = self.buffers[low], self.buffers[high]
        gap = other.offset - one.offset - one.size
        if (low, high) in self._apart or not self.order.make_condition(maximum(gap, -one.size, -other.size)):
            return False
        self._apart.add((low, high))
        return True

    def _is_behind(self, offset: Dim, home: int) -> bool:
        """Whether an offset is proven to lie at or behind the end of a home.

        Its end rounded up is tried first: offsets are mostly sums of rounded sizes, so that proof is shorter.
        """
        if home not in self._ends:
            buffer = self.buffers[home]
            size = self._facts.canonical(buffer.size)
            rounded = (size + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT
            self._ends[home] = buffer.offset + rounded, buffer.offset + buffer.size
        return any(self.order.at_least(offset, end) for end in self._ends[home])


@dataclass(slots=True)
class Clock:
    """The current step, and the last step that uses each home.

    A home without later uses need not be proven apart from what is written: its contents are dropped. So a wrong clock
    can only cause a correct program to be rejected.
    """

    last: Mapping[int, int]
    now: int = 0

    def is_over(self, home: int) -> bool:
        """Whether no step from now on uses a home."""
        return self.last.get(home, -1) < self.now


class Loss(NamedTuple):
    """What overwrote the contents of a home, and the two homes not known to be apart, the lower one first."""

    by: str
    pair: tuple[int, int] | None = None


class LostError(InternalError):
    """A step needs what an earlier one, or it itself, may have overwritten."""

    def __init__(self, message: str, loss: Loss | None) -> None:
        super().__init__(message)
        self.loss = loss


class MemoryContents:
    """The complete values in memory, by home. `lost` records what overwrote earlier contents."""

    def __init__(self, layout: Layout, lost: dict[int, Loss], clock: Clock) -> None:
        self._layout, self.lost, self._clock = layout, lost, clock
        self._values = dict[int, frozenset[Value]]()
        self._sorted = list[_Place]()  # homes in the arena that hold something; each is known to be below the next

    def copy(self) -> MemoryContents:
        """A copy, to follow another branch with."""
        made = MemoryContents(self._layout, self.lost, self._clock)
        made._values, made._sorted = dict(self._values), list(self._sorted)
        return made

    def of(self, home: int) -> frozenset[Value]:
        """What a home holds."""
        return self._values.get(home, frozenset())

    def add(self, home: int, value: Value) -> None:
        """Add a name to the value that a home holds."""
        self._values[home] = self.of(home) | {value}

    def rename(self, value: Value, name: Value) -> None:
        """Add a name to a value in all homes that hold it."""
        for home, values in list(self._values.items()):
            if value in values:
                self._values[home] = values | {name}

    def write(self, home: int, values: Iterable[Value], by: str) -> set[int]:
        """Overwrite a home; return the others that held something and are not proven to be apart."""
        lost = self.drop(home, by)
        self._values[home] = frozenset(values)
        if self._layout.is_in_arena(home):
            insort(self._sorted, self._layout.place(home))
        return lost

    def drop(self, home: int, by: str) -> set[int]:
        """Discard the contents of a home, and of all that may share bytes with it; return the latter."""
        self._forget(home, Loss(by))
        lost = set[int]()
        if self._layout.is_in_arena(home):
            at = bisect_left(self._sorted, self._layout.place(home))
            below, above = self._sorted[:at], self._sorted[at:]
            for *_, other in reversed(below):
                if self._lose(other, (other, home), by):
                    lost.add(other)
                elif self._layout.is_transitive:
                    break
            for *_, other in above:
                if self._lose(other, (home, other), by):
                    lost.add(other)
                elif self._layout.is_transitive:
                    break
        return lost

    def _lose(self, other: int, pair: tuple[int, int], by: str) -> bool:
        """Discard the contents of a home that is not known to be apart from another, or has no later use."""
        if not self._clock.is_over(other) and self._layout.is_below(*pair):
            return False
        self._forget(other, Loss(by, pair))
        return True

    def _forget(self, home: int, loss: Loss) -> None:
        if self._values.pop(home, None) is None:
            return
        self.lost[home] = loss
        if self._layout.is_in_arena(home):
            del self._sorted[bisect_left(self._sorted, self._layout.place(home))]

    def keep(self, other: MemoryContents) -> None:
        """Keep only values that are there after another branch too."""
        for home, values in list(self._values.items()):
            both = values & other.of(home)
            if both:
                self._values[home] = both
            else:
                self._forget(home, self.lost.get(home, Loss("another branch")))
