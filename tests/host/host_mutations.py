"""Host programs that are wrong, each by one change of a right one: what the verifier of host programs must refuse.

A change here is wrong by itself, whatever the program: no judgement of the verifier's is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

from shlo_disc.expr.dim import Dim, const
from shlo_disc.host.program import GridRef, HostBuffer, HostProgram, HostStep, KernelRef, LaunchStep, PlannedRegion
from shlo_disc.host_ir import Case, Copy, LaunchGroup, Member, While

Steps = tuple[HostStep, ...]
Mutation = Callable[[HostProgram], Iterator[HostProgram]]
T = TypeVar("T")


def lists(steps: Steps) -> Iterator[tuple[Steps, Callable[[Steps], Steps]]]:
    """Every list of steps in a program, with how another one is put in its place."""
    yield steps, lambda new: new
    for k, step in enumerate(steps):

        def within(make: Callable[[Steps], HostStep], k: int = k) -> Callable[[Steps], Steps]:
            return lambda new: (*steps[:k], make(new), *steps[k + 1 :])

        match step:
            case While():
                inner = [
                    (step.condition, within(lambda new, step=step: replace(step, condition=new))),
                    (step.body, within(lambda new, step=step: replace(step, body=new))),
                ]
            case Case():
                inner = [
                    (branch, within(lambda new, n=n, step=step: replace(step, branches=_at(step.branches, n, new))))
                    for n, branch in enumerate(step.branches)
                ]
            case _:
                inner = []
        for body, put in inner:
            for deep, rebuilt in lists(body):
                yield deep, lambda new, put=put, rebuilt=rebuilt: put(rebuilt(new))


def _at(items: Sequence[T], k: int, item: T) -> tuple[T, ...]:
    return (*items[:k], item, *items[k + 1 :])


def _with_steps(host: HostProgram, change: Callable[[Steps], Iterator[Steps]]) -> Iterator[HostProgram]:
    for steps, put in lists(host.steps):
        for new in change(steps):
            yield replace(host, steps=put(new))


def _reads(step: HostStep) -> set[int]:
    match step:
        case LaunchStep():
            return set(step.slots) - set(step.written)
        case Copy():
            return {step.source}
        case _:
            return set()


def _writes(step: HostStep) -> set[int]:
    match step:
        case LaunchStep():
            return set(step.written)
        case Copy():
            return {step.target}
        case _:
            return set()


def dropped(host: HostProgram) -> Iterator[HostProgram]:
    """A launch or a copy is missing: what it made is read later, or is a result."""

    def change(steps: Steps) -> Iterator[Steps]:
        for k, step in enumerate(steps):
            if isinstance(step, LaunchStep | Copy):
                yield (*steps[:k], *steps[k + 1 :])

    yield from _with_steps(host, change)


def swapped(host: HostProgram) -> Iterator[HostProgram]:
    """Of two neighbours the one that reads what the other makes comes first."""

    def change(steps: Steps) -> Iterator[Steps]:
        for k in range(len(steps) - 1):
            if _writes(steps[k]) & _reads(steps[k + 1]):
                yield (*steps[:k], steps[k + 1], steps[k], *steps[k + 2 :])

    yield from _with_steps(host, change)


def _launches(host: HostProgram, change: Callable[[LaunchStep], Iterator[LaunchStep]]) -> Iterator[HostProgram]:
    """Every change of a launch, also of those in regions."""

    def among(steps: Steps) -> Iterator[Steps]:
        for k, step in enumerate(steps):
            match step:
                case LaunchStep():
                    yield from (_at(steps, k, new) for new in change(step))
                case LaunchGroup():
                    for n, member in enumerate(step.members):
                        for new in change(member.launch):
                            members = _at(step.members, n, replace(member, launch=new))
                            yield _at(steps, k, replace(step, members=members))
                case _:
                    pass

    yield from _with_steps(host, among)


def exchanged(host: HostProgram) -> Iterator[HostProgram]:
    """A launch gets two operands, or an operand and a result, the wrong way around."""

    def change(step: LaunchStep) -> Iterator[LaunchStep]:
        tensors = step.kernel.tensors
        for a, b in combinations(range(len(tensors)), 2):
            if step.slots[a] != step.slots[b] and tensors[a] is not tensors[b]:
                slots = _at(_at(step.slots, a, step.slots[b]), b, step.slots[a])
                yield replace(step, slots=slots)

    yield from _launches(host, change)


def not_in_place(host: HostProgram) -> Iterator[HostProgram]:
    """A launch that writes in place of an operand, which its kernel does not allow."""

    def change(step: LaunchStep) -> Iterator[LaunchStep]:
        memory = [host.buffers[slot].memory for slot in step.slots]
        if any(memory[a] == memory[b] for a, b in step.kernel.in_place):
            match step.kernel:
                case KernelRef() | GridRef() as kernel:
                    yield replace(step, kernel=replace(kernel, in_place=()))
                    turned = tuple((b, a) for a, b in kernel.in_place)
                    yield replace(step, kernel=replace(kernel, in_place=turned))
                case _:
                    pass

    yield from _launches(host, change)


def _used(host: HostProgram) -> set[int]:
    """Homes in the arena that some step uses."""
    found = set[int]()
    for steps, _ in lists(host.steps):
        for step in steps:
            launches = [m.launch for m in step.members] if isinstance(step, LaunchGroup) else [step]
            found.update(slot for one in launches for slot in _reads(one) | _writes(one))
    homes = {slot: host.buffers[slot].memory for slot in found if host.buffers[slot].kind == "arena"}
    return {slot if home is None else home for slot, home in homes.items()}


def _with_buffers(host: HostProgram, home: int, change: Callable[[HostBuffer], HostBuffer]) -> HostProgram:
    """Every buffer of a piece of memory changed alike."""
    return replace(host, buffers=tuple([change(b) if b.memory == home else b for b in host.buffers]))


def moved_by_a_byte(host: HostProgram) -> Iterator[HostProgram]:
    """A buffer that begins one byte later, or 64 bytes before the arena; an arena that is a byte too small."""
    for home in sorted(_used(host)):
        yield _with_buffers(host, home, lambda b: replace(b, offset=b.offset + 1))
        yield _with_buffers(host, home, lambda b: replace(b, offset=b.offset - b.offset - 64))
    if _used(host):
        yield replace(host, arena_bytes=host.arena_bytes - 64)


def sharing(host: HostProgram) -> Iterator[HostProgram]:
    """Two buffers that hold something at the same time begin at the same byte."""
    spans = {home: _span(host, home) for home in sorted(_used(host))}
    for a, b in combinations(spans, 2):
        (first, last), (start, end) = spans[a], spans[b]
        if max(first, start) <= min(last, end):
            offset = host.buffers[a].offset
            yield _with_buffers(host, b, lambda one, offset=offset: replace(one, offset=offset))


def _span(host: HostProgram, home: int) -> tuple[int, int]:
    found = [b for b in host.buffers if b.memory == home and b.first <= b.last]
    return min((b.first for b in found), default=1), max((b.last for b in found), default=0)


def one_memory(host: HostProgram) -> Iterator[HostProgram]:
    """Two buffers that hold something at the same time become one piece of memory."""
    spans = {home: _span(host, home) for home in sorted(_used(host))}
    for a, b in combinations(spans, 2):
        (first, last), (start, end) = spans[a], spans[b]
        if max(first, start) < min(last, end):
            offset = host.buffers[a].offset
            yield _with_buffers(host, b, lambda one, a=a, offset=offset: replace(one, memory=a, offset=offset))


def carried_wrongly(host: HostProgram) -> Iterator[HostProgram]:
    """Carries of a loop, or results of branches, are taken for each other."""

    def change(steps: Steps) -> Iterator[Steps]:
        for k, step in enumerate(steps):
            if isinstance(step, While | Case) and len(step.made.written) > 1:
                made = replace(step.made, written=step.made.written[::-1])
                yield _at(steps, k, replace(step, made=made))

    yield from _with_steps(host, change)


def results_exchanged(host: HostProgram) -> Iterator[HostProgram]:
    """Two results are where the caller takes them for each other."""
    places = [k for k, b in enumerate(host.buffers) if b.kind == "result" and b.memory == k]
    for a, b in combinations(places, 2):
        first, second = host.buffers[a].number, host.buffers[b].number
        changed = _with_buffers(host, a, lambda one, n=second: replace(one, number=n))
        yield _with_buffers(changed, b, lambda one, n=first: replace(one, number=n))


def undonated(host: HostProgram) -> Iterator[HostProgram]:
    """An argument is overwritten that nobody says is."""
    if host.donations:
        yield replace(host, donations=())


def too_small(host: HostProgram) -> Iterator[HostProgram]:
    """A buffer has fewer bytes than what it holds."""
    for home in sorted(_used(host)):
        if host.buffers[home].whole is None:
            yield _with_buffers(host, home, lambda b: replace(b, size=b.size - 4))


def not_by_rows(host: HostProgram) -> Iterator[HostProgram]:
    """Members of a region that hand on something of which one of them uses other rows than its own."""

    def change(steps: Steps) -> Iterator[Steps]:
        for k, step in enumerate(steps):
            if isinstance(step, LaunchGroup):
                for n, member in enumerate(step.members):
                    if _hands_on(step, n):
                        yield _at(steps, k, replace(step, members=_at(step.members, n, _anywhere(member))))

    yield from _with_steps(host, change)


def _hands_on(step: PlannedRegion, n: int) -> bool:
    mine = step.members[n].launch
    others = [member.launch for k, member in enumerate(step.members) if k != n]
    read, made = (set[int]().union(*(use(one) for one in others)) for use in (_reads, _writes))
    return bool(_writes(mine) & read or _reads(mine) & made)


def _anywhere(member: Member[Dim, LaunchStep]) -> Member[Dim, LaunchStep]:
    kernel = member.launch.kernel
    assert isinstance(kernel, KernelRef), "threads share kernels"
    assert kernel.division is not None, "members can be cut"
    accesses = tuple(replace(access, offset=None) for access in kernel.division.accesses)
    division = replace(kernel.division, accesses=accesses)
    return replace(member, launch=replace(member.launch, kernel=replace(kernel, division=division)))


def little_room(host: HostProgram) -> Iterator[HostProgram]:
    """Rows of a unit are held for one thread, where there may be several."""
    for home in sorted(_used(host)):
        if host.buffers[home].whole is not None:
            yield _with_buffers(host, home, lambda b: replace(b, size=const(64)))


def packed_wrongly(host: HostProgram) -> Iterator[HostProgram]:
    """What is packed is another argument, or constant, than the one that a launch reads packed."""
    given = [k for k, b in enumerate(host.buffers) if b.kind in ("argument", "constant")]
    for k, step in enumerate(host.packings):
        for slot in given:
            if slot not in step.slots:
                packing = replace(step, slots=(slot, *step.slots[1:]))
                yield replace(host, packings=_at(host.packings, k, packing))


MUTATIONS: Mapping[str, Mutation] = {
    mutation.__name__: mutation
    for mutation in (
        dropped, swapped, exchanged, not_in_place, moved_by_a_byte, sharing, one_memory, carried_wrongly,
        results_exchanged, undonated, too_small, not_by_rows, little_room,
        packed_wrongly,
    )
}  # fmt: skip
