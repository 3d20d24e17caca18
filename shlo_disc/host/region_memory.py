"""Memory in regions (`regions.py`): which buffers may share it, and of which only the rows of a unit exist.

A temporary that is used by rows, in one region alone, is *held*: a thread that takes a unit of rows through all
launches needs the rows of that unit alone, and they are still in a cache when the next launch reads them.
So a reduction of a product's rows reads them from the second-level cache, where the product's tiles left them, and they
are never written to memory. Neither are tensors between two products.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from functools import reduce

from shlo_disc.expr.dim import Dim, Sym, divide
from shlo_disc.host.liveness import Liveness, members
from shlo_disc.host.program import HostStep, LaunchStep
from shlo_disc.host.regions import UNIT_ROWS, LaunchRun, Locality, as_step, find_regions, held_rows
from shlo_disc.host_ir import Case, While
from shlo_disc.kernels.groups import Context


class Holding(Enum):
    """Which regions hold temporaries: none, those of several threads, or those of one thread too."""

    NONE = auto()
    SHARED = auto()
    ALL = auto()


HELD_BYTES = 1 << 23  # of a unit, at likely sizes: what is larger leaves the caches anyway


class RegionMemory:
    """The regions of a program, the moments at which they need their buffers, and the buffers that they hold."""

    def __init__(
        self,
        steps: Sequence[HostStep],
        live: Liveness,
        sizes: Mapping[int, Dim],
        context: Context,
        locality: Locality,
        *,
        holding: Holding,
    ) -> None:
        """`sizes`: bytes of the temporaries, by slot. With one thread only regions that hold something are made."""
        self._live, self._sizes, self._context = live, sizes, context
        self._regions = dict[LaunchRun, int]()  # with their moments
        self._by_slot = dict[int, LaunchRun]()  # of temporaries that may be held
        self._held = dict[int, LaunchRun]()  # by home
        self.could_hold = False  # there are regions for one thread, but `holding` excludes them
        for region in find_regions(steps, locality):
            first, last = (live.numbered[id(step)] for step in (region.steps[0], region.steps[-1]))
            span = (1 << last + 1) - (1 << first)
            slots = [slot for slot in region.local & region.written if self._may_be_held(slot, region, span)]
            is_shared = region.threads > 1
            self.could_hold |= bool(slots) and not is_shared and holding is not Holding.ALL
            holds = holding is Holding.ALL or (holding is Holding.SHARED and is_shared)
            if is_shared or (holds and slots):
                self._regions[region] = span
                self._by_slot.update(dict.fromkeys(slots if holds else (), region))

        self.inside = 0  # the moments of all regions
        self._spans = dict[int, int]()  # by moment, those of the region that it is in
        self._see_regions()

    def _see_regions(self) -> None:
        self.inside = reduce(int.__or__, self._regions.values(), 0)
        self._spans = {moment: span for span in self._regions.values() for moment in members(span)}

    def foreign(self, count: int) -> list[int]:
        """For each of `count` slots, the moments of the regions in which threads may use each other's rows of it."""
        found = [0] * count
        for region, span in self._regions.items():
            for slot in region.others:
                found[slot] |= span
        return found

    def _may_be_held(self, slot: int, region: LaunchRun, span: int) -> bool:
        moments = self._live.alive[slot]
        if not (region.has_product and slot in self._sizes and moments) or moments & ~span:
            return False
        if (rows := region.rows.constant) is not None and rows <= UNIT_ROWS:
            return False
        row, points = self._row_bytes(slot, region), self._context.points
        known = [row.evaluate(point) for point in points] or [row.constant or 0]
        return max(known) * UNIT_ROWS <= HELD_BYTES

    def _row_bytes(self, slot: int, region: LaunchRun) -> Dim:
        return divide(self._sizes[slot], region.rows)[0]

    def holder(self, slots: Sequence[int]) -> LaunchRun | None:
        """The region that can hold the memory that these slots share, if there is one."""
        found = {self._by_slot.get(slot) for slot in slots if self._live.alive[slot]}
        return found.pop() if len(found) == 1 else None

    def settle(self, homes: Mapping[int, Sequence[int]]) -> dict[int, Dim]:
        """Decide which memory in the arena (its slots by its home) is held; return the size that it then has.

        With one thread, regions that hold nothing are dropped: unless they save memory, they gain nothing.
        """
        holders = {home: self.holder(slots) for home, slots in homes.items()}
        self._held = {home: region for home, region in holders.items() if region is not None}
        used = set(self._held.values())
        self._regions = {region: span for region, span in self._regions.items() if region.threads > 1 or region in used}
        self._see_regions()
        return {home: self._row_bytes(home, region) * held_rows(region) for home, region in self._held.items()}

    @property
    def holds_any(self) -> bool:
        """Whether any memory is held."""
        return bool(self._held)

    def holds(self, home: int) -> bool:
        """Whether the memory of a home has only the rows of one unit for each thread."""
        return home in self._held

    def needed(self, home: int, moments: int) -> int:
        """The moments at which a home's memory must not be shared: not widened if one thread runs launches in order."""
        region = self._held.get(home)
        return moments if region is not None and region.threads == 1 else self.widened(moments)

    def widened(self, moments: int) -> int:
        """Moments, extended to all of each region that they are in, where threads may be at different launches."""
        left = moments & self.inside
        while left:
            span = self._spans[(left & -left).bit_length() - 1]
            moments |= span
            left &= ~span
        return moments

    def wrapped(
        self, steps: Sequence[HostStep], taken: set[str], homes: Sequence[int]
    ) -> tuple[tuple[HostStep, ...], tuple[tuple[Sym, Dim], ...]]:
        """The steps with each region as one step, and the definitions of units' heights; `homes` by slot."""
        definitions, units = dict[Sym, Dim](), dict[Dim, Sym]()
        first = {id(region.steps[0]): region for region in self._regions}

        def made(region: LaunchRun) -> HostStep:
            name = f"unit{len(definitions)}"
            while name in taken:
                name += "_"
            held = {home: self._row_bytes(home, region) for home, holder in self._held.items() if holder is region}
            step, size = as_step(region, Sym(name), homes, held)
            if (known := units.setdefault(size, Sym(name))).name != name:
                step, _ = as_step(region, known, homes, held)
            definitions[known] = size
            return step

        def wrap(steps: Sequence[HostStep]) -> Iterator[HostStep]:
            rest = iter(steps)
            for step in rest:
                match step:
                    case LaunchStep() if (region := first.get(id(step))) is not None:
                        for _ in region.steps[1:]:
                            next(rest)
                        yield made(region)
                    case While(condition, _, body):
                        yield replace(step, condition=tuple(wrap(condition)), body=tuple(wrap(body)))
                    case Case(_, _, branches):
                        yield replace(step, branches=tuple([tuple(wrap(branch)) for branch in branches]))
                    case _:
                        yield step

        return tuple(wrap(steps)), tuple(definitions.items())
