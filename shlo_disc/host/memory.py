"""Memory allocation for the buffers of a host program.

Buffers share memory in three ways. In place: an output of a kernel reuses the memory of an input that is read for the
last time, where the kernel allows it. As an alias: a temporary that is always small enough lies in a result, or in a
donated argument, while that holds nothing needed. In the arena: all others, by `placement`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain, islice
from typing import assert_never

import numpy as np

from shlo_disc.artifact import Donation
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import Dim, Sym, const
from shlo_disc.fusion.traffic import bytes_of
from shlo_disc.host.liveness import Liveness, members
from shlo_disc.host.placement import Allocation, place, sizes_at, stack
from shlo_disc.host.program import GridRef, HostBuffer, HostStep, LaunchStep
from shlo_disc.host.region_memory import Holding, RegionMemory
from shlo_disc.host.regions import Locality
from shlo_disc.host.rooms import Rooms
from shlo_disc.host.scheduling import AtPoints
from shlo_disc.host.step_order import other_orders, pairs_in_place
from shlo_disc.host_ir import Buffer, BufferKind, Case, Command, Copy, LaunchGroup, While
from shlo_disc.kernels.groups import Context
from shlo_disc.limits import MOST_HOSTS
from shlo_disc.records import record

_RANK: Mapping[BufferKind, int] = {"arena": 0, "result": 1, "argument": 2, "constant": 2, "packed": 2, "null": 2}
SLACK = 1024  # bytes: the rounding of a few more small buffers
_LENT: frozenset[BufferKind] = frozenset({"argument", "constant", "packed", "null"})


@record
class UnplacedBuffer:
    """A buffer before its memory is known: see `HostBuffer`."""

    kind: BufferKind
    number: int
    tensor: Tensor
    packed: int | None = None

    @property
    def size(self) -> Dim:
        """The size in bytes."""
        return bytes_of(self.tensor)


@record
class MemoryLayout:
    """Buffers with their memory, the steps without copies that became needless, the arena's formulas."""

    buffers: tuple[HostBuffer, ...]
    steps: tuple[HostStep, ...]
    definitions: tuple[tuple[Sym, Dim], ...]
    arena_bytes: Dim
    donations: tuple[Donation, ...]


def allocate(
    places: Sequence[UnplacedBuffer], steps: tuple[HostStep, ...], context: Context, donated: Collection[int] = ()
) -> MemoryLayout:
    """Give every buffer its memory; that of the `donated` arguments (by number) may be overwritten.

    Steps are reordered if that needs less memory at some likely sizes, and more at none. On the same condition
    temporaries are not computed in place: two short-lived ones may both be aliases where one long-lived one cannot.
    """
    setting = _Setting(places, context, donated, Locality(context.facts))
    best = _Layout(setting, steps)
    orders = other_orders(steps, best.sizes_in_arena()) if context.points else ()
    ordered = (_Layout(setting, order) for order in orders)
    best = next((other for other in ordered if other.is_better_than(best)), best)
    apart = _Layout(setting, best.steps, in_place=False)
    best = apart if apart.is_better_than(best) else best
    if best.could_hold:
        by_rows = _Layout(setting, best.steps, holding=Holding.ALL)
        best = by_rows if by_rows.needs_no_more_than(best) else best
    elif best.holds_any:
        whole = _Layout(setting, best.steps, holding=Holding.NONE)  # more can be aliases
        best = whole if whole.needs_half_of(best) else best
    return best.memory()


@record
class _Setting:
    """Inputs common to all layouts of a program: buffers, the numbers of `donated` arguments, and the context."""

    places: Sequence[UnplacedBuffer]
    context: Context
    donated: Collection[int]
    locality: Locality


