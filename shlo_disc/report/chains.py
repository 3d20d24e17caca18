"""Why sizes are what they are, as text: facts below their consequences, and values grouped by shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shlo_disc.diagnostics import ShloDiscError, counted
from shlo_disc.report_model import FactText, ReportModel, ShapeText

_ENDS = 2  # links of a long chain that are shown at each end


def folded_facts(facts: Sequence[FactText], names: Sequence[str]) -> Iterator[str]:
    """Facts grouped by reason and place, those on the user's sizes first."""
    groups = dict[str, dict[tuple[str, tuple[int, ...]], list[int]]]()
    for number, fact in enumerate(facts):
        groups.setdefault(fact.reason, {}).setdefault((fact.place, fact.because), []).append(number)

    def are_the_users(numbers: Sequence[int]) -> bool:
        return all(name in names for number in numbers for name in facts[number].subject.split(", "))

    for reason, places in groups.items():
        yield f"  because {reason}"
        for (place, because), numbers in sorted(places.items(), key=lambda item: not are_the_users(item[1])):
            follows = f" (from {_listed(because)})" if because else ""
            texts = ", ".join(facts[number].text for number in numbers)
            yield f"    {_listed(numbers)}. {texts}, at {place}{follows}"


def _listed(numbers: Sequence[int]) -> str:
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}-{numbers[-1]}"
    return ", ".join(map(str, numbers))


def folded_shapes(model: ReportModel) -> Iterator[str]:
    """The number of values of each shape; then, for each size, why the first value with it has it."""
    same = dict[tuple[str, ...], list[ShapeText]]()
    for shape in model.shapes:
        if not shape.is_integer:
            same.setdefault(shape.dims, []).append(shape)
    for dims, (first, *others) in same.items():
        count = counted(len(others) + 1, "value")
        yield f"  {count} of shape [{', '.join(dims)}], first {first.value} at {first.origin or first.where}"
    yield from ("", "where sizes come from")
    facts, told, sizes = model.all_facts(), set[int](), set[str]()
    for number, shape, axis in model.dims():
        if not shape.is_integer and shape.dims[axis] not in sizes:
            sizes.add(shape.dims[axis])
            yield from _chain(facts, number, 1, told, ends=_ENDS)


def value_chains(model: ReportModel, value: str) -> Iterator[str]:
    """Every link from a value's dims back to arguments and assumptions. Raises `ShloDiscError` for an unknown value."""
    facts = model.all_facts()
    wanted = [number for number, shape, _ in model.dims() if shape.value == value]
    if not wanted:
        known = ", ".join(dict.fromkeys(shape.value for shape in model.shapes[:4]))
        expected = f"one whose shape depends on sizes, such as {known}" if known else "none: all shapes are fixed"
        raise ShloDiscError(f"found value {value!r}, expected {expected}")
    told = set[int]()
    for number in wanted:
        yield from _chain(facts, number, 0, told, ends=len(facts))


def _chain(facts: Sequence[FactText], number: int, depth: int, told: set[int], *, ends: int) -> Iterator[str]:
    """A fact and the facts that it follows from, one after the other; where several join, each has its own chain below.

    `told`: facts whose reasons are printed above already. Only `ends` links at each end of a chain are shown.
    """
    links = [number]
    while len(because := facts[links[-1]].because) == 1 and links[-1] not in told:
        links.append(because[0])
    shown = links if len(links) <= 2 * ends + 1 else [*links[:ends], None, *links[-ends:]]
    for k, link in enumerate(shown):
        text = f"… {len(links) - 2 * ends} values of this size …" if link is None else str(facts[link])
        seen = link in told and bool(facts[link].because) if link is not None else False
        yield f"{'  ' * (depth + k)}{text}{' (see above)' if seen else ''}"
    end = links[-1]
    follows = () if end in told else facts[end].because
    told.update(links)
    for each in follows:
        yield from _chain(facts, each, depth + len(shown), told, ends=ends)
