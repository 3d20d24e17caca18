"""Regions of consecutive launches by rows: a thread runs all of them for its own rows, with no barrier in between.

Consecutive launches are a region if every buffer that one of them writes and another one uses is local in both
(`division.py`), for one number of rows. Buffers that the region does not write may be read anywhere.

Within a region one thread may be launches ahead of another. So a buffer that is used in it is needed from its beginning
to its end; but two buffers may share memory if all accesses of the region to both are local: then each row of that
memory belongs to one thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shlo_disc.expr.dim import Dim, Sym, const, divide, maximum, minimum, of, total
from shlo_disc.expr.facts import Facts
from shlo_disc.fusion.traffic import elements
from shlo_disc.host.division import Division
from shlo_disc.host.program import HostStep, KernelRef, LaunchStep, PlannedRegion
from shlo_disc.host_ir import Case, Held, LaunchGroup, Member, While

UNIT_ROWS = 192  # of a product, at most: more leave fewer units to share, fewer read the right operand more often
ENOUGH_ROWS = 16  # for each thread: then none has over a sixteenth more than another
FEWEST_ROWS = 48  # of a product, at least, for each thread
STEP = 12  # unit heights are multiples of it: heights of register tiles divide it


@dataclass(slots=True, eq=False)
class LaunchRun:
    """Consecutive launches, their common rows, and the slots that are local in all of them."""

    rows: Dim
    steps: list[LaunchStep] = field(default_factory=list[LaunchStep])
    local: set[int] = field(default_factory=set[int])
    others: set[int] = field(default_factory=set[int])
    written: set[int] = field(default_factory=set[int])

    def joined(self, step: LaunchStep, division: Division, locality: Locality) -> bool:
        """Add a launch if it may be in the region; return whether it was added."""
        fits = (
            division.count == self.rows
            if division.block is not None
            else not divide(division.count, self.rows)[1].terms
        )
        if not fits:
            return False
        local = locality.slots(step, division, self.rows)
        others, written = set(step.slots) - local, set(step.written)
        used = self.local | self.others
        if (used & written or self.written & set(step.slots)) and not self._hand_on(set(step.slots), written, others):
            return False
        self.steps.append(step)
        self.others |= others
        self.local = (self.local | local) - self.others
        self.written |= written
        return True

    @property
    def threads(self) -> int:
        """The number of threads that the program is compiled for."""
        division = division_of(self.steps[0])
        assert division is not None, "what is in a region can be cut"
        return division.threads

    @property
    def has_product(self) -> bool:
        """Whether one of its launches computes blocks of rows."""
        return any(division is not None and division.block is not None for division in map(division_of, self.steps))

    def _hand_on(self, slots: set[int], written: set[int], others: set[int]) -> bool:
        """Whether slots that the region and a launch both use, and one writes, are local in both."""
        shared = (slots & self.written) | (written & (self.local | self.others))
        return not shared & (others | self.others)


def division_of(step: HostStep) -> Division | None:
    """How a step can be cut by rows; None if it cannot, as without lines."""
    if not (isinstance(step, LaunchStep) and isinstance(step.kernel, KernelRef) and step.unless is None):
        return None
    division = step.kernel.division
    return None if division is None or division.count.constant == 0 else division


class Locality:
    """The slots that launches use row by row, cached: each order of the same steps needs them again."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._known = dict[tuple[int, Dim], tuple[LaunchStep, frozenset[int]]]()  # keeps the step: its id stays unique

    def slots(self, step: LaunchStep, division: Division, rows: Dim) -> frozenset[int]:
        """The slots of a launch of which each row of tasks uses its own row alone."""
        key = (id(step), rows)
        if key not in self._known:
            self._known[key] = step, self._found(step, division, rows)
        return self._known[key][1]

    def _found(self, step: LaunchStep, division: Division, rows: Dim) -> frozenset[int]:
        others = set(step.slots[len(step.kernel.tensors) :])
        for position, tensor in enumerate(step.kernel.tensors):
            if not division.is_local(position, elements(tensor.shape), rows, self._facts):
                others.add(step.slots[position])
        return frozenset(step.slots) - others


def find_regions(steps: Sequence[HostStep], locality: Locality) -> Iterator[LaunchRun]:
    """The regions of a list of steps, and of the bodies of its loops and branches, in program order."""
    runs = list[LaunchRun]()
    is_open = False
    for step in steps:
        division = division_of(step)
        if division is not None and isinstance(step, LaunchStep):
            if not (is_open and _extend(runs, step, division, locality)):
                runs.append(_region(division.count, [step], locality) or LaunchRun(division.count, [step]))
            is_open = True
            continue
        is_open = False
        match step:
            case While(condition, _, body):
                runs += [*find_regions(condition, locality), *find_regions(body, locality)]
            case Case(_, _, branches):
                runs += [region for branch in branches for region in find_regions(branch, locality)]
            case _:
                pass
    return (run for run in runs if len(run.steps) > 1)


