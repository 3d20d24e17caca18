"""Checks that threads may be at different launches of a region: what launches share is used by rows in both."""

from __future__ import annotations

from collections.abc import Iterator

from shlo_disc.diagnostics import InternalError
from shlo_disc.expr.dim import Dim, divide, maximum
from shlo_disc.expr.facts import Facts
from shlo_disc.fusion.traffic import elements
from shlo_disc.host.division import Division
from shlo_disc.host.memory_contents import Layout
from shlo_disc.host.program import KernelRef, LaunchStep, PlannedRegion
from shlo_disc.host_ir import Member


def check_rows(region: PlannedRegion, layout: Layout, facts: Facts, where: str) -> frozenset[int]:
    """Check a region; return the homes of which each thread holds only the rows of a unit.

    Raises `InternalError` if launches, one of them writing, share memory that they do not both use by rows.
    """
    divisions = [_division(member, where) for member in region.members]
    rows = _rows(region, divisions, where)
    held = {layout.home(m.launch.slots[one.position]) for m in region.members for one in m.held}
    users, writers = dict[int, set[int]](), set[int]()
    strays, sizes = dict[int, int](), dict[int, Dim]()  # homes that are not used by rows, with a slot; sizes of homes
    for number, (member, division) in enumerate(zip(region.members, divisions, strict=True)):
        step = member.launch
        for position, slot in enumerate(step.slots):
            home = layout.home(slot)
            users.setdefault(home, set()).add(number)
            if slot in step.written:
                writers.add(home)
            is_local = position < len(step.kernel.tensors) and division.is_local(
                position, elements(step.kernel.tensors[position].shape), rows, facts
            )
            size = facts.canonical(layout.buffers[slot].whole or layout.buffers[slot].size)
            if not is_local or sizes.setdefault(home, size) != size:
                strays[home] = slot
        holding = {one.position for one in member.held}
        if holding != {k for k, slot in enumerate(step.slots) if layout.home(slot) in held}:
            raise InternalError(
                f"{where}: member {number} holds rows of some buffers, and all of others of that memory"
            )
    for home, slot in strays.items():
        if home in held or (home in writers and len(users[home]) > 1):
            raise InternalError(
                f"{where}: members {sorted(users[home])} share {layout.named(slot)}, which one of them writes "
                f"and which is not used by the {rows} rows of the region alone"
            )
    for home in held:
        _check_room(region, layout, home, where)
    return frozenset(held)


def is_alone(region: PlannedRegion, where: str) -> bool:
    """Whether one thread takes all units, one after the other."""
    return all(_division(member, where).threads == 1 for member in region.members)


def _division(member: Member[Dim, LaunchStep], where: str) -> Division:
    kernel = member.launch.kernel
    if not isinstance(kernel, KernelRef) or kernel.division is None or member.launch.unless is not None:
        raise InternalError(f"{where}: {kernel.name} is in a region, but it cannot be cut by rows")
    return kernel.division


def _rows(region: PlannedRegion, divisions: list[Division], where: str) -> Dim:
    """The rows that all members have: the lines of each are a multiple of them, and its tasks in a unit match."""
    blocks = [division.count for division in divisions if division.block is not None]
    for rows in blocks or dict.fromkeys(division.count for division in divisions):
        times = [divide(division.count, rows) for division in divisions]
        if not any(rest.terms for _, rest in times):
            break
    else:
        raise InternalError(f"{where}: its members have different numbers of rows")
    for member, division, (lines, _) in zip(region.members, divisions, times, strict=True):
        wanted = division.tasks if division.block is not None else lines * region.rows
        if (division.block is not None and division.count != rows) or member.tasks != wanted:
            raise InternalError(f"{where}: {member.launch.kernel.name} has {member.tasks} tasks in a unit of rows")
    return rows


def _check_room(region: PlannedRegion, layout: Layout, home: int, where: str) -> None:
    """Check that there is room for the rows of a unit for each thread, or for all rows where there are no units."""
    buffer = layout.buffers[home]
    if buffer.whole is None:
        raise InternalError(
            f"{where}: {layout.named(home)} holds rows, but does not say how many bytes all of them are"
        )
    if not layout.order.holds_in_calls(maximum(buffer.size - buffer.whole, region.units - 1)):
        raise InternalError(f"{where}: {layout.named(home)} has no room for all rows, where there are no units")
    for needed in dict.fromkeys(_unit_sizes(region, layout, home)):
        if not layout.order.holds_in_calls(maximum(buffer.size - needed, -region.units)):
            raise InternalError(f"{where}: {layout.named(home)} has room for less than {needed} bytes")


def _unit_sizes(region: PlannedRegion, layout: Layout, home: int) -> Iterator[Dim]:
    """Bytes of the rows that all threads hold of a home, which lie in the order of the threads' numbers."""
    for member in region.members:
        kernel = member.launch.kernel
        assert isinstance(kernel, KernelRef), "members are kernels that threads share"
        assert kernel.division is not None, "members can be cut by rows"
        for one in member.held:
            if layout.home(member.launch.slots[one.position]) == home:
                yield one.size * kernel.division.threads