class _Layout:
    """Which buffers share memory if the steps run in this order, and where they lie at the likely sizes."""

    def __init__(
        self,
        setting: _Setting,
        steps: tuple[HostStep, ...],
        *,
        in_place: bool = True,
        holding: Holding = Holding.SHARED,
    ) -> None:
        """`in_place`: launches may also write in place of temporaries, not only of donated arguments."""
        places, context = setting.places, setting.context
        self._places, self.steps, self._context = places, steps, context
        self._live = Liveness(steps, len(places), [slot for slot, at in enumerate(places) if at.kind == "result"])
        temporaries = {slot: at.size for slot, at in enumerate(places) if at.kind == "arena"}
        self._regions = RegionMemory(steps, self._live, temporaries, context, setting.locality, holding=holding)
        self._shared = shared = _Sharing(places, self._live, self._regions, context, setting.donated)
        shared.in_place(steps, of_temporaries=in_place)
        shared.as_results()
        shared.alias_temporaries()
        self._homes = homes = shared.homes()
        self._allocated = [
            k for k in range(len(places)) if homes[k] == k and _is_allocated(places[k], shared.moments[k])
        ]
        rooms = self._regions.settle({k: shared.members[k] for k in self._allocated})
        self._sizes = [rooms.get(home, size) for home, size in zip(homes, shared.sizes, strict=True)]
        allocations = [Allocation(self._regions.needed(k, shared.moments[k]), self._sizes[k]) for k in self._allocated]
        self._stacking = stack(allocations, context.facts, context.points)
        self._kept = _without_copies(steps, homes)  # regions contain no copies

    def sizes_in_arena(self) -> AtPoints:
        """Bytes by slot and point, 0 for slots that are no temporaries."""
        found = sizes_at(self._sizes, self._context.points)
        found[[slot for slot, at in enumerate(self._places) if at.kind != "arena"]] = 0
        return found

    def is_better_than(self, other: _Layout) -> bool:
        """Whether the arena is smaller at some likely sizes, larger at none, and there are no more copies."""
        mine, theirs = self._stacking.arena, other._stacking.arena
        return bool(np.all(mine <= theirs) and np.any(mine < theirs)) and self._copies <= other._copies

    def needs_half_of(self, other: _Layout) -> bool:
        """Whether the arena is at most half as large, summed over likely sizes, larger at none, with no more copies."""
        mine, theirs = self._stacking.arena, other._stacking.arena
        is_smaller = bool(np.all(mine <= theirs) and 2 * np.sum(mine) <= np.sum(theirs))
        return is_smaller and self._copies <= other._copies

    def needs_no_more_than(self, other: _Layout) -> bool:
        """Whether the arena is no larger, summed over likely sizes, much larger at none, with no more copies."""
        mine, theirs = self._stacking.arena, other._stacking.arena
        is_near = np.all(mine <= theirs + theirs // 16 + SLACK)
        return bool(is_near and np.sum(mine) <= np.sum(theirs)) and self._copies <= other._copies

    @property
    def holds_any(self) -> bool:
        """Whether regions hold temporaries."""
        return self._regions.holds_any

    @property
    def could_hold(self) -> bool:
        """Whether single-thread regions could hold temporaries, but do not."""
        return self._regions.could_hold

    @property
    def _copies(self) -> int:
        return sum(isinstance(step, Copy) for step in _leaves(self._kept))

    def memory(self) -> MemoryLayout:
        """The buffers, at offsets that hold for all sizes."""
        places, homes, context = self._places, self._homes, self._context
        names = {s.name for at in places for s in at.size.symbols()}.union(s.name for p in context.points for s in p)
        kept, units = self._regions.wrapped(self._kept, names, homes)
        found = place(self._stacking, context.facts, context.points, names)
        offsets = dict(zip(self._allocated, found.offsets, strict=True))
        clock = _Clock(self.steps, self._live, homes)
        buffers = [
            Buffer(
                places[home].kind, places[home].number, offsets.get(home, const(0)),
                self._sizes[slot] if self._regions.holds(home) else at.size,
                repr(at.tensor), at.tensor.dtype.numpy, at.tensor.shape,
                *clock.span(self._live.alive[slot]), home, at.packed, at.size if self._regions.holds(home) else None,
                at.tensor,
            )
            for slot, (at, home) in enumerate(zip(places, homes, strict=True))
        ]  # fmt: skip
        definitions = (*units, *found.definitions)
        return MemoryLayout(tuple(buffers), kept, definitions, found.arena, _donations(places, homes))


def _is_allocated(at: UnplacedBuffer, moments: int) -> bool:
    return at.kind == "arena" and moments != 0


def _donations(places: Sequence[UnplacedBuffer], homes: Sequence[int]) -> tuple[Donation, ...]:
    """The arguments whose memory other buffers reuse."""
    found = dict[int, int | None]()
    for slot, home in enumerate(homes):
        if slot != home and places[home].kind == "argument":
            number = places[home].number
            found[number] = places[slot].number if places[slot].kind == "result" else found.get(number)
    return tuple(Donation(argument, result) for argument, result in found.items())


class _Sharing:
    """Union-find of slots that share memory; a root has the moments at which its memory is needed, and its size."""

    def __init__(
        self,
        places: Sequence[UnplacedBuffer],
        live: Liveness,
        regions: RegionMemory,
        context: Context,
        donated: Collection[int],
    ) -> None:
        self.places, self.live, self.regions, self.facts = places, live, regions, context.facts
        self.points = context.points
        self.donated = [k for k, at in enumerate(places) if at.kind == "argument" and at.number in donated]
        self.sizes = [context.facts.canonical(at.size) for at in places]
        self.moments = list(live.alive)
        self.wide = list(map(regions.widened, live.alive))
        self.foreign = regions.foreign(len(places))
        self.members = [[slot] for slot in range(len(places))]
        self.sets = dict[int, int]()  # of roots that stand for several slots: these, a bit per slot
        self.parents = list(range(len(places)))

    def homes(self) -> list[int]:
        """The root of each slot: the home of its memory."""
        return [self._root(slot) for slot in range(len(self.places))]

    def _root(self, slot: int) -> int:
        while (parent := self.parents[slot]) != slot:
            self.parents[slot] = slot = self.parents[parent]
        return slot

    def _join(self, a: int, b: int) -> None:
        """Merge two sets; the root is an argument if there is one, else a result."""
        if _RANK[self.places[b].kind] > _RANK[self.places[a].kind]:
            a, b = b, a
        self.parents[b] = a
        self.moments[a] |= self.moments[b]
        self.wide[a] |= self.wide[b]
        self.foreign[a] |= self.foreign[b]
        self.sets[a] = self._set(a) | self._set(b)
        self.members[a] += self.members[b]

    def _set(self, root: int) -> int:
        return self.sets.get(root) or 1 << root

    # -- in place

    def in_place(self, steps: Sequence[HostStep], *, of_temporaries: bool) -> None:
        """Join slots that a step reads for the last time with slots that it writes, where they may share memory."""
        allowed = dict[int, set[tuple[int, int]]]()
        order = list[tuple[HostStep, int, int]]()
        for step in _leaves(steps):
            pairs = pairs_in_place(step)
            allowed[self.live.numbered[id(step)]] = set(pairs)
            order += [(step, *pair) for pair in pairs]
        for step, source, target in order:
            a, b = self._root(source), self._root(target)
            wanted = of_temporaries or isinstance(step, Copy) or self.places[a].kind == "argument"
            if wanted and a != b and self.sizes[source] == self.sizes[target] and self._may_join(a, b, allowed):
                self._join(a, b)

    def _may_join(self, a: int, b: int, allowed: dict[int, set[tuple[int, int]]]) -> bool:
        """Whether two sets are needed at the same time only at steps that may work in place."""
        kinds = [self.places[k].kind for k in (a, b)]
        if "arena" not in kinds and set(kinds) != {"argument", "result"}:
            return False
        if any(self.places[k].kind in _LENT and k not in self.donated for k in (a, b)):
            return False
        for moment in members(self.moments[a] & self.moments[b]):
            alive = list(members(self.live.held(moment) & (self._set(a) | self._set(b))))
            if len(alive) != 2 or not self._handed_on(moment, alive, allowed.get(moment, set())):
                return False
        return self._is_by_rows(a, b)

    def _is_by_rows(self, a: int, b: int) -> bool:
        """Whether two sets may share memory in regions, where threads may be launches apart.

        Buffers of equal size have equal rows at equal bytes; if all accesses are local, each row is one thread's.
        """
        shared = self.wide[a] & self.wide[b] & self.regions.inside
        return not shared or (self.sizes[a] == self.sizes[b] and not shared & (self.foreign[a] | self.foreign[b]))

    def _are_apart(self, a: int, b: int) -> bool:
        """Whether the two are never needed at the same time."""
        return not self.moments[a] & self.moments[b] and self._is_by_rows(a, b)

    def _handed_on(self, moment: int, alive: Sequence[int], allowed: set[tuple[int, int]]) -> bool:
        """Whether the step at a moment needs one of two slots for the last time, and may write the other in place."""
        first, second = alive
        after = self.live.after[moment]
        return any(pair in allowed and not after >> pair[0] & 1 for pair in ((first, second), (second, first)))

    # -- donations

    def as_results(self) -> None:
        """Give each result the memory of a donated argument of the same size that is not needed at the same time."""
        for result, at in enumerate(self.places):
            if at.kind != "result" or self._root(result) != result:
                continue
            for argument in self.donated:
                if self.sizes[argument] == self.sizes[result] and self._are_apart(argument, result):
                    self._join(argument, result)
                    break

    # -- aliased temporaries

    def alias_temporaries(self) -> None:
        """Let temporaries alias results that are not yet written, and donated arguments after their last read.

        The largest temporaries come first.
        """
        results = [slot for slot, at in enumerate(self.places) if at.kind == "result" and self.moments[slot]]
        weights = {size: self._weight(size) for size in self.sizes}
        hosts = dict[Dim, list[int]]()  # by size, the smallest first
        for host in sorted([*results, *self.donated], key=lambda k: weights[self.sizes[k]]):
            hosts.setdefault(self.sizes[host], []).append(host)
        rooms = Rooms(list(hosts), self.facts, self.points)
        roots = [k for k, at in enumerate(self.places) if at.kind == "arena" and self._root(k) == k]
        candidates = [k for k in roots if self.regions.holder(self.members[k]) is None]
        for temporary in sorted(candidates, key=lambda k: -weights[self.sizes[k]]):
            possible = chain.from_iterable(hosts[room] for room in rooms.for_size(self.sizes[temporary]))
            for root in map(self._root, islice(possible, MOST_HOSTS)):
                if self._are_apart(root, temporary):
                    self._join(root, temporary)
                    break

    def _weight(self, size: Dim) -> int:
        return sum(size.evaluate(point) for point in self.points) or size.constant or 0


def _leaves(steps: Sequence[HostStep]) -> Iterator[LaunchStep | Copy]:
    for step in steps:
        match step:
            case LaunchStep() | Copy():
                yield step
            case While(condition, _, body):
                yield from _leaves((*condition, *body))
            case Case(_, _, branches):
                for branch in branches:
                    yield from _leaves(branch)
            case LaunchGroup():
                raise AssertionError("launches are put together when their order and memory is known")
            case _:
                assert_never(step)


class _Clock:
    """Renumbers moments without those of removed copies."""

    def __init__(self, steps: Sequence[HostStep], live: Liveness, homes: Sequence[int]) -> None:
        self._gone = gone = {live.numbered[id(step)] for step in _leaves(steps) if _is_needless(step, homes)}
        self._before = [0, *accumulate(moment not in gone for moment in range(live.moments))]

    def span(self, moments: int) -> tuple[int, int]:
        """The first and the last of some moments, inclusive; the target of a removed copy is live a moment earlier."""
        first = (moments & -moments).bit_length() - 1 if moments else 0
        return self._before[first] - (first in self._gone), self._before[moments.bit_length()] - 1


def _is_needless(step: HostStep, homes: Sequence[int]) -> bool:
    return isinstance(step, Copy) and homes[step.source] == homes[step.target]


def _without_own_copies(kernel: GridRef, homes: Sequence[int]) -> GridRef:
    """The kernel without copies between buffers that now share memory; `homes` by position."""

    def is_needed(call: Command[Dim]) -> bool:
        return not (isinstance(call, Copy) and homes[call.source] == homes[call.target])

    variants = tuple(replace(v, commands=tuple(filter(is_needed, v.commands))) for v in kernel.variants)
    return kernel if variants == kernel.variants else replace(kernel, variants=variants)


def _without_copies(steps: Sequence[HostStep], homes: Sequence[int]) -> tuple[HostStep, ...]:
    """Remove copies of a buffer onto itself, also those among the commands of a launch."""
    kept = list[HostStep]()
    for step in steps:
        match step:
            case Copy() if _is_needless(step, homes):
                pass
            case LaunchStep(GridRef() as kernel, slots):
                kept.append(replace(step, kernel=_without_own_copies(kernel, [homes[slot] for slot in slots])))
            case While(condition, _, body):
                round_ = _without_copies(condition, homes), _without_copies(body, homes)
                kept.append(replace(step, condition=round_[0], body=round_[1]))
            case Case(_, _, branches):
                kept.append(replace(step, branches=tuple(_without_copies(branch, homes) for branch in branches)))
            case _:
                kept.append(step)
    return tuple(kept)
