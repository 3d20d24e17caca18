"""Facts and decisions of a compiled program as text: `explain`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import ShloDiscError, counted, one_line, printable
from shlo_disc.host_ir import Choice, HostCall, LaunchGroup, Variant
from shlo_disc.report.chains import folded_facts, folded_shapes, value_chains
from shlo_disc.report.steps import kernel_names, lifetimes, places
from shlo_disc.report_model import GroupText
from shlo_disc.size_expr import substitute, symbols_of


def explain(artifact: Artifact, topic: str | None = None, value: str | None = None) -> str:
    """Describe facts and decisions: on one of `TOPICS`, or on all; with a `value`, why it has its shape.

    Raises `ShloDiscError` for another topic, and for a value whose shape does not depend on sizes.
    """
    return printable(_explained(artifact, topic, value))


def _explained(artifact: Artifact, topic: str | None, value: str | None) -> str:
    if value is not None:
        if topic != "facts":
            raise ShloDiscError(f"found topic {topic!r} and the value {value!r}, expected topic 'facts' with a value")
        return "\n".join(value_chains(artifact.report, value))
    if topic is not None and topic not in TOPICS:
        raise ShloDiscError(f"found topic {topic!r}, expected {' or '.join(map(repr, TOPICS))}")
    wanted = TOPICS if topic is None else (topic,)
    return "\n\n".join(["\n".join(TOPICS[name](artifact)) for name in wanted])


def _facts(artifact: Artifact) -> Iterator[str]:
    """Where every size comes from, and what holds for all calls."""
    yield f"program {one_line(artifact.name)}"
    yield from ("", "sizes")
    given = artifact.symbols[: artifact.given]
    for name, size, place in zip(given, artifact.raw_sizes, artifact.places, strict=True):
        equal = "" if size == name else f" = {size}"
        yield f"  {name}{equal}: {place}"
    sizes = artifact.report.sizes
    for name, formula in zip(artifact.symbols[len(given) :], artifact.definitions, strict=True):
        if name in sizes.names or name in sizes.auxiliary:
            yield f"  {name} = {formula}{' (auxiliary)' if name in sizes.auxiliary else ''}"
    yield from ("", "facts")
    facts = artifact.report.facts
    yield from folded_facts(facts, sizes.names) if facts else ("  none",)
    if artifact.report.shapes:
        yield from ("", "shapes")
        yield from folded_shapes(artifact.report)


def _fusion(artifact: Artifact) -> Iterator[str]:
    """Every kernel, every group, every merge and every refusal with its reason."""
    steps = [place.step for place in places(artifact)]
    launched = [name for step in steps for name in kernel_names(step)]
    launches = sum(bool(kernel_names(step)) for step in steps)
    yield f"{counted(launches, 'launch', 'launches')} of {counted(len(set(launched)), 'kernel')}"
    for step in steps:
        if isinstance(step, LaunchGroup):
            yield f"by rows, no thread waits in between: {' '.join([launch.kernel for launch in step.launches])}"
            yield from _held(artifact, step)
    yield from artifact.report.notes
    groups = artifact.report.groups
    ways = {group: step for group, step in zip(artifact.report.steps, steps, strict=True) if isinstance(step, Choice)}
    calls = {
        group: step.library
        for group, step in zip(artifact.report.steps, steps, strict=True)
        if group is not None and isinstance(step, HostCall)
    }
    body = -1
    for number, group in enumerate(groups):
        if group.body != body:
            body = group.body
            yield from ("", "main body" if body == 0 else f"body of group {group.parent}")
        yield from _group(number, group)
        if number in ways:
            yield f"  variants: {' | '.join([_way(artifact, variant) for variant in ways[number].variants])}"
        if number in calls:
            yield f"  computed by {calls[number]}"


def _held(artifact: Artifact, region: LaunchGroup) -> Iterator[str]:
    """Tile-local tensors, never whole: a launch leaves a unit of rows in a cache, where the next one reads them."""
    slots = {member.launch.buffers[held.position] for member in region.members for held in member.held}
    if slots:
        named = artifact.report.names()
        names = ", ".join(named.get(slot, artifact.buffers[slot].label) for slot in sorted(slots))
        yield f"  held in a cache, a few rows at a time: {names}"


def _group(number: int, group: GroupText) -> Iterator[str]:
    rows = f", one row per {group.rows}" if group.rows else ""
    yield f"group {number}: {group.kind}{rows} -> {', '.join(group.roots)}"
    yield f"  ops: {' '.join(op.name for op in group.ops if not op.inlined)}"
    yield f"  moves {group.bytes_read} bytes in, {group.bytes_written} out"
    for decision in group.decisions:
        yield f"  {'merged' if decision.merged else 'refused'} {', '.join(decision.values)}: {decision.reason}"


def _way(artifact: Artifact, variant: Variant) -> str:
    known = dict(zip(artifact.symbols[artifact.given :], artifact.definitions, strict=True))
    auxiliary = {name: known[name] for name in artifact.report.sizes.auxiliary}

    guards = [f"{substitute(g.lhs, auxiliary)} {g.relation} {substitute(g.rhs, auxiliary)}" for g in variant.guards]
    demands = [*guards, *(["aligned to 16 bytes"] if variant.aligned else [])]
    return f"{variant.label} (if {', '.join(demands)})" if demands else variant.label


def _memory(artifact: Artifact) -> Iterator[str]:
    """The arena, and the lifetimes of its buffers."""
    needed = lifetimes(artifact)
    yield f"arena: {artifact.report.arena} bytes"
    yield from reversed(list(_offset_names(artifact)))
    for buffer in artifact.report.buffers:
        if buffer.slot in needed:
            first, last = needed[buffer.slot]
            yield f"  steps {first} to {last}, at {buffer.offset}: {buffer.size} bytes, {buffer.tensor}"


def _offset_names(artifact: Artifact) -> Iterator[str]:
    """The names used in offsets, the last one first: each is defined by those before it."""
    sizes = artifact.report.sizes
    used = set(symbols_of(artifact.report.arena, *(buffer.offset for buffer in artifact.report.buffers)))
    names = artifact.symbols[artifact.given :]
    for name, formula in reversed(list(zip(names, artifact.definitions, strict=True))):
        if name in used and name not in sizes.names and name not in sizes.auxiliary:
            used.update(symbols_of(formula))
            yield f"  {name} = {formula}"


def _schedules(artifact: Artifact) -> Iterator[str]:
    """How every matrix product is computed, and what selects that."""
    known = dict(zip(artifact.symbols[artifact.given :], artifact.definitions, strict=True))
    found = dict.fromkeys(one for place in places(artifact) for one in getattr(place.step, "selections", ()))
    yield f"{counted(len(found), 'kind')} of matrix products"
    for one in found:
        yield f"{one.product}: {one.how}"
        if one.candidates:
            yield f"  {' | '.join(candidate.name for candidate in one.candidates)}"
        if len(one.candidates) > 1:
            yield f"  number {substitute(one.number, known)}"


def _by_partition(show: Callable[[Artifact], Iterator[str]]) -> Callable[[Artifact], Iterator[str]]:
    """Apply a topic to a program, or to each of its partitions in turn."""

    def shown(artifact: Artifact) -> Iterator[str]:
        if not artifact.partitions:
            yield from show(artifact)
        for number, (name, part) in enumerate(artifact.named_parts if artifact.partitions else ()):
            yield from ("",) if number else ()
            yield name
            yield from show(part)

    return shown


def _peak(artifact: Artifact) -> Iterator[str]:
    """The memory of the whole program, then of its partitions."""
    if artifact.partitions:
        beside = any(not isinstance(partition.runs, Artifact) for partition in artifact.partitions)
        what = "beside what loops and branches need, with what" if beside else "at most, with what"
        yield f"{what} partitions hand on: {artifact.report.arena} bytes"
    yield from _by_partition(_memory)(artifact)


TOPICS: Mapping[str, Callable[[Artifact], Iterator[str]]] = {
    "facts": _facts,
    "fusion": _by_partition(_fusion),
    "memory": _peak,
    "schedules": _by_partition(_schedules),
}