def _extend(runs: list[LaunchRun], step: LaunchStep, division: Division, locality: Locality) -> bool:
    """Add a launch to the last run, if it fits.

    A product fixes the rows of its region: a run without one adopts them, and leaves out launches at its beginning that
    do not fit.
    """
    run = runs[-1]
    if run.joined(step, division, locality):
        return True
    if run.has_product or division.count == run.rows:
        return False
    for first in range(len(run.steps) if division.block is not None else 1):
        if (other := _region(division.count, [*run.steps[first:], step], locality)) is not None:
            before = _region(run.rows, run.steps[:first], locality) if first else None
            runs[-1:] = [other] if before is None else [before, other]
            return True
    return False


def _region(rows: Dim, steps: Sequence[LaunchStep], locality: Locality) -> LaunchRun | None:
    """The region of these launches; None if they cannot be one."""
    region = LaunchRun(rows)
    for step in steps:
        division = division_of(step)
        if division is None or not region.joined(step, division, locality):
            return None
    return region


def ceildiv(count: Dim, size: Dim) -> Dim:
    """The quotient of two sizes, rounded up."""
    return (count + size - 1) // size


def held_rows(region: LaunchRun) -> Dim:
    """An upper bound of the rows that are held: a unit for each thread, or all rows where there are no units."""
    rows, threads = region.rows, region.threads
    filled = const(0) if threads == 1 else STEP * threads * _has_units(rows, threads)
    return minimum(rows + filled, const(UNIT_ROWS * threads))


def _has_units(rows: Dim, threads: int) -> Dim:
    """1 where `rows` rows of products are cut into units; else 0: they fit one unit, or sharing columns is better."""
    return minimum(1, rows // (UNIT_ROWS + 1 if threads == 1 else threads * FEWEST_ROWS))


def as_step(region: LaunchRun, unit: Sym, homes: Sequence[int], held: Mapping[int, Dim]) -> tuple[PlannedRegion, Dim]:
    """The step of a region, and the rows of a unit, which `unit` names.

    `held`: bytes of a row of each held buffer, by home; `homes` by slot.

    Without a product a unit is one row, if there are enough rows to balance the threads. With a product each thread
    gets as many units as all others, of about `UNIT_ROWS` rows; where that leaves a thread less than `FEWEST_ROWS`,
    sharing columns is better, kernel by kernel. One thread runs launch after launch if there is only one unit.
    """
    divisions = [division_of(step) for step in region.steps]
    found = [division for division in divisions if division is not None]
    threads = region.threads
    rows, height = region.rows, of(unit)
    size, units = const(1), rows * minimum(1, rows // (threads * ENOUGH_ROWS))
    if region.has_product:
        each = ceildiv(rows, ceildiv(rows, const(UNIT_ROWS * threads)) * threads)
        size = maximum(1, ceildiv(each, const(STEP)) * STEP)
        units = ceildiv(rows, height) * _has_units(rows, threads)
    members, scratch = list[Member[Dim, LaunchStep]](), const(0)
    for step, division in zip(region.steps, found, strict=True):
        kernel = step.kernel
        assert isinstance(kernel, KernelRef), "what can be cut is a kernel"
        change = {} if division.block is None else {division.block: height}
        names = {} if division.block is None else {division.block.name: unit.name}
        symbols = tuple(names.get(name, name) for name in kernel.launch.symbols)
        tasks = divide(division.count, rows)[0] * height if division.block is None else division.tasks
        members.append(Member(step, symbols, tasks, kernel.launch.extent.substitute(change)))
        scratch = maximum(scratch, kernel.launch.scratch.substitute(change))
    members = [replace(member, held=_held(member.launch, homes, held, height)) for member in members]
    work = total(division.work for division in found)
    grain = maximum(1, const(found[0].grain) // maximum(1, work // maximum(1, ceildiv(rows, height))))
    return LaunchGroup(tuple(members), height, units, grain, work // found[0].grain, scratch), size


def _held(step: LaunchStep, homes: Sequence[int], held: Mapping[int, Dim], height: Dim) -> tuple[Held[Dim], ...]:
    """The buffers of a launch of which threads hold only units of rows."""
    rows = [(position, held.get(homes[slot])) for position, slot in enumerate(step.slots)]
    return tuple([Held(position, row * height) for position, row in rows if row is not None])
