"""Why a dim is what it is: facts under the facts that they lead to, as indented text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shlo_disc.overview import FactText, Overview

_SHOWN = 16  # values at the end of the program
_ENDS = 2  # links of a long chain that are shown at each end


def chains(overview: Overview) -> Iterator[str]:
    """The chain of every dim that no other dim is that of, from the value back to the arguments and assumptions."""
    facts = overview.all_facts()
    used = {number for fact in facts for number in fact.because}
    last = [k for k in range(len(overview.facts), len(facts)) if k not in used]
    told = set[int]()
    for number in last[-_SHOWN:]:
        yield from _chain(facts, number, 1, told)
    if len(last) > _SHOWN:
        yield f"  and {len(last) - _SHOWN} more"


def _chain(facts: Sequence[FactText], number: int, depth: int, told: set[int]) -> Iterator[str]:
    """A fact and what it follows from, one link after the other; where several join, each with its own chain below.

    `told` are the facts whose reasons stand above already.
    """
    links = [number]
    while len(because := facts[links[-1]].because) == 1 and links[-1] not in told:
        links.append(because[0])
    shown = links if len(links) <= 2 * _ENDS + 1 else [*links[:_ENDS], None, *links[-_ENDS:]]
    for k, link in enumerate(shown):
        text = f"… {len(links) - 2 * _ENDS} values of this size …" if link is None else str(facts[link])
        yield f"{'  ' * (depth + k)}{text}{' (see above)' if link in told else ''}"
    end = links[-1]
    follows = () if end in told else facts[end].because
    told.update(links)
    for each in follows:
        yield from _chain(facts, each, depth + len(shown), told)
